#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Why a job waits, on a real Slurm: jobs of plain sbatch that wait for each of the usual reasons, what `sickbay why`
# says of them, and that what it tells people to do lets them run.
#   pending.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: pending.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 4 --spares 0 --cpus 2 --no-agents

as() { "$sickbay" lab exec -l "$lab" --user "$1" -- sh -c "cd; ${*:2}"; }
# job OPTIONS...: alice's own sbatch; prints the id.
job() { as alice "sbatch --parsable -o /dev/null $* --wrap 'sleep 600'"; }
cancel_all() { ctl scancel -u alice && until_true "no job of alice is left" no_jobs; }
no_jobs() { [ -z "$(ctl squeue -h -u alice)" ] && [ -z "$(ctl sinfo -h -p main -t alloc,mix,comp -o %D)" ]; }
# answers CODE JOB FILTER...: `why` ends with that code, and each filter holds of its JSON (kept in $folder/why.json).
answers() {
  local code=$1 id=$2 got=0 filter
  as alice "$sickbay why --json $id" >"$folder/why.json" 2>"$folder/why.err" || got=$?
  [ "$got" = "$code" ] || return 1
  for filter in "${@:3}"; do jq -e "$filter" "$folder/why.json" >/dev/null || return 1; done
}
# explains WHAT CODE JOB REASON RULE FILTER...: within $patience, for the scheduler looks every few seconds.
explains() {
  checks=$((checks + 1))
  if within "$patience" answers "$2" "$3" ".reason == \"$4\"" ".reasons[0].code == \"$5\"" "${@:6}"; then
    printf '%-28s %s\n' "$4" "$(jq -r .sentence "$folder/why.json")"
  else
    fail "$1"
    cat "$folder/why.err" "$folder/why.json" || true
    ctl scontrol show job "$3" || true
  fi
}
# follow_advice WHAT JOB: runs, as alice, the first command that the first remedy names; "the" job then starts.
follow_advice() {
  local advice
  advice=$(jq -r '.reasons[0].remedy' "$folder/why.json" | sed -n "s/[^']*'\([^']*\)'.*/\1/p")
  echo "    \$ $advice"
  as alice "$advice" || fail "$1: the advice fails: $advice"
  checks=$((checks + 1))
  within "$patience" runs "$2" || { fail "$1: it does not run when the advice is followed"; ctl scontrol show job "$2"; }
}
# says CODE USER JOB TEXT: the page, or the error.
says() {
  local code=0
  checks=$((checks + 1))
  as "$2" "$sickbay why $3" >"$folder/out" 2>&1 || code=$?
  { [ "$code" = "$1" ] && grep -q -- "$4" "$folder/out"; } ||
    { fail "'why $3' of $2: exit code $code, not $1 with '$4'"; cat "$folder/out"; }
}

# --- held, later, after another
held=$(job -H -N1 -t 5)
explains "a job that its owner holds" 21 "$held" JobHeldUser slurm_reason '.reasons[0].who == "user"' '.facts.held'
after=$(job -N1 -t 5 -d "afterok:$held")
explains "a dependency" 20 "$after" Dependency dependency ".sentence | test(\"job $held has ended without an error\")"
begin=$(job -N1 -t 5 --begin=now+1hour)
explains "a begin time" 20 "$begin" BeginTime slurm_reason '.sentence | test("not to start before 20")'
follow_advice "a begin time" "$begin"
says 66 alice "$begin" 'does not wait: it is RUNNING'
ctl scancel "$held"
explains "a dependency that cannot be met" 21 "$after" DependencyNeverSatisfied dependency
as alice "$sickbay why $after" >"$folder/out" 2>&1 || true
checks=$((checks + 1))
grep -q "What would let it run" "$folder/out" || { fail "the page lacks its heading"; cat "$folder/out"; }
operator_held=$(job -H -N1 -t 5)
ctl scontrol hold "$operator_held"
explains "a job that an operator holds" 21 "$operator_held" JobHeldAdmin slurm_reason '.reasons[0].who == "operators"'
cancel_all

# --- nodes in use; who may ask
full=$(job -N4 --exclusive -t 10)
until_true "a job has all nodes" runs "$full"
first=$(job -N2 --exclusive -t 10)
explains "nodes in use" 20 "$first" Resources busy '.sentence | test("of the 4 that fit 0 are idle, 4 are in use")' '.expected_start > 0'
second=$(job -N2 --exclusive -t 10)
explains "a turn in the queue" 20 "$second" Priority turn
says 77 bob "$first" 'belongs to another user'
says 77 bob "$full" 'belongs to another user'
says 20 root "$first" 'of the 4 that fit'
says 66 alice 99999 "no case knows job '99999'"
cancel_all

# --- an array that throttles itself
array=$(job --array=1-3%1 -N1 -t 5)
explains "an array's own limit" 20 "$array" JobArrayTaskLimit slurm_reason '.sentence | test("runs 1 of its tasks")'
cancel_all

# --- out of service
ctl scontrol update nodename=n2 state=drain reason='disk exchange'
named=$(job -w n2 -t 5)
explains "a named node that is drained" 20 "$named" ReqNodeNotAvail required_out '.sentence | test("n2 is drained \\(disk exchange\\)")' '.reasons[0].who == "operators"'
follow_advice "a named node that is drained" "$named"
cancel_all
most=$(job -N4 -t 5)
checks=$((checks + 1))
within "$patience" answers 20 "$most" '.reasons[0].code == "out_of_service"' '.sentence | test("n2 is drained \\(disk exchange\\)")' ||
  { fail "more nodes than are in service"; cat "$folder/why.json"; }
