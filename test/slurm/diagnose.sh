#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Faults on the nodes of a real cluster, one after another: each is found by its rule, on its node alone, acted upon,
# and said to be gone when it is healed.  Then a rule that is wrong on all nodes, and its undoing.
#   diagnose.sh BUILD [SECONDS OF A HEALTHY LAB UNDER LOAD = 0]
# The table that it prints is what bench/RESULTS.md has of it.
set -euo pipefail
build=$(realpath "${1:?usage: diagnose.sh BUILD [SECONDS]}")
healthy_seconds=${2:-0}
source_dir=$(realpath "$(dirname "$0")/../..")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 6 --spares 0 --cpus 2
findings() { ctl "$sickbay" journal --json | jq -c "select(.kind == \"finding\") | $1"; }
now_ms() { date +%s%3N; }

# --- the site: acts, with a breaker that this small cluster does not trip, and looks every two seconds

# site MOST WINDOW: into sickbayd's configuration, which the lab has made, a breaker of MOST percent in WINDOW.
site() {
  local file=$folder/root/etc/sickbay/sickbay.json
  jq --argjson most "$1" --arg window "$2" --arg told "cat >> $folder/told" '. + {
    drain: {act: true, most: 100, most_percent: $most, most_out_percent: $most, window: $window, lift_after: "3s"},
    notify: {command: $told, user: "root"}}' "$file" >"$file.new"
  mv "$file.new" "$file"
  restart ctl sickbayd
}
site 100 1h

# What only a site can say: which folder is shared, what is a hog here, and that the whole node may have a quota.
rules() {
  cat <<JSON
{"specification": "node", "version": 2, "description": "the shipped specification, for this lab",
 "components": {"shared": {"description": "the shared folder"}},
 "characteristics": {
   "shared_present": {"type": "bool", "description": "the shared folder is mounted"},
   "tmp_read_only": {"type": "bool", "description": "/tmp is mounted read-only"},
   "hogs": {"type": "integer", "unit": "count", "description": "processes with over 300 MiB"}},
 "predicates": {
   "shared_away": {"when": "NOT shared_present", "description": "the shared folder is not mounted"},
   "tmp_is_read_only": {"when": "tmp_read_only", "description": "/tmp is mounted read-only"},
   "memory_hog": {"when": "hogs > 0", "description": "a process holds over 300 MiB"},
   "network_loses": {"when": "tcp_sent > 200 AND tcp_retransmitted_percent > 0.3", "description": "TCP sends over 0.3 percent of its segments again"}},
 "operations": {
   "read_shared": {"kind": "collect", "run": "shared_there", "components": ["shared"], "outputs": ["shared_present"], "description": "see whether the shared folder holds what it should"},
   "read_tmp_mount": {"kind": "collect", "run": "builtin:mount", "components": ["tmp"], "outputs": {"mount_read_only": "tmp_read_only"}, "arguments": {"path": "/tmp"}, "description": "see how /tmp is mounted"},
   "read_hogs": {"kind": "collect", "run": "builtin:memory_hogs", "components": ["memory"], "outputs": {"memory_hogs": "hogs"}, "arguments": {"size": 314572800}, "description": "find processes with much memory"},
   "read_clock": {"kind": "collect", "run": "builtin:clock", "components": ["clock"], "outputs": ["clock_synchronised", "clock_offset"], "arguments": {"folder": "$folder/home"}, "description": "compare with the server of the shared folder"}},
 "productions": {
   "p_read_shared": {"if": "examine", "then": "read_shared", "description": "see whether the shared folder is mounted"},
   "p_read_tmp_mount": {"if": "examine", "then": "read_tmp_mount", "description": "see how /tmp is mounted"},
   "p_read_hogs": {"if": "examine", "then": "read_hogs", "description": "find processes with much memory"},
   "drain_shared_away": {"if": "shared_away", "then": "take_out", "description": "jobs that start here find no data"},
   "tell_tmp_read_only": {"if": "tmp_is_read_only", "then": "tell_operator", "description": "/tmp is mounted read-only"},
   "p_find_memory_process_memory_hog": {"if": "memory_hog", "then": "find_memory_process", "description": "so that the finding names it"},
   "tell_memory_hog": {"if": "memory_hog", "then": "tell_operator", "description": "a process holds over 300 MiB"}$1},
 "periods": {"night": null,
   "always": {"node": "any", "every": "2s", "initial": {"mode": "quick", "repair": false}, "description": "often"}}}
JSON
}
# rules_everywhere [MORE PRODUCTIONS]: agents read their rules at the start.
rules_everywhere() {
  local n
  for n in 1 2 3 4 5 6; do
    mkdir -p "$folder/nodes/n$n/root/etc/sickbay/rules.d"
    rules "${1:-}" >"$folder/nodes/n$n/root/etc/sickbay/rules.d/lab.json"
    # An operation of the site: the lab puts an empty folder in the place of a mount that goes away.
    mkdir -p "$folder/nodes/n$n/root/etc/sickbay/operations.d"
    cat >"$folder/nodes/n$n/root/etc/sickbay/operations.d/shared_there" <<OPERATION
#!/bin/sh
if [ -d "$folder/home/alice" ]; then echo '{"outputs": {"shared_present": true}}'; else echo '{"outputs": {"shared_present": false}}'; fi
OPERATION
    chmod 755 "$folder/nodes/n$n/root/etc/sickbay/operations.d/shared_there"
    restart "n$n" sickbay-agent
  done
}
rules "" >"$folder/lint.json"
"$sickbay" rules lint "$source_dir/rules/node.json" "$folder/lint.json" >/dev/null || fail "the rules of this test have faults"
rules_everywhere

