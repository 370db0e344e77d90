#!/bin/sh
#SBATCH --job-name=stack_overflow
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# stack_overflow: what it does stands in stack_overflow.cc.  Arguments are the program's.  SICKBAY_DEMO: the folder of the programs.
exec srun --mpi=pmi2 "${SICKBAY_DEMO:?is not set: the folder of the demo programs, build/demo}/stack_overflow" "$@"
