#!/bin/sh
#SBATCH --job-name=memory_hog
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# memory_hog: what it does stands in memory_hog.cc.  Arguments are the program's.  SICKBAY_DEMO: the folder of the programs.
exec srun --mpi=pmi2 "${SICKBAY_DEMO:?is not set: the folder of the demo programs, build/demo}/memory_hog" "$@"
