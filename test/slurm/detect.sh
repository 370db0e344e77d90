#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nodes of a job that asked for it watch each other: one that is killed is DOWN by their word, and so is another one that dies while they
# agree on a group without the first; one that is paused for 2 s, or cut off from sickbayd alone, is let be.
#   detect.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: detect.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 5 --spares 0
set_site '{drain: {most: 2, most_percent: 40, most_out_percent: 40}}' # two of five may be taken

journal_of() { ctl "$sickbay" journal --json | jq -c "select(.kind == \"$1\")"; }
has() { [ -n "$(journal_of "$1" | head -n 1)" ]; }
ask_detect() { # JOB fast|slurm
  "$sickbay" lab exec -l "$lab" --user alice -- "$sickbay" detect "$2" "$1"
}
watches() { on "$1" ss -Hlun 'sport = 6831' | grep -q 6831; }
all_watch() { for node in n1 n2 n3 n4 n5; do watches $node || return 1; done; }
on() { # NODE COMMAND...
  local node=$1
  shift
  "$sickbay" lab exec -l "$lab" --node "$node" -- "$@"
}
state_of() { ctl sinfo -h -N -n "$1" -o %T | head -n 1; }
is_down() { state_of "$1" | grep -q '^down'; }
nothing_for() { not_for "$1" has node_silent; } # SECONDS

job=$("$sickbay" lab exec -l "$lab" --user alice -- sbatch --parsable --no-kill -N5 -o /dev/null --wrap 'sleep 600')
runs() { [ "$(ctl squeue -h -j "$job" -o %T)" = RUNNING ]; }
until_true "the job runs" runs
agent=$(on n1 pgrep -xo sickbay-agent)
spent() { on n1 cut -d' ' -f1 "/proc/$agent/schedstat"; } # ns of its loop
before=$(spent)
nothing_for 5 || fail "somebody is complained of before anybody asked for it"
alone=$(($(spent) - before))
ask_detect "$job" fast >/dev/null || fail "fast detection cannot be asked for"
until_true "the nodes watch each other" all_watch
before=$(spent)
holds "nobody is complained of" nothing_for 5
together=$(($(spent) - before))
echo "n1's agent: $((alone / 1000)) us of 5 s without a group, $((together / 1000)) us with one of five"

# --- slow and cut off: no alarm
for program in slurmd sickbay-agent; do
  pid=$(on n2 pgrep -xo "$program") || { fail "no $program on n2"; continue; }
  # By one command there: what a busy machine takes to begin another one would be a part of the pause.
  on n2 bash -c "kill -STOP $pid; read -rt 2 <> <(:); kill -CONT $pid"
  holds "a $program that stood still for 2 s is no lost node" nothing_for 4
done
"$sickbay" lab fault -l "$lab" n3 partition=ctl >/dev/null
holds "a node that is cut off from sickbayd alone is no lost node" nothing_for 8
"$sickbay" lab heal -l "$lab" n3 >/dev/null
is_down n3 && fail "n3 is down"

# --- killed, and another one as soon as the first is DOWN: it dies while the group is made anew
began=$(date +%s%N)
"$sickbay" lab fault -l "$lab" n4 crash >/dev/null
crashed=$(date +%s%N)
checks=$((checks + 1))
within 20 is_down n4 || fail "a killed node is not DOWN: $(state_of n4)"
ended=$(date +%s%N)
"$sickbay" lab fault -l "$lab" n5 crash >/dev/null
echo "n4 DOWN $(((ended - crashed) / 1000000)) ms after its end ($(((ended - began) / 1000000)) ms after it began)"
set_by_us() { journal_of 'done' | grep -q "\"node:$1\".*\"set_down\""; }
goes_on() { [ "$(ctl squeue -h -j "$job" -o %D)" = 3 ]; }
until_true "it was set DOWN by us" set_by_us n4
until_true "the second one is set DOWN by us" set_by_us n5
until_true "the job goes on without them" goes_on
finish
