#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The nonstop service from a client that shares nothing with ours (raw_client.py): every command, every code that it
# can send, who may, the callback and the stream, to the letter of doc/formats/nonstop.md.
#   raw_client.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: raw_client.sh BUILD}")
here=$(dirname "$(realpath "$0")")
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
lab_up --nodes 5 --spares 0 --cpus 2

# shellcheck source=test/slurm/nonstop.inc
. "$here/nonstop.inc"
nonstop_conf ControlAddr=ctl Port=9117 MaxSpareNodeCount=1 TimeLimitDelay=10 TimeLimitDrop=5 TimeLimitExtend=2 UserDrainAllow=alice
serve_nonstop
cp "$here/raw_client.py" "$folder/home/"
chmod 755 "$folder/home/raw_client.py"

# raw USER WORDS: the client as USER, on the controller.
raw() { "$sickbay" lab exec -l "$lab" --user "$1" -- env MUNGE_SOCKET="$folder/run/munge.sock" \
    python3 "$folder/home/raw_client.py" ctl 9117 "${@:2}" 2>&1; }
# answers USER PAYLOAD PATTERN: a check; the answer without the release, as a whole, is PATTERN (of bash's =~).
answers() {
  local out
  checks=$((checks + 1))
  out=$(raw "$1" ask "$2") || true
  [[ $out =~ ^22\.05[^\ ]*\ ($3)$ ]] || fail "$1: $2: '$out' and not '$3'"
}
answers_now() { [[ $(raw "$1" ask "$2") =~ ^22\.05[^\ ]*\ ($3)$ ]]; }
why='( .*)?' # ours: words behind a code

# --- without a request
for said in "no credential" "MUNGE:AwQFAACbadbadbad:" ""; do
  checks=$((checks + 1))
  [[ $(raw alice say "$said") = 'Error:"Message decrypt failure'*'"' ]] || fail "said '$said': $(raw alice say "$said")"
done
checks=$((checks + 1))
[ "$(raw alice say old 'SHOW_CONFIG')" = 'Error:"Message version invalid"' ] || fail "no version: $(raw alice say old SHOW_CONFIG)"

# --- a healthy job
job=$(as alice "sbatch --parsable --no-kill -N3 -t 60 -o /dev/null --wrap 'sleep 600'")
until_true "the job runs" has_nodes "$job" 'n[1-3]'
ids=JOBID:$job
answers nobody SHOW_CONFIG 'ENOERROR BackupAddr "none" ControlAddr "ctl" Debug 0 HotSpareCount "none" MaxSpareNodeCount 1 Port 9117 TimeLimitDelay 10 TimeLimitDrop 5 TimeLimitExtend 2 UserDrainAllow "alice" UserDrainDeny "none"'
nothing='ENOERROR FAIL_NODE_CNT 0 PENDING_JOB_DELAY 0 PENDING_JOB_ID 0 PENDING_NODE_NAME "none" REPLACE_NODE_CNT 0 TIME_EXTEND_AVAIL'
for user in alice root; do
  answers $user "GET_FAIL_NODES:$ids:STATE_FLAGS:6" 'ENOERROR ?'
  answers $user "SHOW_JOB:$ids" "$nothing 0"
  answers $user "REPLACE_NODE:$ids:NODE:n3" ENODENOTFAIL
  answers $user "DROP_NODE:$ids:NODE:n3" "ENODENOTFAIL$why"
  answers $user "REPLACE_NODE:$ids:NODE:n5" "ENODENOCPU$why"
  answers $user "DROP_NODE:$ids:NODE:n5" "NODENOTINJOB$why"
  answers $user "REPLACE_NODE:$ids:NODE:nx" "ENOHOST$why"
  answers $user "TIME_INCR:$ids:MINUTES:1" "ENOINCREASETIMELIMIT$why"
  answers $user "CALLBACK:$ids:PORT:0" ENOERROR
  for of_job in GET_FAIL_NODES:JOBID:99999:STATE_FLAGS:6 SHOW_JOB:JOBID:99999 REPLACE_NODE:JOBID:99999:NODE:n3 DROP_NODE:JOBID:99999:NODE:n3 \
    TIME_INCR:JOBID:99999:MINUTES:1 CALLBACK:JOBID:99999:PORT:50000 EVENTS:JOBID:99999:AFTER:0; do
    answers $user "$of_job" "EJOBID$why"
  done
  for garbage in FROBNICATE "" "GET_FAIL_NODES:JOBID:x:STATE_FLAGS:6" "REPLACE_NODE:$ids" "REPLACE_NODE:$ids:NODE:n[1-" \
    "TIME_INCR:$ids:MINUTES:-1" "CALLBACK:$ids:PORT:70000" "TIME_INCR:$ids:MINUTES:99999999999"; do
    answers $user "$garbage" "ECMD$why"
  done
