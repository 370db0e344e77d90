#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What failures cost and checkpoints saved, in a report: from a journal beside a log of jobs.
. "$(dirname "$0")/common.inc"
unset SICKBAY_STORE

# A job of two nodes with 8 cores that computes for 100 s, is saved (which takes 9 s), loses a node 20 s later, goes on from there, and
# loses all the 50 s after that, when it fails for good.
begin=1619827200000000 # 2021-05-01
n=0
event() { # SECONDS KIND BODY
  n=$((n + 1))
  printf '{"seq":%d,"at":%d,"v":1,"subject":"c1","kind":"%s","body":%s}\n' $n $((begin + $1 * 1000000)) "$2" "$3"
}
job() { # SECONDS STATE RESTART
  printf '{"run":"c1.r1","job":{"job_id":7,"state":"%s","restart_cnt":%d,"start":%d,"end":%d,"nodes":"n[1-2]"}}' "$2" "$3" \
    $((begin + $1 * 1000000)) $((begin + $1 * 1000000))
}
told() { printf '{"job":7,"restart":%d,"checkpoint":1,"event":"%s","folder":"/s/7","bytes":0,"stored_bytes":0,"took_us":9000000,"ranks":1,"tier":"","why":""}' "$1" "$2"; }
{
  event 0 case_opened '{"owner":{"user":"ann","uid":1000,"gid":1000},"script_name":"job.sh","work_dir":"/home/ann"}'
  event 0 job_bound '{"run":"c1.r1","job_id":7}'
  event 10 job_seen "$(job 10 RUNNING 0)"
  event 110 checkpoint_told "$(told 0 taken)"
  event 130 job_seen "$(job 130 PENDING 1)"
  event 140 job_seen "$(job 140 RUNNING 1)"
  event 141 checkpoint_told "$(told 1 restored)"
  event 191 job_seen "$(job 191 FAILED 1)"
} > journal
cat > log <<'EOF'
JobID|JobName|User|State|Submit|Start|End|AllocCPUS|Restarts
7|run|ann|FAILED|2021-05-01T00:02:10|2021-05-01T00:02:20|2021-05-01T00:03:11|8|1
9|run|bob|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:10|2021-05-01T01:00:10|8|0
EOF

run 0 sickbay report log --journal journal --reports recovery.causes,recovery.jobs,recovery.worth --out r.json --out r.md
[ "$(jq -r '.reports[] | .outcome' r.json | sort -u)" = made ] || { cat r.json >&2; fail "a report is not made"; }
jq -r '.reports[0].rows[] | "\(.[0]) \(.[1]) \(.[4]) \(.[5] * 3600 | round) \(.[6] * 3600 | round)"' r.json > out
same out <<'EOF'
FAILED 1 1 400 800
REQUEUED 1 1 160 800
EOF
says r.md 'ann'

# Into a store: once, however often.
for _ in 1 2; do
  run 0 sickbay import --store s.db --journal journal
  says out 'the journal tells of 2 failures and 1 checkpoints of jobs'
done
run 0 sickbay import --store s.db log
run 0 sickbay sql --store s.db --format csv "SELECT (SELECT count(*) FROM job_failures) AS f, (SELECT sum(took_ms) FROM job_checkpoints) AS ms"
same out <<'EOF'
f,ms
2,9000
EOF

# Without a journal the reports are left out, and say why; what is no journal is told by its line.
run 0 sickbay report log --reports recovery.causes
says out 'sickbay import --journal'
echo '{"seq":1}' > bad
run 65 sickbay report log --journal bad --reports recovery.causes
says err 'line 1 is no event of the journal'
run 66 sickbay import --store s.db --journal no/such
