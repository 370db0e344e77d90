#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Recoveries of jobs on a real Slurm: a job begins anew, once, on other nodes than the one that is to blame; at the word of
# an operator while it runs and when it has ended, and by `sickbay submit --recover` when its case has blamed a node.
# And jobs that Slurm itself puts back for their exit code, and holds.
#   requeue.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: requeue.sh BUILD}")
programs=$(realpath "$(dirname "$0")/../../demo/programs")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
patience=300 # Slurm lets a job that was requeued wait for two minutes
lab_up --nodes 6 --spares 0 --cpus 2

batch() { as alice "sbatch --parsable -o /dev/null $*"; }                       # OPTIONS...: prints the job id
recover() { ctl "$sickbay" recover "$@"; }
last() { recover --show --json | jq -r ".items[-1] | $1"; } # FILTER
over() { [ "$(last .open)" = false ]; }
first_node() { ctl scontrol show hostnames "$(job_field "$1" NodeList)" | head -n1; }
avoids() { ! ctl scontrol show hostnames "$(job_field "$1" NodeList)" | grep -qx "$2"; } # JOB NODE
refused() { # WHAT TEXT COMMAND...
  local what=$1 text=$2
  shift 2
  checks=$((checks + 1))
  if "$@" >"$folder/out" 2>"$folder/err"; then fail "$what"; fi
  grep -q -- "$text" "$folder/err" || { fail "$what: not '$text'"; cat "$folder/err"; }
}

# --- a job that runs
job=$(batch "-N2 -t 20 --requeue --wrap 'sleep 900'")
until_true "the job runs" job_is "$job" JobState RUNNING
bad=$(first_node "$job")
holds "a plan for a job" recover job "$job" --node "$bad" --plan
holds "nothing was done" job_is "$job" Restarts 0
refused "a node that is not the job's" "is not a node of job" recover job "$job" --node n6
as_alice() { as alice "$sickbay recover job $job"; }
checks=$((checks + 1))
! as_alice >/dev/null 2>&1 || fail "an ordinary user has a job requeued"
holds "the job is put back" recover job "$job" --node "$bad" --wait
holds "once" job_is "$job" Restarts 1
holds "kept away from the node" job_is "$job" ExcNodeList "$bad"
holds "as its owner's" test "$(job_field "$job" UserId | cut -d'(' -f1)" = alice
refused "it waits" "waits in the queue" recover job "$job"
until_true "it runs anew" job_is "$job" JobState RUNNING
holds "on other nodes" avoids "$job" "$bad"

# --- sickbayd is killed in the midst
bad=$(first_node "$job")
recover job "$job" --node "$bad" >/dev/null || fail "a second recovery begins"
restart ctl sickbayd
until_true "it comes to its end" over
holds "it is cured" test "$(last .outcome)" = cured
holds "the job was put back once" job_is "$job" Restarts 2
ctl scancel "$job"

# --- jobs that have ended
job=$(batch "-N1 -t 5 --requeue --wrap 'exit 3'")
until_true "the job fails" job_is "$job" JobState FAILED
bad=$(first_node "$job")
holds "a job that has failed is put back" recover job "$job" --node "$bad" --wait
holds "once" job_is "$job" Restarts 1
holds "kept away from the node" job_is "$job" ExcNodeList "$bad"
ctl scancel "$job"

# --- what Slurm does not do
job=$(batch "-N6 -t 20 --requeue --wrap 'sleep 900'")
until_true "the job runs" job_is "$job" JobState RUNNING
holds "a job that has all nodes is put back" recover job "$job" --node n3 --wait
holds "and may get the node again: else Slurm would hold it" job_is "$job" ExcNodeList "(null)"
holds "that is told" test "$(last '.why | test("may get n3 again")')" = true
ctl scancel "$job"
job=$(batch "-N1 -t 20 --no-requeue --wrap 'sleep 900'")
until_true "the job runs" job_is "$job" JobState RUNNING
checks=$((checks + 1))
! recover job "$job" --wait >/dev/null 2>&1 || fail "a job that may not be requeued is"
holds "it runs on" job_is "$job" JobState RUNNING
ctl scancel "$job"

# --- at its owner's word: the case blames n2, and the job begins anew without it
idle() { [ "$(ctl sinfo -h -N -o '%T' | sort -u)" = idle ]; }
until_true "all nodes are free" idle
"$sickbay" lab fault -l "$lab" n2 rank-kill=SIGBUS >/dev/null
refused "beside --no-requeue" "does not go with" as alice "$sickbay submit --recover --no-requeue -N2 $programs/healthy.sh 20"
job=$(as alice "$sickbay submit --parsable --recover -N2 -t 5 $programs/healthy.sh 20" 2>"$folder/submit.err")
# (Its first run may be over within a second; asked is of the case, which knows it afterwards, too.)
rc=0
as alice "timeout 280 $sickbay why --wait c1" >"$folder/why.txt" 2>&1 || rc=$?
holds "n2 is blamed" test "$rc" = 11
holds "it ran on n1 and n2, the first that are free" says c1 '[.runs[] | select(.kind == "program")][0].nodes == "n[1-2]"'
by_owner() { last .fault.source | grep -q '^c' && over; }
until_true "a recovery comes of the case" by_owner
holds "it is cured" test "$(last .outcome)" = cured
holds "the job was put back once" job_is "$job" Restarts 1
holds "kept away from n2" job_is "$job" ExcNodeList n2
anew() { job_is "$job" JobState RUNNING || job_is "$job" JobState COMPLETED; }
until_true "it runs anew" anew
holds "not on n2" avoids "$job" n2
until_true "and completes" job_is "$job" JobState COMPLETED
until_true "a case of its own says that all is well" says "$job" '.resumes == "c1" and .verdict.cause == "normal"'
nothing_held() { ctl "$sickbay" nodes --json | jq -e '[.. | objects | .claim? | objects | select(.holder == "recover")] | length == 0'; }
until_true "nothing stays claimed" nothing_held

# --- a site that has jobs held for their exit code: the run has failed, and its owner releases the job; what Sickbay ran
# beside it is taken away
"$sickbay" lab heal -l "$lab" n2 >/dev/null || true
ctl scontrol update nodename=n2 state=resume || true
sed -i '1a RequeueExitHold=7' "$folder/etc/slurm.conf"
ctl scontrol reconfigure
until_true "all nodes are free" idle
printf '#!/bin/sh\nsrun sleep 2\nexit 7\n' >"$folder/home/alice/seven.sh"
chmod 644 "$folder/home/alice/seven.sh"
job=$(as alice "$sickbay submit --parsable -N1 -t 5 seven.sh" 2>"$folder/submit.err")
until_true "Slurm holds it" job_is "$job" JobState SPECIAL_EXIT
until_true "the program is the cause" says "$job" '.verdict.final and .verdict.cause == "a"'
holds "its exit code" says "$job" '[.runs[] | select(.kind == "program") | .exit_code] == [7, 7]'
holds "its owner is told what releases it" says "$job" '[.notes[] | select(test("exit code 7, for which this site holds jobs"))] | length == 1'
only_his() { [ "$(ctl squeue -h -a -u alice -o %i)" = "$job" ]; }
until_true "of alice's jobs that one alone is left in the queue" only_his
as alice "$sickbay why $job" || true
ctl scancel "$job"
finish
