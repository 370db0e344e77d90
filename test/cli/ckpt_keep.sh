#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Keepers on three nodes: each has what another has in its fast place; what is lost with a node comes back from there, and
# nobody without the secret gets anything.
. "$(dirname "$0")/common.inc"
unset SLURM_STEP_ID SLURM_PROCID PMI_RANK SICKBAY_SESSION SICKBAY_CKPT_PROGRAM SLURM_TOPOLOGY_ADDR 2>/dev/null || :
export SLURM_JOB_ID=17 SLURM_NNODES=3 SICKBAY_CHECKPOINTS="$PWD/store" SICKBAY_PROGRAM='' SICKBAY_CHECKPOINT_FAST="$PWD/fast-%N:40M"
declare -A keeper
clean_up() { for pid in "${keeper[@]}"; do kill "$pid" 2>/dev/null || :; done; wait; }
keeps() { SLURMD_NODENAME=$1 sickbay-ckpt keep --address 127.0.0.1 2> keep."$1" & keeper[$1]=$!; until_so test -s store/17/board/keep/at."$1".json; }
ends() { kill "-$2" "${keeper[$1]}"; wait "${keeper[$1]}" 2>/dev/null || :; unset "keeper[$1]"; }
until_so() { for _ in $(seq 200); do "$@" > /dev/null 2>&1 && return; sleep 0.1; done; cat keep.* >&2; fail "not in time: $*"; }
# all SESSION WANTED NODES WORDS...: a process on each of these nodes; each must end with that code.
all() {
  local session=$1 wanted=$2 nodes=$3 rank pids=() code; shift 3
  rank=0
  for node in $nodes; do
    SLURMD_NODENAME=$node sickbay-ckpt "$@" --session "$session" --rank $rank --ranks 3 --timeout 20s > out.$rank 2> err.$rank & pids+=($!)
    rank=$((rank + 1))
  done
  for rank in 0 1 2; do
    code=0; wait "${pids[$rank]}" || code=$?
    [ "$code" = "$wanted" ] || { cat err.$rank >&2; fail "rank $rank ended with $code, not $wanted: $*"; }
  done
}
state() { for i in 0 1 2; do { cat base.$i; echo "$1"; } > state.$i; done; }
is_state() { for i in 0 1 2; do { cat base.$i; echo "$1"; } | cmp - state.$i; done; }
kept() { for node in n0 n1 n2; do grep -q "\"number\":$1}" store/17/board/keep/kept.$node.json || return 1; done; }
for i in 0 1 2; do head -c 200000 /dev/urandom > base.$i; done
# (What flushes does not work: all that there is lies on nodes.)
export SICKBAY_CKPT_PROGRAM=/bin/false
keeps n0; keeps n1; keeps n2
[ "$(stat -c %a store/17/board/keep/secret)" = 600 ]; [ "$(stat -c %a store/17/board/keep)" = 700 ]
state one; all a 0 'n0 n1 n2' save --files 'state.%t'; until_so kept 1
state two; all a 0 'n0 n1 n2' save --files 'state.%t'; until_so kept 2
by=$(sed 's/.*"by":"\([^"]*\)".*/\1/' store/17/board/keep/kept.n1.json); [ "$by" != n1 ]
cmp fast-n1/17-*/r1/c2.r1.pack "fast-$by"/17-*/r1/c2.r1.pack
# The second stands on the first.
[ "$(stat -c %s fast-n1/17-*/r1/c2.r1.pack)" -lt 100000 ]
# Node n1 is lost, with its keeper; its process is on another node.  (What fetches works again.)
ends n1 KILL; rm -r fast-n1; unset SICKBAY_CKPT_PROGRAM
state lost; all b 0 'n0 n9 n2' restore; same out.0 <<< 2; is_state two
run 0 sh -c 'ls fast-n9/17-*/r1/c1.r1.pack fast-n9/17-*/r1/c2.r1.pack'
# Who does not know the secret gets nothing.
port=$(sed 's/.*"port":\([0-9]*\).*/\1/' "store/17/board/keep/at.$by.json")
sha=$(grep -o '"rank":1,[^}]*"sha256":"[0-9a-f]*"' store/17/board/fast/c2.json | grep -o '[0-9a-f]\{64\}')
exec 8<> "/dev/tcp/127.0.0.1/$port"; read -r hello <&8; [ "${hello% *}" = 'sickbay-keep 1' ]
printf 'get 2 1 %s %064d\n' "$sha" 0 >&8; [ -z "$(timeout 20 cat <&8)" ]; exec 8>&-
exec 8<> "/dev/tcp/127.0.0.1/$port"; head -c 5000 /dev/zero >&8 || :; [ "$(timeout 20 head -c 12 <&8 2>/dev/null)" = sickbay-keep ]; exec 8>&-
chmod 644 store/17/board/keep/secret; rm -r fast-n9
SLURMD_NODENAME=n9 run 77 sickbay-ckpt fetch --number 2 --session x --rank 1 --ranks 3; says err 'is not this user'
chmod 600 store/17/board/keep/secret
echo 'ffff' > other; cp store/17/board/keep/secret kept; cp other store/17/board/keep/secret
SLURMD_NODENAME=n9 run 66 sickbay-ckpt fetch --number 2 --session x --rank 1 --ranks 3
cp kept store/17/board/keep/secret
SLURMD_NODENAME=n9 run 0 sickbay-ckpt fetch --number 2 --session x --rank 1 --ranks 3
SLURMD_NODENAME=n9 run 66 sickbay-ckpt fetch --number 7 --session x --rank 1 --ranks 3
# One that is none is asked first: whatever it says, nothing of it stays, and the next is asked.
cat > false.py <<'EOF'
import socket, sys, threading
hello = b"sickbay-keep 1 " + b"a" * 64 + b"\n"
says = {"other": b"HTTP/1.0 400 Bad Request\r\n\r\n", "endless": b"x" * 100000, "nothing": b"", "cut": hello + b"ok 5000\nshort",
        "much": hello + b"ok 1000000000000\n", "wrong": hello + b"ok 5000\n" + b"y" * 5000, "not": hello + b"none\n"}[sys.argv[1]]
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        one, _ = server.accept()
        with one:
            try:
                one.sendall(says)
                one.shutdown(socket.SHUT_WR)
                while one.recv(4096): pass
            except OSError: pass
