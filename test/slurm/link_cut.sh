#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All packets between two good nodes are dropped, and a job runs on both: its srun cannot launch on the other one.
# The link is named, and neither node is blamed or drained.
#   link_cut.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: link_cut.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
SECONDS=0
lab_up --nodes 6 --spares 0 --cpus 2 --no-agents

as alice "printf '#!/bin/sh\nsrun hostname\n' >hello.sh; chmod +x hello.sh"
"$sickbay" lab fault -l "$lab" n1 partition=n6 >/dev/null
job=$(as alice "$sickbay submit --parsable -N2 -t 5 -w n1,n6 hello.sh" 2>/dev/null)
as alice "timeout 500 $sickbay why --wait $job" >"$folder/why.txt" 2>&1 || true
page "$job"
# The case is closed a moment after its verdict.
for filter in '.verdict.final' '.verdict.cause == "b"' '.verdict.nodes == []' \
  '.verdict.sentence | contains("between n1 and n6")' \
  '[.verdict.faulty[] | select(.drains)] == []' \
  '[.verdict.why[] | select(contains("passed on n[1"))] | length > 0'; do
  holds "$filter" jq -e "$filter" "$folder/why.json"
done
holds "no node is out of service" sh -c "! '$sickbay' lab exec -l '$lab' -- sinfo -h -N -t down,drain -o %N | grep -q ."
[ "$failures" = 0 ] || { cat "$folder/why.txt"; jq .verdict "$folder/why.json" || true; }
jq -r .verdict.sentence "$folder/why.json"
finish
