#!/bin/sh
#SBATCH --job-name=blame
# SPDX-License-Identifier: Apache-2.0
# job.sh PROGRAM [SIZE [TAG]]: a batch script for a program of the corpus.  BLAME_PROGRAMS: the folder of the programs.
# BLAME_* are the programs' own (corpus.h); sbatch hands them on as it does all variables.
# TAG makes no difference to the program; it sets one run of the corpus apart from the next.
exec srun --mpi=pmi2 "${BLAME_PROGRAMS:?is not set: the folder of the programs, build/blame}/$1" "${2:-S}"
