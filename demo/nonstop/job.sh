#!/bin/bash
#SBATCH --job-name=heat
#SBATCH --no-kill
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# job.sh PROGRAM FOLDER [STEPS SIZE EVERY]: steps of PROGRAM (heat, heat_fortran) until FOLDER/result is there.
#
# A step that lost a node is followed by the next one, on the nodes that rank 0 or nonstop.sh got; each goes on from
# the checkpoint.  FOLDER must be on storage that all nodes share, and nonstop.sh in PATH or named by NONSTOP_SH.
set -u
program=${1:?usage: job.sh PROGRAM FOLDER [STEPS SIZE EVERY]}
folder=${2:?usage: job.sh PROGRAM FOLDER [STEPS SIZE EVERY]}
export SMD_NONSTOP_FAILED=${SMD_NONSTOP_FAILED:-REPLACE:TIME_LIMIT_DELAY=5:DROP}
shift
# A step that lost a node never gives back what it has to itself (Slurm 20.11 and later), so steps share.
export SLURM_OVERLAP=1
mkdir -p "$folder"
rm -f "$folder/nodes.sh"

alone=0 # failures in a row for which no node went
for ((try = 0; try < 20; try++)); do
  # Rank 0 watches for lost nodes, so it is where this script is: without that node there is no job any more.  A new node's
  # name may come before it.
  { echo "$SLURMD_NODENAME" && scontrol show hostnames "$SLURM_JOB_NODELIST" | grep -vx "$SLURMD_NODENAME"; } >"$folder/hosts"
  # --no-kill here, too: the step stays when a node goes, so that rank 0 can act.
  SLURM_HOSTFILE=$folder/hosts srun --no-kill --distribution=arbitrary --ntasks="$(wc -l <"$folder/hosts")" --mpi=pmi2 "$program" "$@"
  code=$?
  [ -e "$folder/result" ] && exit 0
  echo "job.sh: step $try ended with $code; going on"
  # Where rank 0 was not told before the step broke, nobody has asked for a node yet.
  "${NONSTOP_SH:-nonstop.sh}" -o "$folder" || exit 1
  ((++alone))
  for nodes in "$folder/nodes.sh" "$folder/smd_job_${SLURM_JOB_ID:?}_nodes.sh"; do
    # shellcheck disable=SC1090 # written by the program, by smd
    if [ -O "$nodes" ]; then . "$nodes" && rm -f "$nodes" && alone=0; fi
  done
  # A dead node may break the step before Slurm knows of it: so it is tried again, but not for ever.
  ((alone < 5)) || { echo "job.sh: $alone steps failed and no node was lost: it is the program" >&2; exit "$code"; }
  ((alone == 0)) || sleep $((alone * 5))
done
echo "job.sh: given up after $try steps" >&2
exit 1
