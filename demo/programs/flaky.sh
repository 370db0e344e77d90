#!/bin/sh
#SBATCH --job-name=flaky
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# flaky: what it does stands in flaky.cc.  Arguments are the program's.  SICKBAY_DEMO: the folder of the programs.
[ $# -gt 0 ] || set -- 0.5
exec srun --mpi=pmi2 "${SICKBAY_DEMO:?is not set: the folder of the demo programs, build/demo}/flaky" "$@"
