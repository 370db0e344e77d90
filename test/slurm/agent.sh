#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Agents on a real cluster: they report, diagnose on request, and lose and double nothing while sickbayd or they
# themselves are killed.
#   agent.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: agent.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 2 --spares 0
# is CODE WHAT COMMAND...: the command's exit code.
is() {
  local wanted=$1 what=$2 code=0
  shift 2
  checks=$((checks + 1))
  "$@" >"$folder/out" 2>&1 || code=$?
  [ "$code" = "$wanted" ] || { fail "$what: exit code $code in place of $wanted"; cat "$folder/out"; }
}
findings() { ctl "$sickbay" journal --json | jq -c 'select(.kind == "finding" and .body.node == "'"$1"'" and .body.specification == "probe")'; }
results() { findings "$1" | jq -r .body.result | tr '\n' ' '; }
spooled() { grep -c '"specification":"probe"' "$(root_of "$1")/var/lib/sickbay-agent/spool"; }
has_results() { [ "$(results "$1")" = "$2" ]; }
has_spooled() { [ "$(spooled "$1" || true)" = "$2" ]; }

# A rule of our own: a file says whether the node is well.
for node in n1 n2; do
  mkdir -p "$(root_of $node)/etc/sickbay/rules.d" "$(root_of $node)/etc/sickbay/operations.d"
  cat >"$(root_of $node)/etc/sickbay/rules.d/probe.json" <<'RULES'
{"specification": "probe", "version": 1, "description": "a node with a flag",
 "components": {"flag": {"description": "the flag"}},
 "characteristics": {"mode": {"type": "string", "description": "how deep"},
                     "broken": {"type": "bool", "description": "the flag is up"}},
 "predicates": {"always": {"when": "mode != \"\"", "description": "always"},
                "up": {"when": "broken", "description": "The flag is up"}},
 "operations": {"look": {"kind": "collect", "run": "probe", "components": ["flag"], "outputs": ["broken"], "description": "Look at it"},
                "out": {"kind": "critical", "run": "builtin:drain", "components": ["flag"], "inputs": ["broken"], "description": "Take the node out"}},
 "productions": {"p0": {"if": "always", "then": "look", "description": "look"},
                 "p1": {"if": "up", "then": "out", "description": "out"}},
 "periods": {"always": {"description": "often", "every": "2s", "initial": {"mode": "quick"}}}}
RULES
  cat >"$(root_of $node)/etc/sickbay/operations.d/probe" <<PROBE
#!/bin/sh
if [ -e "$(root_of $node)/flag" ]; then echo '{"outputs": {"broken": true}}'; else echo '{"outputs": {"broken": false}}'; fi
PROBE
  chmod 755 "$(root_of $node)/etc/sickbay/operations.d/probe"
  restart $node sickbay-agent  # rules are read at the start
done
both_present() { ctl "$sickbay" nodes --json | jq -e '[.items[].agent | select(.present and (.digests.probe | length) == 16)] | length == 2'; }
until_true "both agents have said hello with the digest of their rules" both_present

# --- on request
is 0 "a diagnosis of a good node" ctl "$sickbay" diagnose n1 --explain
grep -q 'not fired: broken is false' "$folder/out" || { fail "--explain does not explain"; cat "$folder/out"; }
is 77 "a diagnosis by a user" "$sickbay" lab exec -l "$lab" --user alice -- "$sickbay" diagnose n1
is 66 "a diagnosis of no node" ctl "$sickbay" diagnose n77
touch "$(root_of n1)/flag"
is 10 "a diagnosis of a bad node" ctl "$sickbay" diagnose n1 --json
jq -e '.outcome == "fault" and any(.result.runs[]; .values.broken == true)' <"$folder/out" >/dev/null || fail "what --json says: $(cat "$folder/out")"
until_true "the finding is in the journal once" has_results n1 "fault "

# --- sickbayd away, and the agent killed meanwhile
kill_service ctl sickbayd
touch "$(root_of n2)/flag"
until_true "the spool keeps the fault" has_spooled n2 1
rm "$(root_of n2)/flag"
until_true "the spool keeps that it is gone" has_spooled n2 2
restart n2 sickbay-agent
is 0 "--once without sickbayd" "$sickbay" lab exec -l "$lab" --node n2 -- env "SICKBAY_ROOT=$(root_of n2)" "$build/bin/sickbay-agent" --once
heal ctl
until_true "both findings of n2 came, in their order" has_results n2 "fault ok "
until_true "the spool of n2 is empty" has_spooled n2 0
restart ctl sickbayd
rm "$(root_of n1)/flag"
until_true "n1 tells a sickbayd that was killed again that its fault is gone" has_results n1 "fault ok "
has_results n2 "fault ok " || fail "n2's findings came twice: $(results n2)"

