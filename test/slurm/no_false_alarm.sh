#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For hours: a job whose nodes watch each other (--detect=fast), and all that is no lost node: programs that stand still
# for 2 s, 5 % of the packets lost, a clock that steps, a node that is cut off from sickbayd alone.  Nobody may be complained of.
# By hand, not part of `make test`:
#   no_false_alarm.sh BUILD [SECONDS = 7200] [LOAD = 0]    LOAD: so many busy processes beside it
set -euo pipefail
build=$(realpath "${1:?usage: no_false_alarm.sh BUILD [SECONDS] [LOAD]}")
most=${2:-7200} load=${3:-0}
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
busy=()
clean_up() { [ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null || true; }
lab_up --nodes 4 --spares 0
# Slurm's own default: the lab's 20 s are over soon on a busy machine, and a node that Slurm has taken is watched no more.
sed -i 's/^SlurmdTimeout=.*/SlurmdTimeout=300/' "$folder/etc/slurm.conf"
ctl scontrol reconfigure
for ((i = 0; i < load; i++)); do
  (while :; do :; done) &
  busy+=($!)
done

nodes=(n1 n2 n3 n4)
on() { "$sickbay" lab exec -l "$lab" --node "$1" -- "${@:2}"; } # NODE COMMAND...
wait_s() { within "$1" false || true; }                         # (until_true's pace)
count() { ctl "$sickbay" journal --json | jq -c 'select(.kind == "node_silent")' | wc -l; }
watches() { on "$1" ss -Hlun 'sport = 6831' | grep -q 6831; }
all_watch() { for node in "${nodes[@]}"; do watches "$node" || return 1; done; }
faulty() { # NODE FAULT SECONDS
  "$sickbay" lab fault -l "$lab" "$1" "$2" >/dev/null
  wait_s "$3"
  "$sickbay" lab heal -l "$lab" "$1" >/dev/null
}
stands_still() { # NODE PROGRAM
  local pid
  pid=$(on "$1" pgrep -xo "$2")
  # By one command there: what a busy machine takes to begin another one would be a part of the pause.
  on "$1" bash -c "kill -STOP $pid; read -rt 2 <> <(:); kill -CONT $pid"
}

job=$(as alice "sbatch --parsable --no-kill -N4 -t 600 -o /dev/null --wrap 'sleep 36000'")
until_true "the job runs" runs "$job"
as alice "$sickbay detect fast $job" >/dev/null
until_true "the nodes watch each other" all_watch

RANDOM=${SEED:-1} rounds=0 told=0
until [ $SECONDS -ge "$most" ]; do
  node=${nodes[RANDOM % 4]}
  stands_still "$node" slurmd
  stands_still "${nodes[RANDOM % 4]}" sickbay-agent
  faulty "${nodes[RANDOM % 4]}" loss=5% 20
  for each in "${nodes[@]}"; do "$sickbay" lab fault -l "$lab" "$each" loss=5% >/dev/null; done
  wait_s 20
  for each in "${nodes[@]}"; do "$sickbay" lab heal -l "$lab" "$each" >/dev/null; done
  faulty "$node" clock=$((RANDOM % 2 ? 300 : -300)) 10
  faulty "$node" partition=ctl 10
  rounds=$((rounds + 1))
  now=$(count)
  checks=$((checks + 1))
  [ "$now" = "$told" ] || fail "after $SECONDS s (load $(cut -d' ' -f1 /proc/loadavg)): $((now - told)) complaints"
  told=$now
  # Where Slurm itself took a node from the job (SlurmdTimeout, on a busy machine) nobody watches it any more, and the
  # silence of the rest of the test would say nothing.
  checks=$((checks + 1))
  [ "$(ctl squeue -h -j "$job" -o %D)" = 4 ] || { fail "after $SECONDS s: the job has lost nodes, and by Slurm"; break; }
  note_load
done
down() { ctl sinfo -h -N -t down -o %N | grep -q .; }
checks=$((checks + 1))
! down || fail "a node is DOWN"
holds "the job has all its nodes" runs "$job"
echo "no_false_alarm: $rounds rounds, $told complaints; load $(loads)"
finish
