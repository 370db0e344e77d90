#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What Slurm or sickbayd refuses: each time cause, remedy and an exit code that tells.
. "$(dirname "$0")/common.inc"
lab_up 2
script alice well.sh 'srun hostname'

# sbatch's refusals stay sbatch's, and leave no open case.
run 1 as alice sickbay submit -p nowhere well.sh
says err "invalid partition specified: nowhere"
run 1 as alice sickbay submit -N 99 well.sh
says err "Batch job submission failed"
run 0 as alice sickbay cases
says out "No cases."
run 65 as alice sh -c 'echo hostname | sickbay submit'
says err "'stdin' does not look like a batch script"

# No such job, case or node.
run 66 as alice sickbay why 999999
says err "'999999'"
says err "remedy: submit with 'sickbay submit'"
run 66 as alice sickbay why c999
says err "no case 'c999'"
run 66 as alice sickbay nodes n22
says err "did you mean 'n2'?"

# A case is its owner's and the operators'.
# (Not with --hold: 'why' answers 20 until sickbayd has seen the job wait, and 21 from then on.)
run 0 as alice sickbay submit --begin=now+1hour --json well.sh
name=$(sed -n 's/.*"case": "\(.*\)".*/\1/p' out)
run 77 as bob sickbay why "$name"
says err "$name belongs to alice"
run 77 as bob sickbay cancel "$name"
run 77 as bob sickbay cases --user alice
run 0 as bob sickbay cases --all
says out "No cases."
run 0 as bob sickbay journal --subject "$name"
[ ! -s out ] || fail "bob sees events of alice's case"
run 66 as root sickbay cases --user alcie
says err "there is no user 'alcie'"
run 20 as root sickbay why "$name"
run 0 as root sickbay cases --user alice
says out "$name"

run 0 as alice sickbay cancel "$name"
says out "your own job"
run 75 as alice sickbay cancel "$name"
says err "closed already"

# With sickbayd gone the job is submitted all the same.
root=$(as root sh -c 'echo "$SICKBAY_ROOT"')
run 0 as alice env SICKBAY_ROOT=/nonexistent sickbay submit well.sh
says out "Submitted batch job"
says err "sickbay: warning: no case is kept for this job"
run 69 as alice env SICKBAY_ROOT=/nonexistent sickbay submit --require-case well.sh
run 0 as root sickbay journal --file "$root/var/lib/sickbay/journal.db"
says out "case_opened"
run 77 as alice sickbay journal --file "$root/var/lib/sickbay/journal.db"
