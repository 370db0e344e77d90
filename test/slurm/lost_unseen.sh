#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program notices that a node is gone before Slurm does, and ends.  No verdict is final before Slurm has said what became
# of the node; then the job, which has --recover, is put back without it, also where its second run failed as well and
# nothing is decided.
#   lost_unseen.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: lost_unseen.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 6 --spares 0 --cpus 2
set_site '{recover: {act: true}}'

node_shows() { ctl scontrol show node "$1" | grep -q "$2"; }                     # NODE WORD
journal_of_case() { ctl "$sickbay" journal --json | jq -c "select(.subject == \"$1\" and .kind == \"verdict\")"; }
final_verdicts() { journal_of_case "$1" | jq -c 'select(.body.final)'; }         # CASE

# lose NAME SECOND: a job whose first run ends, told to, with 1 while its last node is dead and Slurm does not know; its
# second run, which finds what the first has written, does SECOND.  Sets job, case and lost.
lose() {
  as alice "mkdir $1; cd $1; cat >job.sh; chmod +x job.sh" <<JOB
#!/bin/sh
if [ -e ran ]; then $2; fi
touch ran
srun sleep 300 &
until [ -e gone ]; do sleep 0.1; done
exit 1
JOB
  job=$(as alice "cd $1 && $sickbay submit --parsable --recover -N2 -t 5 ./job.sh" 2>"$folder/submit.err")
  until_true "$1: it runs" as alice "test -e $1/ran"
  lost=$(ctl scontrol show hostnames "$(job_field "$job" NodeList)" | tail -n 1)
  "$sickbay" lab fault -l "$lab" "$lost" crash >/dev/null
  [ "$3" = at_once ] || until_true "$1: $lost is silent" node_shows "$lost" NOT_RESPONDING
  holds "$1: Slurm does not know that $lost is lost" job_is "$job" JobState RUNNING
  as alice "touch $1/gone"
  # (In Slurm it may stand for a second only: where the node's DOWN follows at once, the job is put back at once.)
  until_true "$1: it ends as a program does" says "$job" '.runs[0].state == "FAILED"'
  case=$(sed -n 's/^sickbay: case \(c[0-9]*\) .*/\1/p' "$folder/submit.err")
  until_true "$1: Slurm gives $lost up" node_shows "$lost" DOWN
  until_true "$1: the job is put back" job_is "$job" Restarts 1
  holds "$1: without the lost node" job_is "$job" ExcNodeList "$lost"
  holds "$1: one final verdict" test "$(final_verdicts "$case" | wc -l)" = 1
}

# --- its second run completes
lose completes "exec srun true" at_once
holds "the node is the cause" test "$(final_verdicts "$case" | jq -r '.body.cause + " " + (.body.nodes | join(","))')" = "b $lost"
ctl scancel "$job" # (it would have a part of the next job's nodes)

# --- its second run fails as the first did: no verdict against the program before Slurm has spoken
lose fails "exit 1" silent
holds "nothing is decided" test "$(final_verdicts "$case" | jq -r '.body.cause + " " + (.body.lost | join(","))')" = "inconclusive $lost"
says_so() { as alice "$sickbay why $case || true" | grep -q "the job goes back into the queue by itself (--recover), to run without $lost"; }
holds "its owner is told" says_so
journal_of_case "$case" | jq -r '[.body.rule, .body.final, .body.sentence] | @tsv'
finish
