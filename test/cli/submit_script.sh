#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is wrong with a script is told before anything is submitted.
. "$(dirname "$0")/common.inc"
stand_in_sbatch

refused() {  # CODE SCRIPT TEXT
  rm -f sbatch.words
  run "$1" sickbay submit "$2"
  says err "$3"
  says err "remedy:"
  [ ! -e sbatch.words ] || fail "sbatch was called for $2"
}
refused 66 nothing.sh "cannot read the batch script 'nothing.sh': No such file or directory"
: > empty.sh; refused 65 empty.sh "is empty"
printf ' \n\n' > blank.sh; refused 65 blank.sh "holds only blanks"
echo 'hostname' > nobang.sh; refused 65 nobang.sh "its first line is 'hostname'"
printf '#!/bin/sh\r\nhostname\r\n' > dos.sh; refused 65 dos.sh "DOS line ends"
printf '#!/bin/sh\nprintf \0\n' > nul.sh; refused 65 nul.sh "NUL byte"
mkdir folder.sh; refused 71 folder.sh "Is a directory"

# The word behind an option that nobody knows may be its value.
run 66 sickbay submit --brand-new value
says err "write it as --brand-new=VALUE"

run 64 sickbay submit --nodes
says err "option '--nodes' needs a value"
run 64 sickbay submit --pa job.sh
says err "is ambiguous: --parsable, --partition"
run 64 sickbay submit --workdir=elsewhere nobang.sh
says err "workdir"
run 64 sickbay submit --expect-time soon nobang.sh
says err "--expect-time 'soon'"
run 64 sickbay submit --wrap hostname nobang.sh
says err "--wrap takes the place of a script"

# From standard input, too.
code=0; echo hostname | sickbay submit >out 2>err || code=$?
[ "$code" -eq 65 ] || fail "exit code $code for a bad script on standard input"
says err "'stdin' does not look like a batch script"
