#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The reports of use over time, of accounts and of budgets: full tables by each unit and of each kind, the tree, charges and
# what is left, all against sums that awk makes straight from the log.
# shellcheck source=test/cli/common.inc
. "$(dirname "$0")/common.inc"
unset SICKBAY_STORE

# 400 jobs of minutes to nine days from November 2020 to April 2021.
awk 'BEGIN {
  split("phys theory chem alone", accounts, " ")  # the fifth has none
  split("normal high", qos, " ")
  print "JobID|Cluster|User|Group|Account|Partition|QOS|JobName|State|Submit|Start|End|AllocCPUS|NNodes|ReqMem|AllocTRES"
  for (i = 1; i <= 400; ++i) {
    start = 1604188800 + (i * 48611) % (170 * 86400); last = start + 60 + (i * 7919 * 31) % (9 * 86400)
    stamp = "%Y-%m-%dT%H:%M:%S"; gpu = i % 4 == 0
    printf "%d|c|u%d|g%d|%s|%s|%s|vasp|COMPLETED|%s|%s|%s|%d|%d|%dG|%s\n", i, i % 7, i % 3, accounts[i % 5 + 1], gpu ? "gpu" : "cpu",
           qos[i % 2 + 1], strftime(stamp, start - 60 * (i % 90), 1), strftime(stamp, start, 1), strftime(stamp, last, 1), 1 + i % 48, 1 + i % 3,
           1 + i % 8, gpu ? "gres/gpu=" 1 + i % 2 : ""
  }
}' > log
cat > users.json <<'EOF2'
{"u0": {"team": "red", "research_field": "physics"}, "u1": {"team": "red"}, "u2": {"team": "blue", "research_field": "chemistry"}}
EOF2
cat > accounts.json <<'EOF2'
{"phys": {"parent": "science", "pi": "Prof. P"}, "theory": {"parent": "phys"}, "chem": {"parent": "science", "pi": "Prof. C", "budget": 3000, "unit": "GPU-h"},
 "science": {"budget": 400000, "unit": "core-h", "from": "2020-12-01", "to": "2021-06-01"}, "unused": {"budget": 10}}
EOF2
cat > site.json <<'EOF2'
{"users": "users.json", "accounts": "accounts.json", "charges": {"*": "CPU=1,Mem=0.25G", "gpu": "CPU=0.5,GRES/gpu=8,Node=2"}}
EOF2
run 0 sickbay import log --store s.duckdb
from=2020-11-20 to=2021-04-05
report() { run 0 sickbay report -s s.duckdb --site site.json --from $from --to $to -o out.csv "$@"; }
# The rows of out.csv: COLUMN..., sorted; hours and charges with three digits, but no NULL.
rows() {
  awk -F, -v columns="$*" 'function shown(text) { return text ~ /^-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?$/ ? sprintf("%.3f", text) : text }
    /^#/ || /^\r?$/ { header = 0; next }
    { sub(/\r$/, "") }
    !header { header = 1; for (i = 1; i <= NF; ++i) at[$i] = i; n = split(columns, names, " "); next }
    { line = ""; for (i = 1; i <= n; ++i) line = line (i > 1 ? "|" : "") shown($at[names[i]]); print line }' out.csv | sort
}

