#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The completion script of bash completes commands, options and values.
. "$(dirname "$0")/common.inc"

sickbay completion bash > sickbay.bash
bash -n sickbay.bash || fail "not bash"
. ./sickbay.bash

# completes WORDS...: what comes for the last word.
completes() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
  _sickbay || :  # bash does not look at its status, and compgen fails where nothing fits
  printf '%s\n' "${COMPREPLY[@]}" | sort > out
}
completes sickbay w; same out <<< $'watch\nwhy'
completes sickbay why --; same out <<< $'--controller\n--experiment\n--help\n--json\n--wait'
completes sickbay lab u; same out <<< 'up'
completes sickbay lab up --sp; same out <<< '--spares'
completes sickbay submit --no-r; same out <<< $'--no-requeue\n--no-rerun'
completes mybatch --deliv; same out <<< '--deliver'
touch job1.sh job2.sh
completes mybatch -N2 job; same out <<< $'job1.sh\njob2.sh'
completes sickbay why c; same out <<< ''  # no sickbayd: nothing, and no message

sickbay completion fish > sickbay.fish
says sickbay.fish "-l wait"
says sickbay.fish "sickbay complete-words cases"
sickbay completion zsh > sickbay.zsh
says sickbay.zsh "#compdef sickbay mybatch myrequeue mytrigger"
run 66 sickbay completion tcsh
says err "give bash, zsh or fish"