done
answers alice "CALLBACK:$ids:PORT:22" "EPORT$why"
for of_job in "GET_FAIL_NODES:$ids:STATE_FLAGS:6" "SHOW_JOB:$ids" "REPLACE_NODE:$ids:NODE:n3" "DROP_NODE:$ids:NODE:n3" "TIME_INCR:$ids:MINUTES:1" \
  "CALLBACK:$ids:PORT:50000" "EVENTS:$ids:AFTER:0" 'DRAIN:NODES:"n3":REASON:"not his"'; do
  answers bob "$of_job" "EPERM$why"
done
answers alice 'DRAIN:NODES:"n5":REASON:"not hers"' "EPERM$why"
answers root 'DRAIN:NODES:"nx":REASON:"no such node"' "EUPDNODE$why"

# --- a node dies; the caller is called, and the stream tells
raw alice events "$job" 1 >"$folder/stream" &
stream=$!
raw alice callback "$job" 50123 >"$folder/called" &
called=$!
until_true "the callback is registered" grep -q ENOERROR "$folder/called"
other=$(as bob "sbatch --parsable -w 'n[4-5]' --exclusive -t 30 -o /dev/null --wrap 'sleep 600'")
until_true "another job has the other nodes" runs "$other"
crash n3
until_true "the caller was called" grep -qx 'called: 4 2' "$folder/called"
until_true "and the stream tells" grep -q '"event": "failed", "nodes": \["n3"\]' "$folder/stream"
wait "$called" "$stream" || fail "a client ended with an error: $(cat "$folder/called" "$folder/stream")"
answers alice "GET_FAIL_NODES:$ids:STATE_FLAGS:6" 'ENOERROR n3 [12] 2 ?'
answers alice "GET_FAIL_NODES:$ids:STATE_FLAGS:2" 'ENOERROR n3 [12] 2 ?'
answers alice "GET_FAIL_NODES:$ids:STATE_FLAGS:4" 'ENOERROR ?'
answers alice "SHOW_JOB:$ids" 'ENOERROR FAIL_NODE_CNT 1 n3 [12] PENDING_JOB_DELAY 0 PENDING_JOB_ID 0 PENDING_NODE_NAME "none" REPLACE_NODE_CNT 0 TIME_EXTEND_AVAIL 2'
answers alice "TIME_INCR:$ids:MINUTES:99" "ETIMEOVERLIMIT$why"
answers alice "TIME_INCR:$ids:MINUTES:1" ENOERROR
holds "a minute more" [ "$(limit_of "$job")" = 01:01:00 ]

# --- no other node is free
answers alice "REPLACE_NODE:$ids:NODE:n3" 'EREPLACELATER [0-9]{10}'
answers alice "SHOW_JOB:$ids" 'ENOERROR FAIL_NODE_CNT 1 n3 [12] PENDING_JOB_DELAY [0-9]+ PENDING_JOB_ID [1-9][0-9]* PENDING_NODE_NAME "n3" REPLACE_NODE_CNT 0 TIME_EXTEND_AVAIL [0-9]+'
crash n2
until_true "a second node is lost" answers_now alice "GET_FAIL_NODES:$ids:STATE_FLAGS:6" 'ENOERROR n[23] [12] 2 n[23] [12] 2 ?'
answers alice "REPLACE_NODE:$ids:NODE:n2" 'EREPLACEPENDING n3'

# --- and then one is
ctl scancel "$other"
replaced='ENOERROR ReplacementNode n[45] NewNodeList n\[1,[45]\] NewNodeCount 2 NewCpusPerNode [12]\(x2\)'
until_true "a replacement came" answers_now alice "REPLACE_NODE:$ids:NODE:n3" "$replaced"
answers alice "REPLACE_NODE:$ids:NODE:n3" "$replaced" # a lost answer: asked again, and nothing is done twice
answers alice "REPLACE_NODE:$ids:NODE:n2" 'EMAXSPARECOUNT 1'
answers alice "DROP_NODE:$ids:NODE:n2" 'ENOERROR NewNodeList n\[1,[45]\] NewNodeCount 2 NewCpusPerNode [12]\(x2\)'
answers alice "TIME_INCR:$ids:MINUTES:0" ENOERROR
answers alice "TIME_INCR:$ids:MINUTES:0" "ENOINCREASETIMELIMIT$why"

# --- a node that she drains herself; the batch host is nobody's to take
answers alice 'DRAIN:NODES:"n1":REASON:"ECC errors"' ENOERROR
until_true "it is failing" answers_now alice "GET_FAIL_NODES:$ids:STATE_FLAGS:4" 'ENOERROR n1 [12] 4 ?'
answers alice "REPLACE_NODE:$ids:NODE:n1" 'ENODEREPLACEFAIL .*'
answers alice "DROP_NODE:$ids:NODE:n1" 'EJOBUPDATE .*'
ctl scancel "$job"
until_true "the job has ended" ctl sh -c "! squeue -h -j $job | grep -q ."
until_true "sickbayd knows" answers_now alice "REPLACE_NODE:$ids:NODE:n2" "EJOBNOTRUN$why"
answers alice "DROP_NODE:$ids:NODE:n2" "EJOBNOTRUNRROR$why"
answers alice "TIME_INCR:$ids:MINUTES:1" "EJOBNOTRUN$why"
finish
