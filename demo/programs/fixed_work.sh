#!/bin/sh
#SBATCH --job-name=fixed_work
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# fixed_work: what it does stands in fixed_work.cc.  Arguments are the program's.  SICKBAY_DEMO: the folder of the programs.
[ $# -gt 0 ] || set -- 5000
exec srun --mpi=pmi2 "${SICKBAY_DEMO:?is not set: the folder of the demo programs, build/demo}/fixed_work" "$@"