printf '%-28s %s\n' "$(jq -r .reason "$folder/why.json")" "$(jq -r .sentence "$folder/why.json")"
ctl scontrol update nodename=n2 state=resume
until_true "it runs when the node is back" runs "$most"
cancel_all

# --- a reservation ahead, and one that is there
ctl scontrol create reservation reservationname=maint starttime=now+20minutes duration=60 nodes=ALL users=root flags=maint >/dev/null
long=$(job -N2 -t 60)
checks=$((checks + 1))
if within "$patience" answers 20 "$long" '.reasons[0].code == "reservation_ahead"' '.sentence | test("reservation maint takes n\\[1-4\\]")'; then
  printf '%-28s %s\n' "$(jq -r .reason "$folder/why.json")" "$(jq -r .sentence "$folder/why.json")"
  follow_advice "a reservation ahead" "$long"
else
  fail "a reservation ahead"
  cat "$folder/why.json"
fi
cancel_all
ctl scontrol delete reservationname=maint
ctl scontrol create reservation reservationname=now starttime=now duration=60 nodes='n[1-3]' users=root >/dev/null
two=$(job -N2 -t 5)
checks=$((checks + 1))
if within "$patience" answers 20 "$two" '.reasons[0].code == "reserved_now"' '.sentence | test("reservation now holds n\\[1-3\\] until")'; then
  printf '%-28s %s\n' "$(jq -r .reason "$folder/why.json")" "$(jq -r .sentence "$folder/why.json")"
else
  fail "a reservation that is there"
  cat "$folder/why.json"
fi
sed -i '1a PrivateData=reservations' "$folder/etc/slurm.conf"
ctl scontrol reconfigure
is_private() { answers 20 "$two" '.sentence | test("a reservation holds n\\[1-3\\] until")' && ! grep -q '"now"' "$folder/why.json"; }
until_true "where reservations are private, their names are not told" is_private
says 20 root "$two" 'reservation now holds'
ctl scontrol delete reservationname=now
until_true "it runs when the reservation is gone" runs "$two"
cancel_all

# --- what a partition allows (the limits come after the jobs: sbatch would refuse these)
time_job=$(job -H -N1 -t 120) node_job=$(job -H -N3 -t 5) down_job=$(job -H -N1 -p small -t 5)
ctl scontrol update partitionname=main maxtime=60
as alice "scontrol release $time_job"
explains "a time limit over the partition's" 21 "$time_job" PartitionTimeLimit partition_time '.sentence | test("asks for 2 h, and partition main allows 1 h")'
follow_advice "a time limit over the partition's" "$time_job"
ctl scontrol update partitionname=main maxnodes=2
as alice "scontrol release $node_job"
explains "more nodes than the partition allows" 21 "$node_job" PartitionNodeLimit partition_nodes '.sentence | test("asks for 3 nodes, and partition main allows 2 at most")'
follow_advice "more nodes than the partition allows" "$node_job"
ctl scontrol update partitionname=main maxtime=INFINITE maxnodes=INFINITE
ctl scontrol update partitionname=small state=down
as alice "scontrol release $down_job"
explains "a partition that is down" 21 "$down_job" PartitionDown slurm_reason '.reasons[0].who == "operators"'
ctl scontrol update partitionname=small state=up
cancel_all

# --- what no node is any more
ctl scontrol update nodename='n[3-4]' availablefeatures=gpu activefeatures=gpu
gpu=$(job -H -C gpu -N2 -t 5)
ctl scontrol update nodename=n4 availablefeatures= activefeatures=
as alice "scontrol release $gpu"
explains "a feature that too few nodes have" 21 "$gpu" BadConstraints too_few_fit \
  '.sentence | test("needs 2 nodes with feature gpu, and 1 of the 4 in partition main is what it asks for \\(3 without feature gpu\\)")'
cancel_all

# --- licences
sed -i '1a Licenses=matlab:1' "$folder/etc/slurm.conf"
ctl scontrol reconfigure
license() { job -N1 -t 5 -L matlab:1 >"$folder/license"; }
until_true "there are licences" license
until_true "the licence is taken" runs "$(cat "$folder/license")"
license
explains "a licence that is taken" 20 "$(cat "$folder/license")" Licenses slurm_reason '.sentence | test("matlab:1")'
cancel_all

# --- a case of ours that waits
id=$(as alice "printf '#!/bin/sh\nsleep 1\n' >well.sh; $sickbay submit --parsable -H -N1 -t 5 well.sh" 2>/dev/null)
until_true "a case that waits says why" answers 21 "$id" '.case == "c1"' '.pending.reason == "JobHeldUser"' '.pending.reasons[0].who == "user"'
as alice "$sickbay why c1" >"$folder/out" || true
checks=$((checks + 1))
{ grep -q "^Case c1" "$folder/out" && grep -q "Job $id will not start as it is: its owner holds it." "$folder/out"; } ||
  { fail "the page of a case that waits"; cat "$folder/out"; }
as alice "scontrol release $id"
checks=$((checks + 1))
as alice "timeout 100 $sickbay why --wait $id" >"$folder/out" 2>&1 || { fail "the case does not end"; cat "$folder/out"; }
answers 0 "$id" '.pending == null' || fail "a case that is over is said to wait"

finish
