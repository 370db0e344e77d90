#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real sickbayd is refused memory once, at the N-th allocation of a submission, for many N.  Whatever becomes of it (it
# goes on, or ends and is started again, as systemd does), each case that it acknowledged is there, and each only once.
# OUT_OF_MEMORY_EACH=M: each N up to M, by hand.
# shellcheck source=test/cli/common.inc
. "$(dirname "$0")/common.inc"
library=$SICKBAY_BIN/../test/cli/libfail_alloc.so
[ -e "$library" ] || fail "$library is not built"
if ldd "$SICKBAY_BIN/sickbayd" | grep -q 'lib[at]san'; then echo "$test_name: left out: a sanitizer allocates by itself"; exit 0; fi
stand_in_sbatch
# What sickbayd runs for itself (sbatch, backups) is not refused anything: the count is this process' own.
up() { LD_PRELOAD=$library; export LD_PRELOAD; sickbayd_up; unset LD_PRELOAD; }
alive() { kill -0 "$sickbayd_pid" 2>/dev/null; }
# It has ended, and is started again.  It says why it ended, or was aborted (within a thread, or a library).
again() {
  code=0; wait "$sickbayd_pid" || code=$?
  case $code in
  70|134) ends=$((ends + 1)) ;;
  *) cat "$SICKBAY_ROOT/log" >&2; fail "refused the allocation $n, it ended with $code" ;;
  esac
  up
}
up
n=0 id=1000 ends=0 refusals=0
: > acknowledged
# submit_one: a job of its own; it is acknowledged where it has a case.
submit_one() {
  id=$((id + 1))
  echo "Submitted batch job $id" > sbatch.says
  printf '#!/bin/sh\n# %s\n' "$id" > "job$id.sh"
  code=0
  timeout 60 sickbay submit "job$id.sh" > out 2> err < /dev/null || code=$?
  # The job is submitted in any case; that it has a case of its own is the acknowledgement.
  no=$(sed -n 's/^sickbay: case \(c[0-9]*\) .*/\1/p' err)
  if [ -n "$no" ]; then echo "$no $id" >> acknowledged; else refusals=$((refusals + 1)); fi
  silent_about err "not valid JSON"
}
# Nothing is refused any more.  Where its journal was refused something it tries that again after a second; then, at
# the latest, it takes cases as before.
takes_cases_again() {
  env kill -s USR2 -q 2000000000 "$sickbayd_pid"
  tries=0 no=''
  while [ -z "$no" ]; do
    [ "$tries" -lt 100 ] || { cat err >&2; fail "refused the allocation $n, it takes no case any more"; }
    tries=$((tries + 1))
    submit_one
    [ -n "$no" ] || sleep 0.1
  done
}
while [ "$n" -lt "${OUT_OF_MEMORY_EACH:-20000}" ]; do
  # (It may have ended just now, of the one before.)
  env kill -s USR2 -q "$n" "$sickbayd_pid" 2>/dev/null || { again; env kill -s USR2 -q "$n" "$sickbayd_pid"; }
  submit_one
  [ "$code" -ne 124 ] || fail "refused the allocation $n, sickbayd answers no more"
  alive || again
  ! grep -q 'the journal' err || takes_cases_again
  if [ -n "${OUT_OF_MEMORY_EACH:-}" ] || [ "$n" -lt 10 ]; then n=$((n + 1)); else n=$((n + n / 5)); fi
done
takes_cases_again
# Without what is refused: what a new sickbayd reads from its journal.
kill "$sickbayd_pid" 2>/dev/null || :; wait "$sickbayd_pid" || :
run 0 sickbay journal --verify
sickbayd_up
run 0 sickbay cases --all --json
jq -r '.items[] | select(.job_id > 0) | "\(.case) \(.job_id)"' out | sort > there
sort acknowledged > wanted
comm -23 wanted there > lost
[ ! -s lost ] || fail "acknowledged, and lost: $(paste -sd' ' lost)"
for column in 1 2; do
  cut -d' ' -f$column there | sort | uniq -d > twice
  [ ! -s twice ] || fail "twice there: $(paste -sd' ' twice)"
done
echo "$test_name: $(wc -l < wanted) acknowledged, $refusals refused, sickbayd ended $ends times: nothing lost, nothing twice"
