#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Without sickbayd every command that needs it says so, with the remedy, and exits with 69.
. "$(dirname "$0")/common.inc"

for command in 'why c1' 'cases' 'watch' 'watch c1' 'cancel c1' 'nodes' 'journal' 'status'; do
  # shellcheck disable=SC2086
  run 69 sickbay $command
  says err "sickbayd does not answer"
  says err "remedy: start sickbayd"
  [ ! -s out ] || fail "standard output of $command should be empty"
done

# Each can be asked of another host.
for command in 'why c1' 'cases' 'watch' 'cancel c1' 'nodes' 'journal' 'status' 'findings' 'recover n3' 'tree' \
  'checkpoint 17'; do
  # shellcheck disable=SC2086
  run 69 sickbay $command --controller 127.0.0.1:1
done

# With --json the error is on standard output, too, in the API's form.
run 69 sickbay cases --json
says out '"code": "daemon_away"'
says out '"remedy": '

run 64 sickbay nodes x y
run 65 sickbay nodes 'n[1'
says err "n[1"
