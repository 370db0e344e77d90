#!/bin/bash
#SBATCH --job-name=wave
#SBATCH --requeue
# SPDX-License-Identifier: Apache-2.0
# job.sh PROGRAM [STEPS SIZE MILLISECONDS]: one step of PROGRAM (wave), which goes on from the newest checkpoint of this job
# where there is one: so it is enough that Slurm, or Sickbay, puts the job back into the queue.
#
# The checkpoints are in sickbay-checkpoints of the folder of sbatch, which must be on storage that all nodes share.
exec srun --mpi=pmi2 "${1:?usage: job.sh PROGRAM [STEPS SIZE MILLISECONDS]}" "${@:2}"