# found NODE RULE RESULT MORE-THAN: there are more findings of that kind than so many.
count() { findings "select(.body.node == \"$1\" and .body.rule == \"$2\" and .body.result == \"$3\") | 1" | wc -l; }
found() { [ "$(count "$1" "$2" "$3")" -gt "$4" ]; }
standing() { ctl "$sickbay" nodes --json | jq -r ".items[] | select(.name == \"$1\") | .service.standing"; }
stands() { [ "$(standing "$1")" = "$2" ]; }

# fault NODE WHAT RULE ACTION [HEAL]: break, find, act, heal, see it gone.
fault() {
  local node=$1 what=$2 rule=$3 action=$4 before gone began took back
  checks=$((checks + 1))
  before=$(count "$node" "$rule" fault) gone=$(count "$node" "$rule" ok)
  "$sickbay" lab fault -l "$lab" "$node" "$what" >/dev/null
  [ "${what%%=*}" != cpu ] || preferred "$node"
  began=$(now_ms)
  if ! within 60 found "$node" "$rule" fault "$before"; then
    fail "$what on $node: no finding of $rule"
    timeout 60 "$sickbay" lab exec -l "$lab" -- "$sickbay" diagnose "$node" | head -n 40 || true
  fi
  took=$(($(now_ms) - began))
  [ "$action" != drain ] || within 20 stands "$node" out || fail "$what on $node: not drained but $(standing "$node")"
  "$sickbay" lab heal -l "$lab" "$node" "${what%%=*}" >/dev/null
  began=$(now_ms)
  within 60 found "$node" "$rule" ok "$gone" || fail "$what on $node: $rule is not said to be gone"
  [ "$action" != drain ] || within 30 stands "$node" in || fail "$what on $node: not put back but $(standing "$node")"
  back=$(($(now_ms) - began))
  printf '%-28s %-4s %-22s %-8s found after %5d ms, back after %5d ms\n' "$what" "$node" "$rule" "$action" "$took" "$back"
}

# A quota shows only where something wants to run, loss only in traffic.
load() { "$sickbay" lab exec -l "$lab" --user alice -- sh -c "cd; sbatch -Q -t 5 -w $1 --wrap 'srun $build/demo/healthy 60' -o /dev/null" >/dev/null; }
no_load() { ctl scancel -u alice; }
# traffic FROM TO PORT: until no_traffic, some MiB a second by TCP, as a job that exchanges its borders would.
traffic() {
  local sink='import socket,sys
s = socket.create_server(("", int(sys.argv[1]))); s.settimeout(60); c = s.accept()[0]; c.settimeout(60)
while c.recv(1 << 20): pass'
  # (On a busy machine it begins before the other one listens.)
  local source='import socket,sys,time
begin = time.time(); c = None
while not c:
    try: c = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    except ConnectionRefusedError:
        if time.time() > begin + 60: raise
        time.sleep(0.05)
while time.time() < begin + 400: c.sendall(bytes(1 << 16)); time.sleep(0.01)'
  "$sickbay" lab exec -l "$lab" --node "$2" -- python3 -c "$sink" "$3" >/dev/null 2>&1 &
  traffic_pids=$!
  "$sickbay" lab exec -l "$lab" --node "$1" -- python3 -c "$source" "$2" "$3" >/dev/null 2>&1 &
  traffic_pids="$traffic_pids $!"
}
no_traffic() {
  # shellcheck disable=SC2086  # two numbers
  kill $traffic_pids 2>/dev/null || true
  wait
}

