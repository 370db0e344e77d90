#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that know nothing of Sickbay are operations without a wrapper: values go in as arguments, the exit code
# and a number of the output come out, and one program's number is the next one's argument.
# shellcheck source=test/cli/common.inc
. "$(dirname "$0")/common.inc"
[ "$(id -u)" -eq 0 ] || fail "needs root: the agent does"
mkdir -p rules root/var/lib
rule() { cat <<RULE
{"specification": "site", "version": 1, "description": "d", "components": {"cpu": {"description": "d"}},
 "characteristics": {"mode": {"type": "string", "description": "d"}, "wanted": {"type": "integer", "description": "d"},
                     "online": {"type": "fraction", "description": "d"}, "less": {"type": "integer", "description": "d"}},
 "predicates": {"any": {"when": "mode == \"quick\"", "description": "d"}, "counted": {"when": "online > 0", "description": "d"},
                "few": {"when": "less != 0", "description": "processors are missing"}},
 "operations": {
   "count": {"kind": "collect", "run": "builtin:command", "components": ["cpu"], "outputs": {"command_number": "online"},
             "arguments": {"command": "getconf\n_NPROCESSORS_ONLN", "take": "/^([0-9]+)/"}, "description": "d"},
   "compare": {"kind": "test", "run": "builtin:command", "components": ["cpu"], "inputs": ["online", "wanted"], "outputs": {"command_exit": "less"},
               "arguments": {"command": "test\n{online}\n-ge\n{wanted}", "unknown_exits": "2,127"}, "description": "d"},
   "tell": {"kind": "critical", "run": "builtin:notify", "components": ["cpu"], "description": "d"}},
 "productions": {"p0": {"if": "any", "then": "count", "description": "d"}, "p1": {"if": "counted", "then": "compare", "description": "d"},
                 "p2": {"if": "few", "then": "tell", "description": "d"}},
 "periods": {"always": {"every": "60s", "initial": {"mode": "quick"$1}, "description": "d"}}}
RULE
}
cat >agent.json <<CONFIG
{"node": {"name": "n1"}, "rules": {"folders": ["$PWD/rules"]}}
CONFIG
once() {
  rule "$1" >rules/site.json
  run 0 sickbay rules lint rules/site.json
  rm -rf root/var/lib/sickbay-agent
  sickbay-agent --config agent.json --once 2>log || fail "--once ended with $?"
}
cpus=$(getconf _NPROCESSORS_ONLN)
once ", \"wanted\": $cpus"
silent_about log 'event=finding'
once ", \"wanted\": $((cpus + 1))"
says log 'event=finding specification=site rule=p2 result=fault action=notify'
# What the first program does not tell keeps the second from being run, and nothing is said of the node.
rule ", \"wanted\": $((cpus + 1))" | sed 's/"if": "counted"/"if": "any"/; s/\^(\[/^no(\[/' >rules/site.json
rm -rf root/var/lib/sickbay-agent
sickbay-agent --config agent.json --once 2>log || fail "--once ended with $?"
says log 'rule=p1 result=unknown'
silent_about log 'rule=p2'
