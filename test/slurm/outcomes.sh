#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One case of each kind on a real Slurm: the cause, the nodes named and the exit code of `sickbay why`.
#   outcomes.sh BUILD [CASE...]     CASE: only these (names as below)
# Who lives where, so that the cases can run side by side: n8 kills ranks, n7 is slow, n6 crashes in the middle
# of a run, n5 loses its shared storage; n1 to n4 are good, and jobs that are to fail by themselves keep to
# these.  Slurm looks at time limits every 30 seconds: the case of the slow node takes longest and starts first.
set -euo pipefail
build=$(realpath "${1:?usage: outcomes.sh BUILD [CASE...]}")
shift
only=" $* "
programs=$(realpath "$(dirname "$0")/../../demo/programs")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
work=$(mktemp -d)
clean_up() { rm -rf "$work"; }
SECONDS=0
lab_up --nodes 8 --spares 0 --cpus 4

fault() { "$sickbay" lab fault -l "$lab" "$@" >/dev/null; }
wanted() { [ "$only" = "  " ] || [[ $only == *" $1 "* ]]; }

# submit CASE OPTIONS-AND-SCRIPT: prints the job id and keeps it in $work/CASE.job.
submit() { as alice "$sickbay submit --parsable ${*:2}" 2>"$work/$1.err" | tee "$work/$1.job"; }
# until_state JOB STATE: returns when squeue shows it (the bound: sbatch's own time-out is shorter).
until_state() { as alice "timeout 60 sh -c 'until [ \"\$(squeue -h -j $1 -o %T)\" = $2 ]; do sleep 0.2; done'"; }
# answer CASE: waits for the verdict; its JSON in CASE.json, its text in CASE.txt, its exit code in CASE.rc.
answer() {
  local job rc=0
  job=$(cat "$work/$1.job")
  as alice "timeout 400 $sickbay why --wait $job" >"$work/$1.txt" 2>&1 || rc=$?
  as alice "$sickbay why --json $job" >"$work/$1.json" 2>/dev/null || true
  echo "$rc" >"$work/$1.rc"
}
# expect CASE CODE CAUSE NODES [JQ-FILTER...]: what the verdict must be; each filter must hold of the JSON.
expect() {
  wanted "$1" || return 0
  checks=$((checks + 1))
  local got filter bad=0
  got=$(cat "$work/$1.rc" 2>/dev/null || true)
  got+=" $(jq -r '[.verdict.cause] + (.verdict.nodes // []) | join(" ")' "$work/$1.json" 2>/dev/null || true)"
  [ "$got" = "$2 $3${4:+ $4}" ] || { fail "$1: '$got', not '$2 $3${4:+ $4}'"; bad=1; }
  for filter in "${@:5}"; do
    jq -e "$filter" "$work/$1.json" >/dev/null 2>&1 || { fail "$1: not so: $filter"; bad=1; }
  done
  [ "$bad" = 0 ] || { cat "$work/$1.err" "$work/$1.txt" || true; }
  printf '%-10s %-24s rule %-4s %s\n' "$1" "$got" "$(jq -r .verdict.rule "$work/$1.json" 2>/dev/null)" \
    "$(jq -r .verdict.sentence "$work/$1.json" 2>/dev/null)"
}
# begin CASE COMMAND...: runs beside the others.
begin() { wanted "$1" && { "$@" & }; return 0; }
good='-x n[5-8]'

# --- the cases, each from its submission to its verdict

simple() { submit "$1" "${@:2}" >/dev/null; answer "$1"; }
completed() { simple completed "-N2 -t 5 $good $programs/healthy.sh 3"; }
program() { simple program "-N2 -t 5 $good $programs/exit_code.sh 3"; }
memory() { simple memory "-N1 --mem=100 -t 5 $good $programs/memory_hog.sh"; }
small() { simple small "-N1 -p small -t 5 $programs/exit_code.sh 3"; }
# (Another argument: the same failure as that of `program` would have its verdict.)
once() { simple once "--no-rerun -N2 -t 5 $good $programs/exit_code.sh 3 1 once"; }
folder() { simple folder "-N1 -t 5 -D /nowhere $good $programs/healthy.sh 3"; }
cancelled() {
  local job
  job=$(submit cancelled "-N1 -t 5 $good $programs/healthy.sh 120")
  until_state "$job" RUNNING && as alice "scancel $job"
  answer cancelled
}
one_node() { simple one_node "-N1 -t 5 -w n8 $programs/healthy.sh 20"; }
# (The sick nodes of other cases are kept away from the second runs of these.)
two_nodes() { simple two_nodes "-N2 -t 5 -w 'n[4,8]' -x 'n[5-7]' $programs/healthy.sh 20"; }
# The verdict comes before the run that delivers the result has ended.
deliver() {
  local look
  simple deliver "--deliver -N2 -t 5 -w 'n[3,8]' -x 'n[5-7]' $programs/healthy.sh 12"
  for ((look = 0; look < 200; look++)); do
    ! jq -e '[.runs[] | select(.kind == "program")][1].outcome == "ok"' "$work/deliver.json" >/dev/null 2>&1 || break
    sleep 0.2
    as alice "$sickbay why --json $(cat "$work/deliver.job")" >"$work/deliver.json" 2>/dev/null || true
  done
}
slow() { simple slow "-N2 -t 2 -w 'n[4,7]' -x 'n[5,6,8]' $programs/fixed_work.sh $slow_steps"; }
crash() {
  local job
  # (With the right to be requeued Slurm would have it wait for n6, which it names.)
  job=$(submit crash "--no-requeue -N2 -t 5 -w 'n[3,6]' -x 'n[5,7,8]' $programs/healthy.sh 25")
  until_state "$job" RUNNING && fault n6 crash
  answer crash
}
storage() { simple storage "-N1 -t 5 -w n5 $programs/healthy.sh 3"; }

