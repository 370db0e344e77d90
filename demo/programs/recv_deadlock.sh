#!/bin/sh
#SBATCH --job-name=recv_deadlock
#SBATCH --ntasks-per-node=1
# SPDX-License-Identifier: Apache-2.0
# recv_deadlock: what it does stands in recv_deadlock.cc.  Arguments are the program's.  SICKBAY_DEMO: the folder of the programs.
exec srun --mpi=pmi2 "${SICKBAY_DEMO:?is not set: the folder of the demo programs, build/demo}/recv_deadlock" "$@"
