#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Reboots through a real Slurm: a node whose rule asks for one is drained, rebooted once when its job has ended, and
# comes back when the fault is gone; it stays out when the fault is there again, when Slurm refuses, and when the node
# does not come back in time.  One that comes back later still stays out, too.  sickbayd is killed while a node boots.
#   reboot.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: reboot.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 5 --spares 0 --cpus 2
patience=180

# site REBOOT: into sickbayd's configuration.
site() {
  local file=$folder/root/etc/sickbay/sickbay.json
  jq --argjson reboot "$1" --arg told "cat >> $folder/told" '. + {
    drain: {act: true, most: 100, most_percent: 100, most_out_percent: 100, window: "10s", lift_after: "3s", reboot: $reboot},
    notify: {command: $told, user: "root"}}' "$file" >"$file.new"
  mv "$file.new" "$file"
  restart ctl sickbayd
}
# slurm_conf KEY=VALUE...: Slurm is told anew; "KEY=" takes the key away.
slurm_conf() {
  local pair
  for pair in "$@"; do
    sed -i "/^${pair%%=*}=/d" "$folder/etc/slurm.conf"
    [ -z "${pair#*=}" ] || sed -i "1a $pair" "$folder/etc/slurm.conf"
  done
  ctl scontrol reconfigure
}
boot_id() { cat "$folder/nodes/$1/boot_id"; }
# A rule of our own.  A file says what is wrong with the node: "always", or the boot in which something hangs.
for node in n1 n2 n3 n4 n5; do
  mkdir -p "$(root_of $node)/etc/sickbay/rules.d" "$(root_of $node)/etc/sickbay/operations.d"
  cat >"$(root_of $node)/etc/sickbay/rules.d/probe.json" <<'RULES'
{"specification": "probe", "version": 1, "description": "a node with a device that may hang",
 "components": {"device": {"description": "the device"}},
 "characteristics": {"mode": {"type": "string", "description": "how deep"}, "hangs": {"type": "bool", "description": "the device hangs"}},
 "predicates": {"always": {"when": "mode != \"\"", "description": "always"}, "hung": {"when": "hangs", "description": "The device hangs"}},
 "operations": {"look": {"kind": "collect", "run": "probe", "components": ["device"], "outputs": ["hangs"], "description": "Look at it"},
                "again": {"kind": "critical", "run": "builtin:reboot", "components": ["device"], "inputs": ["hangs"], "description": "Reboot the node"}},
 "productions": {"p0": {"if": "always", "then": "look", "description": "look"}, "p1": {"if": "hung", "then": "again", "description": "reboot"}},
 "periods": {"always": {"description": "often", "every": "2s", "initial": {"mode": "quick"}}}}
RULES
  cat >"$(root_of $node)/etc/sickbay/operations.d/probe" <<PROBE
#!/bin/sh
flag=\$(cat "$(root_of $node)/flag" 2>/dev/null)
if [ "\$flag" = always ] || [ "\$flag" = "\$(cat /proc/sys/kernel/random/boot_id)" ]; then echo '{"outputs": {"hangs": true}}'; else echo '{"outputs": {"hangs": false}}'; fi
PROBE
  chmod 755 "$(root_of $node)/etc/sickbay/operations.d/probe"
  restart $node sickbay-agent
done

service() { ctl "$sickbay" nodes --json | jq -r ".items[] | select(.name == \"$1\") | .service.$2"; }
stands() { [ "$(service "$1" standing)" = "$2" ]; }
wishes() { service "$1" wish | grep -q "$2"; }
told() { jq -r '.node + " " + (.escalation // "")' "$folder/told" | grep -q "$1"; }
slurm_shows() { ctl scontrol show node "$1" | grep -E 'State=|Reason=' | tr '\n' ' ' | grep -q "$2"; }
events() { ctl "$sickbay" journal --json | jq -c "select(.subject == \"node:$1\" and .body.verb == \"$2\" and .kind == \"$3\")" | wc -l; }
# What Slurm was really asked for.
asked() { grep -c "reboot request queued for nodes $1\$" "$folder/log/slurmctld.log"; }
never_asked() { [ "$(asked "$1" || true)" = 0 ]; }
asked_once() { [ "$(asked "$1")" = 1 ]; }

# --- by default people do it
site false
boot_id n1 >"$(root_of n1)/flag"
until_true "n1 is drained" stands n1 out
holds "n1 is left to people" wishes n1 "people do it (drain.reboot is false)"
holds "nobody asked Slurm to reboot n1" never_asked n1

