#!/bin/sh
#SBATCH --job-name=endless_loop
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# endless_loop: what it does stands in endless_loop.cc.  Arguments are the program's.  SICKBAY_DEMO: the folder of the programs.
exec srun --mpi=pmi2 "${SICKBAY_DEMO:?is not set: the folder of the demo programs, build/demo}/endless_loop" "$@"
