#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real sickbayd and its kept state: made beside it, taken by the next start, and not when it stands for something else.
# shellcheck source=test/cli/common.inc
. "$(dirname "$0")/common.inc"
stand_in_sbatch
sickbayd_up
echo '#!/bin/sh' > job.sh
for id in 123 124 125; do
  echo "Submitted batch job $id" > sbatch.says
  cp job.sh "job$id.sh"
  run 0 sickbay submit "job$id.sh"
done
snapshot() { "$SICKBAY_BIN/sickbayd" --snapshot; }
again() {
  kill -9 "$sickbayd_pid"; wait "$sickbayd_pid" 2>/dev/null || :
  sickbayd_up
  grep event=started "$SICKBAY_ROOT/log"
}
file=$SICKBAY_ROOT/var/lib/sickbay/journal.snapshot
run 0 snapshot
says out 'seq='
seq=$(sed -n 's/^seq=\([0-9]*\) .*/\1/p' out)
[ "$(stat -c %a "$file")" = 600 ] || fail "the state is for all to see"
run 0 sickbay cases --json
jq -S 'del(.. | .age_us?)' out > before

run 0 again
says out "snapshot=$seq "
run 0 sickbay cases --json
jq -S 'del(.. | .age_us?)' out > after
diff before after || fail "another state"
# What came after it is read on top.
echo "Submitted batch job 126" > sbatch.says
cp job.sh job126.sh
run 0 sickbay submit job126.sh
run 0 again
says out "snapshot=$seq "
run 0 sickbay cases --json
[ "$(jq '.items | length' out)" = 4 ] || fail "cases: $(cat out)"

# One wrong bit, and the whole journal is read.
cp "$file" good
damage "$file" 200
run 0 again
says out 'snapshot=0 '
grep -q 'event=snapshot taken=no' "$SICKBAY_ROOT/log" || fail "nothing is said: $(cat "$SICKBAY_ROOT/log")"
run 0 sickbay cases --json
[ "$(jq '.items | length' out)" = 4 ] || fail "cases: $(cat out)"
cp good "$file"
run 0 again
says out "snapshot=$seq "
