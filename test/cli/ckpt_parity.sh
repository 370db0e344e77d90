#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Keepers with parity on four nodes of two processes each: what is lost with any one node is made again from what the
# other three have, also where it stands on older checkpoints, after the group has changed, and with nothing flushed.
. "$(dirname "$0")/common.inc"
unset SLURM_STEP_ID SLURM_PROCID PMI_RANK SICKBAY_SESSION SICKBAY_CKPT_PROGRAM SLURM_TOPOLOGY_ADDR 2>/dev/null || :
export SLURM_JOB_ID=17 SLURM_NNODES=4 SICKBAY_CHECKPOINTS="$PWD/store" SICKBAY_PROGRAM='' SICKBAY_CHECKPOINT_FAST="$PWD/fast-%N:40M"
declare -A keeper
clean_up() { for pid in "${keeper[@]}"; do kill "$pid" 2>/dev/null || :; done; wait; }
keeps() { SLURMD_NODENAME=$1 sickbay-ckpt keep --parity 4 --address 127.0.0.1 2>> keep."$1" & keeper[$1]=$!; until_so test -s store/17/board/keep/at."$1".json; }
ends() { kill "-$2" "${keeper[$1]}"; wait "${keeper[$1]}" 2>/dev/null || :; unset "keeper[$1]"; }
until_so() { for _ in $(seq 300); do "$@" > /dev/null 2>&1 && return; sleep 0.1; done; cat keep.* >&2; fail "not in time: $*"; }
# all SESSION WANTED NODES WORDS...: process R on the R-th of these nodes; each must end with that code.
all() {
  local session=$1 wanted=$2 rank pids=() code nodes; read -ra nodes <<< "$3"; shift 3
  for rank in "${!nodes[@]}"; do
    SLURMD_NODENAME=${nodes[$rank]} sickbay-ckpt "$@" --session "$session" --rank "$rank" --ranks 8 --timeout 30s > "out.$rank" 2> "err.$rank" & pids+=($!)
  done
  for rank in "${!nodes[@]}"; do
    code=0; wait "${pids[$rank]}" || code=$?
    [ "$code" = "$wanted" ] || { cat "err.$rank" >&2; fail "rank $rank ended with $code, not $wanted: $*"; }
  done
}
state() { for i in {0..7}; do { cat base.$i; echo "$1"; } > state.$i; done; }
is_state() { for i in {0..7}; do { cat base.$i; echo "$1"; } | cmp - state.$i; done; }
grouped() { local n=$1 node; shift; for node in "$@"; do grep -q "\"number\":$n}" store/17/board/keep/group.$node.json || return 1; done; }
size() { stat -c %s "$@"; }
# saved STATE NUMBER NODES: as the next checkpoint, with its parity on all of them.
saved() {
  state "$1"; SICKBAY_CKPT_PROGRAM=/bin/false all "save-$2" 0 "$3" save --files 'state.%t'
  # shellcheck disable=SC2046 # words
  until_so grouped "$2" $(tr ' ' '\n' <<< "$3" | sort -u)
}
# lost NODE: with its keeper and all that it has.
lost() { ends "$1" KILL; rm -r "fast-$1"; }
for i in {0..7}; do head -c $((100000 + 30000 * i)) /dev/urandom > base.$i; done
run 64 sickbay-ckpt keep --parity 1; run 64 sickbay-ckpt keep --parity 33; run 64 sickbay-ckpt keep --parity x
first='n0 n0 n1 n1 n2 n2 n3 n3'
for node in n0 n1 n2 n3; do keeps $node; done
saved one 1 "$first"
# It costs a third of what the largest node has, and no copy is kept.
for n in 0 1 2 3; do
  most=$(cat fast-n3/17-*/r[67]/c1.r*.pack | wc -c)
  [ "$(size fast-n$n/17-*/xor/c1.xor)" = $(((most + 2) / 3)) ] || fail "the parity of n$n has $(size fast-n$n/17-*/xor/c1.xor) bytes of $most"