# alike OURS THEIRS: the same rows; numbers with a point differ by less than two thousandths, as sums in another order may.
alike() {
  paste -d '\n' "$1" "$2" | awk -F'|' '
    function real(x) { return x ~ /^-?[0-9]+\.[0-9]+$/ }
    NR % 2 { n = NF; for (i = 1; i <= NF; ++i) was[i] = $i; next }
    { bad = n != NF
      for (i = 1; i <= NF; ++i) { apart = was[i] - $i; bad = bad || (real(was[i]) && real($i) ? apart > 0.002 || apart < -0.002 : was[i] != $i "") }
      if (bad) { print "ours / theirs: " $0; worst = 1 } }
    END { exit worst }' >&2 && [ "$(wc -l < "$1")" -eq "$(wc -l < "$2")" ]
}
# sums OF UNIT: what rows begins name jobs core_h charge should be.
sums() {
  awk -F'|' -v of="$1" -v unit="$2" -v from=$from -v to=$to '
    function seconds(t) { gsub(/[-T:]/, " ", t); return mktime(t (t ~ /[0-9]+ [0-9]+ [0-9]+ [0-9]/ ? "" : " 00 00 00")) }
    function first_of(day,   t, year, month) {  # the first second of its unit
      if (unit == "day") return day
      if (unit == "week") return day - (int(day / 86400) + 3) % 7 * 86400
      year = strftime("%Y", day, 1); month = strftime("%m", day, 1) + 0
      if (unit == "year") month = 1
      if (unit == "quarter") month = int((month - 1) / 3) * 3 + 1
      return mktime(year " " month " 01 00 00 00")
    }
    BEGIN { lo = seconds(from); hi = seconds(to); pi["phys"] = pi["theory"] = "Prof. P"; pi["chem"] = "Prof. C"; team["u0"] = team["u1"] = "red"
            team["u2"] = "blue"; field["u0"] = "physics"; field["u2"] = "chemistry" }
    NR > 1 {
      b = seconds($11); e = seconds($12); cores = $13; gpus = $16; sub(/.*=/, "", gpus); gib = $15; sub(/G/, "", gib)
      rate = $6 == "gpu" ? 0.5 * cores + 8 * gpus + 2 * $14 : cores + 0.25 * gib
      name = of == "account" ? $5 : of == "user" ? $3 : of == "group" ? $4 : of == "partition" ? $6 : of == "qos" ? $7 : of == "cluster" ? $2 : of == "pi" ? pi[$5] \
           : of == "team" ? team[$3] : of == "field" ? field[$3] : "VASP"
      if (name == "") name = "(none)"
      if (e >= lo && e < hi) { ++jobs[first_of(e - e % 86400) "|" name]; seen[first_of(e - e % 86400) "|" name] }
      if (b < lo) b = lo
      if (e > hi) e = hi
      for (day = b - b % 86400; day < e; day += 86400) {
        part = (e < day + 86400 ? e : day + 86400) - (b > day ? b : day)
        key = first_of(day) "|" name; seen[key]; hours[key] += part * cores / 3600; charge[key] += part * rate / 3600
      }
    }
    END { for (key in seen) { split(key, k, "|"); printf "%s|%s|%d|%s|%s\n", strftime("%Y-%m-%d", k[1], 1), k[2], jobs[key],
            key in hours ? sprintf("%.3f", hours[key]) : "", key in hours ? sprintf("%.3f", charge[key]) : "" } }' log | sort
}
compared=0
for of in account user group pi team field application partition qos cluster; do
  units=month
  [ $of != account ] || units='day week month quarter year'
  for unit in $units; do
    report --reports usage.time --param usage.time.of=$of --param usage.time.unit=$unit --param usage.time.top=0
    rows begins name jobs core_h charge > ours
    sums $of $unit > theirs
    [ "$(wc -l < theirs)" -gt 2 ] || fail "awk has no sums of $of by $unit"
    alike ours theirs || fail "$of by $unit differs from awk's sums"
    compared=$((compared + $(wc -l < theirs)))
  done
done
[ $compared -gt 800 ] || fail "only $compared rows were compared"

# The first two names, and one row for all others: the sum stays.
report --reports usage.time --param usage.time.of=user --param usage.time.top=2
[ "$(rows name | sort -u | wc -l)" -eq 3 ] || fail "not two users and the others: $(rows name | sort -u)"
rows name core_h | grep -q '^(all others)|' || fail "no row of all others"
total() { awk -F'|' -v column="$1" '{ sum += $column } END { printf "%.1f\n", sum }'; }
rows core_h | total 1 > ours
sums user month | total 4 > theirs
alike ours theirs || fail "two users and the others are not all"

# The tree: each with all below it.
report --reports accounts.tree
rows account parent pi jobs core_h own_core_h charge > ours
sums account year | awk -F'|' '
  BEGIN { above["phys"] = "science"; above["theory"] = "phys"; above["chem"] = "science"; pi["phys"] = pi["theory"] = "Prof. P"; pi["chem"] = "Prof. C" }
  $2 != "(none)" { own[$2] += $4; for (a = $2; a != ""; a = above[a]) { jobs[a] += $3; hours[a] += $4; charge[a] += $5 } }
  END { for (a in hours) if (a != "") printf "%s|%s|%s|%d|%.3f|%s|%.3f\n", a, above[a], pi[a], jobs[a], hours[a], a in own ? sprintf("%.3f", own[a]) : "", charge[a] }' | sort > theirs
alike ours theirs || fail "the tree is not awk's"
[ "$(wc -l < theirs)" -eq 5 ] || fail "not five accounts: $(cat theirs)"
sed -n 3,7p out.csv | cut -d, -f1 | tr '\n' ' ' > order
echo 'alone science chem phys theory ' | tr -d '\n' | same order

report --reports accounts.users --param accounts.users.top=0
rows account core_h | awk -F'|' '{ h[$1] += $2 } END { for (a in h) printf "%s|%.3f\n", a, h[a] }' | sort > ours
sums account year | awk -F'|' '$2 != "(none)" { h[$2] += $4 } END { for (a in h) printf "%s|%.3f\n", a, h[a] }' | sort > theirs
alike ours theirs || fail "the users of accounts are not awk's"

