#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/first-rule.md, typed as it stands: its first six steps, each block of it in its order, and its overlay.
. "$(dirname "$0")/common.inc"
[ "$(id -u)" -eq 0 ] || fail "needs root: the agent does"
page=$SICKBAY_SOURCE/doc/first-rule.md

# block N: the N-th block of commands, in this test's own root.
block() {
  awk -v wanted="$1" '/^```sh$/ { at += 1; inside = 1; next } /^```$/ { inside = 0 } inside && at == wanted' "$page" |
    sed "s|/etc/sickbay|$SICKBAY_ROOT/etc/sickbay|g" > step
  [ -s step ] || fail "the page has no block $1"
}
step() { block "$1"; run 0 sh -eu step; }
mkdir -p "$SICKBAY_ROOT/var/lib"
step 1
step 2
says out '0 errors, 0 warnings'
step 3
step 4
says out '2 passed, 0 failed'
step 5
says out 'fired: var_used > 90 is true (var_used = 91)'
step 6
grep -rq '"specification":"site"' "$SICKBAY_ROOT/var/lib/sickbay-agent" || fail "the agent did not use the rule"
block 7
[ "$(wc -l < step)" -eq 3 ] || fail "the last step has other commands"

# The overlay is one.
awk '/^```json$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" > "$SICKBAY_ROOT/etc/sickbay/rules.d/node.json"
run 0 sickbay rules lint --node g7
says out '0 errors, 0 warnings'
run 0 sickbay rules explain --node g7 --specification node --set parts_missing=1 --json
[ "$(jq -r '[.productions[] | select(.production == "drain_parts_lost") | .outcome] | join(" ")' out)" = fired ] ||
  { cat out >&2; fail "what is expected is not looked for"; }
[ "$(jq -r '[.productions[] | select(.production == "tell_hot")] | length' out)" = 0 ] || fail "tell_hot is still there"
