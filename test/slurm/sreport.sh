#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sreport side by side: jobs of several users and accounts on a real Slurm, then the same figures asked of `sreport` and of
# `sickbay report`, as a table, which must agree to the second.
#   sreport.sh BUILD
#
# sreport reads sums that slurmdbd makes of whole hours that are over.  So that nobody waits for hours, the jobs run for
# seconds, and then their times in the lab's own database are moved into the day before, one and a half hour each, over
# the ends of hours; slurmdbd is then told to sum anew.  sacct, which `sickbay import` asks, reads the same rows.
set -euo pipefail
build=$(realpath "${1:?usage: sreport.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
work=$(mktemp -d -p /var/tmp) # (a machine of the lab has a /tmp of its own)
clean_up() { rm -rf "$work"; }
SECONDS=0
export TZ=UTC
lab_up --nodes 2 --spares 0 --cpus 4 --no-sickbayd --no-agents

manage() { ctl sacctmgr -i -Q "$@" >/dev/null; }
sql() { ctl mariadb --socket="$folder/run/mariadb.sock" -N slurm_acct_db -e "$1"; }
as() { "$sickbay" lab exec -l "$lab" --user "$1" -- sh -c "cd /tmp; ${*:2}"; }
job() { as "$1" "sbatch --parsable -o /dev/null ${*:2}"; } # USER OPTIONS...: prints the id
ended() { [ -z "$(ctl squeue -h)" ]; }

# --- a tree of accounts: science has phys and chem, and teaching stands beside it; a core-hour of `main` costs 4 SU
for account in science teaching; do manage add account $account Description=$account Organization=lab; done
for account in phys chem; do manage add account $account Parent=science Description=$account Organization=lab; done
manage add user alice Account=phys,chem,teaching
manage add user bob Account=phys,chem,teaching
manage add user games Account=chem
manage modify account chem set GrpTRESMins=cpu=6000
weights=CPU=2.0,Mem=0.002M # 1000 MB go with each core
ctl scontrol update PartitionName=main TRESBillingWeights=$weights

# --- the jobs
short="-t 5 --wrap 'sleep 1'"
job alice "-A phys -n1 $short" >"$work/ids"
job alice "-A chem -n2 $short" >>"$work/ids"
job bob "-A phys -N2 -n8 $short" >>"$work/ids"
job bob "-A teaching -n3 -t 5 --wrap 'exit 3'" >>"$work/ids"
job games "-A chem -n4 $short" >>"$work/ids"
job alice "-A teaching -n1 -a 1-3 $short" >>"$work/ids"
waiting=$(job bob "-A chem -n2 -H $short")
stopped=$(job alice "-A phys -n2 -t 5 --wrap 'sleep 300'")
until_true "the job that is to be cancelled runs" runs "$stopped"
ctl scancel "$stopped" "$waiting"
until_true "all jobs have ended" ended
ctl scontrol update NodeName=n2 State=DOWN Reason=test
ctl scontrol update NodeName=n2 State=RESUME
all_known() { [ "$(sql "SELECT count(*) FROM ${lab}_job_table WHERE time_end > 0")" = 10 ] && [ "$(sql "SELECT count(*) FROM ${lab}_event_table WHERE node_name = 'n2' AND time_end > 0 AND reason = 'test'")" = 1 ]; }
until_true "slurmdbd knows of all that" all_known

# --- a day earlier: the r-th job begins after r * 5400 s, runs for 4000 + 137 r, and n2 is away for 4000 s
base=$(($(date +%s) / 3600 * 3600 - 26 * 3600))
# (Of a job whose end slurmdbd has heard of before its start it keeps two rows: one that has ended, without a partition and
# its memory for each core, and one that never ends.)
# (A job that is cancelled while it waits, before slurmdbd has heard of it, has the time of its end as its start.)
sql "
UPDATE ${lab}_job_table SET time_start = 0 WHERE time_start IS NULL OR tres_alloc = '';
DELETE FROM ${lab}_job_table WHERE time_end = 0;
UPDATE ${lab}_job_table SET \`partition\` = 'main', mem_req = 9223372036854775808 + 1000 WHERE \`partition\` = '';
CREATE TEMPORARY TABLE places AS SELECT job_db_inx AS i, row_number() OVER (ORDER BY id_job) AS r FROM ${lab}_job_table;
UPDATE ${lab}_job_table j JOIN places p ON p.i = j.job_db_inx
  SET time_submit = $base + r * 5400, time_eligible = $base + r * 5400,
      time_end = $base + r * 5400 + IF(time_start > 0, 300, 0) + 4000 + 137 * r, time_start = IF(time_start > 0, $base + r * 5400 + 300, 0);
UPDATE ${lab}_step_table s JOIN ${lab}_job_table j ON j.job_db_inx = s.job_db_inx SET s.time_start = j.time_start, s.time_end = j.time_end;
DELETE FROM ${lab}_event_table WHERE node_name <> '' AND reason <> 'test';
UPDATE ${lab}_event_table SET time_start = $base + 7200, time_end = $base + 11200 WHERE node_name <> '';
UPDATE ${lab}_event_table SET time_start = $base - 7200 WHERE node_name = '' ORDER BY time_start LIMIT 1;
UPDATE ${lab}_assoc_table SET creation_time = $base - 7200;
UPDATE acct_table SET creation_time = $base - 7200; UPDATE user_table SET creation_time = $base - 7200;
UPDATE cluster_table SET creation_time = $base - 7200;
DELETE FROM ${lab}_assoc_usage_hour_table; DELETE FROM ${lab}_usage_hour_table;
DELETE FROM ${lab}_last_ran_table;
INSERT INTO ${lab}_last_ran_table VALUES ($base - 3600, $base - 3600, $base - 3600);"
restart ctl slurmdbd
summed() { [ "$(sql "SELECT hourly_rollup >= $base + 25 * 3600 FROM ${lab}_last_ran_table")" = 1 ]; }
until_true "slurmdbd has summed the hours" summed

# --- sreport: 25 hours, in seconds
stamp() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%S; }
from=$(stamp "$base") to=$(stamp $((base + 25 * 3600)))
sreport() { ctl env TZ=UTC sreport -n -P -t Seconds "$@" Start="$from" End="$to"; }
sreport cluster AccountUtilizationByUser Format=Account,Login,Used >"$work/by_account"
sreport --tres=billing cluster AccountUtilizationByUser Format=Account,Login,Used >"$work/by_billing"
sreport cluster UserUtilizationByAccount Format=Login,Account,Used >"$work/by_user"
sreport user TopUsage Group Format=Login,Used >"$work/top"
sreport job SizesByAccount FlatView Grouping=2,4,8 >"$work/sizes"
sreport cluster Utilization Format=Allocated,Down,Idle,Reported >"$work/utilisation"

# --- sickbay: the same rows by way of sacct, the accounts by way of sacctmgr's dump
ctl env TZ=UTC "$sickbay" import --store "$work/jobs.duckdb" --from "$(stamp $((base - 3600)))" >/dev/null
ctl scontrol show node -o >"$work/nodes" # these two are what sickbay-import.service runs
ctl env TZ=UTC sacctmgr -P show event Start=now-45days >"$work/events"
ctl sacctmgr -Q -i dump "$lab" File="$work/dump" >/dev/null 2>&1
"$sickbay" import --store "$work/jobs.duckdb" --cluster "$lab" --nodes "$work/nodes" --events "$work/events" >/dev/null
printf '{"size_classes": [{"name": "1", "most": 1}, {"name": "2-3", "most": 3}, {"name": "4-7", "most": 7}, {"name": "8", "most": 8}], "charges": {"main": "%s"}}\n' "$weights" >"$work/site.json"
report() { # REPORT OPTIONS...: its rows as tab-separated columns, with a header
  "$sickbay" report --store "$work/jobs.duckdb" --site "$work/site.json" --accounts-file "$work/dump" --from "$from" --to "$to" --reports "$1" --json "${@:2}" |
    jq -r '.reports[0] | ([.columns[].name] | @tsv), (.rows[] | map(. // "") | @tsv)'
}
# column TABLE NAME=VALUE... WANTED: the sum of a column over the rows where the others are so, times 3600, rounded.
column() {
  awk -F'\t' -v conditions="${*:2:$#-2}" -v wanted="${*: -1}" '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; n = split(conditions, all, " "); next }
    { for (i = 1; i <= n; ++i) { split(all[i], is, "="); if ($at[is[1]] != is[2]) next } sum += $at[wanted] }
    END { printf "%.0f\n", sum * (wanted == "jobs" ? 1 : 3600) }' "$1"
}
report accounts.tree >"$work/tree"
report accounts.users >"$work/users"
report cpuutilz.people >"$work/people"
report systatus.utilisation >"$work/days"
for account in phys chem teaching; do report systatus.sizes --accounts $account >"$work/sizes_$account"; done

# --- the table
printf '%-58s %12s %12s %s\n' "figure, core-seconds" sreport sickbay ""
# figure WHAT SREPORT'S OURS [APART]: how far the two may be apart.
figure() {
  checks=$((checks + 1))
  local verdict=same apart=$((${2:-0} - ${3:-0}))
  if [ -z "$2" ] || [ "${apart#-}" -gt "${4:-0}" ]; then
    verdict=DIFFERS
    fail "$1: sreport says '$2', sickbay '$3'"
  elif [ "$apart" != 0 ]; then
    verdict="rounded, $apart s"
  fi
  printf '%-58s %12s %12s %s\n' "$1" "$2" "$3" "$verdict"
}
# of FILE PATTERN COLUMN: a figure of sreport's.
of() { awk -F'|' -v pattern="$2" -v column="$3" '$0 ~ pattern { print $column; exit }' "$work/$1"; }

for account in science phys chem teaching; do
  figure "AccountUtilizationByUser, account $account" "$(of by_account "^${account}[|][|]" 3)" "$(column "$work/tree" account=$account core_h)"
done
for pair in phys/alice phys/bob chem/alice chem/games teaching/bob teaching/alice; do
  account=${pair%/*} user=${pair#*/}
  figure "AccountUtilizationByUser, $account, $user" "$(of by_account "^${account}[|]${user}[|]" 3)" "$(column "$work/users" account=$account name=$user core_h)"
  figure "UserUtilizationByAccount, $user, $account" "$(of by_user "^${user}[|]${account}[|]" 3)" "$(column "$work/users" account=$account name=$user core_h)"
done
for account in science chem; do
  figure "AccountUtilizationByUser --tres=billing, $account" "$(of by_billing "^${account}[|][|]" 3)" "$(column "$work/tree" account=$account charge)"
done
for user in alice bob games; do
  figure "user TopUsage, $user" "$(of top "^${user}[|]" 2)" "$(column "$work/people" kind=user name=$user core_h)"
done
# (Its columns: cluster, account, 0-1 CPUs, 2-3, 4-7, >= 8, percent of the cluster.)
for account in phys chem teaching; do
  place=2
  for class in 1 2-3 4-7 8; do
    place=$((place + 1))
    figure "job SizesByAccount, $account, $class cores" "$(of sizes "[|]${account}[|]" $place)" "$(column "$work/sizes_$account" size_class=$class core_h)"
  done
done
# (systatus.utilisation gives hours of each day, rounded to a thousandth: 1.8 s at most, of two or three days.)
figure "cluster Utilization, allocated" "$(cut -d'|' -f1 "$work/utilisation")" "$(column "$work/days" used_core_h)" 6
figure "cluster Utilization, down" "$(cut -d'|' -f2 "$work/utilisation")" \
  "$(($(column "$work/days" total_core_h) - $(column "$work/days" available_core_h)))" 12
figure "cluster Utilization, reported" "$(cut -d'|' -f4 "$work/utilisation")" "$(column "$work/days" total_core_h)" 6
if [ "$failures" != 0 ]; then
  # What both sides were made of.
  sql "SELECT id_job, state, \`partition\`, tres_alloc, mem_req, time_start, time_end FROM ${lab}_job_table" >"$work/job_table"
  ctl env TZ=UTC sacct -a -X -n -P -S "$from" -E "$to" -o JobID,State,Partition,AllocTRES,ReqMem,Start,End >"$work/sacct"
  for file in by_account by_user top sizes utilisation nodes events dump tree job_table sacct; do echo "--- $file"; cat "$work/$file"; done
fi
finish
