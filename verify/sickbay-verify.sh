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
#   SICKBAY_VERIFY           the program                   (default: sickbay-verify on the PATH)
#   SICKBAY_VERIFY_OPTS      options of all steps         (--quick)
#   SICKBAY_VERIFY_BASELINE  baseline file                 (none)
#   SICKBAY_VERIFY_LIMIT     time limit of each step       (minutes or as srun --time takes it; 4)
#   SICKBAY_VERIFY_MPI       srun --mpi of the last step (pmi2)
# Exit code: 0 all well, 1 a wrong result or a dead rank, 3 right but slow.
program=${SICKBAY_VERIFY:-sickbay-verify}
limit=${SICKBAY_VERIFY_LIMIT:-4}
# UCX catches signals to print stacks; here only how a rank died is of interest, and srun tells that.
export UCX_HANDLE_ERRORS="${UCX_HANDLE_ERRORS:-none}"
if [ -n "$SICKBAY_VERIFY_BASELINE" ]; then set -- --baseline "$SICKBAY_VERIFY_BASELINE"; else set --; fi

# The job's own output is also what decides on the second step; no temporary file: a full or read-only /tmp
# is one of the faults to be found.
exec 3>&1
show() { while IFS= read -r line; do printf '%s\n' "$line" >&3; printf '%s\n' "$line"; done; }

# step NODES SRUN-ARGUMENTS...: one task on each node; a task's death ends neither the others nor the script.
step() {
  count=$1; shift
  srun --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --kill-on-bad-exit=0 --time="$limit" "$@"
}

nodes=$SLURM_JOB_NUM_NODES
# shellcheck disable=SC2086  # the options are words
alone=$(step "$nodes" --mpi=none "$program" node $SICKBAY_VERIFY_OPTS "$@" | show)

finished=$(printf '%s\n' "$alone" |
           sed -n 's/^{"sickbay_verify":1,"node":"\([^"]*\)",.*"phase":"done".*/\1/p' | sort -u)
count=$(printf '%s\n' "$finished" | grep -c .)
reach=
pairs=
unmeasured=
steps=$nodes
if [ "$count" -ge 2 ]; then
  list=$(printf '%s\n' "$finished" | paste -s -d ,)
  # shellcheck disable=SC2086
  reach=$(step "$count" --nodelist="$list" --mpi=none "$program" reach $SICKBAY_VERIFY_OPTS "$@" | show)
  steps=$((steps + count))
  if [ "$(printf '%s\n' "$reach" | grep -c '"phase":"done".*"ok":true')" -eq "$count" ]; then
    # shellcheck disable=SC2086
    pairs=$(step "$count" --nodelist="$list" --mpi="${SICKBAY_VERIFY_MPI:-pmi2}" \
            "$program" net $SICKBAY_VERIFY_OPTS "$@" | show)
    steps=$((steps + count))
  else
    unmeasured="not all nodes reach each other"
  fi
elif [ "$nodes" -ge 2 ]; then
  unmeasured="only $count of $nodes nodes came to the end of their own test"
fi
[ -z "$unmeasured" ] || echo "sickbay-verify: the network was not measured: $unmeasured" >&2

ended=$(printf '%s\n' "$alone" "$reach" "$pairs" | grep -c '"phase":"done"')
case "$alone$reach$pairs" in *'"ok":false'*) exit 1 ;; esac
[ "$ended" -eq "$steps" ] || exit 1
case "$alone$reach$pairs" in *'"slow":true'*) exit 3 ;; esac
exit 0
