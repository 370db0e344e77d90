#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each class of faults of the paper (4.1) on a real Slurm, from the fault to its end: what `sickbay recover --plan` says
# of it, which steps stand in the journal, whether the fault is gone, and how the recovery ends.  Faults of components
# are found by rules of node diagnosis, that of a job by its case.  The table that it prints last is its own account.
#   fault_classes.sh BUILD
# What recover.sh and requeue.sh show (kills in the midst, refusals, jobs at an operator's word) is not shown again.
set -euo pipefail
build=$(realpath "${1:?usage: fault_classes.sh BUILD}")
programs=$(realpath "$(dirname "$0")/../../demo/programs")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
patience=240 # Slurm lets a job that was requeued wait for two minutes
lab_up --nodes 6 --spares 0 --cpus 2
set_site '{drain: {act: true, most: 100, most_percent: 100, most_out_percent: 100, window: "10s", lift_after: "3s", reboot: true}, recover: {act: true}}'

on() { "$sickbay" lab exec -l "$lab" --node "$1" -- "${@:2}"; } # NODE COMMAND...
recover() { ctl "$sickbay" recover "$@"; }
shown() { recover --show --json | jq -r ".items[] | select(.recovery == \"$1\") | $2"; } # RECOVERY FILTER

# --- what the nodes can restart, and how they find out that it must be
# slurmd is the lab's own.  `fabric` stands for communication software.  `device` is only cured by a boot: it is well
# unless `broken` names the boot in which it broke.
for node in n1 n2 n3 n4 n5 n6; do
  here=$(root_of $node)/components
  etc=$(root_of $node)/etc/sickbay
  mkdir -p "$here" "$etc/components.d" "$etc/rules.d" "$etc/operations.d"
  on $node sh -c "cat /proc/\$(cat $folder/run/slurmd.pid)/environ" >"$here/slurmd.environ"
  cat >"$here/control" <<CONTROL
#!/bin/sh
cd "$here" || exit 1
lives() { pid=\$(cat "\$1" 2>/dev/null) && kill -0 "\$pid" 2>/dev/null && [ "\$(cat "/proc/\$pid/comm")" = "\$2" ]; }
case \$1 in
  check_slurmd) lives $folder/run/slurmd.pid slurmd ;;
  restart_slurmd)
    ! "\$0" check_slurmd || kill "\$pid"
    setsid xargs -0 -a slurmd.environ sh -c 'exec env -i "\$@" slurmd -D' sh >/dev/null 2>&1 </dev/null &
    until "\$0" check_slurmd; do sleep 0.1; done ;;
  check_fabric) lives fabric.pid sleep ;;
  restart_fabric)
    ! "\$0" check_fabric || kill "\$pid"
    setsid sh -c 'echo \$\$ >fabric.pid; exec sleep 100000' >/dev/null 2>&1 </dev/null &
    until "\$0" check_fabric; do sleep 0.1; done ;;
  check_device) [ "\$(cat broken 2>/dev/null)" != "\$(cat /proc/sys/kernel/random/boot_id)" ] ;;
  restart_device) ;;
esac
CONTROL
  chmod 755 "$here/control"
  for name in slurmd fabric device; do
    jq -n --arg c $name --arg p "$here/control" \
      '{component: $c, check: [$p, "check_" + $c], restart: [$p, "restart_" + $c], takes: "1s", within: "5s"}' >"$etc/components.d/$name.json"
    [ $name != slurmd ] || continue
    cat >"$etc/operations.d/look_at_$name" <<LOOK
#!/bin/sh
if $here/control check_$name; then echo '{"outputs": {"${name}_hangs": false}}'; else echo '{"outputs": {"${name}_hangs": true}}'; fi
LOOK
    chmod 755 "$etc/operations.d/look_at_$name"
  done
  # That slurmd is down is the shipped rule's to find; here it is looked more often.
  cat >"$etc/rules.d/node.json" <<'RULES'
{"specification": "node", "version": 2, "description": "the shipped one, looked at often",
 "periods": {"night": null, "always": {"node": "any", "every": "3s", "initial": {"mode": "quick", "repair": false}, "description": "often"}}}
