#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What it costs a running MPI job that its ranks are looked at: the same program with --hang=off and --hang=notify, alternately, in a lab.
#   hang_cost.sh BUILD [PAIRS [SECONDS]]
# Prints what each run did in its time (turns of an exchange, units of arithmetic), the ratio of each pair, and the median
# ratio. Beside it what the agents and all that they started used of a processor in these runs, watched less alone: the
# ratio of a pair is no better than the disk and the other daemons of the machine let it be (about 1 % on two cores).
set -euo pipefail
build=$(realpath "${1:?usage: hang_cost.sh BUILD [PAIRS [SECONDS]]}")
pairs=${2:-10} seconds=${3:-20}
root=$(dirname "$(realpath "$0")")/../..
# shellcheck source=test/slurm/lab.inc
. "$root/test/slurm/lab.inc"
lab_up --nodes 2 --spares 0
here=$root/test/slurm/hang
# shellcheck source=test/slurm/hang/jobs.inc
. "$here/jobs.inc"
build_program mpich mpicc ranks.c c
ranks=2
# What both agents used until now, and their children that have ended, in ticks.
ticks() { for node in n1 n2; do sed 's/.*) //' "/proc/$(cut -d' ' -f1 "$folder/nodes/$node/sickbay-agent.pid")/stat"; done | awk '{sum += $12 + $13 + $14 + $15} END {print sum}'; }
# KIND off|notify: done_in_run, what was done, and what the agents used added to those of its kind.  MPICH 4.0.2 hangs in
# MPI_Finalize at times, watched or not, behind all its work: such a run is taken again.
run() {
  local job before try
  for try in 1 2 3 4; do
    before=$(ticks)
    job=$(hang=$2 submit mpich.c "$1" "$seconds")
    if within $((seconds + 20)) ended "$job"; then
      done_in_run=$(sed -n 's/^done \([0-9]*\) .*/\1/p' "$programs/out.$job")
      used_by[$2]=$((used_by[$2] + $(ticks) - before))
      return
    fi
    grep -q '^done ' "$programs/out.$job" || break
    echo "$1 $2: job $job has done its work and does not end (try $try); taken again"
    ctl scancel "$job"
    until_true "job $job is over" ended "$job"
  done
  echo "job $job does not end" >&2
  exit 1
}
for kind in compute exchange; do
  ratios=()
  declare -A used_by=([off]=0 [notify]=0)
  for ((i = 1; i <= pairs; ++i)); do
    # Each goes first in every second pair.
    ways=(off notify)
    if [ $((i % 2)) = 0 ]; then ways=(notify off); fi
    for way in "${ways[@]}"; do
      run $kind "$way"
      if [ "$way" = notify ]; then with=$done_in_run; else without=$done_in_run; fi
    done
    ratio=$(awk -v a="$with" -v b="$without" 'BEGIN {printf "%.5f", a / b}')
    ratios+=("$ratio")
    echo "$kind pair $i: $without alone, $with watched, ratio $ratio"
  done
  printf '%s\n' "${ratios[@]}" | sort -n | awk -v kind=$kind '{r[NR] = $1} END {m = NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2; printf "%s: median ratio %.5f of %d pairs (%.5f to %.5f)\n", kind, m, NR, r[1], r[NR]}'
  awk -v kind=$kind -v with="${used_by[notify]}" -v without="${used_by[off]}" -v hz="$(getconf CLK_TCK)" -v ran=$((2 * pairs * seconds)) \
    'BEGIN {printf "%s: the agents used %.2f s watched and %.2f s alone in %d s of ranks: %.3f %% of a rank\n", kind, with / hz, without / hz, ran, 100 * (with - without) / hz / ran}'
done