# --- where it is allowed: once the job has ended, and back when the fault is gone
"$sickbay" lab exec -l "$lab" --user alice -- sh -c 'cd; sbatch -Q -t 5 -w n2 -o /dev/null --wrap "sleep 300"' >/dev/null
until_true "n2 has a job" slurm_shows n2 'State=\(MIXED\|ALLOCATED\)'
site true
until_true "n1, which was out already, is rebooted and comes back" stands n1 in
holds "n1 was rebooted once" asked_once n1
until_true "n1 has no drain in Slurm" slurm_shows n1 'State=IDLE '
boot_id n2 >"$(root_of n2)/flag"
until_true "n2 is drained" stands n2 out
until_true "n2 waits for its job" wishes n2 "waits until it has no job"
holds "n2 is not rebooted under its job" never_asked n2
ctl scancel -u alice
until_true "n2 is rebooted" stands n2 rebooting
until_true "n2 comes back" stands n2 in
holds "n2 was rebooted once" asked_once n2

# --- sickbayd dies while the node boots; the fault is there again
before=$(boot_id n3)
echo always >"$(root_of n3)/flag"
until_true "n3 is rebooted" stands n3 rebooting
kill_service ctl sickbayd
has_booted() { [ "$(boot_id "$1")" != "$before" ]; }
until_true "n3 boots" has_booted n3
heal ctl
until_true "people are to look at n3" wishes n3 "there again after the reboot"
until_true "people were told of it" told "n3 the fault is there again after a reboot"
holds "n3 stays out" stands n3 out
holds "its drain and its reason are still ours" slurm_shows n3 'State=IDLE+DRAIN .*Reason=sickbay:f[0-9]* probe/p1: '
holds "n3 was rebooted once" asked_once n3
rm "$(root_of n3)/flag"
until_true "n3 comes back when the fault is gone after all" stands n3 in

# --- Slurm refuses
slurm_conf RebootProgram=
boot_id n4 >"$(root_of n4)/flag"
until_true "the refusal is shown" wishes n4 "failed.*RebootProgram isn't defined.*; name a RebootProgram in slurm.conf"
until_true "people were told of it" told "n4 the reboot failed"
holds "n4 is out" stands n4 out
rm "$(root_of n4)/flag"
until_true "n4 comes back" stands n4 in
checks=$((checks + 1))
[ "$(events n4 reboot failed)" = 1 ] || fail "the refused reboot was tried $(events n4 reboot intent) times"

# --- a node that does not come back in time: Slurm drops our drain, and gets it again
slurm_conf RebootProgram=/bin/true ResumeTimeout=10
boot_id n4 >"$(root_of n4)/flag"
until_true "n4 is rebooted" stands n4 rebooting
until_true "Slurm's patience ends" wishes n4 "did not come back within Slurm's ResumeTimeout"
until_true "n4 is drained all the same" slurm_shows n4 'State=DOWN+DRAIN.*Reason=sickbay:'
holds "n4 is out" stands n4 out
holds "n4 was asked once" asked_once n4

# --- and comes back after all, with its fault: with ReturnToService=1 Slurm keeps it DOWN, and our drain with it
before=$(boot_id n4)
echo always >"$(root_of n4)/flag"
echo >"$folder/nodes/n4/reboot" # as the lab's own RebootProgram does
until_true "n4 boots late" has_booted n4
until_true "people are told that n4 is DOWN" told "n4 it has booted, but Slurm keeps it DOWN"
until_true "people are told that its fault is there" told "n4 the fault is there again after a reboot"
holds "n4 is out" stands n4 out
holds "n4 is DOWN, and drained by us" slurm_shows n4 'State=DOWN+DRAIN .*Reason=sickbay:'
rm "$(root_of n4)/flag"
until_true "its drain is lifted when the fault is gone" stands n4 in
until_true "n4 is still DOWN" slurm_shows n4 'State=DOWN '
until_true "that is left to people" wishes n4 "scontrol update nodename=n4 state=resume"
ctl scontrol update nodename=n4 state=resume
until_true "n4 takes work again" slurm_shows n4 'State=IDLE '
no_wish() { [ -z "$(service "$1" wish)" ]; }
until_true "nothing is wished of n4" no_wish n4

# --- the same with ReturnToService=2 while sickbayd is away: Slurm would give it work, so it is drained at once
slurm_conf ReturnToService=2
echo always >"$(root_of n5)/flag"
until_true "n5 is rebooted" stands n5 rebooting
kill_service ctl sickbayd
until_true "Slurm gives n5 up, and drops our drain" slurm_shows n5 'State=\(DOWN\|IDLE\)\(+NOT_RESPONDING\)\? '
before=$(boot_id n5)
echo >"$folder/nodes/n5/reboot"
until_true "n5 boots late" has_booted n5
until_true "Slurm takes n5 back" slurm_shows n5 'State=IDLE '
heal ctl
until_true "n5 is drained again" slurm_shows n5 'State=IDLE+DRAIN .*Reason=sickbay:'
until_true "n5 is out" stands n5 out
until_true "people are told that its fault is there" told "n5 the fault is there again after a reboot"
holds "n5 was asked once" asked_once n5

finish