RULES
  cat >"$etc/rules.d/site.json" <<'RULES'
{"specification": "site", "version": 1, "description": "what this site has",
 "components": {"device": {"description": "the device"}, "fabric": {"description": "communication software"}},
 "characteristics": {"mode": {"type": "string", "description": "how deep"},
   "device_hangs": {"type": "bool", "description": "it hangs"}, "fabric_hangs": {"type": "bool", "description": "it does not run"}},
 "predicates": {"always": {"when": "mode != \"\"", "description": "always"},
   "device_bad": {"when": "device_hangs", "description": "the device hangs"}, "fabric_bad": {"when": "fabric_hangs", "description": "the fabric's daemon does not run"}},
 "operations": {
   "look_at_device": {"kind": "collect", "run": "look_at_device", "components": ["device"], "outputs": ["device_hangs"], "description": "look at it"},
   "look_at_fabric": {"kind": "collect", "run": "look_at_fabric", "components": ["fabric"], "outputs": ["fabric_hangs"], "description": "look at it"},
   "restart_device": {"kind": "critical", "run": "builtin:restart", "arguments": {"component": "device"}, "description": "ask for its restart"},
   "restart_fabric": {"kind": "critical", "run": "builtin:restart", "arguments": {"component": "fabric", "class": "network"}, "description": "ask for its restart"}},
 "productions": {"p0": {"if": "always", "then": "look_at_device", "description": "look"}, "p1": {"if": "always", "then": "look_at_fabric", "description": "look"},
   "device": {"if": "device_bad", "then": "restart_device", "description": "restart it"}, "fabric": {"if": "fabric_bad", "then": "restart_fabric", "description": "restart it"}},
 "periods": {"always": {"description": "often", "every": "3s", "initial": {"mode": "quick"}}}}
RULES
  jq '. + {repair: {allowed: true}}' "$etc/agent.json" >"$etc/new" && mv "$etc/new" "$etc/agent.json"
  on $node "$here/control" restart_fabric
  holds "each restart that rules ask for is one of components.d" test -z "$(on $node "$build/bin/sickbay-agent" --check-config 2>&1)"
  restart $node sickbay-agent
done
known() { [ "$(ctl "$sickbay" tree --json | jq '[.cells[] | select(.level == "component")] | length')" = 18 ]; }
until_true "sickbayd knows the components of all nodes" known

# --- a row of the table

table=()
# What `sickbay recover --plan` says: the cells, lowest first, with * where it begins; else why nothing is restarted.
plan() {
  echo "--- sickbay recover $* --plan"
  recover "$@" --plan || true
  planned=$(recover "$@" --plan --json | jq -r '.plan | .start as $start | [.path | to_entries[] |
    (if .key == $start then "*" else "" end) + .value.cell + (if .value.left_to_people == "" then "" else " (people)" end)] +
    [.refused | select(. != "")] | join(", ")') || true # (1 where nothing is restarted)
}
# The recovery's own events, those of its claims left out.
journal_of() {
  ctl "$sickbay" journal --json | jq -rs "[.[] | select(.subject == \"$1\") | .kind + (if .body.verb then \" \" + .body.verb else \"\" end)] | join(\", \")"
}
is_over() { [ "$(shown "$1" .open)" = false ]; }
same() { [ "$1" = "$2" ] || { echo "it is:    $1"; echo "expected: $2"; return 1; }; }
# row CLASS RECOVERY PLAN STEPS END: `planned` is what plan() has heard.
row() {
  until_true "$1: the recovery comes to its end" is_over "$2"
  local steps end
  steps=$(journal_of "$2")
  end=$(shown "$2" '.outcome + ": " + .why')
  checks=$((checks + 3))
  same "$planned" "$3" || fail "$1: the plan"
  same "$steps" "recovery_opened, recovery_planned, ${4:+$4, }recovery_closed" || fail "$1: the steps"
  same "$end" "$5" || fail "$1: the end"
  table+=("$1|$planned|${steps//recovery_/}|$end")
}
# opened SOURCE FILTER: the recovery `r` of such a fault that a finding (f), a case (c) or a person (by) has opened.
r=
opened() {
  r=$(recover --show --json | jq -r "[.items[] | select((.fault.source | startswith(\"$1\")) and ($2)) | .recovery] | last // \"\"")
  [ -n "$r" ]
}
restarts_one="intent restart_component, done restart_component"
boot_ids() { cat "$folder"/nodes/n?/boot_id; }
slurm_state() { ctl sinfo -h -n "$1" -o %T | sort -u; }
in_state() { [ "$(slurm_state "$1")" = "$2" ]; }

