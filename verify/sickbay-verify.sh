#!/bin/sh
#SBATCH --job-name=sickbay-verify
#SBATCH --ntasks-per-node=1
#SBATCH --no-requeue
# SPDX-License-Identifier: Apache-2.0
# V, the verification of the nodes of this job.  Any batch script can take its place; what Sickbay reads of
# it is in src/model/verify_report.h: lines of sickbay-verify on standard output, srun's on standard error.
#
# First every node alone, with no communication, so that a rank that dies takes no other down.  Then, without
# those that died, who reaches whom by TCP.  Only where all do, the network is measured by MPI: MPI_Init is
# collective, and one dead link or dead rank holds up all others in it.
#
# Each rank says that it goes on, and the program's own `watch` runs srun here: when nobody goes on who has not
# come to his end, it says who was silent and ends the step, long before its limit.
#
# srun runs here, on the first node.  That it does not reach another is a matter of these two, so who was not
# reached is asked from two others, too: only whom nobody reaches is at fault.
#
#   SICKBAY_VERIFY           the program                   (default: sickbay-verify on the PATH)
#   SICKBAY_VERIFY_OPTS      options of all steps         (--quick)
#   SICKBAY_VERIFY_BASELINE  baseline file                 (none)
#   SICKBAY_VERIFY_LIMIT     time limit of each step       (minutes or as srun --time takes it; 4)
#   SICKBAY_VERIFY_WATCH     options of the watch          (--silence 30)
#   SICKBAY_VERIFY_FOLDER    the folder of the job that failed: is it there (that of this job)
#   SICKBAY_VERIFY_MPI       srun --mpi of the last step (pmi2)
#   SICKBAY_VERIFY_HOLD      keep the nodes for so many seconds from the begin on, though all is said (0)
# Exit code: 0 all well, 1 a wrong result or a dead rank, 3 right but slow.
began=$(date +%s)
program=${SICKBAY_VERIFY:-sickbay-verify}
limit=${SICKBAY_VERIFY_LIMIT:-4}
# UCX catches signals to print stacks; here only how a rank died is of interest, and srun tells that.
export UCX_HANDLE_ERRORS="${UCX_HANDLE_ERRORS:-none}"
if [ -n "$SICKBAY_VERIFY_BASELINE" ]; then set -- --baseline "$SICKBAY_VERIFY_BASELINE"; else set --; fi
folder=${SICKBAY_VERIFY_FOLDER:-$SLURM_SUBMIT_DIR}
[ -z "$folder" ] || set -- "$@" --folder "$folder"

# The job's own output is also what decides on the second step; no temporary file: a full or read-only /tmp
# is one of the faults to be found.
exec 3>&1
show() { while IFS= read -r line; do printf '%s\n' "$line" >&3; printf '%s\n' "$line"; done; }

# The program may not run on this very node, whose storage is away say: then there is the limit of a step alone.
beat=
if [ "$(timeout -s KILL 20 "$program" watch --ranks 1 -- echo on 2>/dev/null)" = on ]; then beat="--beat 2"; fi

# step NODES SRUN-ARGUMENTS...: one task on each node; a task's death ends neither the others nor the script.
# Where `known` has the nodes, who never says a word is named; not at first, for to start may take long.
known=
step() {
  count=$1; shift
  # shellcheck disable=SC2086  # options are words
  set -- srun $overlap --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --kill-on-bad-exit=0 --time="$limit" "$@"
  # shellcheck disable=SC2086
  [ -z "$beat" ] || set -- "$program" watch $SICKBAY_VERIFY_WATCH ${known:+--nodes "$known"} --ranks "$count" -- "$@"
  "$@"
}
# What a step that was ended has left may take a while to go: the next ones do not wait for its room.
overlap=

# nodes_in TEXT PHASE: who printed a line of it.
nodes_in() {
  printf '%s\n' "$1" | sed -n 's/^{"sickbay_verify":1,"node":"\([^"]*\)",.*"phase":"'"$2"'".*/\1/p' | sort -u
}
# not_in LIST: the lines of standard input that are none of its.
not_in() { grep -vxF -e "${1:-/}" || true; }
# say NODE REST: a line of the script's own.
say() { printf '{"sickbay_verify":1,"node":"%s","rank":0,%s}\n' "$1" "$2" | show >/dev/null; }