done
run 2 sh -c 'ls fast-n0/17-*/r2'
saved two 2 "$first"
# The second stands on the first, so there is parity for both.
run 0 sh -c 'ls fast-n0/17-*/xor/c1.xor fast-n2/17-*/xor/c2.xor'
[ "$(size fast-n0/17-*/xor/c2.xor)" -lt 20000 ]
# A node without one is lost; its processes are on another.
lost n1; second='n0 n0 n9 n9 n2 n2 n3 n3'
state lost; all back-1 0 "$second" restore; same out.0 <<< 2; is_state two
run 0 sh -c 'ls fast-n9/17-*/r[23]/c[12].r[23].pack'; run 2 sh -c 'ls fast-n9/17-*/r*/*.new'
# The new node's keeper joins; the packs of old ones that are on other nodes now have new parity.
keeps n9; saved three 3 "$second"
lost n2; third='n0 n0 n9 n9 n8 n8 n3 n3'
state lost; all back-2 0 "$third" restore; same out.0 <<< 3; is_state three
# Processes change places when a node is lost: those whose node lives come from there.
keeps n8; saved four 4 "$third"
lost n0; fourth='n9 n9 n8 n8 n3 n3 n7 n7'
state lost; all back-3 0 "$fourth" restore; same out.0 <<< 4; is_state four
# What the program computes on shows: a checkpoint with a node that has no keeper has no parity, and that is said.
state five; SICKBAY_CKPT_PROGRAM=/bin/false all save-5 0 "$fourth" save --files 'state.%t'
until_so grep -q 'n7 has no keeper' keep.n3
[ "$(grep -c 'n7 has no keeper' keep.n3)" = 1 ]
keeps n7; until_so grouped 5 n3 n7 n8 n9
# Old parity goes with what it was for.
for i in {6..9}; do for r in {0..7}; do head -c 100000 /dev/urandom > base.$r; done; saved "new $i" $i "$fourth"; done
run 2 sh -c 'ls fast-n9/17-*/xor/c[1-5].xor*'
# A node boots, its memory is empty, and all keepers are started anew: what they had made is what gives it back.
for node in n3 n7 n8 n9; do ends $node TERM; rm store/17/board/keep/group.$node.json; done
rm -r fast-n8; for node in n3 n7 n8 n9; do keeps $node; done; until_so grouped 9 n3 n7 n9
state lost; all back-5 0 "$fourth" restore; same out.0 <<< 9; is_state 'new 9'; until_so grouped 9 n8
# What a member has is damaged: nothing of it is left anywhere, and all pass it over.
damaged=$(echo fast-n8/17-*/r2/c9.r2.pack)
cp "$damaged" whole; { head -c 20 whole; tail -c +21 whole | head -c 90000 | tr '\0-\377' '\1-\377\0'; tail -c +90021 whole; } > "$damaged"
ends n3 TERM; [ ! -e store/17/board/keep/at.n3.json ]; mv fast-n3 gone-n3
SLURMD_NODENAME=n6 run 66 sickbay-ckpt fetch --number 9 --session x --rank 4 --ranks 8
run 2 sh -c 'ls fast-n6/17-*/r4/c*.pack*'
cp whole "$damaged"
SLURMD_NODENAME=n6 run 0 sickbay-ckpt fetch --number 9 --session x --rank 4 --ranks 8; cmp fast-n6/17-*/r4/c9.r4.pack gone-n3/17-*/r4/c9.r4.pack
# The parity of a member is: likewise.
rm -r fast-n6; xor=$(echo fast-n7/17-*/xor/c9.xor); cp "$xor" whole; tr '\0-\377' '\1-\377\0' < whole > "$xor"
SLURMD_NODENAME=n6 run 66 sickbay-ckpt fetch --number 9 --session x --rank 4 --ranks 8; run 2 sh -c 'ls fast-n6/17-*/r4/c*.pack*'
cp whole "$xor"
# Its head is of another group: it is not believed.
rm -r fast-n6; head=$(echo fast-n7/17-*/xor/c9.xor.json); cp "$head" whole; sed -i 's/"n3"/"n4"/' "$head"
SLURMD_NODENAME=n6 run 66 sickbay-ckpt fetch --number 9 --session x --rank 4 --ranks 8; run 2 sh -c 'ls fast-n6/17-*/r4/c*.pack*'
cp whole "$head"
# Two of a group are lost: there is nothing to go on from, and that is said, not something else restored.
lost n7; rm -rf fast-n6
state lost; SLURMD_NODENAME=n6 run 66 sickbay-ckpt fetch --number 9 --session x --rank 4 --ranks 8
all back-4 65 'n9 n9 n8 n8 n6 n6 n5 n5' restore; is_state lost
# No room: it is said, and the program's own checkpoints are not touched.
ends n8 TERM; ends n9 TERM
export SICKBAY_CHECKPOINT_FAST="$PWD/small-%N:600K" SLURM_JOB_ID=18 SLURM_NNODES=2
for r in {0..7}; do head -c 130000 /dev/urandom > base.$r; done
SLURMD_NODENAME=n0 SICKBAY_CHECKPOINT_FAST="$PWD/small-%N:300K" sickbay-ckpt keep --parity 2 --address 127.0.0.1 2> keep.small & keeper[small]=$!
SLURMD_NODENAME=n1 sickbay-ckpt keep --parity 2 --address 127.0.0.1 2> keep.other & keeper[other]=$!
until_so test -s store/18/board/keep/at.n0.json; until_so test -s store/18/board/keep/at.n1.json
state six; SICKBAY_CKPT_PROGRAM=/bin/false all save-6 0 'n0 n0 n0 n0 n1 n1 n1 n1' save --files 'state.%t'
until_so grep -q 'no room for the parity' keep.small; run 2 sh -c 'ls small-n0/18-*/xor/*.xor'
