#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three jobs of an ordinary user (demo/nonstop: MPI, libsmd, a checkpoint) while their machines die one after another and
# come back: all three end with the result of a run without faults, no node is in two jobs, nothing stays claimed.
# By hand, not part of `make test`:
#   chaos.sh BUILD [SECONDS [EVERY]]   SECONDS: how long the jobs work at the least, default 45; EVERY: between two deaths,
#                                      default 15 (the long one: 1200 60)
set -euo pipefail
build=$(realpath "${1:?usage: chaos.sh BUILD [SECONDS [EVERY]]}")
work_s=${2:-45} every=${3:-15}
here=$(dirname "$(realpath "$0")")
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
lab_up --nodes 9 --spares 0 --cpus 1 --no-agents
# shellcheck source=test/slurm/nonstop.inc
. "$here/nonstop.inc"
nonstop_conf ControlAddr=ctl Port=9118 MaxSpareNodeCount=1000 TimeLimitDelay=60 TimeLimitExtend=1
serve_nonstop
home=$folder/home/alice
heat=$build/demo/heat
size=200 save=200
# A small plate would be done too early: heat takes 1,000,000 steps at the most.
[ "$work_s" -le 600 ] || size=800 save=1000
RANDOM=${SEED:-$$}
echo "chaos: seed ${SEED:-$$}"

# start NAME STEPS: a job of two nodes; its number is in $job, its result in NAME/result.
start() {
  job=$(as alice "export PATH=$build/bin:\$PATH SMD_NONSTOP_FAILED=REPLACE:TIME_LIMIT_DELAY=30; sbatch --parsable -N2 -t 120 -o $1.out \
    $here/../../demo/nonstop/job.sh $heat \$HOME/$1 $2 $size $save")
}
is_gone() { ! state_of "$1" 2>/dev/null | grep -q .; } # JOB

# --- how fast are three at once, without a fault?
first=2000
for i in 1 2 3; do start "pace$i" $first && jobs[i]=$job; done
for i in 1 2 3; do until_true "job ${jobs[i]} runs" runs "${jobs[i]}"; done
begun=$SECONDS
for i in 1 2 3; do patience=600 until_true "pace $i ends" is_gone "${jobs[i]}"; done
took=$((SECONDS - begun > 0 ? SECONDS - begun : 1))
for i in 1 2 3; do
  [ -s "$home/pace$i/result" ] || { cat "$home/pace$i.out"; echo "chaos: no result without a fault, either" >&2; exit 1; }
done
steps=$((first * work_s / took / save * save + save))
[ $steps -le 1000000 ] || steps=1000000 # heat's bound
echo "chaos: $first steps of three jobs in $took s; so $steps steps"

# --- and now with faults
for i in 1 2 3; do start "heat$i" "$steps" && jobs[i]=$job; done
for i in 1 2 3; do until_true "job ${jobs[i]} runs" runs "${jobs[i]}"; done
# The nodes of JOB that may die: all but the one of its script, with which Slurm ends the job.
mortal() { ctl sh -c "squeue -h -j $1 -t R -o '%B %N' | while read -r b n; do scontrol show hostnames \"\$n\" | grep -vx \"\$b\"; done"; }
dead=() deaths=0 begun=$SECONDS next=$((SECONDS + every))
alive() { for i in 1 2 3; do is_gone "${jobs[i]}" || return 0; done; return 1; }
while alive && [ $((SECONDS - begun)) -lt $((work_s * 10 + 300)) ]; do
  doubles=$(ctl sh -c "squeue -h -t R -o %N | xargs -rn1 scontrol show hostnames" | sort | uniq -d)
  [ -z "$doubles" ] || fail "in two jobs: $doubles"
  if [ $SECONDS -ge $next ]; then
    next=$((SECONDS + every))
    for node in "${dead[@]}"; do "$sickbay" lab heal -l "$lab" "$node" >/dev/null; done
    dead=()
    mapfile -t may < <(for i in 1 2 3; do mortal "${jobs[i]}"; done)
    if [ ${#may[@]} -gt 0 ]; then
      dead=("${may[RANDOM % ${#may[@]}]}")
      crash "${dead[0]}"
      deaths=$((deaths + 1))
    fi
  fi
  within 2 false || true # (until_true's pace)
done
for node in "${dead[@]}"; do "$sickbay" lab heal -l "$lab" "$node" >/dev/null; done
took=$((SECONDS - begun))

mkdir "$folder/reference"
holds "there is a reference" "$(command -v mpiexec.mpich || command -v mpiexec)" -n 1 "$heat" "$folder/reference" "$steps" $size $save
replaced=0
for i in 1 2 3; do
  holds "job $i has the right result" cmp "$home/heat$i/result" "$folder/reference/result"
  [ -s "$home/heat$i/result" ] || cat "$home/heat$i.out"
  replaced=$((replaced + $(grep -c 'going on' "$home/heat$i.out" || true)))
done
holds "nodes died" [ $deaths -gt 0 ]
idle_again() { [ "$(ctl sinfo -h -t idle -o %D | paste -sd+ | bc)" = 9 ]; }
until_true "all nodes are back and idle" idle_again
nothing_held() { ctl "$sickbay" nodes --json | jq -e '[.. | objects | .claim? | objects] | length == 0'; }
until_true "nothing stays claimed" nothing_held
echo "chaos: $deaths deaths in $took s, $replaced steps after the first"
finish
