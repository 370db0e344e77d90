#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay report --statement: a file for each account and month, whose sums are those of an independent one, the
# same bytes however the log was imported, and names that no account can break out with.
# shellcheck source=test/cli/common.inc
. "$(dirname "$0")/common.inc"
unset SICKBAY_STORE

# 300 jobs of some hours to days from January to April 2021, each of its own length and size.
awk 'BEGIN {
  split("phys Phys a/b ..", accounts, " ")  # the fifth has none
  print "JobID|User|Account|Partition|JobName|State|Submit|Start|End|AllocCPUS|NNodes"
  for (i = 1; i <= 300; ++i) {
    start = 1609459200 + (i * 48611) % (110 * 86400); last = start + 60 + (i * 7919 * 31) % (9 * 86400)
    stamp = "%Y-%m-%dT%H:%M:%S"
    printf "%d|u%d|%s|cpu|vasp|COMPLETED|%s|%s|%s|%d|1\n", i, i % 7, accounts[i % 5 + 1], strftime(stamp, start - 60, 1),
           strftime(stamp, start, 1), strftime(stamp, last, 1), 1 + i % 48
  }
}' > log
run 0 sickbay import log --store s.duckdb

run 0 sickbay report -s s.duckdb --statement month --per account --from 2021-01-10 --to 2021-04-01 --out a --as md,csv,html
[ ! -s out ] || fail "nothing should be printed"
[ "$(ls a)" = "2021-01
2021-02
2021-03" ] || fail "the months are $(ls a)"
[ "$(find a/2021-02 -name '*.md' | wc -l)" -eq 5 ] || fail "five accounts have $(ls a/2021-02)"
[ -f a/2021-02/phys.md ] && [ -f a/2021-02/_none.html ] || fail "no phys, no _none: $(ls a/2021-02)"
find a -type f | tr 'A-Z' 'a-z' | sort | uniq -d | grep . && fail "two names are one"
find a -type f | grep -v '^a/2021-0[123]/[a-z0-9_][a-z0-9_.-]*$' && fail "a name broke out"
says a/2021-01/phys.md '# Statement: account phys, 2021-01'
says a/2021-01/phys.md '- Period: 2021-01-10 to 2021-02-01 (22 days)'
says a/2021-01/phys.md '#### By user'
says a/2021-01/_none.md '# Statement: account (none), 2021-01'
silent_about a/2021-01/phys.md "$work"
silent_about a/2021-01/phys.html "$work"
[ "$(wc -c < a/2021-01/phys.html)" -lt 300000 ] || fail "a page without a chart carries the charts' library"
grep -q 'a/b' a/2021-02/_index.csv || fail "the list does not say whose the files are"

# The sum of all, worked out from the log.
tail -n +2 log | awk -F'|' '
  function seconds(t) { gsub(/[-T:]/, " ", t); return mktime(t) }
  BEGIN { from = seconds("2021-01-10T00:00:00"); to = seconds("2021-04-01T00:00:00") }
  { b = seconds($8); e = seconds($9); if (e >= from && e < to) ++jobs; if (b < from) b = from; if (e > to) e = to
    if (e > b) hours += (e - b) * $10 / 3600 }
  END { printf "%d %.3f\n", jobs, hours }' > by_awk
cat a/*/_index.csv | grep -v core_h | awk -F, '{ jobs += $4; hours += $5 } END { printf "%d %.3f\n", jobs, hours }' > by_list
same by_list < by_awk
find a -name '*.csv' ! -name _index.csv -exec sed -n 3p {} \; |
  awk -F, '{ jobs += $2; hours += $3 } END { printf "%d %.3f\n", jobs, hours }' > by_file
same by_file < by_awk

# The same bytes from a store that was made otherwise, in another folder, on one thread.
{ head -n 1 log; tail -n +150 log; } > later; head -n 200 log > earlier
run 0 sickbay import later --store t.duckdb
run 0 sickbay import earlier --store t.duckdb
mkdir other
run 0 sickbay report -s t.duckdb --statement month --from 2021-01-10 --to 2021-04-01 --out other/b/ --as md,csv,html --threads 1
diff -r a other/b || fail "equal jobs give other files"

# By user; straight from a log; a period without any use has no folder.
run 0 sickbay report log --statement quarter --per user --from 2020-07 --to 2021-04 --out users
[ "$(ls users)" = 2021-Q1 ] || fail "the quarters are $(ls users)"
[ -f users/2021-Q1/u3.html ] || fail "no u3"
says users/2021-Q1/u3.html 'Statement: user u3, 2021-Q1'

run 64 sickbay report -s s.duckdb --statement mont --out a
says err "did you mean 'month'?"
run 64 sickbay report -s s.duckdb --statement month --per acount --out a
says err "did you mean 'account'?"
run 64 sickbay report -s s.duckdb --statement month
says err '--out DIR'
run 64 sickbay report -s s.duckdb --statement month --out a --as htm
says err "'htm' is no form of a report"
run 64 sickbay report -s s.duckdb --statement month --out a --reports systatus.top
says err 'a statement has tables of its own'
run 66 sickbay report -s s.duckdb --statement month --from 2019-01 --to 2019-02 --out a
says err 'no job fits'
