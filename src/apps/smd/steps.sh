#!/bin/bash
#SBATCH --job-name=steps
#SBATCH --no-kill
# SPDX-License-Identifier: Apache-2.0
# steps.sh COUNT COMMAND...: a batch job of COUNT steps, `srun COMMAND...` each, that outlives its nodes.
#
#     export SMD_NONSTOP_FAILED=REPLACE:TIME_LIMIT_DELAY=4:DROP:TIME_LIMIT_DROP=10
#     smd --check-policy && sbatch -N4 steps.sh 10 ./my_program
#
# After each step nonstop.sh sees to the nodes that failed, and the next step runs on what the nodes file says.  A
# step that lost a node ends with an error; the program must be able to go on from what it has saved.
# SMD_NONSTOP_FOLDER: where the nodes file lies, in place of /tmp.
set -u
if [ $# -lt 2 ] || ! [ "$1" -gt 0 ] 2>/dev/null; then
  echo "usage: steps.sh COUNT COMMAND...   (COMMAND: the words behind srun)" >&2
  exit 64
fi
count=$1
shift

# Since Slurm 20.11 a step has its CPUs and memory to itself, and one that lost a node never gives them back.
export SLURM_OVERLAP=1
nonstop=nonstop.sh
command -v nonstop.sh >/dev/null 2>&1 || nonstop=$(dirname "$0")/nonstop.sh
# Said before the first step, not after it: sbatch runs a copy of this script, from a folder with nothing else in it.
if ! command -v "$nonstop" >/dev/null 2>&1; then
  echo "steps.sh: nonstop.sh is not in PATH (PATH=$PATH); set PATH to its folder before sbatch" >&2
  exit 69
fi
folder=${SMD_NONSTOP_FOLDER:-/tmp}
nodes=$folder/smd_job_${SLURM_JOB_ID:?is not set: run this by sbatch}_nodes.sh

# What is sourced is run: only a plain file of one's own will do, for anybody may write into /tmp.
own() { [ -f "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }
own "$nodes" && rm -f -- "$nodes" # of a job that had the same number

for ((step = 0; step < count; step++)); do
  echo "start: step $step $(date)"
  srun "$@"
  "$nonstop" -o "$folder" || exit 1
  # shellcheck disable=SC1090 # smd writes it
  if own "$nodes"; then . "$nodes"; fi
done
