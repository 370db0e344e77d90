#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sickbay-ckpt with a fast place on two nodes, two processes on each: saved there first, flushed behind, and gone back to
# from either place.
. "$(dirname "$0")/common.inc"
unset SLURM_STEP_ID SLURM_PROCID PMI_RANK SICKBAY_SESSION SICKBAY_CKPT_PROGRAM 2>/dev/null || :
export SLURM_JOB_ID=17 SLURM_NNODES=2 SICKBAY_CHECKPOINTS="$PWD/store" SICKBAY_PROGRAM='' SICKBAY_CHECKPOINT_FAST="$PWD/fast-%N:40M"
# all SESSION WANTED WORDS...: four processes on two nodes; each must end with that code.
all() {
  local session=$1 wanted=$2 rank pids=() code; shift 2
  for rank in 0 1 2 3; do
    SLURMD_NODENAME=n$((rank / 2)) sickbay-ckpt "$@" --session "$session" --rank $rank --ranks 4 --timeout 20s > out.$rank 2> err.$rank & pids+=($!)
  done
  for rank in 0 1 2 3; do
    code=0; wait "${pids[$rank]}" || code=$?
    [ "$code" = "$wanted" ] || { cat err.$rank >&2; fail "rank $rank ended with $code, not $wanted: $*"; }
  done
}
state() { for i in 0 1 2 3; do seq "$1" $((9000 + i)) > state.$i; done; }
is_state() { for i in 0 1 2 3; do seq "$1" $((9000 + i)) | cmp - state.$i; done; }
tiers() { run 0 sickbay-ckpt list --json; grep -o '"tier":"[a-z]*"' out | cut -d: -f2 | tr -d '"\n'; }

state 1; all a 0 save --files 'state.%t'; same out.0 <<< 1
[ "$(tiers)" = shared ]; [ "$(stat -c %a fast-n0)" = 700 ]
for rank in 0 1 2 3; do cmp fast-n$((rank / 2))/17-*/r$rank/c1.r$rank.pack store/17/c1.r$rank.pack; done
# What flushes does not work: a note, and the checkpoint is in memory alone.
state 2; SICKBAY_CKPT_PROGRAM=/bin/false all a 0 save --files 'state.%t'; same out.0 <<< 2; says err.3 'is in fast places alone'
[ "$(tiers)" = sharedfast ]
run 0 sickbay-ckpt verify; says out 'not seen: '
SLURMD_NODENAME=n0 run 66 sickbay-ckpt verify --from 2; says out 'n1 may have it in its fast place'
state 3; all b 0 restore; same out.0 <<< 2; is_state 2
# One node was lost: all go back to what was flushed.
cp -r fast-n1 kept; rm -r fast-n1
all c 0 restore; same out.0 <<< 1; is_state 1; says err.0 'checkpoint 2, rank'
rm -r fast-n1; mv kept fast-n1
all c 0 restore; same out.0 <<< 2; is_state 2
# The next flush brings it.
all d 0 flush; [ "$(tiers)" = sharedshared ]; run 0 sickbay-ckpt verify
rm -r fast-n0 fast-n1; all d 0 restore; same out.0 <<< 2; is_state 2
# No room: on shared storage at once.
head -c 300000 /dev/urandom > big; for i in 0 1 2 3; do cp big state.$i; done
all e 0 save --files 'state.%t' --fast "$PWD/fast-%N:200K"; says err.1 '100 KiB of memory are not enough'
[ "$(tiers)" = sharedsharedshared ]
# A place that cannot be: told, and done without.
ln -s "$PWD" link
all f 0 save --files 'state.%t' --fast "$PWD/link"; says err.0 'link is no folder'; says err.0 'name a folder of your own'
same out.0 <<< 4; run 0 sickbay-ckpt verify
run 64 sickbay-ckpt list --fast much
# A program under run: what it saved last is on shared storage when it has ended.
cat > program.sh <<'EOF'
echo "$1" > state.$2; echo one > done.new.$2; mv done.new.$2 done.$2; exit "$3"
EOF
mkdir run; cp program.sh run; cd run || exit
export SLURM_JOB_ID=18
for code in 0 3; do
  pids=()
  for rank in 0 1; do
    SLURMD_NODENAME=n$rank sickbay-ckpt run --files 'state.%t' --done 'done.%t' --at-end save --session r$code --rank $rank --ranks 2 --timeout 20s -- sh program.sh "text $code" $rank $code 2> err.$rank & pids+=($!)
  done
  for rank in 0 1; do got=0; wait "${pids[$rank]}" || got=$?; [ $got = $code ] || { cat err.$rank >&2; fail "run ended with $got"; }; done
done
[ "$(tiers)" = shared ]; [ -z "$(ls ../store/18/board/fast)" ]
run 0 sh -c 'ls ../fast-n1/18-*/r1/c1.r1.pack'
# What a job left that is gone is removed, when Slurm says so.
mkdir bin; cat > bin/squeue <<'EOF'
#!/bin/sh
echo "$*" >> "$HOME/squeue.words"
[ ! -e "$HOME/runs" ] || { echo RUNNING; exit 0; }
echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1
EOF
chmod +x bin/squeue; export PATH="$PWD/bin:$PATH" SLURM_JOB_ID=20 SLURMD_NODENAME=n1
touch "$HOME/runs"; echo x > state; run 0 sickbay-ckpt save --files state
run 0 sh -c 'ls -d ../fast-n1/18-*'; says "$HOME/squeue.words" '--jobs=18'
rm "$HOME/runs"; run 0 sickbay-ckpt save --files state
run 2 sh -c 'ls -d ../fast-n1/18-*'
run 0 sh -c 'ls -d ../fast-n1/20-*/r0'; run 0 sickbay-ckpt verify
