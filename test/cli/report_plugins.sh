#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plug-ins by others: the two examples, and such as fail in each way.  Each is named, and the rest is made.
. "$(dirname "$0")/common.inc"
unset SICKBAY_STORE
examples=$SICKBAY_SOURCE/doc/examples/plugins
# Twelve users; user N has N jobs of N cores for an hour, one on each day from a Saturday on.
{
  echo 'JobID|User|Account|Partition|State|Submit|Start|End|Elapsed|AllocCPUS|NNodes'
  n=0
  for user in 1 2 3 4 5 6 7 8 9 10 11 12; do
    for day in $(seq -w 1 $user); do
      n=$((n + 1))
      echo "$n|u$user|a|cpu|COMPLETED|2021-05-${day}T08:00:00|2021-05-${day}T10:00:00|2021-05-${day}T11:00:00|01:00:00|$user|1"
    done
  done
} | sed 's/-05-\([1-9]\)T/-05-0\1T/g' > log.txt
sickbay report log.txt -s jobs.duckdb --reports jobstate.states --out first.json

run 0 sickbay report --check --plugin-dir "$examples" --plugins weekend,evenness
run 0 sickbay report -s jobs.duckdb --plugin-dir "$examples" --plugins weekend,evenness --param weekend.share.friday_hour=18 --json
[ "$(jq -r '.reports[] | select(.id == "weekend.share") | .rows | length' out)" -eq 2 ] || fail "the example of SQL gives no two rows"
[ "$(jq '.reports[] | select(.id == "evenness.gini") | .rows[0] == [12, 0.4767, 22.15]' out)" = true ] ||
  fail "the example of an executable gives no coefficient"

# It asks for the jobs of the filter.
run 0 sickbay report -s jobs.duckdb --plugin-dir "$examples" --plugins evenness --users u11,u12 --json
[ "$(jq '.reports[] | select(.id == "evenness.gini") | .rows[0][0] == 2' out)" = true ] ||
  { jq .reports out >&2; fail "the example of an executable ignores the filter"; }
# So may who writes one, by hand, with all jobs.
run 0 sickbay sql --views --store jobs.duckdb --format csv 'SELECT sum(core_h) AS core_h FROM j'
same out <<'EOT'
core_h
650
EOT
run 64 sickbay sql --views --write --store jobs.duckdb 'SELECT 1'

# plugin NAME COMMAND...: a plug-in with an executable of these lines of sh, and a good SQL report behind it.
plugin() {
  name=$1; shift
  mkdir -p "bad/$name"
  printf '{"name": "%s", "title": "T", "help": "h", "chapter": "use", "reports": [{"name": "run", "place": 1,
    "command": ["./run.sh"], "title": "T", "note": "n", "units": "n=count"}]}' "$name" > "bad/$name/plugin.json"
  printf '%s\n' '#!/bin/sh' "$@" > "bad/$name/run.sh"
  chmod +x "bad/$name/run.sh"
  printf -- '-- title: G\n-- note: n\n-- units: n=count\nSELECT count(*) AS n FROM j\n' > "bad/$name/02_good.sql"
}
# named NAME TEXT [LIMIT]: the plug-in fails with this sentence and its good report is made. (What must end
# by itself gets a limit that a busy machine never reaches.)
named() {
  run 1 sickbay report -s jobs.duckdb --plugin-dir bad --plugins "$1" --time-limit "${3:-60s}" --json
  says err "the report $1.run failed: "
  says err "$2"
  [ "$(jq -r '.reports[] | select(.id | endswith("good")) | .outcome' out)" = made ] || fail "the good report of $1 was not made"
}
plugin exits 'echo no such town >&2; exit 3'
plugin sleeps 'sleep 1000 & echo $! > pid; wait'
plugin silent 'exec sleep 1000 >/dev/null 2>&1'
plugin prints 'yes n'
plugin wrong 'echo n; echo 1,2'
plugin other 'echo m; echo 1'
plugin gone 'exit 0'; rm bad/gone/run.sh
plugin rows 'echo n; yes 1 | head -n 100001'
# --check starts them, on ten jobs.
run 65 sickbay report --check --plugin-dir bad --plugins exits,wrong,other
says err 'ended with exit code 3: no such town'
says err 'line 2: 2 cells, and the header has 1'
says err "the result has no column 'n'"
named exits "ended with exit code 3: no such town"
named sleeps 'it ran longer than 2 s' 2s
# (Dead, it may wait as a zombie for the init of a container.)
left=/proc/$(cat bad/sleeps/pid)/stat
[ ! -e "$left" ] || grep -q ') Z ' "$left" || fail "what the executable started is still there"
named silent 'it ran longer than 2 s' 2s
named prints 'printed more than 67108864 bytes'
named wrong 'line 2: 2 cells, and the header has 1'
named other "the result has no column 'n'"
named gone "there is no program './run.sh'"
named rows 'more than 100000 rows'

# A head that cannot be read, and a manifest that cannot.
plugin head 'echo n; echo 1'
printf -- '-- titel: x\nSELECT 1\n' > bad/head/03_bad.sql
run 1 sickbay report -s jobs.duckdb --plugin-dir bad --plugins head
says err "03_bad.sql:1: unknown word 'titel'; did you mean 'title'?"
mkdir bad/broken && echo '{"name": 3}' > bad/broken/plugin.json
run 1 sickbay report -s jobs.duckdb --plugin-dir bad --reports head.run
says err "bad/broken/plugin.json:1:10: 'name' cannot be a integer"
run 65 sickbay report --check --plugin-dir bad --time-limit 2s
