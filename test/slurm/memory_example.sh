#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The paper's memory example on a real cluster: a bank that failed (simulated: no machine of ours has one) and a user's job that
# really takes the memory.  The journal must be the paper's, the job must be gone, and operator and user must be told.
#   memory_example.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: memory_example.sh BUILD}")
source_dir=$(realpath "$(dirname "$0")/../..")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 2 --spares 0
etc=$folder/nodes/n1/root/etc/sickbay

# operation NAME: its text on standard input.
mkdir -p "$etc/rules.d" "$etc/operations.d"
operation() {
  { printf '#!/bin/sh\nexport SLURM_CONF=%s/etc/slurm.conf\n' "$folder"; cat; } >"$etc/operations.d/$1"
  chmod 755 "$etc/operations.d/$1"
}
operation memory_state <<'SH'
# Half of the 8 GiB is gone; the rest is full where a user's process holds over 300 MiB.
largest=$(ps -eo rss=,user= | awk '$2 == "alice" && $1 > most { most = $1 } END { print most + 0 }')
if [ "$largest" -gt 307200 ]; then used=100; else used=40; fi
echo "{\"outputs\": {\"total\": 4294967296, \"used_percent\": $used}}"
SH
operation memory_bank <<'SH'
echo '{"outputs": {"bank": 2}}'
SH
operation memory_job_cancel <<'SH'
job=$(squeue -h -t running -w n1 -o %i | head -n 1)
if [ -n "$job" ] && scancel "$job"; then echo '{"outputs": {"cancelled": true}}'; else echo '{"outputs": {"cancelled": false}}'; fi
SH
operation memory_job_gone <<'SH'
for look in $(seq 100); do
  if [ -z "$(squeue -h -w n1 -o %i)" ]; then echo '{"outputs": {"gone": true}}'; exit 0; fi
  sleep 0.2
done
echo '{"outputs": {"gone": false}}'
SH
cp "$source_dir/rules/examples/memory.json" "$etc/rules.d/memory.json"
jq '. + {repair: {allowed: true}, rules: {folders: ["'"$etc"'/rules.d"]}}' "$etc/agent.json" >"$etc/new" && mv "$etc/new" "$etc/agent.json"

"$sickbay" lab exec -l "$lab" --user alice -- sh -c \
  'cd; sbatch -Q -t 5 -w n1 --wrap "python3 -c \"import time; b = bytearray(400 << 20); time.sleep(200)\""' >/dev/null
for ((i = 0; i < 150; i++)); do
  [ "$(ps -eo rss=,args= | awk '/bytearray.400/ && $1 > 307200' | wc -l)" -gt 0 ] && break
  sleep 0.2
done
restart n1 sickbay-agent  # rules are read at the start

view=$(ctl timeout 60 "$sickbay" diagnose n1 --repair --json || true)
run=$(jq -c '[.. | objects | select(.specification? == "memory_example" and (.journal? | type) == "array")][0]' <<<"$view")
# The period's own run may have come first and cancelled the job: the agent's journal has them all.
line=$(jq -c 'select(.specification == "memory_example" and (.journal | map(.name) | index("f5")))' "$folder/nodes/n1/root/var/lib/sickbay-agent/journal.log" | head -n 1)
holds "a run cancelled the job: $run" test -n "$line"
line=${line:-'{"journal": []}'}
jq -r '.journal[] | select(.kind == "predicate" or .kind == "operation") | "\(.step)  \(.kind)  \(.name)  \(.text)"' <<<"$line"
names=$(jq -r '[.journal[] | select(.kind == "predicate" or .kind == "operation") | .name] | join(" ")' <<<"$line")
holds "the journal is the paper's: $names" test "$names" = "c0 f1 c1 c3 f4 f2 c2 f3 f5 c4 f6"
holds "the job is gone" test -z "$(ctl squeue -h)"
told=$(ctl "$sickbay" journal --json | jq -r 'select(.kind == "finding" and .body.specification == "memory_example" and .body.action == "notify" and .body.result == "fault") | .body.to' | sort -u | tr '\n' ' ')
holds "operator and user were told: $told" test "$told" = "operator user "
finish
