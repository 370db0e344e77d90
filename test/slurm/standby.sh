#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two sickbayds on a real Slurm: the active one is killed in the middle of a case, and the other brings it to its
# verdict; the first comes back as the standby, and by hand as the active.  No run starts twice.  Then the active one is
# killed in the middle of a drain, which slurmctld has not answered: the node is drained once, by whoever.
# Prints how long it took.
# By hand: witnesses wait for a minute, and a lease is 40 s, so it takes seven minutes, nearly all of them waiting.
#   standby.sh BUILD
# Both run on the lab's controller, on two ports, each with a folder of its own.
set -euo pipefail
build=$(realpath "${1:?usage: standby.sh BUILD}")
source_dir=$(realpath "$(dirname "$0")/../..")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
patience=300
lab_up --nodes 4 --spares 0 --cpus 4

first=$folder/root second=$folder/root2 second_pid=
clean_up() { [ -z "$second_pid" ] || kill -9 "$second_pid" 2>/dev/null || true; }
address=$(jq -r .controller.host "$(root_of n1)/etc/sickbay/agent.json")
port=$(jq -r .controller.port "$(root_of n1)/etc/sickbay/agent.json")
# (The lab has ten numbers from its first; what lies behind them is free as a rule.)
other=$((port + 5000))
pair="{controllers: [\"$address:$port\", \"$address:$other\"], witnesses: [\"n1\", \"n2\", \"n3\"], lease: \"40s\"}"
# (n4, which is drained, is a quarter of its partition.)
drain='{act: true, most: 100, most_percent: 100, most_out_percent: 100}'
mkdir -p "$second/etc/sickbay" "$second/var/lib/sickbay"
chmod 700 "$second/var/lib/sickbay"
site=$first/etc/sickbay/sickbay.json
jq ". + {standby: ($pair + {name: \"$address:$other\"}), drain: $drain} | .agent.listen = \"0.0.0.0:$other\"" "$site" >"$second/etc/sickbay/sickbay.json"
# (First of all: who asks a sickbayd that knows nothing of witnesses asks again ever more rarely.)
set_site "{standby: ($pair + {name: \"$address:$port\"}), drain: $drain}"
# A file says that the device of n4 is broken.
breakable n4 2s "$folder/broken"
for node in n1 n2 n3 n4; do
  file=$(root_of "$node")/etc/sickbay/agent.json
  jq ".controller += {standby: \"$address\", standby_port: $other, witness: $([ "$node" = n4 ] && echo false || echo true)}" "$file" >"$file.new"
  mv "$file.new" "$file"
  restart "$node" sickbay-agent
done
start_second() {
  "$sickbay" lab exec -l "$lab" -- env "SICKBAY_ROOT=$second" "$build/bin/sickbayd" >>"$folder/log/second.log" 2>&1 &
  second_pid=$!
}
at() { "$sickbay" lab exec -l "$lab" -- env "SICKBAY_ROOT=$1" "$sickbay" "${@:2}"; }
# (One that is alone says so by its exit code, too.)
stands() { { at "$1" status --json 2>/dev/null || true; } | jq -e ".standby | $2"; }
# (Of two that begin together either may be the first to have a majority.)
until_true "the first is active" stands "$first" '.role == "active"'
start_second
until_true "the other has all" stands "$first" '.alone == false'
[ "$failures" = 0 ] || { tail -n 20 "$folder/log/sickbayd.log" "$folder/log/second.log"; finish; exit 1; }

# In the middle of a case: its re-run has been submitted.
job=$(as alice "$sickbay submit -N2 -t 5 $source_dir/demo/programs/exit_code.sh 3 1" 2>&1 | sed -n 's/^Submitted batch job //p')
has_intent() { at "$1" journal --json | grep -qF '"kind":"intent"'; }
until_true "the case begins its experiments" has_intent "$first"
killed=$SECONDS
kill_service ctl sickbayd
until_true "the second takes over" stands "$second" '.role == "active"'
echo "standby: the second is active $((SECONDS - killed)) s after the first was killed"
rc=0
"$sickbay" lab exec -l "$lab" --user alice -- env "SICKBAY_ROOT=$second" "$sickbay" why --wait "$job" || rc=$?
checks=$((checks + 1))
[ "$rc" = 10 ] || fail "exit code $rc in place of 10: $(at "$second" journal)"
started=$(ctl sacct -a -n -X -P -S now-1hour -o NodeList,SubmitLine |
          sed -n 's/^\(.*\)|.*sickbay:\(c1\.[rv][0-9]*\)\..*/\1 \2/p' | awk '!/^None/ {print $2}' | sort)
checks=$((checks + 1))
[ -z "$(uniq -d <<<"$started")" ] || fail "started twice: $started"

# The first comes back as the standby.
heal ctl
until_true "the first follows" stands "$first" '.following == true'
until_true "and has all" stands "$second" '.alone == false'
# By hand back.
at "$second" takeover --hand-over
handed=$SECONDS
until_true "the first is active again" stands "$first" '.role == "active"'
echo "standby: the first is active $((SECONDS - handed)) s after the hand-over"
# (Who hands over ends, and comes back as the standby: here by us, as a rule by systemd.)
wait "$second_pid" || true
start_second

# In the middle of a drain: it is intended, slurmctld has it before it and answers nothing, and the active one is killed.
until_true "the second follows" stands "$second" '.following == true'
until_true "and has all again" stands "$first" '.alone == false'
to_slurmctld() { ctl sh -c "kill -$1 \$(cat $folder/state/slurmctld.pid)"; }
drains() { at "$1" journal --json | jq -c "select(.subject == \"node:n4\" and .body.verb == \"drain\" and .kind == \"$2\")"; }
intends_drain() { [ -n "$(drains "$1" intent)" ]; }
has_drained() { [ -n "$(drains "$1" 'done')" ]; }
is_unanswered() { ! has_drained "$first"; }
n4_is_out() { ctl scontrol show node n4 | grep -q 'State=[A-Z]*+DRAIN' && ctl scontrol show node n4 | grep -q 'Reason=sickbay:'; }
to_slurmctld STOP
touch "$folder/broken"
until_true "the drain is intended" intends_drain "$first"
holds "slurmctld has not answered it" is_unanswered
killed=$SECONDS
kill_service ctl sickbayd
to_slurmctld CONT
until_true "the second takes over again" stands "$second" '.role == "active"'
echo "standby: the second is active $((SECONDS - killed)) s after the first was killed in a drain"
until_true "the second brings the drain to its end" has_drained "$second"
holds "n4 is out, by our word" n4_is_out
for kind in intent 'done'; do
  checks=$((checks + 1))
  [ "$(drains "$second" "$kind" | wc -l)" = 1 ] || fail "not one $kind of the drain: $(drains "$second" "$kind")"
done
checks=$((checks + 1))
[ "$(grep -c 'update_node: node n4 reason set to: sickbay:' "$folder/log/slurmctld.log")" = 1 ] ||
  fail "drained more or less than once: $(grep 'update_node: node n4' "$folder/log/slurmctld.log")"
heal ctl
until_true "the first follows again" stands "$first" '.following == true'
until_true "and has all once more" stands "$second" '.alone == false'
for root in "$first" "$second"; do holds "the journal of $root is whole" at "$root" journal --file "$root/var/lib/sickbay/journal.db" --verify; done
finish
