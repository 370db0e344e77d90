#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nodes that must not be blamed on a real Slurm, with automatic drains on: one whose /tmp a user has filled under a program that
# fails everywhere, and one that an operator sets DOWN under a job.
#   spared.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: spared.sh BUILD}")
programs=$(realpath "$(dirname "$0")/../../demo/programs")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 6 --spares 0 --cpus 2
patience=180

submit() { as alice "$sickbay submit --parsable -o /dev/null $*"; }
# ends WHAT JOB FILTER...: its case is closed, and each filter holds of its page.
ends() {
  local filter
  checks=$((checks + 1))
  within "$patience" says "$2" '.state == "closed"' || fail "$1: still open"
  for filter in "${@:3}"; do
    checks=$((checks + 1))
    says "$2" "$filter" || { fail "$1: not so: $filter"; cat "$folder/why.json" "$folder/why.err" || true; }
  done
  jq -r '"\(.verdict.cause) \(.verdict.confidence) rule \(.verdict.rule): \(.verdict.sentence)"' "$folder/why.json"
}
reason_of() { ctl sinfo -h -n "$1" -o %E; }
set_site '{drain: {act: true}}'

# --- a full /tmp, and a program that exits with 3 everywhere
"$sickbay" lab fault -l "$lab" n2 disk-full >/dev/null
bug=$(submit -N2 -t 5 -w "'n[1-2]'" "$programs/exit_code.sh 3")
ends "the program is the cause, though n2 is full" "$bug" '.verdict.cause == "a"' '(.verdict.nodes // []) == []' \
  '[.verdict.faulty[] | select(.node == "n2")] | length == 1 and (.[0].drains | not)'
checks=$((checks + 1))
[ "$(reason_of n2)" = none ] || fail "n2 was taken out of service: $(reason_of n2)"

# --- an operator's DOWN
# (With the right to be requeued Slurm would have it wait for n6, which it names.)
taken=$(submit --no-requeue -N2 -t 5 -w "'n[5-6]'" "$programs/healthy.sh 60")
until_true "the job runs" runs "$taken"
ctl scontrol update nodename=n6 state=down reason="'fan 3 is exchanged'"
ends "a person's DOWN is nobody's fault" "$taken" '.verdict.cause == "cancelled"' '(.verdict.nodes // []) == []' \
  '(.verdict.faulty // []) == []' '[.runs[] | select(.kind == "program")] | length == 1' \
  '[.verdict.why[] | select(test("set DOWN by a person .*fan 3"))] | length == 1'
checks=$((checks + 1))
[[ $(reason_of n6) == *fan* ]] || fail "the operator's reason is gone: $(reason_of n6)"

finish
