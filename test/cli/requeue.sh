#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Further runs are asked for in sickbayd; wrong words are told before anybody is asked.
. "$(dirname "$0")/common.inc"
run 0 myrequeue --help
says out "--rotate"
run 64 sickbay requeue
run 64 sickbay requeue 17 --times 0
run 64 sickbay requeue 17 --node-hours none
run 69 myrequeue 17 --times 3
run 69 sickbay requeue c17 --json
says out '"code"'
