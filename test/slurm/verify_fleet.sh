#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A round of verification of idle nodes on a real Slurm: who would be taken, who may ask, a healthy round, one with a
# node at half speed, sickbayd killed in the midst of one, and one that users' jobs end.
#   verify_fleet.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: verify_fleet.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
SECONDS=0
lab_up --nodes 5 --spares 0 --cpus 1 --no-agents
# 20 % of five nodes is one at a time; here two may be out.
set_site '{patrol: {fresh: "1s"}, drain: {most_out_percent: 40}}'
until_true "sickbayd answers" ctl "$sickbay" status

round() { ctl "$sickbay" verify --fleet --show --json; }
round_is() { round | jq -e "$1" >/dev/null; }
verified() { # NODE FILTER
  ctl "$sickbay" nodes --json | jq -e ".items[] | select(.name == \"$1\") | .verified | $2" >/dev/null
}
nothing_claimed() { ctl "$sickbay" nodes --json | jq -e '[.items[] | select(.claim != null)] | length == 0' >/dev/null; }
nothing_queued() { [ -z "$(ctl squeue -h)" ]; }

ctl "$sickbay" verify --fleet --dry-run
holds "alice may not ask" sh -c "! '$sickbay' lab exec -l '$lab' --user alice -- '$sickbay' verify --fleet"
code=0
ctl timeout 400 "$sickbay" verify --fleet --wait >"$folder/round1" 2>&1 || code=$?
cat "$folder/round1"
holds "a healthy round ends with 0" [ "$code" = 0 ]
for node in n1 n2 n3 n4 n5; do holds "$node is verified" verified "$node" '.result == "ok"'; done
holds "nothing stays claimed" nothing_claimed

"$sickbay" lab fault -l "$lab" n3 cpu=50% >/dev/null
ctl timeout 400 "$sickbay" verify --fleet --wait 'n[2-3]' >"$folder/round2" 2>&1 || true
cat "$folder/round2"
holds "the node at half speed is told" verified n3 '.result == "slow"'
holds "its neighbour is not" verified n2 '.result == "ok"'
holds "nobody is drained for it" sh -c "! '$sickbay' lab exec -l '$lab' -- sinfo -h -N -t drain -o %N | grep -q ."
"$sickbay" lab heal -l "$lab" n3 >/dev/null

# sickbayd dies while V runs: the round goes on where it was, with the same job.
ctl "$sickbay" verify --fleet
until_true "V of the third round runs" sh -c "'$sickbay' lab exec -l '$lab' -- squeue -h -t R | grep -q ."
restart ctl sickbayd
until_true "the round comes to its end" round_is '.round.open | not'
for node in n1 n2 n3 n4 n5; do holds "$node is verified after sickbayd's death" verified "$node" '.result == "ok"'; done
holds "nothing stays claimed after it" nothing_claimed
until_true "and no job is left" nothing_queued

# A user's job wants all nodes: V gives way.
ctl "$sickbay" verify --fleet
until_true "V of the fourth round runs" sh -c "'$sickbay' lab exec -l '$lab' -- squeue -h -t R | grep -q ."
job=$(as alice "sbatch --parsable -N5 -t 5 -o /dev/null --wrap 'sleep 1'")
ended() { [ "$(ctl sacct -X -n -P -j "$job" -o State)" = COMPLETED ]; }
until_true "alice's job ran" ended
ctl "$sickbay" verify --fleet --stop
until_true "the round is over" round_is '.round.open | not'
holds "it is over when asked again" ctl "$sickbay" verify --fleet --stop
until_true "nothing stays claimed at the end" nothing_claimed
until_true "no job is left at the end" nothing_queued
ctl "$sickbay" nodes
finish
