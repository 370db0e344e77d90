#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Job arrays on a real Slurm: twenty tasks, one on a node that kills ranks and two that fail by themselves.
#   arrays.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: arrays.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
work=$(mktemp -d)
clean_up() { rm -rf "$work"; }
SECONDS=0
patience=180
lab_up --nodes 5 --spares 0 --cpus 4 --no-agents

as() { "$sickbay" lab exec -l "$lab" --user alice -- sh -c "cd; export SICKBAY_DEMO=$build/demo; $*"; }
json() { as "$sickbay why --json $1" >"$work/$1.json" 2>/dev/null || true; }
# so TARGET FILTER: what `sickbay why --json TARGET` says.
so() { json "$1"; jq -e "$2" "$work/$1.json"; }
decided() { so "$1" '.state == "closed"'; }

# Tasks 3 and 12 fail wherever they run; task 17 runs on n5 alone at first, where a rank dies.
"$sickbay" lab fault -l "$lab" n5 rank-kill=SIGBUS >/dev/null
as "cat >sweep.sh" <<'END'
#!/bin/sh
#SBATCH --array=0-19%10
#SBATCH -N1 -t5 -x n5
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID, run ${SICKBAY_RUN:-1}"
case $SLURM_ARRAY_TASK_ID in 3|12) exit 3;; esac
END
as "cat >sick.sh" <<'END'
#!/bin/sh
srun --mpi=pmi2 "$SICKBAY_DEMO/healthy" 20
END
array=$(as "$sickbay submit --parsable sweep.sh" 2>"$work/err")
until_true "the array's case is decided" decided "$array"
holds "two of twenty failed" so "$array" '.verdict.sentence | test("^2 of 20 tasks failed: program \\(c[0-9]+, c[0-9]+\\)")'
holds "the others completed" so "$array" '.tasks.ended[0] | .state == "COMPLETED" and .count == 18'
holds "task 3 has a case of its own" so "${array}_3" '.task == "'"${array}"'_3" and .verdict.cause == "a"'
holds "its second run is the same task" as "grep -q 'task 3 of [0-9]*, run 2' sickbay-*/slurm-*.out"
holds "task 4 is told at the array's case" so "${array}_4" '.asked == "task 4 ended as COMPLETED" and (.array | length > 0)'
own=$(jq -r '.tasks.failed[0].job_id' "$work/$array.json")
holds "its own job id finds it, too" so "$own" '.task == "'"${array}"'_3"'
well=$(ctl sacct -n -X -j "${array}_4" -o jobidraw%20 | tr -d ' ')
as "$sickbay why $well" >"$work/text" 2>&1 || true
tr -s '\n ' ' ' <"$work/text" >"$work/line"
holds "that of a task that is well leads to the array" grep -q "a task of job array $array ('sickbay why $array'" "$work/line"
as "$sickbay why $array" >"$work/text" 2>&1 || true
holds "the page has a row for each kind of end" grep -q '^  0-2,4-11,13-19 .*18 .*COMPLETED' "$work/text"
as "$sickbay why ${array}_99" >"$work/text" 2>&1 || true
holds "a task that is not there" grep -q "has no task 99" "$work/text"

# One task on a sick node, as an array of one: the task takes over the array's number.
sick=$(as "$sickbay submit --parsable --array=5 -N1 -n1 -t5 -w n5 sick.sh" 2>"$work/err")
until_true "the case of the sick node's task is decided" decided "$sick"
holds "the node is to blame" so "${sick}_5" '.verdict.cause == "b" and .verdict.nodes == ["n5"]'
holds "the array says so, and blames nobody itself" so "$sick" \
  '.verdict.cause == "b" and .verdict.nodes == [] and (.verdict.sentence | test("1 of 1 task failed: node n5"))'

# scancel of an array whose tasks have ended, run, and wait in one record.
wait_job=$(as "$sickbay submit --parsable --array=0-60:3%2 -N1 -t5 -x n5 --wrap='sleep 300'" 2>"$work/err")
until_true "tasks run" so "$wait_job" '.tasks.running > 0'
as "scancel $wait_job"
until_true "the case ends with its array" decided "$wait_job"
holds "all are told as cancelled" so "$wait_job" '.verdict.cause == "cancelled" and .tasks.ended[0].count == 21'

# What sbatch refuses leaves no case behind.
holds "sbatch's own words" sh -c "! '$sickbay' lab exec -l '$lab' --user alice -- '$sickbay' submit --array=0-99999999 /dev/null"
rc=0
as "$sickbay submit --array=5-1 sweep.sh" >"$work/text" 2>&1 || rc=$?
holds "an array that is none is refused by sbatch" grep -q "Invalid job array specification" "$work/text"
holds "with sbatch's exit code" [ "$rc" = 1 ]
until_true "no case is left open" sh -c "'$sickbay' lab exec -l '$lab' -- '$sickbay' cases --json | jq -e '.items == []'"
finish
