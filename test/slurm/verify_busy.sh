#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Is the verification program to be believed on a busy machine?  Healthy nodes are verified beside busy processes, and
# none may be called slow or failed; then a node gets a real loss of packets or a limit of its processor, and must be.
# In `make test` a few of them; in full it keeps the machine busy for minutes.
#   verify_busy.sh BUILD [VERIFICATIONS = 20] [LOAD = 8] [NODES = 8]
set -euo pipefail
build=$(realpath "${1:?usage: verify_busy.sh BUILD [VERIFICATIONS] [LOAD] [NODES]}")
times=${2:-20} load=${3:-8} nodes=${4:-8}
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
# shellcheck source=test/slurm/verify.inc
. "$(dirname "$(realpath "$0")")/verify.inc"
busy=()
clean_up() { [ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null || true; }
lab_up --nodes "$nodes" --spares 0 --no-agents
for ((i = 0; i < load; i++)); do
  (while :; do :; done) &
  busy+=($!)
done

unsure='[.nodes[] | select(.result == "unknown") | .node] | join(" ")'

wrong=0 unknown=0
for ((i = 1; i <= times; i++)); do
  verify "healthy$i"
  checks=$((checks + 1))
  bad=$(bad_in "healthy$i")
  [ -z "$bad" ] || { wrong=$((wrong + 1)); fail "healthy $i: $(of_report "healthy$i" .summary)"; of_report "healthy$i" '.nodes[], .links[] | .reason'; }
  [ -z "$(of_report "healthy$i" "$unsure")" ] || unknown=$((unknown + 1))
done
echo "verify_busy: $times healthy verifications at load $(cut -d' ' -f1 /proc/loadavg): $wrong slow or failed, $unknown with a node unknown"

sick=n3
for fault in loss=1% loss=5% loss=10% cpu=90% cpu=70% cpu=50%; do
  "$sickbay" lab fault -l "$lab" "$sick" "$fault" >/dev/null
  verify "$fault"
  "$sickbay" lab heal -l "$lab" "$sick" >/dev/null
  checks=$((checks + 1))
  bad=$(bad_in "$fault")
  # Its node, or no links but its own.
  if [ -n "$bad" ] && [ -z "$(but_of "$sick" <<<"$bad")" ]; then
    echo "verify_busy: $fault found: ${bad//$'\n'/ }"
  else
    fail "$fault on $sick: found '${bad//$'\n'/ }': $(of_report "$fault" .summary)"
  fi
done
finish
