#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aborts.sh [SECONDS=1]: a batch script whose ranks abort, as after a failed assertion.
#SBATCH --ntasks-per-node=1
exec srun sh -c 'echo "assertion failed"; sleep "$0"; kill -ABRT $$' "${1:-1}"
