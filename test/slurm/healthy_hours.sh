#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For hours: a healthy cluster with jobs of two users all the time, diagnosed by the shipped rules, by day and by night
# (the shipped night period, moved so that it begins and ends within the test).  Nothing may be found, no node may
# leave, no job may fail, and no minute may pass without a quick look at each node.
# By hand, not part of `make test`; a busy machine is no excuse:
#   healthy_hours.sh BUILD [SECONDS = 7200]
set -euo pipefail
build=$(realpath "${1:?usage: healthy_hours.sh BUILD [SECONDS]}")
most=${2:-7200}
here=$(dirname "$(realpath "$0")")
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
lab_up --nodes 4 --spares 0 --cpus 2
nodes=(n1 n2 n3 n4)

# --- the night: the second third of the test
begins=$(date -d "now + $((most / 3)) seconds" +%H:%M) ends=$(date -d "now + $((most * 2 / 3)) seconds" +%H:%M)
for node in "${nodes[@]}"; do
  etc=$(root_of "$node")/etc/sickbay
  mkdir -p "$etc/shifted"
  sed "s/\"night\": {\"from\": \"02:00\", \"to\": \"04:00\"/\"night\": {\"from\": \"$begins\", \"to\": \"$ends\"/" \
    "$here/../../rules/node.json" >"$etc/shifted/node.json"
  grep -q "\"from\": \"$begins\"" "$etc/shifted/node.json" || { fail "the shipped night period is another one now"; exit 1; }
  jq --arg folder "$etc/shifted" '. + {rules: {folders: [$folder]}}' "$etc/agent.json" >"$etc/agent.json.new"
  mv "$etc/agent.json.new" "$etc/agent.json"
  restart "$node" sickbay-agent
done
all_present() { [ "$(ctl "$sickbay" nodes --json | jq '[.items[] | select(.agent.present)] | length')" = 4 ]; }
until_true "all agents have said hello" all_present

# --- jobs: some compute, some wait; n4 is idle most of the time
from=$(date +%s) jobs=0
RANDOM=${SEED:-1}
while [ $(($(date +%s) - from)) -lt "$most" ]; do
  user=$([ $((RANDOM % 2)) = 0 ] && echo alice || echo bob)
  case $((RANDOM % 4)) in
    0) what="timeout $((5 + RANDOM % 20)) sh -c \"while :; do :; done\"; true" ;;
    1) what="sleep $((5 + RANDOM % 30))" ;;
    2) what="dd if=/dev/zero of=/tmp/\$SLURM_JOB_ID bs=1M count=64 2>/dev/null; rm /tmp/\$SLURM_JOB_ID" ;;
    3) what="srun sleep $((1 + RANDOM % 10))" ;;
  esac
  as "$user" "sbatch -Q -N$((1 + RANDOM % 3)) -x n4 -t 5 -o /dev/null --wrap '$what'" && jobs=$((jobs + 1))
  [ $((RANDOM % 20)) != 0 ] || as "$user" "sbatch -Q -w n4 -t 5 -o /dev/null --wrap 'sleep 20'" || true
  within $((10 + RANDOM % 20)) false || true # (until_true's pace)
  note_load
done

# --- what became of it
# (A test of a node at night ends where a job begins: that is told as unknown, and is no fault.)
found() { ctl "$sickbay" journal --json | jq -c "select(.kind == \"finding\" and .body.result == \"$1\") | .body | {node, rule, text}"; }
found unknown
found fault >"$folder/found"
checks=$((checks + 1))
[ ! -s "$folder/found" ] || fail "found: $(head -n 20 "$folder/found")"
out_of_service() { ctl sinfo -h -N -t drain,down -o %N | grep -q .; }
checks=$((checks + 1))
! out_of_service || fail "nodes are out of service: $(ctl sinfo -h -R)"
failed() { ctl sacct -a -X -n -S "@$from" -s F,NF,OOM,TO -o JobID,State,ExitCode 2>/dev/null || ctl sacct -a -X -n -s F,NF,OOM,TO -o JobID,State,ExitCode; }
checks=$((checks + 1))
[ -z "$(failed)" ] || fail "jobs failed: $(failed | head -n 5)"
for node in "${nodes[@]}"; do
  # L of each run, of all its files.
  cat "$(root_of "$node")"/var/lib/sickbay-agent/journal.log* | jq -c 'select(.specification == "node")' >"$folder/runs.$node"
  looks=$(jq -s '[.[] | select(.mode == "quick" and .whole) | .at] | sort | {n: length, longest_s: ([range(1; length) as $i | .[$i] - .[$i - 1]] | (max // 0) / 1000000)}' "$folder/runs.$node")
  deep=$(jq -s '[.[] | select(.mode == "deep" and .whole)] | length' "$folder/runs.$node")
  echo "$node: $(jq -r '"\(.n) quick looks, at most \(.longest_s | floor) s apart"' <<<"$looks"), $deep deep ones"
  checks=$((checks + 2))
  # (The longest pause between two looks that begin on the minute, one of them late by less than another.)
  jq -e --argjson most "$most" '.n >= $most / 60 - 2 and .longest_s < 120' <<<"$looks" >/dev/null || fail "$node: a minute was missed"
  [ "$deep" -gt 0 ] || [ "$node" != n4 ] || fail "$node was idle at night, and not looked at deeply"
done
echo "healthy_hours: $jobs jobs; load $(loads)"
finish