# --- once, as Slurm would call it
touch "$(root_of n2)/flag"
kill_service n2 sickbay-agent
is 0 "--once on a bad node" "$sickbay" lab exec -l "$lab" --node n2 -- env "SICKBAY_ROOT=$(root_of n2)" "$build/bin/sickbay-agent" --once
until_true "what --once found is in the journal" has_results n2 "fault ok fault "

# --- a repair that is cut short by the death of its agent
root=$(root_of n1)
cat >"$root/etc/sickbay/rules.d/mend.json" <<'RULES'
{"specification": "mend", "version": 1, "description": "a node that mends itself",
 "components": {"flag": {"description": "the flag"}},
 "characteristics": {"repair": {"type": "bool", "description": "may repair"}, "wanted": {"type": "bool", "description": "there is something to mend"},
                     "mended": {"type": "bool", "description": "it was mended"}},
 "predicates": {"always": {"when": "repair", "description": "always"}, "torn": {"when": "wanted", "description": "Something is torn"}},
 "operations": {"look": {"kind": "collect", "run": "torn", "components": ["flag"], "outputs": ["wanted"], "description": "Look at it"},
                "mend": {"kind": "repair", "run": "mend", "components": ["flag"], "outputs": ["mended"], "timeout": "300s", "description": "Mend it"}},
 "productions": {"p0": {"if": "always", "then": "look", "description": "look"}, "p1": {"if": "torn", "then": "mend", "description": "mend"}},
 "periods": {"always": {"description": "often", "every": "2s", "initial": {"repair": true}}}}