# --- parallel job: a process on n2 is lost, the case blames the node, and the job begins anew without it
"$sickbay" lab fault -l "$lab" n2 rank-kill=SIGKILL >/dev/null
# (Its step begins when the plan has been asked for: of a job that is over no node is restarted.)
as alice "printf '#!/bin/sh\n#SBATCH --ntasks-per-node=1\nuntil [ -e planned ]; do sleep 0.2; done\nexec $programs/healthy.sh 20\n' >later.sh"
job=$(as alice "$sickbay submit --parsable --recover -N2 -t 5 later.sh" 2>"$folder/submit.err")
until_true "the job runs" job_is "$job" JobState RUNNING
holds "on n1 and n2, the first that are free" job_is "$job" NodeList 'n[1-2]'
plan job "$job" --node n2
as alice "touch planned"
until_true "a recovery comes of its case" opened c ".fault.job.job_id == $job"
row "parallel job" "$r" "n2 (people), *job:$job, cluster (people)" "intent requeue_job, done requeue_job" \
  "cured: the restart of job:$job cured it"
holds "the job was put back once" job_is "$job" Restarts 1
holds "kept away from n2" job_is "$job" ExcNodeList n2
until_true "the job runs anew" job_is "$job" JobState RUNNING
avoids_n2() { ! ctl scontrol show hostnames "$(job_field "$job" NodeList)" | grep -qx n2; }
holds "not on n2" avoids_n2
until_true "and completes" job_is "$job" JobState COMPLETED
# (Back in service it would kill the ranks of the last part's job as well.)
"$sickbay" lab heal -l "$lab" n2 >/dev/null

# --- single node, a software component: slurmd dies, the shipped rule finds it, it is restarted alone
plan n5/slurmd
before=$(on n5 cat "$folder/run/slurmd.pid")
on n5 kill -9 "$before"
until_true "a recovery comes of the finding" opened f '.fault.component == "slurmd"'
row "single node, component" "$r" "*n5/slurmd, n5, cluster (people)" "$restarts_one" "cured: the restart of n5/slurmd cured it"
holds "it is another slurmd" test "$(on n5 cat "$folder/run/slurmd.pid")" != "$before"
until_true "the node works again" ctl srun -w n5 -t 1 --immediate=20 hostname

# --- single node: the component's restart does not cure, a boot of the drained node does
plan n6/device
before=$(cat "$folder/nodes/n6/boot_id")
echo "$before" >"$(root_of n6)/components/broken"
until_true "a recovery comes of the finding" opened f '.fault.component == "device"'
row "single node, as a whole" "$r" "*n6/device, n6, cluster (people)" \
  "$restarts_one, leave_wanted, intent check_component, done check_component" "cured: the restart of n6 cured it"
holds "it has booted anew" test "$(cat "$folder/nodes/n6/boot_id")" != "$before"
until_true "and is in service again" in_state n6 idle

# --- network: communication software is restarted like any component
plan n4/fabric --class network
before=$(cat "$(root_of n4)/components/fabric.pid")
on n4 kill "$before"
until_true "a recovery comes of the finding" opened f '.fault.component == "fabric" and .fault.node == "n4"'
row "network, software" "$r" "*n4/fabric, n4, cluster (people)" "$restarts_one" "cured: the restart of n4/fabric cured it"
holds "it runs" on n4 "$(root_of n4)/components/control" check_fabric

# --- network: of hardware nothing is restarted; the node leaves service, and a person must look
hardware="a part of a network's hardware is for a person to change, and n3 is to leave service"
plan n3 --class network
boots=$(boot_ids)
rc=0
recover n3 --class network --text "its link flaps" --wait >/dev/null || rc=$?
holds "that is no cure" test "$rc" = 1
until_true "a recovery comes of a person's word" opened "by " '.fault.class == "network"'
row "network, hardware" "$r" "$hardware" leave_wanted "given_up: $hardware: a person must look"
until_true "the node is drained" in_state n3 drained
holds "Slurm's reason says why" test "$(ctl sinfo -h -n n3 -o %E | grep -c 'its link flaps')" = 1
holds "nothing was booted" same "$(boot_ids)" "$boots"

