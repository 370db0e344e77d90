#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# end_stamped.sh SCRIPT [ARG...]: a batch script that runs another one and then prints the time.
#SBATCH --ntasks-per-node=1
"$@"
code=$?
echo "ended at $(date +%s.%N)"
exit $code
