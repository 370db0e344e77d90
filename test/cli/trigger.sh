#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is waited for is known before sickbayd is asked; a command is not run where nothing came.
. "$(dirname "$0")/common.inc"
run 0 mytrigger --help
says out "node-fail"
run 64 sickbay trigger
run 64 sickbay trigger 17 --on lunch
run 69 mytrigger 17 --on fail --run 'touch ran'
run 69 sickbay trigger c17 --json
[ ! -e ran ] || fail "the command was run"
