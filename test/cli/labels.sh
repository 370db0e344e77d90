#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay labels: from names that no list knows to a list of one's own and a store that is labelled with it.
. "$(dirname "$0")/common.inc"
export SICKBAY_STORE="$PWD/jobs.duckdb"
cat > log.txt <<'EOF'
JobID|JobName|User|Partition|State|Submit|Start|End|Elapsed|AllocCPUS
1|vasp_std|ann|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:00|2021-05-01T10:00:00|10:00:00|4
2|lmp_mpi|bob|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:00|2021-05-01T02:00:00|02:00:00|2
3|heatflux3|ann|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:00|2021-05-01T10:00:00|10:00:00|8
4|heatflux3|cat|cpu|COMPLETED|2021-05-02T00:00:00|2021-05-02T00:00:00|2021-05-02T05:00:00|05:00:00|8
5|a.out|cat|cpu|COMPLETED|2021-05-02T00:00:00|2021-05-02T00:00:00|2021-05-02T01:00:00|01:00:00|1
EOF
run 0 sickbay import log.txt

# How a name is labelled; one that is unknown is an exit code.
run 0 sickbay labels test vasp_std
says out 'vasp_std  VASP         materials science  keyword  vasp_std'
run 1 sickbay labels test vasp_std heatflux3 --json
[ "$(jq -c '[.[] | [.name, .application, .labelled_by]]' out)" = \
  '[["vasp_std","VASP","keyword"],["heatflux3","unknown","other"]]' ] || fail "the JSON of labels test is another"
run 0 sickbay labels test job.sh --steps 'hydra lmp_mpi'
says out 'LAMMPS'

# A keyword that means something else besides needs a sign, wherever it stands.
run 1 sickbay labels test ne30_g16 g16_bcb
silent_about out 'Gaussian'
run 0 sickbay labels test g16_bcb --comment tddft
says out 'Gaussian'
run 0 sickbay labels test g16_bcb --account gaussian
says out 'Gaussian'

# A name behind --labels FILE is a name.
printf '{"applications": [{"name": "Heatflux", "field": "f", "keywords": ["heatflux"]}]}' > mine.json
run 0 sickbay labels test --labels mine.json heatflux3
says out 'heatflux3  Heatflux'
run 0 sickbay labels test --labels mine.json --labels mine.json heatflux3

# What no list knows, by core-hours; a.out says nothing and is proposed to nobody.
run 0 sickbay labels suggest
says out '3 of 5 jobs have no label, 73.3 % of the core-hours'
says out ' 1     120     2      2  job name  keyword heatflux  heatflux3'
silent_about out 'a.out'
run 0 sickbay labels suggest --accept 1=Heatflux:engineering --out own.json
says out 'sickbay labels apply --labels own.json'
says out 'Gives a label to 2 jobs of 2 users, and another one to 0 jobs.'
[ "$(jq -c '.applications' own.json)" = '[{"name":"Heatflux","field":"engineering","keywords":["heatflux"]}]' ] ||
  fail "own.json holds something else"
run 64 sickbay labels suggest --accept 2
says err "--accept '2': there is no such suggestion"

# A store is labelled anew: first only counted, then done, then nothing is left to do.
run 0 sickbay labels apply --labels own.json --dry-run
says out '2 of 5 jobs would get another label; 4 are labelled (80.0 %), 2 were'
run 0 sickbay labels suggest
says out '3 of 5 jobs have no label'
run 0 sickbay labels apply --labels own.json
says out '2 of 5 jobs got another label; 4 are labelled (80.0 %), 2 were'
run 0 sickbay labels apply --labels own.json
says out '0 of 5 jobs got another label'
run 0 sickbay sql "SELECT job_id, application, app_field FROM jobs WHERE user_name = 'cat' ORDER BY 1" --format csv
same out <<'EOF'
job_id,application,app_field
4,Heatflux,engineering
5,unknown,
EOF
printf '{"applications": [{"name": "X", "keyword": ["x"]}]}' > wrong.json
run 65 sickbay labels apply --labels wrong.json
says err "did you mean 'keywords'?"

