#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay rules: a specification is linted, tested and explained; NHC's configuration becomes one.
. "$(dirname "$0")/common.inc"
cp "$SICKBAY_SOURCE/rules/examples/memory.json" "$SICKBAY_SOURCE/rules/examples/memory.test.json" .

# What is shipped is well made, and does what its tests say.
run 0 sickbay rules lint
says out '0 errors'
run 0 sickbay rules test
says out ' 0 failed'

# The paper's example, by itself.
run 0 sickbay rules lint memory.json
says out 'memory_example: version 1, 6 productions, digest '
run 0 sickbay rules test memory.json --json
[ "$(jq -r '.failed, (.tests | length > 4)' out | tr '\n' ' ')" = '0 true ' ] || fail "the JSON of rules test is another"

# A fault in it has its place and an exit code: lint finds 1, the reader 65.
sed 's/, "used_percent": "z2"//' memory.json > worse.json
run 1 sickbay rules lint worse.json
says out "worse.json:17:11: error: nothing gives 'z2' a value: it is no output of an operation, and in no period initial [no_source]"
says out "error: production 'p3' never fires: nothing gives 'z2' a value in any run [unreachable]"
run 1 sickbay rules lint worse.json --json
[ "$(jq -r '[.errors, .findings[0].code, .findings[0].line] | join(" ")' out)" = '4 no_source 17' ] ||
  { cat out >&2; fail "lint found something else"; }
sed 's/z2 > 99/z2 > 140/' memory.json > worst.json
run 65 sickbay rules lint worst.json
says err "worst.json:28:20: predicate 'c3': z2 is a percent, 0 to 100, and is compared with 140 at column 4"
sed 's/"kind": "localise"/"kind": "localize"/' memory.json > worst.json
run 65 sickbay rules lint worst.json --json
says out "did you mean 'localise'?"

# All that is wrong is said at once, with names as they were written; and a remedy speaks of rules.
sed -e 's/"kind": "localise"/"kind": "localize"/' -e 's/z2 > 99/z2 > 140/' -e 's/"f6": {/"größe": {/' memory.json > worst.json
run 65 sickbay rules lint worst.json
says err "did you mean 'localise'?"
says err "worst.json:28:20: predicate 'c3': z2 is a percent"
says err "'größe' is no name of an operation"
run 65 sickbay rules lint worst.json --json
[ "$(jq -r .what out | grep -o worst.json: | wc -l)" = "$(grep -c worst.json: err)" ] || { cat out >&2; fail "the JSON has other errors"; }
cp worst.json a.json && cp worst.json b.json
echo '{"testz": []}' > a.test.json && cp memory.test.json b.test.json
run 65 sickbay rules test a.json b.json memory.json
says out 'ok   memory.test.json:'
says err "a.test.json:1:11: the rule tests: has the unknown key 'testz'; did you mean 'tests'?"
says err "b.json:28:20: predicate 'c3': z2 is a percent"
for words in "lint missing.json" "lint missing/" "test missing.json" "explain memory.json --specification none" \
  "explain memory.test.json --test none" "explain made.json" "import-nhc missing.conf"; do
  [ -f made.json ] || sed 's/"version"/"nodes": "n9", "version"/' memory.json > made.json
  run 66 sickbay rules $words
  silent_about err 'sickbay cases'
  silent_about err 'sickbay nodes'
done

# A test that does not hold says what came instead.
sed 's/\["c4", "f6"\]/["f6"]/' memory.test.json > other.test.json
cp memory.json other.json
run 1 sickbay rules test other.json
says out 'steps: expected c0 f1 | c1 c3 f4 f2 | c2 f3 f5 | f6, got c0 f1 | c1 c3 f4 f2 | c2 f3 f5 | c4 f6'
says out '1 failed'

# Why a production fires: for values, or in a test.
run 0 sickbay rules explain memory.json --set z1=8589934592 --set z2=100
says out 'p4          f5         fired: z2 > 99 is true (z2 = 100)'
says out 'p1          f2         not fired: z1 != 8589934592 is false (z1 = 8589934592)'
run 0 sickbay rules explain memory.test.json --test 'a healthy node' --json
[ "$(jq -r '[.productions[] | .outcome] | join(" ")' out)" = 'fired false not_admissible false false not_admissible' ] ||
  { cat out >&2; fail "the outcomes are others"; }
