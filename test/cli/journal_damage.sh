#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One wrong byte in the journal of a real sickbayd: it does not start, it is told what is wrong, what can be kept goes
# on, and a copy made beside the running daemon has all.
# shellcheck source=test/cli/common.inc
. "$(dirname "$0")/common.inc"
stand_in_sbatch
sickbayd_up
echo '#!/bin/sh' > job.sh
for id in 123 124 125; do
  echo "Submitted batch job $id" > sbatch.says
  cp job.sh "marked$id.sh"
  run 0 sickbay submit "marked$id.sh"
done
file=$SICKBAY_ROOT/var/lib/sickbay/journal.db
run 0 sickbay journal --verify
says out 'all as they were written'
run 0 sickbay journal --backup "$work/copies"
run 0 sickbay journal --backup "$work/copies" --keep 1
set -- "$work"/copies/*
[ $# -eq 1 ] || fail "copies: $*"
copy=$1
[ "$(stat -c %a "$copy")" = 600 ] || fail "the copy is for all to see"
run 0 sickbay journal --verify --json --file "$copy"
[ "$(jq .whole out)" = true ] || fail "the copy is not whole"
run 64 sickbay journal --verify --salvage new.db
run 64 sickbay journal --keep 3

kill "$sickbayd_pid"; wait "$sickbayd_pid" || :
# JSON as good as before; SQLite has nothing against it.
sed -i 's/marked124/marked129/' "$file"
run 1 sickbay journal --verify
says out 'its checksum does not fit'
says out c2
says out --salvage
run 74 sickbay journal --file "$file"
says err 'is damaged'
code=0; "$SICKBAY_BIN/sickbayd" > err 2>&1 || code=$?
[ "$code" -ne 0 ] || fail "it started"
says err 'is damaged'
says err 'sickbay journal --file FILE --verify'

run 1 sickbay journal --salvage "$work/new.db"
says out 'given up, since half of a history could have something done twice: c2'
run 75 sickbay journal --salvage "$work/new.db"
run 0 sickbay journal --verify --file "$work/new.db"
rm -f "$file" "$file-wal" "$file-shm"
mv new.db "$file"; mv new-rest.db "$SICKBAY_ROOT/var/lib/sickbay/"
sickbayd_up
run 0 sickbay cases --json
[ "$(jq -c '[.items[].case] | sort' out)" = '["c1","c3"]' ] || fail "cases: $(cat out)"
# The number of the case that is lost is not given again.
echo "Submitted batch job 126" > sbatch.says
run 0 sickbay submit job.sh
run 0 sickbay cases --json
[ "$(jq -c '[.items[].case] | sort' out)" = '["c1","c3","c4"]' ] || fail "cases: $(cat out)"

# The copy in its place: all is there again.
kill "$sickbayd_pid"; wait "$sickbayd_pid" || :
rm -f "$file" "$file-wal" "$file-shm"
cp "$copy" "$file"
sickbayd_up
run 0 sickbay cases --json
[ "$(jq -c '[.items[].case] | sort' out)" = '["c1","c2","c3"]' ] || fail "cases: $(cat out)"
