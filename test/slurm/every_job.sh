#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs without a case on a real Slurm: what `sickbay why` says of those of sbatch, srun and salloc; a case for one that
# has failed; and a node with a read-only scratch, found from what jobs come to: after how many, in a full cluster and in
# one with free nodes, and where all of them are one user's.
#   every_job.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: every_job.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
# shellcheck source=test/slurm/eaten.inc
. "$(dirname "$(realpath "$0")")/eaten.inc"
SECONDS=0
lab_up --nodes 6 --spares 0 --cpus 1
set_site '{identify: {jobs: "all"}}'
until_true "sickbayd answers" ctl "$sickbay" status

# told JOB FILTER: what alice is told of it holds.
told() { as alice "$sickbay why --json $1" >"$folder/told.json" 2>/dev/null || true; [ -s "$folder/told.json" ] && jq -e "$2" "$folder/told.json" >/dev/null; }
plain='.unasked and .verdict.final and .verdict.confidence != "high" and (.verdict.nodes | length) == 0'

# --- plain sbatch, srun, salloc
job=$(as alice "sbatch --parsable -N1 -o /dev/null --wrap 'exit 3'")
until_true "sbatch: an answer" told "$job" "$plain and (.verdict.why | tostring | contains(\"exit code 3\"))"
holds "sbatch: bob is not told" sh -c "! $sickbay lab exec -l $lab --user bob -- $sickbay why $job"
as alice "$sickbay why $job" || true
job=$(as alice "srun -Q -N1 sh -c 'echo \$SLURM_JOB_ID; exit 4' 2>/dev/null" || true)
until_true "srun: an answer" told "$job" "$plain"
job=$(as alice "salloc -Q -N1 sh -c 'echo \$SLURM_JOB_ID; exit 5' 2>/dev/null" || true)
until_true "salloc: an answer" told "$job" "$plain"
holds "salloc: there is no script to try it with" sh -c "! $sickbay lab exec -l $lab --user alice -- $sickbay why -x $job"

# --- a case for a job that has failed
as alice "printf '#!/bin/sh\nsleep 1\nexit 3\n' >fails.sh"
job=$(as alice "sbatch --parsable -N1 -t 5 -o fails.out fails.sh")
until_true "it has failed" told "$job" "$plain"
code=0
as alice "timeout 300 $sickbay why --experiment --wait $job" >"$folder/experiment.txt" 2>&1 || code=$?
checks=$((checks + 1))
[ "$code" = 10 ] || { fail "the experiment ends with $code, not with 10 (the program)"; cat "$folder/experiment.txt"; }
holds "the failed job is its first run" told "$job" '.case and (.runs[0].job_id == '"$job"') and (.runs | length) > 1'

# --- a black hole
submit 4
until_true "all of a healthy time pass" quiet
lose_tmp
for _ in 1 2 3 4 5; do submit 2; done
found() { ctl "$sickbay" nodes --json | jq -e '.items[] | select(.name == "n1") | .service.reasons[] | select(.rule == "black_hole")' >/dev/null; }
patience=240
until_true "the black hole is found" found
lost=$(eaten)
echo "found after $lost jobs"
# (The goal is ten, and it is five to nine where this was measured; a busy machine looks late.)
holds "it has eaten fewer than twenty" test "$lost" -lt 20
ctl "$sickbay" nodes n1 || true
holds "no other node is called one" sh -c "! $sickbay lab exec -l $lab -- $sickbay nodes --json | jq -e '.items[] | select(.name != \"n1\") | .service.reasons[] | select(.rule == \"black_hole\")'"
job=$(failed_on_n1 -u alice -o JobID,JobName | sed -n 's/|work_alice$//p' | tail -1)
until_true "why of a job that died there names the node" told "$job" '.verdict.cause == "b" and .verdict.nodes == ["n1"]'
as alice "$sickbay why $job" || true

# --- the same in a cluster with free nodes
mend
lose_tmp
before=$(eaten)
suspicions() { ctl "$sickbay" journal --json | jq -r .kind | grep -c '^black_hole_suspected$' || true; }
suspected_before=$(suspicions)
one_after_the_other
holds "n1 is told" blamed
lost=$(($(eaten) - before))
echo "told after $lost jobs of a cluster with free nodes"
holds "it has eaten fewer than twenty" test "$lost" -lt 20
holds "since it was under suspicion" test "$(suspicions)" -gt "$suspected_before"
until_true "the round is over" sh -c "$sickbay lab exec -l $lab -- $sickbay verify --fleet --show | tee $folder/round.txt | grep -q 'over, '"
cat "$folder/round.txt"
ctl "$sickbay" nodes n1 || true

# --- one user's jobs alone, in a cluster that they fill
mend
lose_tmp
before=$(eaten)
users=(alice)
submit 90
until_true "V on n1 tells of it" blamed
lost=$(($(eaten) - before))
echo "told after $lost jobs of one user"
ctl "$sickbay" nodes n1 || true
# (Ten to thirteen where nothing else runs; beside others those that pass elsewhere begin late, and n1 eats two in a second.)
holds "long before it has eaten all of them" test "$lost" -lt 45
# (The diagnosis that V's word brings about may have its own reason there by now.)
holds "by V, for one user convicts no node" sh -c "$sickbay lab exec -l $lab -- $sickbay nodes n1 --json | jq -e '.items[0] | ([.service.reasons[].rule] - [\"node/drain_known_good_fails\"] == [\"verdict\"]) and .jobs_fail == null'"
finish