# Budgets: core-hours of science and all below it since December, GPU-hours of chem from ever, up to the end of the period.
report --reports accounts.budget
rows account unit budget used left_over per_day runs_out until > ours
awk -F'|' '
  function seconds(t) { gsub(/[-T:]/, " ", t); return mktime(t (t ~ /[0-9]+ [0-9]+ [0-9]+ [0-9]/ ? "" : " 00 00 00")) }
  function part(b, e, lo, hi) { if (b < lo) b = lo; if (e > hi) e = hi; return e > b ? (e - b) / 3600 : 0 }
  BEGIN { december = seconds("2020-12-01"); hi = seconds("2021-04-05"); recent = hi - 30 * 86400 }
  NR > 1 { b = seconds($11); e = seconds($12); gpus = $16; sub(/.*=/, "", gpus)
    if ($5 == "phys" || $5 == "theory" || $5 == "chem") { science += $13 * part(b, e, december, hi); lately += $13 * part(b, e, recent, hi) }
    if ($5 == "chem") { chem += gpus * part(b, e, 0, hi); chem_lately += gpus * part(b, e, recent, hi) } }
  function tell(name, unit, budget, used, lately, until,   runs_out) {
    if (used >= budget) runs_out = hi
    else if (lately > 0) runs_out = hi + (budget - used) / (lately / 30) * 86400
    if (until != "" && runs_out >= seconds(until)) runs_out = ""
    printf "%s|%s|%.3f|%.3f|%.3f|%.3f|%s|%s\n", name, unit, budget, used, budget - used, lately / 30, runs_out == "" ? "" : strftime("%Y-%m-%d", runs_out, 1), until }
  END { tell("chem", "GPU-h", 3000, chem, chem_lately, ""); tell("science", "core-h", 400000, science, lately, "2021-06-01"); tell("unused", "SU", 10, 0, 0, "") }' log > theirs
awk -F'|' 'BEGIN { OFS = "|" } { for (i = 3; i <= 6; ++i) $i = sprintf("%.3f", $i); print }' ours > rounded
alike rounded theirs || fail "the budgets are not awk's: $(cat rounded theirs)"
grep -q '|2021-0[4-9]-[0-9]*|' theirs || fail "nothing runs out: $(cat theirs)"

# Percentiles of the wait.
report --reports usage.waits --param usage.waits.of=qos
rows name jobs p50 p90 p99 most > ours
for qos in high normal; do
  awk -F'|' -v qos=$qos -v from=$from -v to=$to '
    function seconds(t) { gsub(/[-T:]/, " ", t); return mktime(t (t ~ /[0-9]+ [0-9]+ [0-9]+ [0-9]/ ? "" : " 00 00 00")) }
    NR > 1 && $7 == qos && seconds($11) >= seconds(from) && seconds($11) < seconds(to) { print seconds($11) - seconds($10) }' log | sort -n |
    awk -v qos=$qos 'function at(q,   k) { k = int(q * NR); if (k < q * NR) ++k; return w[k] } { w[NR] = $1 }
      END { printf "%s|%d|%d|%d|%d|%d\n", qos, NR, at(0.5), at(0.9), at(0.99), w[NR] }'
done | same ours

# The same from what sacctmgr dumps; and what is wrong is said.
cat > dump <<'EOF2'
Cluster - 'c':Fairshare=1
Parent - 'root'
Account - 'science':Description='all':GrpTRESMins=cpu=24000000
Parent - 'science'
Account - 'phys':Description='a: b'
Parent - 'phys'
User - 'ann':Coordinator='phys':DefaultAccount='phys'
EOF2
report --accounts-file dump --reports accounts.budget
rows account unit budget | grep -qx 'science|core-h|400000.000' || fail "no budget from the dump: $(rows account unit budget)"
run 1 sickbay report -s s.duckdb --reports usage.time --param usage.time.of=acount -o out.csv
says err 'of is one of [account, user,'
run 1 sickbay report -s s.duckdb --reports usage.time --param usage.time.unit=moon -o out.csv
says err '"moon"'
echo '{"a": {"parent": "a"}}' > ring.json
run 65 sickbay report -s s.duckdb --accounts-file ring.json --reports accounts.tree -o out.csv
says err "the accounts above 'a' make a ring"
echo '{"charges": {"*": "CPU=much"}}' > bad.json
run 65 sickbay report -s s.duckdb --site bad.json --reports accounts.tree -o out.csv
says err "bad.json:1:19: 'CPU=much' has no weight of 0 or more"
run 0 sickbay report -s s.duckdb --reports accounts.budget -o out.csv