# What accepting a line will do is more than its group: the keyword stands in other names, too.
cat > more.txt <<'EOF'
JobID|JobName|User|Partition|State|Submit|Start|End|Elapsed|AllocCPUS|WorkDir
1|larmor1|ann|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:00|2021-05-01T10:00:00|10:00:00|4|/work/p
2|case7_larmor|bob|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:00|2021-05-01T01:00:00|01:00:00|4|/work/p
3|qzx|cat|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:00|2021-05-01T01:00:00|01:00:00|4|/work/p/larmor/r1
EOF
run 0 sickbay import more.txt --store more.duckdb
run 0 sickbay labels suggest --store more.duckdb --json
[ "$(jq -c '[.suggestions[] | select(.keyword == "larmor") | [.jobs, .users, .weight, .group_jobs]]' out)" = '[[3,3,48,1]]' ] ||
  { cat out >&2; fail "three jobs of three users are not told"; }

# Jobs without a label, by the same user's jobs of their shape: told, never stored, in reports where asked for.
{
  echo 'JobID|JobName|User|Partition|State|Submit|Start|End|Elapsed|AllocCPUS|Comment'
  for i in $(seq 1 20); do
    echo "$i|bulk_$i|ann|cpu|COMPLETED|2021-05-01T00:00:$(printf %02d "$i")|2021-05-01T00:01:00|2021-05-01T01:01:00|01:00:00|4|vasp"
  done
  echo '21|bulk_21|ann|cpu|COMPLETED|2021-05-01T00:00:21|2021-05-01T00:01:00|2021-05-01T01:01:00|01:00:00|4|'
  echo '22|bulk_22|bob|cpu|COMPLETED|2021-05-01T00:00:22|2021-05-01T00:01:00|2021-05-01T01:01:00|01:00:00|4|'
} > alike.txt
run 0 sickbay import alike.txt --store alike.duckdb
run 0 sickbay labels like --store alike.duckdb
says out "1 of 2 jobs without a label are like their user's labelled jobs: 95.5 % would be labelled, 90.9 % are by evidence"
says out 'VASP            1       4      1        0.84'
run 0 sickbay labels like --store alike.duckdb --least 0.9 --json
[ "$(jq '.like' out)" = 0 ] || fail "20 of 20 are no 0.9"
run 64 sickbay labels like --store alike.duckdb --least 0.2
run 0 sickbay report --store alike.duckdb --reports quality.labels --json
[ "$(jq -c '[.. | .rows? // empty | .[] | .[0]]' out)" = '["comment","unknown: other"]' ] || { cat out >&2; fail "labels by likeness, unasked"; }
run 0 sickbay report --store alike.duckdb --reports quality.labels --like 0.8 --json
[ "$(jq -c '[.. | .rows? // empty | .[] | .[0]]' out)" = '["comment","like","unknown: other"]' ] || { cat out >&2; fail "no labels by likeness"; }
run 0 sickbay sql --store alike.duckdb "SELECT count(*) FROM jobs WHERE labelled_by = 'like'" --format csv
same out <<'EOF'
count_star()
0
EOF

# A person marks a sample, and hears how often the labels are right.
run 0 sickbay labels audit --users 3 --records 4 --out sheet.json
says out '4 records to mark: sheet.json'
run 65 sickbay labels audit --marked sheet.json
says err 'no record is marked'
jq '.records |= [to_entries[] | .value.right = (.key != 0) | .value]' sheet.json > marked.json
run 0 sickbay labels audit --marked marked.json --json
[ "$(jq '.all.marked == 4 and .all.right == 3' out)" = true ] || { cat out >&2; fail "3 of 4 are not told"; }
run 66 sickbay labels audit --marked missing.json
run 66 sickbay labels suggest --store missing.duckdb