fault n1 memory-hog=512M tell_memory_hog notify
fault n2 disk-full tell_tmp_full notify
fault n3 read-only tell_tmp_read_only notify
fault n5 kill-service=slurmd restart_slurmd_down restart
load n6
fault n6 cpu=50% tell_slow_by_quota notify
no_load
fault n1 storage-away drain_shared_away drain
fault n2 zombies=200 tell_zombie_flood notify
# (Over munge's own limit of 5 min the agent could not sign what it finds.)
fault n3 clock=+120 drain_clock_off drain

port=7000
for loss in 5 10; do  # (under 2 % it may be a busy machine)
  port=$((port + 1))
  traffic n4 n5 "$port"
  fault n4 "loss=$loss%" tell_network_loses notify
  no_traffic
done

# An agent without munged cannot sign what it finds: it keeps it, and tells it when munged is back.
checks=$((checks + 1))
agent_log=$folder/log/sickbay-agent-n6.out
kill_service n6 munged
began=$(now_ms)
within 60 grep -q 'event=finding .*rule=tell_munged_down result=fault' "$agent_log" || fail "n6 does not notice that its munged is dead"
took=$(($(now_ms) - began))
heal n6
began=$(now_ms)
within 60 found n6 tell_munged_down ok 0 || fail "n6 does not tell that munged is back"
[ "$(count n6 tell_munged_down fault)" = 1 ] || fail "the finding of the dead munged was not delivered, or twice"
printf '%-28s %-4s %-22s %-8s found after %5d ms, back after %5d ms\n' kill-service=munged n6 tell_munged_down notify "$took" "$(($(now_ms) - began))"

# Nobody else was disturbed, and nothing was found that was not broken.
strangers=$(findings 'select(.body.result == "fault") | .body.node + " " + .body.rule' | tr -d '"' | sort -u |
  grep -vxF -e 'n1 tell_memory_hog' -e 'n2 tell_tmp_full' -e 'n3 tell_tmp_read_only' -e 'n6 tell_munged_down' -e 'n5 restart_slurmd_down' \
    -e 'n6 tell_slow_by_quota' -e 'n1 drain_shared_away' -e 'n2 tell_zombie_flood' -e 'n3 drain_clock_off' -e 'n4 tell_network_loses' \
    -e 'n5 tell_network_loses' || true)
[ -z "$strangers" ] || fail "found besides: $strangers"
told=$(jq -r .rule "$folder/told" | sort -u | wc -l)
[ "$told" -ge 10 ] || fail "notify.command heard of $told rules only"

# --- a rule that is wrong on purpose, and the breaker

site 5 10s  # (the drains above are older)
rules_everywhere ', "wrong": {"if": "examine", "then": "take_out", "description": "wrong on purpose"}'
checks=$((checks + 1))
all_found() { [ "$(findings 'select(.body.rule == "wrong") | .body.node' | sort -u | wc -l)" = 6 ]; }
within 60 all_found || fail "the wrong rule fired on few nodes only"
tripped() { ctl "$sickbay" nodes --json | jq -e '[.items[].service.standing] | (map(select(. == "out")) | length) == 1 and (map(select(. == "waits")) | length) == 5'; }
within 20 tripped || fail "the breaker: $(ctl "$sickbay" nodes)"
ctl "$sickbay" nodes | sed 's/^/  /'
ctl "$sickbay" undo-drains | sed 's/^/  /'
none_out() { ctl "$sickbay" nodes --json | jq -e '[.items[].service.standing | select(. != "in" and . != "observed")] | length == 0'; }
within 20 none_out || fail "after undo-drains: $(ctl "$sickbay" nodes)"
[ -z "$(ctl sinfo -h -R)" ] || fail "Slurm still has reasons: $(ctl sinfo -h -R)"

# --- a healthy lab under load

if [ "$healthy_seconds" -gt 0 ]; then
  rules_everywhere
  within 20 none_out
  others='select(.body.rule != "wrong")'  # (which is said to be gone about now)
  before=$(findings "$others" | wc -l)
  end=$(($(date +%s) + healthy_seconds))
  while [ "$(date +%s)" -lt "$end" ]; do
    "$sickbay" lab exec -l "$lab" --user alice -- sh -c "cd; sbatch -Q -W -t 5 -N6 --wrap 'srun $build/demo/healthy 20' -o /dev/null" >/dev/null 2>&1 || true
  done
  checks=$((checks + 1))
  new=$(findings "$others" | tail -n +$((before + 1)))
  echo "healthy for $healthy_seconds s under load: $(grep -c . <<<"$new") new findings"
  [ -z "$new" ] || fail "a healthy lab has findings: $new"
fi

finish
