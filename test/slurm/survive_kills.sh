#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 at moments spread over a whole case: the verdict must be the same, and no run may start twice.
#   survive_kills.sh BUILD [KILLS OF SICKBAYD = 3] [KILLS OF SLURMCTLD = 1]
# A "moment" is an event of the case in the journal, not a time: the kill comes as soon as the stream shows
# it, so each run of this test walks through other states of the case, and none of it waits for a clock.
# slurmctld is killed as soon as the submission of the re-run is acknowledged, which is when its own state
# file may not have the job yet.
set -euo pipefail
build=$(realpath "${1:?usage: survive_kills.sh BUILD [KILLS OF SICKBAYD] [KILLS OF SLURMCTLD]}")
source_dir=$(realpath "$(dirname "$0")/../..")
daemon_kills=${2:-3}
slurm_kills=${3:-1}
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 4 --spares 0 --cpus 4

as_alice() { "$sickbay" lab exec -l "$lab" --user alice -- sh -c "cd; export SICKBAY_DEMO=$build/demo; $*"; }
# The job's number; what submit said where it failed.  Each is another program by its arguments: identical failures
# share one experiment, and a second one of the same would start nothing that could be killed.
submit() {
  local said
  said=$(as_alice "$sickbay submit -N2 -t 5 $source_dir/demo/programs/exit_code.sh 3 1 $EPOCHREALTIME" 2>&1) || { echo "submit: exit code $?: $said" >&2; return 1; }
  sed -n 's/^Submitted batch job //p' <<<"$said"
}
events() { ctl "$sickbay" journal --json "$@"; }
case_of() { as_alice "$sickbay why --json $1" | jq -r .case || true; }
# until_event CASE NUMBER|TEXT: returns with the case's NUMBERth event, or the first that holds TEXT, or the end of
# the case (which may come some events earlier than in another one).
until_event() {
  local stream pid line n=0
  exec {stream}< <(exec "$sickbay" lab exec -l "$lab" -- "$sickbay" journal --json --follow --subject "$1" 2>/dev/null)
  pid=$!
  while read -r line <&"$stream"; do
    n=$((n + 1))
    case $line in *'"kind":"case_closed"'*) break ;; esac
    case $2 in
      *[!0-9]*) [[ $line != *"$2"* ]] || break ;;
      *) [ "$n" != "$2" ] || break ;;
    esac
  done
  exec {stream}<&-
  kill "$pid" 2>/dev/null || true  # by itself it would notice at the next event only
}

# One job, no kill: what the verdict is and how many events lead to it.
job=$(submit)
rc=0; as_alice "$sickbay why --wait $job" >/dev/null || rc=$?
[ "$rc" = 10 ] || fail "the verdict without a kill has exit code $rc"
total=$(events --subject c1 | wc -l)
echo "without a kill: verdict (a), $total events"

# A killed slurmctld forgets jobs of its last seconds and gives their numbers again; a slurmd that still knows such a job
# makes it drain the node ("Duplicate jobid").  That is Slurm's own doing, and its operator's to mend: here, ours.
resume_duplicates() {
  local nodes
  nodes=$(ctl sinfo -h -N -o '%N %E' 2>/dev/null | sed -n 's/ Duplicate jobid$//p' | sort -u | paste -sd,)
  [ -n "$nodes" ] || return 0
  echo "Slurm drained $nodes (Duplicate jobid); resumed"
  ctl scontrol update "nodename=$nodes" state=resume
}
# wait_for_verdict JOB: the exit code of why.
wait_for_verdict() {
  local pid
  as_alice "$sickbay why --wait $1" >/dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    resume_duplicates
    sleep 1
  done
  wait "$pid"
}

# check JOB WHAT: waits for the verdict and counts what was started.
check() {
  checks=$((checks + 1))
  local rc=0 started twice name look
  wait_for_verdict "$1" || rc=$?
  name=$(case_of "$1")
  # What accounting says was started: one line for each allocation of a run that carries our key.  slurmctld tells
  # slurmdbd in its own time, seconds later on a loaded machine: asked again until it knows of all, within 30 s.
  for ((look = 0; look < 60; look++)); do
    started=$(ctl sacct -a -n -X -P -S now-1hour -o NodeList,SubmitLine |
              sed -n "s/^\(.*\)|.*sickbay:\($name\.[rv][0-9]*\)\..*/\1 \2/p" | awk '!/^None/ {print $2}' | sort)
    [ "$(sed "s/.*[.]//" <<<"$started" | sort -u | tr "\n" " ")" != "r2 v1 v2 " ] || break
    sleep 0.5
  done
  twice=$(uniq -d <<<"$started")
  [ "$(sed "s/.*[.]//" <<<"$started" | sort -u | tr "\n" " ")" = "r2 v1 v2 " ] || fail "$2: accounting knows only of: $started"
  [ "$rc" = 10 ] || fail "$2: exit code $rc in place of 10: $(as_alice "$sickbay why $1"; events --subject "$name")"
  [ -z "$twice" ] || fail "$2: started twice: $twice"
  echo "$2: $name verdict $rc, started: $(tr "\n" " " <<<"$started")twice: ${twice:-none}"
}

for ((i = 1; i <= daemon_kills; i++)); do
  moment=$((1 + RANDOM % (total - 1)))
  job=$(submit)
  name=c$((i + 1))
  until_event "$name" "$moment"
  restart ctl sickbayd
  check "$job" "sickbayd killed after event $moment of $total"
done

for ((i = 1; i <= slurm_kills; i++)); do
  job=$(submit)
  name=c$((daemon_kills + i + 1))
  until_event "$name" "\"kind\":\"done\",\"body\":{\"key\":\"$name.r2.a1:submit\""
  restart ctl slurmctld
  check "$job" "slurmctld killed right after the submission of r2"
done

echo "survive_kills: $checks kills, $failures failures"
[ "$failures" = 0 ]
