#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sickbay-ckpt, one process and four: what is saved comes back, and what is damaged for one is passed over by all.
. "$(dirname "$0")/common.inc"
unset SLURM_STEP_ID SLURM_PROCID PMI_RANK SICKBAY_SESSION 2>/dev/null || :
export SLURM_JOB_ID=17 SICKBAY_CHECKPOINTS="$PWD/store"
mkdir own
cd own || exit
run 1 sickbay-ckpt restore; same out <<< none
run 66 sickbay-ckpt save --files 'state*'
run 64 sickbay-ckpt save --files ../x
seq 1 20000 > state; run 0 sickbay-ckpt save --files 'state*'; same out <<< 1
cp state first; echo more >> state; run 0 sickbay-ckpt save --files 'state*'; same out <<< 2
cp state second; echo lost > state
run 0 sickbay-ckpt restore; same out <<< 2; cmp state second
run 0 sickbay-ckpt restore --from 1; same out <<< 1; cmp state first
run 66 sickbay-ckpt restore --from 9
run 0 sickbay-ckpt verify
run 0 sickbay-ckpt interval --mttf 5d; says out 'the middle of the last ones'
# sqrt(2 * 50 * 86400) = 2939.4; times 1 + 0.01701/3 + 0.000289/9, less the 50.
SLURM_NNODES=10 run 0 sickbay-ckpt interval --cost 50s --node-mttf 10d; says out 'one of 10 every 10 d'; says out 2906
run 64 sickbay-ckpt interval
# A replay of job 17 as job 21 goes on in its series: from 1 at first, then from its own; and 17's own are no newer ones of it.
(
  mkdir ../replay; cd ../replay || exit
  export SLURM_JOB_ID=21 SICKBAY_CHECKPOINT_JOB=17 SICKBAY_CHECKPOINT_FROM=1 SICKBAY_CHECKPOINTS="$PWD/../store2"
  cp -r ../store ../store2
  run 0 sickbay-ckpt restore; same out <<< 1; cmp state ../own/first
  run 0 sickbay-ckpt restore; same out <<< 1
  echo replayed > state; run 0 sickbay-ckpt save --files 'state*'; same out <<< 3
  echo lost > state; run 0 sickbay-ckpt restore; same out <<< 3; same state <<< replayed
  run 0 sickbay-ckpt list --json; says out '"checkpoint":3,"at"'; says out '"parent":1'
  SICKBAY_CHECKPOINT_JOB=17 SICKBAY_CHECKPOINT_FROM=9 SLURM_JOB_ID=22 run 66 sickbay-ckpt restore
) || exit
# The disk is full: no checkpoint, and the one before is as it was.
head -c 300000 /dev/urandom > state
(trap '' XFSZ; ulimit -f 16; run 74 sickbay-ckpt save --files state)
says err 'cannot write'
run 0 sickbay-ckpt restore; same out <<< 2; cmp state second
# Another job's control file, and an image cut short.
mkdir ../store/18 && cp ../store/17/c* ../store/18/
run 75 sickbay-ckpt restore --job 18; says err 'is of job 17'
truncate -s -5 ../store/17/c2.r0.pack
run 65 sickbay-ckpt verify
run 0 sickbay-ckpt restore; same out <<< 1; says err 'checkpoint 1 was taken instead'; cmp state first
rm ../store/17/c1.r0.pack
echo kept > state; run 65 sickbay-ckpt restore; same state <<< kept
# Two at once: the second is told so.
mkdir -p ../store/17
exec 9> ../store/17/lock; flock -n 9
run 75 sickbay-ckpt save --files state; says err 'another process'
exec 9>&-

# all SESSION WANTED WORDS...: four processes at once; each must end with that code.
all() {
  local session=$1 wanted=$2 rank pids=() code; shift 2
  for rank in 0 1 2 3; do
    sickbay-ckpt "$@" --session "$session" --rank $rank --ranks 4 --timeout 20s > out.$rank 2> err.$rank & pids+=($!)
  done
  for rank in 0 1 2 3; do
    code=0; wait "${pids[$rank]}" || code=$?
    [ "$code" = "$wanted" ] || { cat err.$rank >&2; fail "rank $rank ended with $code, not $wanted: $*"; }
  done
}
mkdir ../four
cd ../four || exit
export SLURM_JOB_ID=19
all a 1 restore
for i in 0 1 2 3; do seq $i 9000 > state.$i; done
all a 0 save --files 'state.%t' --label one; same out.0 <<< 1
mkdir was; cp state.? was
for i in 0 1 2 3; do echo more >> state.$i; done
all a 0 save --files 'state.%t' --label two; same out.0 <<< 2
# One image is flipped: all four go back to the one before.
damage ../store/19/c2.r3.pack 20
rm state.?
all b 0 restore; same out.0 <<< 1
for i in 0 1 2 3; do cmp state.$i was/state.$i; done
all b 0 restore; same out.0 <<< 1  # after a second fault
# Files that all see are saved once each.
all b 0 save --files 'was/*' --label three
run 0 sickbay-ckpt list --json; says out '"ranks":4'
# Fewer processes than the program can take.
run 75 sickbay-ckpt restore; says err 'is for 4 processes'
# A process that says another state fails all of them, and nothing was changed.
SICKBAY_SESSION=c; export SICKBAY_SESSION
(sickbay-ckpt save --files 'was/*' --label x --rank 0 --ranks 2 --timeout 20s > o 2> e || echo $? > code) &
run 75 sickbay-ckpt save --files 'was/*' --label y --rank 1 --ranks 2 --timeout 20s
wait; same code <<< 75
run 0 sickbay-ckpt list --json; silent_about out '"label":"x"'
