#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Gates on a real Slurm (doc/design/diagnose.md, "Gates"): a node that an operator puts back, or that boots, is out
# until its quick diagnosis has passed; one that is sick stays out with what was found; one whose agent is silent is
# let in when its time is over.  What was well when sickbayd came is let be, and so is what we put back ourselves.
#   gate.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: gate.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
# (n1 is the only node of a partition, which the breaker lets nothing out of.)
lab_up --nodes 5 --spares 0 --cpus 2

# A file says that the node's device is broken.
for node in n1 n2 n3 n4 n5; do
  breakable $node 1h "$(root_of $node)/flag"
  restart $node sickbay-agent
done
set_site '{drain: {act: true, most: 100, most_percent: 100, most_out_percent: 100, window: "10s", lift_after: "3s",
  gate: "both", gate_wait: "40s", gate_silent: "in", check_every: "5s"}}'

service() { ctl "$sickbay" nodes --json | jq -r ".items[] | select(.name == \"$1\") | .service.$2"; }
stands() { [ "$(service "$1" standing)" = "$2" ]; }
gate_says() { service "$1" gate | grep -q "$2"; }
is_seen() { ctl "$sickbay" nodes --json | jq -e ".items[] | select(.name == \"$1\") | .flags | index(\"$2\")"; }
slurm_shows() { ctl scontrol show node "$1" | grep -E 'State=|Reason=' | tr '\n' ' ' | grep -q "$2"; }
drains() { ctl "$sickbay" journal --json | jq -c "select(.subject == \"node:$1\" and .body.verb == \"drain\" and .kind == \"done\")" | wc -l; }
drained_times() { [ "$(drains "$1")" = "$2" ]; }
# put_back NODE: an operator drains it, Sickbay sees that, and he resumes it.
put_back() {
  ctl scontrol update nodename="$1" state=drain reason="its fan is exchanged"
  until_true "sickbayd sees that $1 is drained" is_seen "$1" DRAIN
  ctl scontrol update nodename="$1" state=resume
}

until_true "all nodes are known" stands n4 in
holds "what was there before is let be" drained_times n5 0

# --- put back, and well
put_back n5
until_true "n5 was drained for its gate" drained_times n5 1
until_true "n5 is examined and in service again" slurm_shows n5 'State=IDLE '
until_true "and no word stands against it" stands n5 in
holds "what we put back needs no gate of its own" drained_times n5 1

# --- put back, and sick: the finding takes the gate's place
touch "$(root_of n2)/flag"
put_back n2
until_true "n2 is out with what was found" slurm_shows n2 'State=IDLE+DRAIN .*Reason=sickbay:.*device is broken'
holds "n2 is out" stands n2 out
rm "$(root_of n2)/flag"
ctl "$sickbay" diagnose n2 >/dev/null # (the rule's own period is long, so that the gate's look is the only one)
until_true "n2 is back when it is well" slurm_shows n2 'State=IDLE '

# --- put back, and nobody examines it
kill_service n3 sickbay-agent
put_back n3
until_true "n3 is out for its gate" slurm_shows n3 'State=IDLE+DRAIN .*Reason=sickbay:gate '
until_true "n3 is let in when its time is over" slurm_shows n3 'State=IDLE '
until_true "and that is said" gate_says n3 "without an examination"
heal n3

# --- it boots, while sickbayd is away
before=$(cat "$folder/nodes/n4/boot_id")
has_booted() { [ "$(cat "$folder/nodes/n4/boot_id")" != "$before" ]; }
touch "$(root_of n4)/flag"
kill_service ctl sickbayd
ctl scontrol reboot n4
until_true "n4 boots" has_booted
heal ctl
until_true "n4 is out with what was found" slurm_shows n4 'DRAIN.*Reason=sickbay:.*device is broken'
rm "$(root_of n4)/flag"
ctl "$sickbay" diagnose n4 >/dev/null
until_true "n4 is well, and its drain lifted" stands n4 in

finish