# Work that takes good nodes 40 s, well within the limit of 2 min, takes far over it at 15 % of a CPU.  The margin is for a machine that
# is busier while this is measured than it is afterwards: up to three times; too much work does no harm, for it
# is what the verification says of n7 that decides.
slow_steps=20000
if wanted slow; then
  for _ in 1 2 3; do
    as alice "srun -N2 --ntasks-per-node=1 --mpi=pmi2 \$SICKBAY_DEMO/fixed_work 1000" 2>/dev/null
  done | sed -n 's/.*rank 0: done after \([0-9.]*\) s.*/\1/p' | sort -n | head -n1 >"$work/thousand"
  slow_steps=$(awk '$1 > 0 { n = int(40 / $1 * 1000) } END { print (n > 20000 ? n : 20000) }' "$work/thousand")
  echo "slow: $slow_steps steps ($(cat "$work/thousand") s for 1000)"
fi

fault n8 rank-kill=SIGBUS
fault n7 cpu=15%
fault n5 storage-away

# Nothing has passed a verification yet: this case needs a control run elsewhere.
begin one_node
begin slow
wait_for() { local i; for ((i = 0; i < 600; i++)); do [ -s "$work/$1" ] && return; sleep 0.2; done; }
wanted one_node && wait_for one_node.rc
for name in completed program memory small once folder cancelled; do begin "$name"; done
for name in two_nodes deliver storage crash; do begin "$name"; done
wait

expect one_node 11 b n8 '[.runs[] | select(.verification.checks == 0)] | length == 1'
expect completed 0 normal ''
expect cancelled 14 cancelled ''
expect memory 14 out_of_memory ''
# (Medium where the two outputs are not clearly alike: MPI may complain in one of them of how the other rank ended.)
expect program 10 a '' '.verdict.rule | startswith("P")' '.verdict.confidence != "low"'
expect small 10 a '' '.verdict.confidence == "low"' '[.verdict.why[] | select(test("too few other nodes"))] | length == 1'
expect once 13 inconclusive '' '[.verdict.missing[] | select(test("--rerun=never"))] | length == 1' \
  '[.runs[] | select(.kind == "program")] | length == 1'
expect two_nodes 11 b n8
expect deliver 11 b n8 '[.runs[] | select(.kind == "program")][1].outcome == "ok"'
expect slow 11 b n7 '.runs[0].symptom == "stall"'
expect crash 11 b n6 '.runs[0].down_nodes == "n6"'
expect storage 13 inconclusive '' '.verdict.rule | startswith("N")' '.verdict.confidence == "low"'
expect folder 13 inconclusive '' '.verdict.rule | startswith("N")' '.verdict.confidence == "low"'

# --- words that cannot be right: CODE, what must stand in the message, and who says what
refused() {
  local code=$1 text=$2 rc=0
  checks=$((checks + 1))
  as "${@:3}" >"$work/out" 2>&1 || rc=$?
  [ "$rc" = "$code" ] || { fail "exit code $rc in place of $code: ${*:3}"; cat "$work/out"; }
  grep -q -- "$text" "$work/out" || { fail "'$text' is not in the answer to: ${*:3}"; cat "$work/out"; }
}
if wanted words; then
  as alice "echo 'srun hostname' >bare.sh"
  refused 65 'does not look like a batch script' alice "$sickbay submit bare.sh"
  refused 1 'invalid partition' alice "$sickbay submit -p nowhere $programs/healthy.sh"
  refused 255 'unrecognized option' alice "$sickbay submit --no-such-option $programs/healthy.sh"
  refused 1 'submission failed' alice "$sickbay submit -N99 $programs/healthy.sh"
  refused 66 'remedy' alice "$sickbay why 99999"
  refused 66 'remedy' alice "$sickbay why c99999"
  refused 64 'remedy' alice "$sickbay why nonsense"
  refused 77 'remedy' bob "$sickbay why c1"
  refused 66 'remedy' alice "$sickbay nodes n99"
fi

echo "outcomes: $checks checks, $failures failures, $SECONDS s, load $(cut -d' ' -f1 /proc/loadavg)"
[ "$failures" = 0 ]
