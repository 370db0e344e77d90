#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From submit to verdict on a real Slurm: a job that is well, and one whose program fails wherever it runs.
. "$(dirname "$0")/common.inc"
lab_up 4
script alice well.sh 'srun hostname'
script alice broken.sh 'srun sh -c "echo about to fail; exit 3"'

run 0 as alice mybatch -N2 well.sh
job=$(sed -n 's/^Submitted batch job \([0-9]*\)$/\1/p' out)
[ -n "$job" ] || fail "sbatch's own line is missing: $(cat out)"
same err <<EOF
sickbay: case c1 (sickbay why $job)
EOF
run 0 as alice timeout 60 sickbay why "$job" --wait
[ "$(head -1 out)" = "The job completed; nothing to explain." ] || fail "first line: $(head -1 out)"
says out "Case c1, job $job of alice"
says out "COMPLETED"
run 0 as alice sickbay why c1
run 0 as alice sickbay why c1.r1 --json
says out '"cause": "normal"'

# The program's fault: it fails on two sets of nodes, and V passes on both.
run 0 as alice sickbay submit --parsable -N2 broken.sh
job=$(cat out)
run 10 as alice timeout 200 sickbay why "$job" --wait
says out "The program or its input is the cause"
says out "verdict:    (a) program"
says out "about to fail"
says out "c2.r2"
says out "verifies c2.r1"
run 10 as alice sickbay why c2 --json
says out '"final": true'
silent_about out "LD_LIBRARY"  # nothing of the environment comes back

# A program that says why it ended: that goes before the code that srun made of it.
script alice says.sh 'srun sh -c "echo ERROR STOP no convergence >&2; exit 1"'
run 0 as alice sickbay submit --parsable -N2 says.sh
run 10 as alice timeout 200 sickbay why "$(cat out)" --wait
says out "it fails on good nodes each time (ERROR STOP no convergence)"
says out "failed: ERROR STOP no convergence (exit code"
run 0 as alice sickbay cases --all
says out "(a) program: ERROR STOP no convergence"
says out "(a) program"
run 0 as alice sickbay cases
says out "No cases."
run 0 as alice timeout 20 sickbay watch c2   # a closed case: what there was, and the end
says out "verdict cause=a"
run 0 as root sickbay status
says out "3 closed"
run 0 as alice sickbay nodes 'n[1-4]'
[ "$(wc -l < out)" -eq 5 ] || fail "a header and 4 nodes were expected: $(cat out)"
