#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay verify: V as a job of the caller, one row per node, and the exit code for the worst.
. "$(dirname "$0")/common.inc"
lab_up 3

run 0 as alice sickbay verify 'n[1-2]'
says err "verifying n[1-2] as job"
grep -Eq '^n1 +(ok|slow)' out || { cat out >&2; fail "no row for n1"; }
grep -Eq '^n2 +(ok|slow)' out || { cat out >&2; fail "no row for n2"; }
silent_about out "n3"

run 0 as alice sickbay verify --json
for node in n1 n2 n3; do says out "\"node\": \"$node\""; done

run 76 as alice sickbay verify n9
says err "sbatch did not take the verification of n9"

run 66 as alice sickbay verify -p mian
says err "there is no partition 'mian'"
says err "did you mean 'main'?"

# What healthy nodes measured becomes a baseline, which a later verification is held against.
run 0 as alice sickbay verify --record-baseline base.json 'n[1-2]'
if grep -q '^ok on all' out; then
  says out "baseline of 2 nodes: base.json"
  as alice cat base.json >baseline
  says baseline '"sickbay_baseline": 1'
  says baseline '"membw"'
else  # (On a loaded machine a link may be slow: then nothing may be recorded.)
  ! as alice test -e base.json || fail "a baseline of slow nodes was recorded"
fi
# One that no node can reach says so of each.
printf '{"sickbay_baseline": 1, "metrics": {"cpu": {"median": 1e9, "tolerance": 0.1, "unit": "Mpairs/s", "samples": 2}}}\n' |
  as alice sh -c 'cat >fast.json'
run 0 as alice env SICKBAY_VERIFY_BASELINE=fast.json sickbay verify n1
says out "is off the baseline"

# Another script: its exit code speaks for nodes that it does not name.
script alice no.sh 'exit 1'
run 0 as alice sickbay verify --script no.sh n1
says out "unknown"
