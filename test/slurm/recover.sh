#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Recoveries on real nodes of a real Slurm: a component that died is restarted and nothing else; where that does not
# cure what it needs is restarted, then the node (drained, rebooted, back); each once, also when sickbayd or the agent is
# killed in the midst.
#   recover.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: recover.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 3 --spares 0 --cpus 2
set_site '{drain: {act: true, most: 100, most_percent: 100, most_out_percent: 100, window: "10s", lift_after: "3s", reboot: true}, recover: {act: true}}'

on() { "$sickbay" lab exec -l "$lab" --node "$1" -- "${@:2}"; } # NODE COMMAND...
# Two small daemons of our own on each node: `exporter` is well while `store` runs, too; and a `device` that only a boot
# cures: it is well unless `broken` names the boot in which it broke.
for node in n1 n2 n3; do
  here=$(root_of $node)/components
  etc=$(root_of $node)/etc/sickbay
  mkdir -p "$here" "$etc/components.d"
  cat >"$here/control" <<CONTROL
#!/bin/sh
cd "$here" || exit 1
lives() { pid=\$(cat "\$1.pid" 2>/dev/null) && kill -0 "\$pid" 2>/dev/null; }
case \$1 in
  restart) echo "\$2" >>restarts
    [ ! -e "\$2.slow" ] || { echo >"\$2.restarting"; while [ -e "\$2.slow" ]; do read -r _ <"\$2.gate" || true; done; }
    if lives "\$2"; then kill "\$pid"; fi
    setsid sh -c 'echo \$\$ >'"\$2"'.pid; exec sleep 100000' >/dev/null 2>&1 </dev/null &
    while ! lives "\$2"; do :; done ;;
  check) lives "\$2" || { echo "\$2 does not run"; exit 1; }
    [ "\$2" = store ] || lives store || { echo "no store"; exit 1; } ;;
  device) [ "\$(cat broken 2>/dev/null)" != "\$(cat /proc/sys/kernel/random/boot_id)" ] ;;
esac
CONTROL
  chmod 755 "$here/control"
  for name in store exporter; do
    jq -n --arg c $name --arg p "$here/control" '{component: $c, check: [$p, "check", $c], restart: [$p, "restart", $c],
      needs: (if $c == "store" then [] else ["store"] end), takes: "1s", within: "2s"}' >"$etc/components.d/$name.json"
  done
  jq -n --arg p "$here/control" '{component: "device", check: [$p, "device"], restart: ["/bin/true"], takes: "1s", within: "2s"}' \
    >"$etc/components.d/device.json"
  jq '. + {repair: {allowed: true}}' "$etc/agent.json" >"$etc/new" && mv "$etc/new" "$etc/agent.json"
  on $node "$here/control" restart store
  on $node "$here/control" restart exporter
  rm "$here/restarts"
  restart $node sickbay-agent
done
known() { [ "$(ctl "$sickbay" tree --json | jq '[.cells[] | select(.level == "component")] | length')" = 12 ]; }
until_true "sickbayd knows the components of all nodes" known
pid() { cat "$(root_of "$1")/components/$2.pid"; } # NODE COMPONENT
stop_it() { on "$1" kill "$(pid "$1" "$2")"; }
restarts() { tr '\n' ' ' 2>/dev/null <"$(root_of "$1")/components/restarts" || true; }
recover() { ctl "$sickbay" recover "$@"; }
shown() { recover --show --json | jq -r ".items[] | select(.recovery == \"$1\") | $2"; } # RECOVERY FILTER

# --- a plan, and who may ask
recover n2/exporter --plan >"$folder/plan" || fail "a plan for a component"
holds "the plan goes from the component to the node" test "$(grep -cE ' n2(/|  )' "$folder/plan")" -ge 3
as_alice() { as alice "$sickbay recover n2/exporter"; }
checks=$((checks + 1))
! as_alice >/dev/null 2>&1 || fail "an ordinary user restarts a component"
checks=$((checks + 1))
! recover n2/exportr >/dev/null 2>"$folder/err" || fail "a component that is not there"
holds "says what was meant" grep -q "did you mean exporter" "$folder/err"
holds "nothing was restarted" test -z "$(restarts n2)"

# --- the component alone
store=$(pid n2 store)
stop_it n2 exporter
holds "the component is restarted and well" recover n2/exporter --wait
holds "it alone" test "$(restarts n2)" = "exporter "
holds "what it needs runs on" test "$(pid n2 store)" = "$store"
holds "that is told" test "$(shown r1 .outcome)" = cured
holds "it is in the tree's figures" jq -e '.cells[] | select(.cell == "n2/exporter") | .failures == 1 and .measured' <(ctl "$sickbay" tree --json)

# --- what it needs died: its own restart does not cure
stop_it n3 store
holds "the fault is cured one level higher" recover n3/exporter --wait
holds "the component first, then what it needs with it" test "$(restarts n3)" = "exporter store exporter "
holds "told step by step" test "$(shown r2 '[.steps[].cured] | map(tostring) | join(" ")')" = "false true"

# --- only a boot cures: component, then the node, drained and rebooted
cp "$folder/nodes/n1/boot_id" "$(root_of n1)/components/broken"
holds "the fault is cured by a boot" recover n1/device --wait
holds "after the restart of the component" test "$(shown r3 '[.steps[].level] | join(" ")')" = "component node"
holds "it has booted anew" test "$(cat "$folder/nodes/n1/boot_id")" != "$(cat "$(root_of n1)/components/broken")"
in_service() { [ "$(ctl sinfo -h -n "$1" -o %T | sort -u)" = idle ]; }
until_true "n1 is in service again" in_service n1

# --- sickbayd is killed while a component is restarted: the restart is done once
here=$(root_of n2)/components
begin_slow() { # the next restart of the exporter waits for end_slow
  rm -f "$here/exporter.restarting" "$here/restarts"
  on n2 mkfifo "$here/exporter.gate" 2>/dev/null || true
  touch "$here/exporter.slow"
  stop_it n2 exporter
}
end_slow() { rm "$here/exporter.slow"; timeout 20 sh -c "echo >$here/exporter.gate" || true; }
begin_slow
recover n2/exporter >/dev/null || fail "a recovery begins"
until_true "the restart is under way" test -e "$here/exporter.restarting"
restart ctl sickbayd
end_slow
is_cured() { [ "$(shown "$1" .outcome)" = cured ]; }
until_true "the recovery comes to its end" is_cured r4
holds "the component was restarted once" test "$(restarts n2)" = "exporter "

# --- the agent is killed while a component is restarted: nobody knows, so it is looked
begin_slow
recover n2/exporter >/dev/null || fail "a recovery begins"
until_true "the restart is under way" test -e "$here/exporter.restarting"
kill_service n2 sickbay-agent
end_slow
# What the dead agent began comes to its end before the next one looks: else two restarts would run into each other.
restarted() { on n2 kill -0 "$(pid n2 exporter)"; }
until_true "the restart that nobody waits for has ended" restarted
heal n2
over() { [ "$(shown "$1" .open)" = false ]; }
until_true "the recovery comes to its end" over r5
holds "it is cured" is_cured r5
echo "recover: the steps of r5: $(shown r5 '[.steps[] | .cell + (if .restarted then "" else " (unknown)" end)] | join(", ")'); restarts $(restarts n2)"
nothing_held() { ctl "$sickbay" nodes --json | jq -e '[.. | objects | .claim? | objects] | length == 0'; }
until_true "nothing stays claimed" nothing_held
finish
