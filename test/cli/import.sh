#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Importing logs: files, standard input, sacct itself; twice; with rejects; and the page names every column.
. "$(dirname "$0")/common.inc"

cat > log <<'EOF'
JobID|JobName|User|State|Submit|Start|End|AllocCPUS|MaxRSS
7|run|ann|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:10|2021-05-01T01:00:10|8|
7.0|vasp_std|||2021-05-01T00:00:11|2021-05-01T00:00:11|2021-05-01T01:00:09|8|500K
8|run|bob|CANCELLED by 1000|2021-05-01T00:00:00|Unknown|2021-05-01T01:00:10|0|
EOF
run 0 sickbay import --store s.db log
says out '2 jobs: 2 new, 0 changed, 0 unchanged'
sickbay import --store s.db --json - < log > out
says out '"unchanged": 2'
run 0 sickbay sql --store s.db --format csv "SELECT job_id, state, max_rss, steps FROM jobs ORDER BY job_id"
same out <<EOF
job_id,state,max_rss,steps
7,COMPLETED,512000,1
8,CANCELLED,,0
EOF

# Every column of the store is in the page.
run 0 sickbay sql --store s.db --format csv "SELECT column_name FROM duckdb_columns() WHERE table_name = 'jobs'"
[ "$(wc -l < out)" -gt 60 ] || fail "too few columns"
sed 1d out | while read -r column; do
  grep -q "^| $column |" "$SICKBAY_SOURCE/doc/formats/job.md" || fail "doc/formats/job.md lacks the column $column"
done

# Too many rejects: nothing is stored, the reasons are told, the records kept.
sed 's/2021-05-01T00:00:00/never/' log > bad
run 65 sickbay import --store none.db --rejects rejected bad
says err 'nothing was stored'
says err "'never'"
[ "$(wc -l < rejected)" -eq 2 ] || fail "not two records in the rejects file"
run 0 sickbay sql --store none.db --format csv "SELECT count(*) AS n FROM jobs"
says out 0
run 0 sickbay import --store none.db --max-rejects 1 bad
says out "1 new"

# From sacct itself: a stand-in that knows few columns and writes down what it was asked.
mkdir -p bin
cat > bin/sacct <<'EOF'
#!/bin/sh
printf '%s\n' "TZ=$TZ" "$@" > "$HOME/sacct.words"
case $1 in
  --helpformat) echo "JobID   State  Submit  Start" ; echo "End  User" ; exit 0 ;;
esac
[ ! -e "$HOME/sacct.fails" ] || exit 1
printf 'JobID\037User\037State\037Submit\037Start\037End\n'
printf '9\037an|n\037COMPLETED\0372021-05-01T00:00:00\0372021-05-01T00:00:00\0372021-05-01T01:00:00\n'
EOF
chmod +x bin/sacct
PATH="$PWD/bin:$PATH"
run 0 sickbay import --store sacct.db --from 2021-05-01 --to 2021-05-02 --tz +02:00
says out '1 jobs: 1 new'
says out 'sacct'
says sacct.words 'TZ=UTC'
says sacct.words '--starttime=2021-04-30T22:00:00'
says sacct.words '--endtime=2021-05-01T22:00:00'
says sacct.words '--format=JobID,User,State,Submit,Start,End'
run 0 sickbay sql --store sacct.db --format csv "SELECT user_name FROM jobs"
says out 'an|n'
: > sacct.fails
run 76 sickbay import --store sacct.db --from 2021-05-01
says err 'sacct failed with exit code 1'

# As the timer does it each day: since when must be said once; then twice is once, and a failure is made good by the next.
run 66 sickbay import --store sacct.db --from last
says err 'sickbay import --from 2026-01-01'
rm sacct.fails
a_day_ago() { date -u -d '-1 day' +%Y-%m-%dT%H:%M; }
first=$(a_day_ago)
run 0 sickbay import --store sacct.db --from 2021-05-01
last=$(a_day_ago)
: > sacct.fails
run 76 sickbay import --store sacct.db --from last
rm sacct.fails
run 0 sickbay import --store sacct.db --from last
says out '1 jobs: 0 new, 0 changed, 1 unchanged'
asked=$(sed -n 's/^--starttime=//p' sacct.words | cut -c-16)
# (A day before that import began; the clock may have gone on by a minute meanwhile.)
[ "$asked" = "$first" ] || [ "$asked" = "$last" ] || fail "it asked since $asked, not since $first"
run 0 sickbay import --store sacct.db --from last
says out '0 new, 0 changed'
run 64 sickbay import --store sacct.db --from last --to 2021-05-02
run 64 sickbay import --store sacct.db --from last --watch
run 64 sickbay import --store sacct.db --from last log

# What Slurm says of nodes.
echo 'NodeName=n1 CPUTot=16 RealMemory=1000 Partitions=cpu' > nodes
printf 'NodeName|TimeStart|TimeEnd|State|Reason\nn1|2021-05-01T00:00:00|Unknown|DOWN|x\n' > events
run 0 sickbay import --store s.db --nodes nodes --events events
says out '1 nodes: 1 new'
says out '1 node events: 1 new'

# Watching a log: the first round is told at once, and a signal ends it in peace.
mkfifo told
sickbay import --store w.db --watch log > told &
watcher=$!
while read -r line; do
  case $line in *"2 jobs: 2 new"*) kill -TERM $watcher ;; esac
done < told
wait $watcher || fail "a watch that was ended by a signal says $?"

run 64 sickbay import
says err 'there is nothing to import'
run 64 sickbay import --from 2021-05-01 log
run 64 sickbay import --from yesterday
