#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The programs of the corpus: the same known result with 1, 2, 3, 4 and 8 ranks, and each fault ends as its row says.
#   programs_test.sh PROGRAMS [PROGRAM...]      PROGRAMS: the folder they were built into
# Runs them by mpiexec on this machine alone, in the smallest size.
set -euo pipefail
folder=$(realpath "${1:?usage: programs_test.sh PROGRAMS [PROGRAM...]}")
shift
[ $# -gt 0 ] || set -- is ep lu bt sp
# A hung run is ended after this; a healthy one takes well below 1 s, even on a busy machine below this.
limit=${BLAME_TEST_LIMIT:-6}
mpiexec=$(command -v mpiexec.mpich || command -v mpiexec) # beside another MPI the plain name may be the other's
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export UCX_TLS=tcp,self UCX_NET_DEVICES=lo UCX_HANDLE_ERRORS=none BLAME_TELL=1 BLAME_SECONDS=0.5 BLAME_LEAK_MOST=64
ulimit -c 0

# run NAME RANKS LIMIT PROGRAM: its output in NAME.out, its exit code in NAME.rc (124: it had to be ended).
# Where mpiexec itself breaks down ("process manager error") before there is a result, nothing was learned of the program,
# and it is run again.
run() {
  local rc place=$work/$1 try
  for try in 1 2 3; do
    rc=0
    rm -rf "$place"
    mkdir -p "$place" # each in a folder of its own: some leave files
    (cd "$place" && exec timeout -k 1 "$3" "$mpiexec" -launcher fork -n "$2" "$folder/$4" T) >"$1.out" 2>&1 </dev/null || rc=$?
    if ! broke_down "$1" || has_result "$1"; then break; fi
    echo "$1: try $try: mpiexec broke down" >&2
  done
  echo "$rc" >"$1.rc"
}
# ended_well NAME.  Where MPICH hangs in MPI_Finalize (one run in five with 3 ranks) the ranks leave by themselves (corpus.c).
# mpiexec misses their good-bye and kills the rest (9), or a rank whose connection to it is lost ends with 1, or it breaks down
# since it writes to one that has left, with words or of SIGPIPE (141): the result that was printed is what counts.
ended_well() {
  local rc
  rc=$(cat "$1.rc")
  [ "$rc" = 0 ] || [ "$rc" = 9 ] || { { [ "$rc" = 1 ] || [ "$rc" = 141 ] || broke_down "$1"; } && has_result "$1"; }
}
has_result() { grep -q "^${1%%.*}: digest" "$1.out"; } # NAME begins with the program's
broke_down() { grep -q '^\[mpiexec@.*process manager error' "$1.out"; }
# healthy PROGRAM RANKS
healthy() {
  run "$1.healthy.$2" "$2" 60 "$1"
  if ! ended_well "$1.healthy.$2" || ! grep -q "^$1: digest [0-9a-f]*, right$" "$1.healthy.$2.out"; then
    echo "FAILED: $1 with $2 ranks: exit code $(cat "$1.healthy.$2.rc"):"
    tail -n5 "$1.healthy.$2.out"
  fi
}
# fault PROGRAM NAME END [TEXT]: END: hang, ok, any (some code that is not 0), or the exit code, or codes ("3|9").  Two
# ranks.
# What mpiexec says of a run is chance in two ways (2 of 100 runs of exit_code; once in some thousand): it first hears of
# the other rank, which ends with 1 since its connection is gone; and it ends before it has handed on the last words of
# those that it ends.  Such a run is made again, twice at most.
fault() {
  local program=$1 name=$2 end=$3 text=${4:-} run_limit=60 rc bad try
  [ "$end" != hang ] || run_limit=$limit
  for try in 1 2 3; do
    bad=
    BLAME_FAULT=${name%%+*} run "$program.$name" 2 "$run_limit" "$program"
    rc=$(cat "$program.$name.rc")
    case $end in
      hang) [ "$rc" = 124 ] || [ "$rc" = 137 ] || bad=code ;;
      any) [ "$rc" != 0 ] && [ "$rc" != 124 ] || bad=code ;;
      ok) ended_well "$program.$name" && has_result "$program.$name" || bad=code ;;
      *) [[ "|$end|" == *"|$rc|"* ]] || bad=code ;;
    esac
    [ -z "$bad" ] || [ "$rc" = 1 ] || break
    # It must be the fault, and not something else on the way to it.
    [[ $name == wrong_input || $name == *+rarely ]] || grep -q "shows ${name%%+*} in step" "$program.$name.out" || bad=words
    [ -z "$text" ] || grep -qiE "$text" "$program.$name.out" || bad=words
    [ -n "$bad" ] || break
    echo "$program.$name: try $try: exit code $rc, $bad" >&2
  done
  if [ -n "$bad" ]; then
    echo "FAILED: $program with $name: exit code $rc, wanted $end${text:+ and \"$text\"}:"
    tail -n5 "$program.$name.out"
  fi
}