RULES
cat >"$root/etc/sickbay/operations.d/torn" <<TORN
#!/bin/sh
if [ -e "$root/pid" ]; then echo '{"outputs": {"wanted": false}}'; else echo '{"outputs": {"wanted": true}}'; fi
TORN
cat >"$root/etc/sickbay/operations.d/mend" <<MEND
#!/bin/sh
echo \$\$ >"$root/pid.new"
mv "$root/pid.new" "$root/pid"
exec sleep 300
MEND
chmod 755 "$root"/etc/sickbay/operations.d/*
config=$root/etc/sickbay/agent.json
jq '.repair.allowed = true' "$config" >"$config.new"
mv "$config.new" "$config"
cut_repairs() { ctl "$sickbay" journal --json | jq -r 'select(.kind == "finding" and .body.specification == "mend") | .body.rule + " " + .body.result + " " + .body.action + ": " + .body.text'; }
restart n1 sickbay-agent
until_true "the repair is under way" test -s "$root/pid"
[ -z "$(cut_repairs)" ] || fail "a finding of a repair that is under way: $(cut_repairs)"
kill_service n1 sickbay-agent
repair_is_gone() { ! "$sickbay" lab exec -l "$lab" --node n1 -- kill -0 "$(cat "$root/pid")"; }
until_true "the repair dies with its agent" repair_is_gone
heal n1
is_told() { [ "$(cut_repairs)" = "p1 unknown none: the repair mend was under way when the agent ended: whether it took effect is unknown" ]; }
until_true "the next agent tells that it does not know what became of the repair" is_told
restart n1 sickbay-agent
is 0 "a diagnosis after it" ctl "$sickbay" diagnose n1
is_told || fail "it was told again: $(cut_repairs)"

# --- stress: on an idle node only, and no longer than it is idle
root=$(root_of n2)
rm -f "$root/flag"
cat >"$root/etc/sickbay/rules.d/burn.json" <<'RULES'
{"specification": "burn", "version": 1, "description": "a node that is stressed",
 "components": {"cpu": {"description": "processors"}},
 "characteristics": {"mode": {"type": "string", "description": "how deep"}, "hot": {"type": "bool", "description": "it got hot"}},
 "predicates": {"hard": {"when": "mode == \"extended\"", "description": "to be stressed"}},
 "operations": {"burn": {"kind": "test", "run": "burn", "components": ["cpu"], "needs_idle": true, "outputs": ["hot"], "timeout": "300s", "description": "Burn"}},
 "productions": {"p0": {"if": "hard", "then": "burn", "description": "burn"}},
 "periods": {"always": {"description": "seldom", "every": "24h", "initial": {"mode": "quick"}}}}
RULES
cat >"$root/etc/sickbay/operations.d/burn" <<BURN
#!/bin/sh
echo \$\$ >"$root/pid.new"
mv "$root/pid.new" "$root/pid"
exec sleep 300
BURN
chmod 755 "$root/etc/sickbay/operations.d/burn"
heal n2  # its agent was killed above; rules are read at the start
n2_is_idle() { [ "$(ctl sinfo -h -n n2 -o %t)" = idle ]; }
until_true "n2 is idle" n2_is_idle
ctl "$sickbay" diagnose n2 --mode extended >"$folder/burned" 2>&1 &
asked=$!
until_true "the idle node is stressed on request" test -s "$root/pid"
"$sickbay" lab exec -l "$lab" --user alice -- sh -c 'cd; sbatch -Q -t 5 -w n2 --wrap "sleep 250" -o /dev/null' >/dev/null
burn_is_gone() { ! "$sickbay" lab exec -l "$lab" --node n2 -- kill -0 "$(cat "$root/pid")"; }
until_true "the stress ends when a job starts" burn_is_gone
code=0
wait "$asked" || code=$?
checks=$((checks + 1))
[ "$code" = 13 ] && grep -q 'ended before its time: a step of a job runs here\|ended before its time: Slurm shows the node as' "$folder/burned" ||
  { fail "what is said of it (exit code $code)"; cat "$folder/burned"; }
rm "$root/pid"
is 13 "a request beside the job" ctl "$sickbay" diagnose n2 --mode extended
grep -q 'burn was not run: stress of the node not permitted: ' "$folder/out" || { fail "it does not say why"; cat "$folder/out"; }
[ ! -e "$root/pid" ] || fail "the node was stressed beside a job"

# --- what a deep look says of the job: Slurm's word, and its connections
ctl "$sickbay" diagnose n2 --mode deep --json >"$folder/out" || true
checks=$((checks + 1))
jq -e '.result.runs[] | select(.specification == "node") | .values |
  .job_slurm_state == "RUNNING" and .job_priority > 0 and .job_partition == "main" and .job_connections == 0 and .job_sent == 0' \
  <"$folder/out" >/dev/null || fail "what is said of the job: $(jq -c '.result.runs[] | select(.specification == "node") | [.values | to_entries[] | select(.key | startswith("job"))], [.findings[].text]' "$folder/out")"

# --- on so many nodes at once as the site says
"$sickbay" lab exec -l "$lab" --user alice -- scancel -u alice
site=$folder/root/etc/sickbay/sickbay.json
jq '. + {diagnose: {active_at_once: 1}}' "$site" >"$site.new"
mv "$site.new" "$site"
restart ctl sickbayd
cp "$(root_of n2)/etc/sickbay/rules.d/burn.json" "$(root_of n1)/etc/sickbay/rules.d/burn.json"
sed "s|$(root_of n2)|$(root_of n1)|g" "$(root_of n2)/etc/sickbay/operations.d/burn" >"$(root_of n1)/etc/sickbay/operations.d/burn"
chmod 755 "$(root_of n1)/etc/sickbay/operations.d/burn"
both_can_burn() { ctl "$sickbay" nodes --json | jq -e '[.items[].agent | select(.present and (.digests.burn | length) == 16)] | length == 2'; }
until_true "both agents have the rules" both_can_burn
both_idle() { [ "$(ctl sinfo -h -n n1,n2 -o '%n %t' | sort -u | grep -c ' idle$')" = 2 ]; }
until_true "both nodes are idle" both_idle
states() { ctl "$sickbay" nodes --json | jq -r '[.items[].agent.active.state // "none"] | join(" ")'; }
burns() { local pid; pid=$(cat "$(root_of "$1")/pid" 2>/dev/null) && "$sickbay" lab exec -l "$lab" --node "$1" -- kill -0 "$pid"; }
for node in n1 n2; do is 0 "an order for $node" ctl "$sickbay" diagnose "$node" --mode extended --detach; done
one_waits() { case $(states) in "holds waits" | "waits holds") ;; *) return 1 ;; esac }
until_true "one node has leave, the other waits" one_waits
case $(states) in holds*) first=n1 second=n2 ;; *) first=n2 second=n1 ;; esac
until_true "the first is stressed" burns "$first"
checks=$((checks + 1))
! burns "$second" 2>/dev/null || fail "both nodes are stressed at once"
ctl "$sickbay" nodes "$second" >"$folder/out"
checks=$((checks + 1))
grep -q 'an active check waits for leave since .*: 1 of 1 nodes have it, 1 wait' "$folder/out" || { fail "who waits is not told"; cat "$folder/out"; }
"$sickbay" lab exec -l "$lab" --node "$first" -- kill "$(cat "$(root_of "$first")/pid")"
until_true "the second is stressed when the first is done" burns "$second"
checks=$((checks + 1))
! burns "$first" 2>/dev/null || fail "the first is stressed again"

finish