here=${SLURMD_NODENAME:-$(hostname -s)}
say "$here" '"phase":"host"'
nodes=$SLURM_JOB_NUM_NODES
# shellcheck disable=SC2086  # the options are words
alone=$(step "$nodes" --mpi=none "$program" node $SICKBAY_VERIFY_OPTS $beat "$@" | show)

# A launch that fails on one node ends the step on all: once more, each by itself.
most_by_itself=64 most_asked_about=4 most_asked=2
started=$(nodes_in "$alone" start)
silent=$(nodes_in "$alone" silent)
[ -z "$silent" ] || overlap=--overlap
unheard=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | not_in "$started")
if [ -n "$unheard" ]; then
  unfinished=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | not_in "$(nodes_in "$alone" 'done')" | not_in "$silent" | head -n "$most_by_itself")
  # shellcheck disable=SC2086
  alone=$alone$(for node in $unfinished; do
    known=$node
    step 1 --nodelist="$node" --mpi=none "$program" node $SICKBAY_VERIFY_OPTS $beat "$@" | show &
  done; wait)
  unheard=$(printf '%s\n' "$unfinished" | not_in "$(nodes_in "$alone" start)")
fi
finished=$(nodes_in "$alone" 'done')

# ask NODE ABOUT: the same program on ABOUT, started by an srun that runs on NODE.
ask() {
  # shellcheck disable=SC2016,SC2086  # the words are for the shell there; Slurm's own of this step would mislead it
  told=$(known=$2; step 1 --overlap --nodelist="$1" --mpi=none env -i PATH="$PATH" HOME="$HOME" SLURM_JOB_ID="$SLURM_JOB_ID" \
         ${SLURM_CONF:+"SLURM_CONF=$SLURM_CONF"} sh -c 'echo asked; exec srun --overlap --nodes=1 --ntasks=1 "$@"' sh \
         --nodelist="$2" --time="$limit" --mpi=none "$program" node $SICKBAY_VERIFY_OPTS $beat </dev/null | show)
  case $told in
    *'"phase":"start"'*) say "$1" '"phase":"launch","peer":"'"$2"'","ok":true,"slow":false,"detail":""' ;;
    *asked*) say "$1" '"phase":"launch","peer":"'"$2"'","ok":false,"slow":false,"detail":"could not launch from there"' ;;
  esac
}
for node in $(printf '%s\n' "$unheard" | head -n "$most_asked_about"); do
  for other in $(printf '%s\n' "$finished" | not_in "$here" | head -n "$most_asked"); do
    ask "$other" "$node"
  done
done

count=$(printf '%s\n' "$finished" | grep -c .)
reach=
pairs=
unmeasured=
steps=$nodes
if [ "$count" -ge 2 ]; then
  list=$(printf '%s\n' "$finished" | paste -s -d ,)
  known=$list  # they have spoken before
  # shellcheck disable=SC2086
  reach=$(step "$count" --nodelist="$list" --mpi=none "$program" reach $SICKBAY_VERIFY_OPTS $beat "$@" | show)
  steps=$((steps + count))
  [ -z "$(nodes_in "$reach" silent)" ] || overlap=--overlap
  if [ "$(printf '%s\n' "$reach" | grep -c '"phase":"done".*"ok":true')" -eq "$count" ]; then
    # shellcheck disable=SC2086
    pairs=$(step "$count" --nodelist="$list" --mpi="${SICKBAY_VERIFY_MPI:-pmi2}" \
            "$program" net $SICKBAY_VERIFY_OPTS $beat "$@" | show)
    steps=$((steps + count))
  else
    unmeasured="not all nodes reach each other"
  fi
elif [ "$nodes" -ge 2 ]; then
  unmeasured="only $count of $nodes nodes came to the end of their own test"
fi
[ -z "$unmeasured" ] || echo "sickbay-verify: the network was not measured: $unmeasured" >&2

# What would begin here begins elsewhere meanwhile: does it live there?
[ "${SICKBAY_VERIFY_HOLD:-0}" -eq 0 ] || sleep "$((SICKBAY_VERIFY_HOLD - ($(date +%s) - began)))" 2>/dev/null || true

ended=$(printf '%s\n' "$alone" "$reach" "$pairs" | grep -c '"phase":"done"')
case "$alone$reach$pairs" in *'"ok":false'*) exit 1 ;; esac
[ "$ended" -eq "$steps" ] || exit 1
case "$alone$reach$pairs" in *'"slow":true'*) exit 3 ;; esac
exit 0
