#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay plan: a list of failures in, three answers out; the same seed gives the same ones.
. "$(dirname "$0")/common.inc"

# 40 nodes that fail by turns, each failure an hour long: 400 in 400 days.
awk 'BEGIN {
  print "node,start,duration,cause"
  for (i = 0; i < 400; ++i) printf "n%d,%d,%ds,fan\n", (i * 17) % 40, 1000000000 + i * 86400 + (i * 7919) % 40000, 1800 + (i * 541) % 3600
}' >failures.csv

run 0 sickbay plan --nodes 40 --failures failures.csv --replications 20 --job-nodes 4 --html page.html
says out "400 failures of 40 nodes"
says out "How many spares for 99.0 %?"
says out "Which interval between checkpoints?"
says out "Daly's formula says"
says out "What are repairs worth that are 2 times as fast?"
says page.html "Content-Security-Policy"
says page.html "<svg viewBox"
silent_about page.html "<script"
silent_about page.html "http://"
silent_about page.html "https://"
cp out first
run 0 sickbay plan --nodes 40 --failures failures.csv --replications 20 --job-nodes 4
same out <first

# Only what is asked.
run 0 sickbay plan --nodes 40 --failures failures.csv --replications 20 --job-nodes 4 --spares 99.9%
says out "How many spares for 99.9"
silent_about out "Which interval"
run 0 sickbay plan --nodes 40 --failures failures.csv --replications 20 --interval --json
says out '"daly_h"'
silent_about out '"node_hours_a_year"'

# Names of the list are anybody's text.
{ cat failures.csv; echo 'n1<b>,1200000000,60s,x'; } | sed '1s/$/,system/; 2,$s/$/,a<script>/' >named.csv
run 0 sickbay plan --nodes 50 --failures named.csv --replications 10 --html page.html
silent_about page.html "<script"
says page.html "a&lt;script&gt;"

run 0 sickbay plan --validate --failures failures.csv --replications 50
says out "How often the interval of 90 % held"
says out "all: "

# Rows that cannot be read are told; a file without any is an error.
sed '5s/.*/n1,yesterday,1h,x/' failures.csv >bad.csv
run 0 sickbay plan --nodes 40 --failures bad.csv --replications 10 --spares 99%
says err "line 5 is left out: 'yesterday' is no time"
echo 'when,what' >none.csv
run 65 sickbay plan --nodes 40 --failures none.csv
says err "no column 'node'"
run 66 sickbay plan --nodes 40 --failures missing.csv
run 64 sickbay plan --nodes 40
says err "--failures FILE"
run 64 sickbay plan --failures failures.csv
says err "--nodes N"
run 64 sickbay plan --nodes 40 --failures failures.csv --spares 120%
says err "no share between 0 and 1"
