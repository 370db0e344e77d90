#!/bin/sh
#SBATCH --job-name=verify_bt
#SBATCH --ntasks-per-node=1
#SBATCH --no-requeue
# SPDX-License-Identifier: Apache-2.0
# V as in the paper: the bt program on all nodes of this job, right or not (its exit code says).
exec srun --mpi=pmi2 "${BLAME_PROGRAMS:?is not set: the folder of the programs, build/blame}/bt" "${BLAME_VERIFY_SIZE:-S}"
