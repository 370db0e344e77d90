#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of two nodes on a real cluster: the helper runs on another node while the test does, and ends with it, with the
# agent that tests, with sickbayd, and with its own agent.  Once with the shipped test of throughput, once with two
# programs that know nothing of Sickbay.
#   peer.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: peer.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 3 --spares 0 --cpus 2

is() { # CODE WHAT COMMAND...
  local want=$1 what=$2 code=0
  shift 2
  checks=$((checks + 1))
  "$@" >"$folder/out" 2>&1 || code=$?
  [ "$code" = "$want" ] || { fail "$what: exit code $code, not $want"; cat "$folder/out"; }
}
on() { "$sickbay" lab exec -l "$lab" --node "$1" -- "${@:2}"; } # NODE COMMAND...

# rules SECONDS: how long the test of throughput sends.
rules() {
  cat <<RULES
{"specification": "net", "version": 1, "description": "the network between two nodes",
 "components": {"network": {"description": "the network"}},
 "characteristics": {"mode": {"type": "string", "description": "how deep"}, "rate": {"type": "integer", "unit": "B/s", "description": "to a peer"},
                     "fetched": {"type": "integer", "description": "the exit code of who fetches"}},
 "predicates": {"any": {"when": "mode != \"\"", "description": "always"}, "deep": {"when": "mode == \"deep\"", "description": "to be fetched"},
                "hard": {"when": "mode == \"extended\"", "description": "to be measured"}, "broken": {"when": "fetched != 0", "description": "Nothing was fetched"},
                "slow": {"when": "rate < 1000", "description": "The network is slow"}},
 "operations": {
   "measure": {"kind": "test", "run": "builtin:throughput", "components": ["network"], "arguments": {"seconds": $1}, "peer": {"runs": "be_measured"},
               "outputs": {"throughput": "rate"}, "timeout": "5m", "description": "send to a peer"},
   "be_measured": {"kind": "test", "run": "builtin:throughput", "components": ["network"], "arguments": {"serve": true, "seconds": 200}, "listens": 6831,
                   "timeout": "5m", "description": "receive"},
   "fetch": {"kind": "test", "run": "builtin:command", "components": ["network"], "peer": {"runs": "serve"}, "outputs": {"command_exit": "fetched"},
             "arguments": {"command": "python3\n-c\nimport sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=10).read()\nhttp://{peer}:8765/"},
             "timeout": "30s", "description": "fetch a page of a peer"},
   "serve": {"kind": "test", "run": "builtin:command", "components": ["network"], "arguments": {"command": "python3\n-m\nhttp.server\n8765"},
             "listens": 8765, "timeout": "1m", "description": "have pages"},
   "out": {"kind": "critical", "run": "builtin:drain", "components": ["network"], "description": "take it out"}},
 "productions": {"p1": {"if": "deep", "then": "fetch", "description": "fetch"}, "p2": {"if": "hard", "then": "measure", "description": "measure"},
                 "p3": {"if": "broken", "then": "out", "description": "out"}, "p4": {"if": "slow", "then": "out", "description": "out"}},
 "periods": {"always": {"description": "seldom", "every": "24h", "initial": {"mode": "quick"}}}}
RULES
}
for node in n1 n2 n3; do
  etc=$(root_of $node)/etc/sickbay
  mkdir -p "$etc/only"
  rules 2 >"$etc/only/net.json"
  jq --arg folder "$etc/only" '. + {rules: {folders: [$folder]}}' "$etc/agent.json" >"$etc/new" && mv "$etc/new" "$etc/agent.json"
  restart $node sickbay-agent
done
all_have_them() { ctl "$sickbay" nodes --json | jq -e '[.items[].agent | select(.present and (.digests | keys) == ["net"])] | length == 3'; }
until_true "all agents have the rules" all_have_them
all_idle() { [ "$(ctl sinfo -h -n 'n[1-3]' -o '%n %t' | sort -u | grep -c ' idle$')" = 3 ]; }
until_true "all nodes are idle" all_idle

helpers() { # PATTERN: the nodes on which one runs
  local node
  for node in n1 n2 n3; do on $node pgrep -f "$1" >/dev/null 2>&1 && printf '%s ' $node; done
  true
}
no_helper() { [ -z "$(helpers "$1")" ]; }
no_helper_there() { ! on "$peer" pgrep -f '/throughput$'; }

# --- as long as the test
is 0 "a test of throughput" ctl "$sickbay" diagnose n1 --mode extended --json
jq -e '.result.runs[] | select(.specification == "net") | .values.rate > 1000' <"$folder/out" >/dev/null || { fail "nothing was measured"; cat "$folder/out"; }
jq -r '"    measured: " + (.result.runs[0].values.rate | tostring) + " B/s"' <"$folder/out"
until_true "no helper is left of it" no_helper '/throughput$'
is 0 "two programs that know nothing of us" ctl "$sickbay" diagnose n1 --mode deep --json
jq -e '.result.runs[] | select(.specification == "net") | .values.fetched == 0' <"$folder/out" >/dev/null || { fail "nothing was fetched"; cat "$folder/out"; }
until_true "the server is not left" no_helper http.server

# --- whoever goes away
for node in n1 n2 n3; do
  rules 120 >"$(root_of $node)/etc/sickbay/only/net.json"
done
new_digest=$(ctl "$sickbay" nodes --json | jq -r '.items[0].agent.digests.net')
all_new() { ctl "$sickbay" nodes --json | jq -e --arg old "$new_digest" '[.items[].agent.digests.net | select(. != $old)] | length == 3'; }
until_true "all agents have the longer test" all_new
# long_test: one of n1 is under way; the node of its helper is in $peer.
long_test() {
  ctl "$sickbay" diagnose n1 --mode extended >"$folder/long" 2>&1 &
  asked=$!
  two() { [ "$(helpers '/throughput$' | wc -w)" = 2 ]; }
  until_true "a long test is under way, on two nodes" two
  peer=$(helpers '/throughput$' | tr ' ' '\n' | grep -v n1 | head -n 1)
}
long_test
kill_service n1 sickbay-agent
until_true "the helper ends when the agent that tests is killed" no_helper '/throughput$'
kill "$asked" 2>/dev/null || true
wait "$asked" || true
heal n1
until_true "the agent is back" all_new
until_true "all nodes are idle" all_idle

long_test
kill_service ctl sickbayd
checks=$((checks + 1))
within 60 no_helper_there || fail "the helper goes on without sickbayd: $(helpers '/throughput$')"
kill "$asked" 2>/dev/null || true
wait "$asked" || true
heal ctl
# (Their digests stand in the journal; a peer is who has been heard since the start.)
heard() { ctl "$sickbay" status --json | jq -e '.agents.present == 3'; }
until_true "the agents are back" heard

code=0
long_test
kill_service "$peer" sickbay-agent
until_true "the helper dies with its own agent" no_helper_there
wait "$asked" || code=$?
checks=$((checks + 1))
[ "$code" != 10 ] || { fail "the node is said to have a fault, for its peer's agent died"; cat "$folder/long"; }
holds "nobody is drained for it" sh -c "[ -z \"\$('$sickbay' lab exec -l '$lab' -- sinfo -h -R)\" ]"
finish