# --- the whole cluster: planned, refused, and a person's to do
plan --class cluster
whole="the whole cluster is restarted on a person's word alone"
checks=$((checks + 2))
same "$planned" "$whole" || fail "the plan for the cluster"
rc=0
recover --class cluster >/dev/null 2>"$folder/err" || rc=$?
holds "it is refused" test "$rc" != 0
grep -q "$whole" "$folder/err" || { fail "the cluster: no reason"; cat "$folder/err"; }
holds "with what a person does" grep -q "scontrol reboot" "$folder/err"
as_alice() { as alice "$sickbay recover --class cluster --plan"; }
checks=$((checks + 1))
! as_alice >/dev/null 2>&1 || fail "an ordinary user plans for the cluster"
opened "by " '.fault.class == "cluster"' && fail "a recovery of the cluster was opened"
holds "nothing was booted" same "$(boot_ids)" "$boots"
table+=("whole cluster|$planned|none|refused: a person restarts it")

# --- the ends that take their time
in_drain() { [ "$(slurm_state n3)" = drained ]; }
holds "n3 is out still, whatever time has passed" in_drain
ctl "$sickbay" undo-drains n3 >/dev/null || fail "a person has changed the part"
until_true "and puts the node back" in_state n3 idle
nothing_held() { ctl "$sickbay" nodes --json | jq -e '[.. | objects | .claim? | objects | select(.holder == "recover")] | length == 0'; }
until_true "nothing stays claimed" nothing_held

# --- parallel job whose node is lost as a whole: Slurm sets it DOWN and puts the job back by itself, and Sickbay does not
# do so a second time.  (Its ranks say nothing to each other: a program that notices its lost rank fails before Slurm sees
# the node, and that is another story.)
as alice "printf '#!/bin/sh\\nexec srun sleep 120\\n' >sleeps.sh; chmod +x sleeps.sh"
job=$(as alice "$sickbay submit --parsable --recover -N2 -t 5 sleeps.sh" 2>"$folder/submit.err")
until_true "the job runs" job_is "$job" JobState RUNNING
holds "for the first time" job_is "$job" Restarts 0
lost=$(ctl scontrol show hostnames "$(job_field "$job" NodeList)" | tail -n 1)
logged=$(wc -l <"$folder/log/slurmctld.log")
"$sickbay" lab fault -l "$lab" "$lost" crash >/dev/null
until_true "the job is put back" job_is "$job" Restarts 1
until_true "it runs anew, and does not wait Slurm's two minutes" job_is "$job" JobState RUNNING
holds "put back once" job_is "$job" Restarts 1
avoids_lost() { ! ctl scontrol show hostnames "$(job_field "$job" NodeList)" | grep -qx "$lost"; }
# (An answer that the node gave before it crashed, and that comes late, makes slurmctld take it back once: seen at a
# load of 12.  Then it is Slurm that chose it.)
taken_back() { tail -n +$((logged + 1)) "$folder/log/slurmctld.log" | grep -q "Node $lost now responding"; }
avoids_lost_that_is_down() { avoids_lost || taken_back; }
holds "on other nodes" avoids_lost_that_is_down
by_slurm() { grep -q "[Rr]equeue.* JobId=$job due to failure of node" "$folder/log/slurmctld.log"; }
by_sickbay() { opened c ".fault.job.job_id == $job" && journal_of "$r" | grep -q "done requeue_job"; }
put_back=''
if by_slurm; then put_back+=Slurm; fi
if by_sickbay; then put_back+=Sickbay; fi
checks=$((checks + 1))
case $put_back in
  Slurm | Sickbay) ;;
  *)
    fail "it was put back by one: '$put_back'"
    ctl "$sickbay" journal --json | grep "$job" | tail -n 40
    ;;
esac
table+=("parallel job, node lost|none|begin_now|put back by $put_back, once")
"$sickbay" lab heal -l "$lab" "$lost" >/dev/null
ctl scancel "$job"

printf '%s\n' "CLASS|PLAN (* begins)|STEPS|END" "${table[@]}" | column -t -s '|'
finish