# (mpiexec gives the number of the signal as its exit code.)
# name+VARIANT: a second row of a fault; the words after it stand in `variant` below.
ends=(
  'recv_deadlock hang' 'send_deadlock hang' 'tag_mismatch hang' 'collective_order hang' 'missing_collective hang'
  'endless_loop hang' 'livelock hang' 'sleeps_for_ever hang'
  'stack_overflow 11 signal.11' 'out_of_bounds 11 signal.11' 'null_pointer 11 signal.11' 'heap_corruption 6 signal.6'
  'division_trap 8 signal.8' 'aborts 6 assertion' 'bus_error 7 signal.7' 'illegal_instruction 4 signal.4'
  'exit_code 7 residual.grows' 'truncated_message any truncat' 'file_missing 2 cannot.open.mesh' 'leftovers 6 assertion'
  'file_leak 1 too.many.open.files'
  'memory_leak 1 out.of.memory' 'wrong_input 2 number.of.steps' 'wrong_result 3|9 wrong.result' 'wrong_result+unchecked ok'
  'uninitialised+bad 11 signal.11' 'uninitialised+good ok' 'data_race+bad 3|9 wrong.result' 'data_race+good ok'
  'slow_rank ok' 'quiet_compute ok' 'quiet_wait ok' 'quiet_io ok' 'exit_code+rarely ok'
)
# variant NAME: what stands in the environment for it.
variant() {
  case $1 in
    *+unchecked) export BLAME_CHECK=0 ;;
    uninitialised+bad) export BLAME_SEED=1 BLAME_GARBAGE=1 ;;
    uninitialised+good) export BLAME_SEED=1 BLAME_GARBAGE=0 ;;
    data_race+bad) export BLAME_SEED=4 ;;
    data_race+good) export BLAME_SEED=2 ;;
    *+rarely) export BLAME_PROBABILITY=0.0001 BLAME_SEED=5 ;;
  esac
}

# Hangs sleep in their limit, so all of one program run beside each other, a few at a time.
most=4
for program in "$@"; do
  for ranks in 1 2 3 4 8; do healthy "$program" "$ranks"; done
  for row in "${ends[@]}"; do
    read -r name end text <<<"$row"
    while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n; done
    (variant "$name"; fault "$program" "$name" "$end" "$text") &
  done
  wait
done >"$work/said"
cat "$work/said"

# Every fault that the programs offer is in the table above.
"$folder/ep" --faults | awk '{print $1}' | sort >offered
printf '%s\n' "${ends[@]}" | awk '{sub(/\+.*/, "", $1); print $1}' | sort -u >tried
# (exit_early cannot be told from a hang by mpiexec, which waits for all or ends all, as it is built.)
diff <(grep -v '^exit_early$' offered) tried || { echo "FAILED: not all faults are tried"; exit 1; }
runs=$(($# * (5 + ${#ends[@]})))
echo "programs_test: $runs runs of $# programs, $(grep -c '^FAILED' "$work/said" || true) failed, $SECONDS s"
! grep -q '^FAILED' "$work/said"