EOF
cp store/17/board/keep/kept.n1.json kept.json
for says in other endless nothing cut much wrong not; do
  rm -rf fast-n9; python3 false.py $says > port 2> false.err & keeper[false]=$!
  until_so test -s port
  printf '{"node":"n5","domain":"n5","address":"127.0.0.1","port":%s,"in_job":17,"restart":0}\n' "$(cat port)" > store/17/board/keep/at.n5.json
  echo '{"by":"n5","number":2}' > store/17/board/keep/kept.n1.json
  SLURMD_NODENAME=n9 run 0 sickbay-ckpt fetch --number 2 --session x --rank 1 --ranks 3
  cmp fast-n9/17-*/r1/c2.r1.pack "fast-$by"/17-*/r1/c2.r1.pack; run 2 sh -c 'ls fast-n9/17-*/r1/*.new'
  ends false TERM; rm port
done
rm store/17/board/keep/at.n5.json; cp kept.json store/17/board/keep/kept.n1.json
# What the partner has is damaged: nothing of it is left, and all pass it over.
damage "$(echo "fast-$by"/17-*/r1/c2.r1.pack)" 20; rm -r fast-n9
state lost; all c 0 'n0 n9 n2' restore; same out.0 <<< 1; is_state one; says err.0 'checkpoint 1 was taken instead'
run 2 sh -c 'ls fast-n9/17-*/r1/c2.r1.pack'
# A keeper that is asked to end is announced no more.
ends n0 TERM; [ ! -e store/17/board/keep/at.n0.json ]; [ ! -s keep.n0 ] || fail "$(cat keep.n0)"
