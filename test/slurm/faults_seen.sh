#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an operator sees of each fault of doc/lab.md that a shipped rule can see: struck on seven nodes at once, what
# `sickbay nodes` and `sickbay findings` say and after how many seconds, healed, and back in service; then the same
# with sickbayd away when they are struck, and when they are healed.  It prints two tables.
# By hand: it takes 6 minutes and twice the time that sickbayd is away, on a machine with little else to do (a
# quota shows only where its node gets a processor).
#   faults_seen.sh BUILD [SECONDS AWAY WHEN STRUCK = 900] [WHEN HEALED = 60]
# The other faults of doc/lab.md no shipped rule can see: crash, network-down, partition (the agent cannot tell; Slurm's
# word is shown), memory-hog, storage-away and read-only (a site must say what it expects: test/slurm/diagnose.sh),
# slow-disk, rank-kill, bitflip (cases find them, test/cli/lab_*.sh, bench/blame).
set -euo pipefail
build=$(realpath "${1:?usage: faults_seen.sh BUILD [SECONDS AWAY WHEN STRUCK] [WHEN HEALED]}")
away_struck=${2:-900} away_healed=${3:-60}
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
every=10       # of a quick look, in seconds; shipped: 60
lift_after=10  # drain.lift_after, in seconds; shipped: 600
lab_up --nodes 8 --spares 0 --cpus 2
set_site "{drain: {act: true, most: 100, most_percent: 100, most_out_percent: 100, lift_after: \"${lift_after}s\"}}"
on() { "$sickbay" lab exec -l "$lab" --node "$1" -- "${@:2}"; } # NODE COMMAND...

# NODE FAULT RULE out|in: whether the rule takes the node out.
faults='n1 disk-full tell_tmp_full in
n2 kill-service=slurmd restart_slurmd_down in
n3 kill-service=munged tell_munged_down in
n4 zombies=200 tell_zombie_flood in
n5 clock=+120 drain_clock_off out
n6 cpu=50% tell_slow_by_quota in
n7 loss=10% tell_network_loses in'
# (Without munged a node cannot sign what it finds: that comes when munged is back, with the word that it is gone.)
mute=n3

# All that a site adds: what the clock is compared with.
for node in n1 n2 n3 n4 n5 n6 n7 n8; do
  etc=$(root_of $node)/etc/sickbay
  mkdir -p "$etc/rules.d"
  cat >"$etc/rules.d/node.json" <<RULES
{"specification": "node", "version": 2, "description": "the shipped one, with a server to compare the clock with",
 "operations": {"read_clock": {"kind": "collect", "run": "builtin:clock", "components": ["clock"], "outputs": ["clock_synchronised", "clock_offset"],
                               "arguments": {"folder": "$folder/home"}, "description": "compare with the server of the shared folder"}}}
RULES
  jq --arg every "${every}s" '. + {periods: {every: {"node/always": $every}}}' "$etc/agent.json" >"$etc/new" && mv "$etc/new" "$etc/agent.json"
  restart $node sickbay-agent
done
all_there() { ctl "$sickbay" nodes --json | jq -e '[.items[].agent | select(.present)] | length == 8'; }
until_true "all agents are there" all_there

# What a quota and a loss need to show: something that computes on n6, and traffic from n7.
"$sickbay" lab exec -l "$lab" --node n6 -- sh -c 'while :; do :; done' >/dev/null 2>&1 &
load_pid=$!
on n8 python3 -c 'import socket
s = socket.create_server(("", 7001))
while True:
    c = s.accept()[0]
    while c.recv(1 << 20): pass' >/dev/null 2>&1 &
sink_pid=$!
on n7 python3 -c 'import socket, time
while True:
    try:
        c = socket.create_connection(("n8", 7001))
        while True:
            c.sendall(bytes(1 << 16))
            time.sleep(0.01)
    except OSError:
        time.sleep(1)' >/dev/null 2>&1 &
source_pid=$!
clean_up() { kill $load_pid $sink_pid $source_pid 2>/dev/null || true; }

now() { date +%s; }
each() { local node fault rule out; while read -r node fault rule out; do "$1" "$node" "$fault" "$rule" "$out"; done <<<"$faults"; }
strike() {
  "$sickbay" lab fault -l "$lab" "$1" "$2" >/dev/null </dev/null
  [ "${2%%=*}" != cpu ] || preferred "$1"
}
mend() { "$sickbay" lab heal -l "$lab" "$1" "${2%%=*}" >/dev/null </dev/null; }

