#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An MPI job of an ordinary user (demo/checkpoint/wave.c) whose nodes die at random while it runs, any of them, also the
# one of its script: with `sickbay submit --recover` and checkpoints it comes to its end, with the result of a run without faults, to the bit;
# its history says what the failures cost.
#   random_kills.sh BUILD [SECONDS [EVERY [WITHOUT]]]   SECONDS: what it computes for without a fault, default 20; EVERY: between
#                       two deaths, default 25; WITHOUT: for so many seconds the same is tried without checkpoints, which
#                       never ends (default 0: not at all).  The long one, by hand: 300 30 1200
set -euo pipefail
build=$(realpath "${1:?usage: random_kills.sh BUILD [SECONDS [EVERY [WITHOUT]]]}")
work_s=${2:-20} every=${3:-25} without=${4:-0}
here=$(dirname "$(realpath "$0")")
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
lab_up --nodes 6 --spares 0 --cpus 1
# (The breaker would stop what kills nodes so often, as it should.)
set_site '{detect: {default: "fast"}, drain: {window: "1s", most: 1000, most_percent: 100, most_out_percent: 100}}'
RANDOM=${SEED:-$$}
echo "random_kills: seed ${SEED:-$$}"
home=$folder/home/alice
wave=$build/demo/wave
size=200
# A step takes 5 ms at the least, and on these machines hardly more: so long is the work, however busy they are.
step_ms=5
steps=$((work_s * 1000 / step_ms))

# The script: one step, which goes on from the newest checkpoint where there is one.
as alice 'cat >job.sh' <<JOB
#!/bin/bash
exec srun --mpi=pmi2 $wave "\$1" $size $step_ms >"\$2"
JOB
gone() { ! state_of "$1" 2>/dev/null | grep -q .; } # JOB
result() { grep -h '^result' "$home/$1" 2>/dev/null; }

# --- and now with faults
dead='' deaths=0
kill_one() { # JOB: a node of it dies, and the one before comes back
  local nodes
  [ -z "$dead" ] || "$sickbay" lab heal -l "$lab" "$dead" >/dev/null
  dead=''
  mapfile -t nodes < <(ctl sh -c "squeue -h -j $1 -t R -o %N | xargs -r scontrol show hostnames")
  [ ${#nodes[@]} -gt 0 ] || return 0
  dead=${nodes[RANDOM % ${#nodes[@]}]}
  "$sickbay" lab fault -l "$lab" "$dead" crash >/dev/null
  deaths=$((deaths + 1))
}
# under_fire JOB MOST: until it has ended, at most so many seconds.
under_fire() {
  local begun=$SECONDS next=$((SECONDS + every))
  while ! gone "$1" && [ $((SECONDS - begun)) -lt "$2" ]; do
    if [ $SECONDS -ge $next ]; then
      next=$((SECONDS + every))
      kill_one "$1"
    fi
    within 1 gone "$1" || true
  done
  [ -z "$dead" ] || "$sickbay" lab heal -l "$lab" "$dead" >/dev/null
  dead=''
  gone "$1"
}
job=$(as alice "export SICKBAY_CHECKPOINT_MTTF=${every}s; $sickbay submit --parsable --recover --rerun=never -N2 -t 300 -o wave.log job.sh $steps with" 2>"$folder/submit.err")
until_true "job $job runs" runs "$job"
begun=$SECONDS
holds "it ends" under_fire "$job" $((work_s * 20 + 600))
echo "random_kills: $work_s s of work, $deaths deaths, done after $((SECONDS - begun)) s"
holds "nodes died" [ $deaths -gt 0 ]
as alice "$sickbay history $job" || fail "its history"

mkdir "$folder/reference"
(cd "$folder/reference" && "$(command -v mpiexec.mpich || command -v mpiexec)" -n 2 env -u SLURM_JOB_ID SICKBAY_CHECKPOINT_JOB=1 SICKBAY_CHECKPOINTS="$folder/reference/store" "$wave" "$steps" "$size" >../reference.out) ||
  fail "the run without faults"
holds "the result is right: $(result with)" test "$(result with)" = "$(grep '^result' "$folder/reference.out")"
cat "$home/wave.log"

if [ "$without" -gt 0 ]; then
  deaths=0
  job=$(as alice "export SICKBAY_CHECKPOINT_EVERY=1000d; $sickbay submit --parsable --recover --rerun=never -N2 -t 300 -o no.log job.sh $steps no" 2>"$folder/submit.err")
  until_true "job $job runs" runs "$job"
  checks=$((checks + 1))
  if under_fire "$job" "$without"; then fail "without checkpoints it ends, too: nothing was shown"; fi
  ctl scancel "$job"
  echo "random_kills: without checkpoints it has not ended after $without s and $deaths deaths"
  as alice "$sickbay history $job" || true
fi
nothing_held() { ctl "$sickbay" nodes --json | jq -e '[.. | objects | .claim? | objects | select(.holder == "recover")] | length == 0'; }
until_true "nothing stays claimed" nothing_held
finish
