#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a real Slurm: runs of Sickbay's do a user no harm, and a job under `sickbay submit` behaves as under sbatch.
#   harmless.sh BUILD [CASE...]     CASE: only these (names as below)
# The jobs that wait two minutes for Slurm to start them again are submitted first and looked at last.
set -euo pipefail
build=$(realpath "${1:?usage: harmless.sh BUILD [CASE...]}")
shift
only=" $* "
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
work=$(mktemp -d)
clean_up() { rm -rf "$work"; }
SECONDS=0
lab_up --nodes 6 --spares 0 --cpus 4

# as_alice WORDS: a shell line in the lab, in her home.
as_alice() { "$sickbay" lab exec -l "$lab" --user alice -- sh -c "cd; $*"; }
home=$(as_alice pwd)
wanted() { [ "$only" = "  " ] || [[ $only == *" $1 "* ]]; }
# case_of JOB: the view of its case, in $work/JOB.json.
case_of() { as_alice "$sickbay why --json $1" >"$work/$1.json" 2>/dev/null; }
verdict_of() { as_alice "timeout 500 $sickbay why --wait $1" >"$work/$1.txt" 2>&1 || true; case_of "$1" || true; }
# is JOB WHAT FILTER: a check on the view of its case.
is() {
  checks=$((checks + 1))
  jq -e "$3" "$work/$1.json" >/dev/null 2>&1 || { fail "$2: not so: $3"; cat "$work/$1.txt" || true; }
}
same() { # WHAT GOT WANTED
  checks=$((checks + 1))
  [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"
}
job_of_run() { jq -r ".runs[] | select(.run | endswith(\".$2\")) | .job_id" "$work/$1.json"; }

# --- a job that requeues itself, as users do at the end of their time

requeues_submit() {
  as_alice 'mkdir -p again && cd again && cat >job.sh' <<'SCRIPT'
#!/bin/sh
#SBATCH -N1 -t 5 -J again --open-mode=append
echo "part ${SLURM_RESTART_COUNT:-0}"
echo "part ${SLURM_RESTART_COUNT:-0}" >>parts
[ "${SLURM_RESTART_COUNT:-0}" -ge 1 ] || { scontrol requeue "$SLURM_JOB_ID" && sleep 60; exit 4; }
exit "${1:-0}"
SCRIPT
  good=$(as_alice "cd again && $sickbay submit --parsable job.sh" 2>"$work/good.err")
  bad=$(as_alice "mkdir -p again2 && cd again2 && $sickbay submit --no-rerun --parsable ../again/job.sh 3" 2>"$work/bad.err")
}
requeues_itself() {
  verdict_of "$good"
  is "$good" "requeues itself and completes" '.verdict.cause == "normal"'
  is "$good" "what it was before is kept" '.runs[0].earlier | length == 1'
  same "it ran as under sbatch" "$(as_alice 'cat again/parts' | tr '\n' ' ')" "part 0 part 1 "
  verdict_of "$bad"
  is "$bad" "it fails after its requeue: examined" '.runs[0].outcome == "failed" and .runs[0].exit_code == 3'
  is "$bad" "with a verification of its nodes" '[.runs[] | select(.kind == "verification")] | length >= 1'
}

# --- --wrap, with options that a re-run must not have

wrapped() {
  local job r2
  job=$(as_alice "mkdir -p wrapped && cd wrapped && $sickbay submit --parsable -N1 -t 5 --mail-type=ALL --mail-user=alice --wrap='echo out; exit 3'" 2>"$work/wrapped.err")
  verdict_of "$job"
  is "$job" "--wrap has a second run" '[.runs[] | select(.kind == "program" and .outcome == "failed")] | length == 2'
  is "$job" "--wrap is told from its node" '.verdict.cause == "a"'
  r2=$(job_of_run "$job" r2)
  checks=$((checks + 1))
  as_alice "scontrol show job $r2" >"$work/r2.show"
  ! grep -q '^ *Mail' "$work/r2.show" || { fail "the second run mails: $(grep '^ *Mail' "$work/r2.show")"; }
  checks=$((checks + 1))
  as_alice "scontrol show job $job" | grep -q '^ *MailUser=alice' || fail "the first run lost its mail"
  checks=$((checks + 1))
  grep -q "StdOut=$home/wrapped/sickbay-c[0-9]*/slurm-$r2.out" "$work/r2.show" || fail "the second run's output: $(cat "$work/r2.show")"
}

# --- a burst buffer: refused, with words

burst_buffer() {
  local job
  as_alice 'cat >bb.sh' <<'SCRIPT'
#!/bin/sh
#SBATCH -N1 -t 5
#DW jobdw type=scratch capacity=1GB access_mode=striped
exit 3
SCRIPT
  job=$(as_alice "$sickbay submit --parsable bb.sh" 2>"$work/bb.err")
  verdict_of "$job"
  is "$job" "a burst buffer is not filled a second time" '[.runs[] | select(.kind == "program" and (.reason | test("burst buffer")))] | length == 1'
}

# --- the checkpoint of a chain: the first fails, its successors work on what the file says.
#     (In a copy, or after them: what the second run writes is not in the user's own file.)

checkpoint() {
  as_alice 'mkdir -p chain && cd chain && cat >job.sh' <<'SCRIPT'
#!/bin/sh
#SBATCH -N1 -t 5 -J chain
echo "$SLURM_JOB_ID ${SICKBAY_RUN:-1}" >>checkpoint.dat
sleep 5
[ "$1" != fail ] || exit 3
SCRIPT
  local first second third got
  first=$(as_alice "cd chain && $sickbay submit --parsable --workdir=copy -d singleton job.sh fail" 2>"$work/chain.err")
  second=$(as_alice "cd chain && sbatch --parsable -d singleton job.sh")
  third=$(as_alice "cd chain && sbatch --parsable -d singleton job.sh")
  verdict_of "$first"
  is "$first" "the chain's first is examined" '.verdict.cause == "a"'
  until_true "the chain ends" as_alice "[ -z \"\$(squeue -h -n chain -o %i)\" ]"
  got=$(as_alice 'cat chain/checkpoint.dat' | tr '\n' ';')
  same "the checkpoint is what the user's own jobs wrote" "$got" "$first 1;$second 1;$third 1;"
}

# --- a job that rewrites the input that it names: what its own run wrote is no change by the user

rewrites_input() {
  local job
  as_alice 'mkdir -p rewrites && cd rewrites && echo first >state.dat && cat >job.sh' <<'SCRIPT'
#!/bin/sh
#SBATCH -N1 -t 5 -J rewrites
tee -a state.dat <<END
run ${SICKBAY_RUN:-1}
END
echo "error: cannot go on" >&2
exit 3
SCRIPT
  for how in copy same; do
    job=$(as_alice "cd rewrites && $sickbay submit --parsable --rerun=$how job.sh $how" 2>"$work/rewrites.err")
    verdict_of "$job"
    is "$job" "it has a second run ($how)" '[.runs[] | select(.kind == "program" and .outcome == "failed")] | length == 2'
    is "$job" "it fails on all nodes ($how)" '.verdict.cause == "a"'
    is "$job" "who wrote the file is told ($how)" '[.notes[] | select(test("state.dat was written by the first run itself"))] | length == 1'
  done
}

# --- a script that goes to its own folder by name: in a copy it would write to the user's file

goes_home() {
  local job
  as_alice 'mkdir -p goes && cd goes && cat >job.sh' <<'SCRIPT'
#!/bin/sh
#SBATCH -N1 -t 5 -J goes
cd "$HOME"/goes || exit 9
echo "run ${SICKBAY_RUN:-1}" >>checkpoint.dat
exit 3
SCRIPT
  job=$(as_alice "cd goes && $sickbay submit --parsable --rerun=copy job.sh" 2>"$work/goes.err")
  until_true "it is asked before a second run" asks "$job"
  is "$job" "why it is asked" '.rerun.question.reason == "names_folder"'
  until_true "its nodes are verified meanwhile" verified "$job"
  is "$job" "no second run" '[.runs[] | select(.kind == "program")] | length == 1'
  same "the checkpoint is untouched" "$(as_alice 'cat goes/checkpoint.dat')" "run 1"
  as_alice "$sickbay rerun $job --never" >/dev/null
  verdict_of "$job"
  same "and stays so" "$(as_alice 'cat goes/checkpoint.dat')" "run 1"
}
asks() { case_of "$1"; jq -e '.rerun.question.reason' "$work/$1.json"; }
verified() { case_of "$1"; jq -e '[.runs[] | select(.kind == "verification" and .outcome == "ok")] | length >= 1' "$work/$1.json"; }

if wanted requeues_itself; then requeues_submit; fi
for name in wrapped burst_buffer checkpoint rewrites_input goes_home requeues_itself; do
  if wanted "$name"; then "$name"; fi
done
finish