# seen WHAT: looks each second, and keeps in $seen the second in which WHAT holds first of each node: `found`, its rule
# stands, and the node is out where the rule wants it; `gone`, no longer, and Slurm gives the node work again.
declare -A seen
rounds=0 # so often everything was struck
mute_has_told() {
  [ "$(ctl "$sickbay" journal --json </dev/null |
    jq -r "select(.kind == \"finding\" and .body.node == \"$mute\" and .body.rule == \"tell_munged_down\") | .body.result" | grep -c '^ok$')" -ge "$rounds" ]
}
seen() {
  local what=$1 began end nodes node rule out is left
  began=$(now) end=$(($(now) + ${2:-180}))
  seen=()
  while [ "$(now)" -lt "$end" ]; do
    nodes=$(ctl "$sickbay" nodes --json </dev/null || true)
    left=0
    while read -r node _ rule out; do
      [ -z "${seen[$node]:-}" ] || continue
      if [ "$node" = "$mute" ]; then # nobody hears it before it is healed, and then both at once
        if [ "$what" = found ]; then continue; fi
        if mute_has_told; then seen[$node]=$(($(now) - began)); else left=1; fi
        continue
      fi
      is=$(jq -r --arg node "$node" --arg rule "node/$rule" '.items[] | select(.name == $node) |
        (if any(.findings[]; .rule == $rule and .result == "fault") then "found " else "gone " end) +
        (if .service.standing == "in" or .service.standing == "observed" then "in" else "out" end) + " " +
        (if .usable then "usable" else "unusable" end)' <<<"$nodes")
      # (Of a node whose slurmd is dead Slurm knows that in its own time.)
      case $what:$is in
        "found:found $out "* | "gone:gone in usable") seen[$node]=$(($(now) - began)) ;;
        *) left=1 ;;
      esac
    done <<<"$faults"
    [ "$left" = 1 ] || return 0
    sleep 1
  done
}

# --- with sickbayd there

echo "looked at every $every s, drains lifted $lift_after s after the fault is gone; load $(cut -d' ' -f1 /proc/loadavg)"
rounds=1
each strike
seen found
declare -A found_after=()
for node in "${!seen[@]}"; do found_after[$node]=${seen[$node]}; done
echo "--- sickbay nodes, all struck"
ctl "$sickbay" nodes | sed 's/^/    /'
echo "--- sickbay findings"
ctl "$sickbay" findings | sed 's/^/    /'
each mend
seen gone
table() { # TITLE
  printf '\n%s\n%-22s %-22s %-5s %8s %8s\n' "$1" FAULT RULE TAKES 'FOUND, s' 'BACK, s'
  each line
}
line() {
  local node=$1 found=${found_after[$1]:--} back=${seen[$1]:--}
  checks=$((checks + 1))
  [ "$node" != "$mute" ] || found=mute
  printf '%-22s %-22s %-5s %8s %8s\n' "$2" "$3" "$([ "$4" = out ] && echo out || echo told)" "$found" "$back"
  { [ "$found" != - ] && [ "$back" != - ]; } || fail "$2 on $node: found after $found s, back after $back s"
}
table "sickbayd there: seconds from the fault to what both commands say, and from its healing until it is gone and the node in service"
# --- with sickbayd away

struck() { # for AWAY seconds, while nobody is there
  kill_service ctl sickbayd
  "$1"
  local end=$(($(now) + $2))
  while [ "$(now)" -lt "$end" ]; do sleep 5; done
  heal ctl
}
strike_all() { each strike; }
mend_all() { each mend; }
rounds=2
struck strike_all "$away_struck"
seen found 300
found_after=()
for node in "${!seen[@]}"; do found_after[$node]=${seen[$node]}; done
echo "--- sickbay nodes, sickbayd back after $away_struck s"
ctl "$sickbay" nodes | sed 's/^/    /'
struck mend_all "$away_healed"
seen gone 300
table "sickbayd away for $away_struck s when they were struck, $away_healed s when they were healed: seconds from its return"
until_true "no drain is left in Slurm" sh -c "[ -z \"\$('$sickbay' lab exec -l '$lab' -- sinfo -h -R)\" ]"
finish
