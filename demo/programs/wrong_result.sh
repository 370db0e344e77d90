#!/bin/sh
#SBATCH --job-name=wrong_result
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# wrong_result: what it does stands in wrong_result.cc.  Arguments are the program's.  SICKBAY_DEMO: the folder of the programs.
exec srun --mpi=pmi2 "${SICKBAY_DEMO:?is not set: the folder of the demo programs, build/demo}/wrong_result" "$@"
