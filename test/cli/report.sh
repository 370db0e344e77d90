#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay report: from a log to each form, with filters; what is wrong is one sentence with a remedy.
. "$(dirname "$0")/common.inc"
unset SICKBAY_STORE
mkdir tmp; export TMPDIR=$PWD/tmp
log=$SICKBAY_SOURCE/test/fixtures/workload/drac-2021.sacct.txt

# From a log, without a store; then with one that is kept.
run 0 sickbay report "$log" --reports jobstate.states
says out '# Workload report'
says out '- Jobs: 199'
says out '| COMPLETED '
run 0 sickbay report "$log" --store kept.duckdb --reports jobstate.states --out a.md --out a.json --out a.csv --out folder/
[ ! -s out ] || fail "with --out nothing should be printed"
says a.md '- Jobs: 199'
says a.json '"id": "jobstate.states"'
says a.csv '# jobstate.states: '
[ "$(sed -n 2p a.csv)" = "$(head -n1 folder/jobstate.states.csv)" ] || fail "the two forms of CSV differ"
[ "$(jq -r '.reports[0].outcome' a.json)" = made ] || fail "the JSON says no outcome"

# From the store, with a period, a filter and a parameter.
run 0 sickbay report -s kept.duckdb --from 2021-06 --to 2021-07-01 --states failed --reports jobstate.states --tz America/Vancouver
says out '- Period: 2021-06-01 to 2021-07-01 (30 days)'
says out '- Only: state failed'
says out '- Time zone: America/Vancouver'
silent_about out '| COMPLETED'
run 0 sickbay report -s kept.duckdb --reports systatus.top --param systatus.top.top=1 --json
[ "$(jq '[.reports[0].rows[] | select(.[0] == "account")] | length' out)" -eq 1 ] || fail "the parameter was not used"
SICKBAY_STORE=$PWD/kept.duckdb run 0 sickbay report --reports jobstate.states --compare 2021-05..2021-06 --lang en
says out '- Compared with: 2021-05-01 to 2021-06-01 (31 days)'
run 0 sickbay report -s kept.duckdb --reports jobstate.states --out page.html
grep -q '<title>Workload report</title>' page.html || fail "page.html is no page"
! grep -Eo '(src|href)="(https?:)?//[^"]*' page.html || fail "the page asks the network"

# The site's classes, users and title.
printf '{"title": "Site X", "size_classes": [1, {"name": "many"}], "users": "people.json"}' > site.json
printf '{"u1": {"team": "theory"}}' > people.json
run 0 sickbay report -s kept.duckdb --site site.json --reports systatus.sizes
says out '# Site X'
says out '| many '
printf '{"size_class": 3}' > site.json
run 65 sickbay report -s kept.duckdb --site site.json
says err "site.json:1:16: unknown key 'size_class'; did you mean 'size_classes'?"

# What there is.
run 0 sickbay report --list
says out 'jobwait.percentiles'
run 0 sickbay report --help-plugin systatus
says out '--param systatus.top.top=10'
says out 'what counts: A job counts in the period in which it ended'
silent_about out '\n'  # a note of several lines
run 0 sickbay report --check
says out 'all are right'
run 0 sickbay report --list-messages --plugins jobwait
says out '"jobwait.percentiles.title": "'

# One plain sentence, by kind.
run 66 sickbay report missing.txt
run 66 sickbay report -s missing.duckdb
run 66 sickbay report -s kept.duckdb --plugins jobwai
says err "did you mean 'jobwait'?"
run 66 sickbay report -s kept.duckdb --users nobody
says err "no job is of the user 'nobody'"
run 64 sickbay report -s kept.duckdb --from yesterday
says err "'yesterday' is no time"
run 64 sickbay report -s kept.duckdb --from 2021-06 --to 2021-05
says err 'the period ends before it begins'
run 64 sickbay report -s kept.duckdb --out a.htm
says err "did you mean '.html'?"
run 66 sickbay report -s kept.duckdb --lang xx
says err 'choose one of: en'
run 65 sickbay report -s kept.duckdb --param systatus.top.top=many
says err 'is a whole number'
mkdir bin && ln -s "$SICKBAY_BIN/sickbay" bin/sickbay
run 72 env PATH="$PWD/bin" "$SICKBAY_BIN/sickbay" report -s kept.duckdb --reports jobstate.states --out a.pdf
says err 'a PDF is printed by Chromium, which is not in PATH'
run 72 env PATH="$PWD/bin" "$SICKBAY_BIN/sickbay" report --live
says err "there is no program 'sacct' in PATH"
[ -z "$(ls tmp)" ] || fail "temporary files are left: $(ls tmp)"