run 64 sickbay rules explain memory.json --set z2=140
says err "--set z2=140: it must be a whole number from 0 to 100, not 140"
run 64 sickbay rules explain memory.json --set zz=1
run 66 sickbay rules explain memory.test.json --test 'a healty node'
says err "did you mean 'a healthy node'?"

# Unknown is no text, and the period is the quick one, whichever stands first.
run 0 sickbay rules explain memory.json --set z1=null --json
[ "$(jq -r '[.productions[] | select(.production == "p1") | .outcome] | join(" ")' out)" = unknown ] ||
  { cat out >&2; fail "null is not unknown"; }
cat > periods.json <<'EOF'
{"specification": "periods", "version": 1, "description": "d",
 "characteristics": {"mode": {"type": "string", "description": "d"}, "name": {"type": "string", "description": "d"}},
 "predicates": {"deep": {"when": "mode == 'deep'", "description": "d"}, "quick": {"when": "mode == 'quick'", "description": "d"},
                "odd": {"when": "name == 'null'", "description": "d"}},
 "operations": {"look": {"kind": "collect", "run": "look", "outputs": ["name"], "description": "d"},
                "test": {"kind": "test", "run": "test", "description": "d"},
                "tell": {"kind": "critical", "run": "builtin:notify", "description": "d"}},
 "productions": {"p1": {"if": "deep", "then": "test", "description": "d"}, "p2": {"if": "quick", "then": "look", "description": "d"},
                 "p3": {"if": "odd", "then": "tell", "description": "d"}},
 "periods": {"night": {"every": "2h", "from": "02:00", "to": "04:00", "initial": {"mode": "deep"}, "description": "d"},
             "always": {"every": "60s", "initial": {"mode": "quick"}, "description": "d"}}}
EOF
outcomes() { jq -r '[.productions[] | .outcome] | join(" ")' out; }
run 0 sickbay rules explain periods.json --set name=null --json
[ "$(outcomes)" = 'false fired unknown' ] || { cat out >&2; fail "the period or null is another"; }
run 0 sickbay rules explain periods.json --set 'name="null"' --json
[ "$(outcomes)" = 'false fired fired' ] || { cat out >&2; fail "a text in quotes is another"; }
# A test that names no period does not pass emptily.
echo '{"tests": [{"name": "t", "runs": [{"answers": {"look": {"outputs": {"name": "null"}}}, "expect": {"actions": []}}]}]}' > periods.test.json
run 1 sickbay rules test periods.json
says out 'actions: expected'

# NHC: what is taken is a specification without errors.
cat > nhc.conf <<'EOF'
* || check_fs_free / 3%
* || check_ps_service -r munged
n0* || check_hw_physmem_free 1MB
* || check_file_test -d /tmp
* || site_check 3
* || check_moab_rm -t 10
EOF
mkdir made
run 0 sickbay rules import-nhc nhc.conf --out made
says out '4 of 6 lines taken: 3 whole, 1 as stubs'
run 0 sickbay rules import-nhc nhc.conf --out made --nodes 'n[00-19]' --json
[ "$(jq -r '[.lines[].taken] | join(",")' out)" = 'whole,whole,whole,whole,stub,no' ] || fail "the JSON of import-nhc is another"
run 0 sickbay rules lint made --node n03
says out '0 errors, 0 warnings'
run 65 sickbay rules import-nhc memory.json
run 66 sickbay rules import-nhc missing.conf

# A node that describes its components knows which restarts nobody could do; where none is described, or the rules are
# another node's, nothing is said.
run 0 sickbay rules lint
silent_about out '[unknown_component]'
mkdir -p "$SICKBAY_ROOT/etc/sickbay/components.d"
cat > "$SICKBAY_ROOT/etc/sickbay/components.d/slurmd.json" <<'EOF'
{"component": "slurmdd", "check": ["/bin/true"], "restart": ["/bin/true"]}
EOF
run 0 sickbay rules lint
says out "warning: operation 'restart_slurmd' asks for the restart of 'slurmd', which components.d of this node does not describe; did you mean 'slurmdd'? [unknown_component]"
run 0 sickbay rules lint --node n3
silent_about out '[unknown_component]'
run 0 sickbay-agent --check-config
says err "warning: operation 'restart_slurmd' asks for the restart of 'slurmd'"
sed -i 's/slurmdd/slurmd/' "$SICKBAY_ROOT/etc/sickbay/components.d/slurmd.json"
run 0 sickbay rules lint
says out '0 errors, 0 warnings'
run 0 sickbay-agent --check-config
silent_about err warning
