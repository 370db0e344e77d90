#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A full cluster, a reservation and a failed step on a real Slurm: a program's fault that must wait for its answer and
# gets it, a verification that may not enter a reservation until it is let in, and a step that a script passes over.
#   busy.sh BUILD [SECONDS]     SECONDS: how long the cluster stays full; default 25, and from 600 on by Sickbay's own
#                               defaults (by hand: an hour)
set -euo pipefail
build=$(realpath "${1:?usage: busy.sh BUILD}")
full_s=${2:-25}
programs=$(realpath "$(dirname "$0")/../../demo/programs")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 4 --spares 0 --cpus 2 --no-agents
patience=180

submit() { as alice "$sickbay submit --parsable -o /dev/null $*"; }
# shows WHAT JOB FILTER...: each filter holds of the page within $patience.
shows() {
  local filter
  for filter in "${@:3}"; do
    checks=$((checks + 1))
    within "$patience" says "$2" "$filter" || { fail "$1: not so: $filter"; cat "$folder/why.json" "$folder/why.err" || true; }
  done
}
ends() { shows "$1" "$2" '.state == "closed"' "${@:3}"; }
lines_of() { ctl "$sickbay" journal --json | jq -c "select(.subject == \"$1\" and .kind == \"$2\")" | wc -l; }
# A verification is given up in seconds, as far as it is given up at all.
quick_site='{identify: {verification_wait: "3s", verification_retry: "2s", verification_attempts: 2}}'
[ "$full_s" -ge 600 ] || set_site "$quick_site"

# --- a full cluster: somebody else's job takes all nodes when the failing one ends
# (With an output to read: of ranks that end together srun may have ended one, and the job's code is then 143.)
failing=$(submit -o full.out --exclusive -N2 -t 5 "$programs/exit_code.sh 3")
big=$(as bob "sbatch --parsable --exclusive -N4 -t $((full_s / 60 + 2)) -o /dev/null --wrap 'sleep $full_s'")
until_true "the other job has the cluster" runs "$big"
shows "a provisional answer while all nodes are busy" "$failing" '.verdict.final == false and .verdict.confidence == "low"' \
  '[.under_way[] | select(test("r2 .* waits for free nodes"))] | length == 1' \
  '[.under_way[] | select(test("v1 .* waits for n"))] | length == 1'
page "$failing" && jq -r '.verdict.sentence, .verdict.why[], .under_way[]' "$folder/why.json" | sed 's/^/    /'
patience=$((full_s + 65))
ends "the answer when they are free" "$failing" '.verdict.cause == "a"' '.verdict.confidence == "high"' \
  '[.runs[] | select(.kind == "verification" and .attempt > 1)] | length == 0'
patience=180
case_no=$(jq -r .case "$folder/why.json")
echo "busy: $(jq -r '.verdict.sentence' "$folder/why.json") ($(lines_of "$case_no" verdict) verdict events)"
holds "few verdict events" [ "$(lines_of "$case_no" verdict)" -le 8 ]
[ "$full_s" -lt 600 ] || set_site "$quick_site"

# --- a failed step
step="printf '#!/bin/sh\nsrun sh -c \"kill -SEGV \\\\\$\\\\\$\"\nexit 0\n' >step.sh; chmod +x step.sh"
as alice "$step"
told=$(submit -N1 -t 2 step.sh)
ends "a failed step is told" "$told" '.verdict.cause == "normal"' '.verdict.sentence | test("a step failed with .*SIGSEGV")'
echo "step: $(jq -r .verdict.sentence "$folder/why.json")"
asked=$(submit --steps=fail -N1 -t 2 step.sh)
ends "a failed step is a failure to who asks for it" "$asked" '.verdict.cause == "a"' '.runs[0].symptom == "steps_failed"'

# --- a reservation: its user's second run stays inside, and V may enter when it is let in
ctl scontrol create reservation ReservationName=mine StartTime=now Duration=60 Nodes=n[3-4] Users=alice >/dev/null
reserved() { ctl scontrol show node n3 | grep -q RESERVED; }
until_true "the nodes are reserved" reserved
inside=$(submit -N1 --reservation=mine -t 2 "$programs/exit_code.sh 3")
shows "V is refused in a reservation, and that is said" "$inside" \
  '[.notes[] | select(test("is in reservation mine: the verification may not run there"))] | length >= 1' \
  '[.runs[] | select(.kind == "program")][1] | .state == "FAILED" and (.nodes == "n3" or .nodes == "n4") and .reused == ""'
jq -r '.notes[]' "$folder/why.json" | sed 's/^/    /'
ctl scontrol update reservationname=mine "users+=root" >/dev/null
# (By another argument: the same failure would have the verdict of the case before.)
entered=$(submit -N1 --reservation=mine -t 2 "$programs/exit_code.sh 3 1 entered")
ends "V enters the reservation that its user is let into" "$entered" '.verdict.cause == "a"' \
  '[.runs[] | select(.kind == "verification" and .outcome == "ok")] | length >= 1'

finish
