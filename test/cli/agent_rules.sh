#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay-agent takes other rules while it runs, by itself and by SIGHUP; bad ones leave the old ones in force,
# also at its next start, and are a finding of the node.
. "$(dirname "$0")/common.inc"
[ "$(id -u)" -eq 0 ] || fail "needs root: the agent does"
mkdir -p rules root/var/lib
rule() { cat <<EOF
{"specification": "site", "version": 1, "description": "d", "components": {"tmp": {"description": "d"}},
 "characteristics": {"mode": {"type": "string", "description": "d"}, "used": {"type": "percent", "description": "d"}},
 "predicates": {"any": {"when": "mode == \"quick\"", "description": "d"}, "full": {"when": "used >= $1", "description": "d"}},
 "operations": {"look": {"kind": "collect", "run": "builtin:filesystem", "components": ["tmp"], "outputs": {"filesystem_used_percent": "used"},
                         "arguments": {"path": "/"}, "description": "d"},
                "tell": {"kind": "critical", "run": "builtin:notify", "components": ["tmp"], "description": "d"}},
 "productions": {"p0": {"if": "any", "then": "look", "description": "d"}, "p1": {"if": "full", "then": "tell", "description": "d"}},
 "periods": {"always": {"every": "1s", "initial": {"mode": "quick"}, "description": "d"}}}
EOF
}
rule 100 | sed 's/used >= 100/used < 0/' >rules/site.json
cat >agent.json <<EOF
{"node": {"name": "n1"}, "rules": {"folders": ["$PWD/rules"]}}
EOF
agent=0
clean_up() { [ "$agent" -eq 0 ] || kill "$agent" 2>/dev/null || :; }
# soon TEXT: the agent says it within half a minute.
soon() {
  for _ in $(seq 300); do grep -qF -e "$1" log && return; sleep 0.1; done
  cat log >&2; fail "the agent does not say: $1"
}
run 0 sickbay-agent --config agent.json --check-config
sickbay-agent --config agent.json 2>log & agent=$!
soon 'event=started'

# By itself.
rule 0 >rules/site.json
soon 'event=rules_changed specifications=1'
soon 'event=finding specification=site rule=p1 result=fault action=notify'

# A slip of the pen: those before it stay.
rule 0 | sed 's/"when": "used/"whne": "used/' >rules/site.json
kill -HUP "$agent"
soon 'event=rules_refused what='
says log 'whne'
kill -0 "$agent" || fail "a typo ended the agent"
run 65 sickbay-agent --config agent.json --check-config

# So does the next agent begin.
kill "$agent"; wait "$agent" || :
sickbay-agent --config agent.json 2>log & agent=$!
soon 'event=started version='
says log 'specifications=1'
grep -rq '"specification":"agent","rule":"rules","result":"fault"' root/var/lib/sickbay-agent ||
  fail "it is no finding of the node"

# An error of lint is one, too; mended, all is well.
rule 0 | sed 's/"filesystem_used_percent": "used"/"filesystem_used_prcent": "used"/' >rules/site.json
kill -HUP "$agent"
soon 'filesystem_used_prcent'
rule 0 >rules/site.json
soon 'event=rules_changed specifications=1'
grep -rq '"specification":"agent","rule":"rules","result":"ok"' root/var/lib/sickbay-agent ||
  fail "that they are good again is not told"
