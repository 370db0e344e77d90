#!/bin/sh
#SBATCH --job-name=exit_code
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# exit_code: what it does stands in exit_code.cc.  Arguments are the program's.  SICKBAY_DEMO: the folder of the programs.
[ $# -gt 0 ] || set -- 7
exec srun --mpi=pmi2 "${SICKBAY_DEMO:?is not set: the folder of the demo programs, build/demo}/exit_code" "$@"
