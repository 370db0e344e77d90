#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A wrong command line: exit code 64, the word at fault, and the word that was meant.
. "$(dirname "$0")/common.inc"

run 64 sickbay
says err "'sickbay' needs a command"
run 64 sickbay wyh 12
says err "unknown command 'wyh'"
says err "did you mean 'why'?"
run 64 sickbay lab upp
says err "unknown command 'upp'"
says err "did you mean 'up'?"
run 64 sickbay why --jsn c1
says err "unknown option '--jsn'"
says err "did you mean '--json'?"
run 64 sickbay --halp
says err "did you mean '--help'?"
run 64 sickbay why
says err "TARGET is required"
run 64 sickbay why c1 c2
says err "takes no more words: 'c2'"
run 64 sickbay journal --after x
says err "--after"

for word in x 12_x 12_ 12.0 c0 c17.x1 -- 0; do
  run 64 sickbay why -- "$word"
  says err "remedy:"
done
run 64 sickbay why 12+1
says err "components of heterogeneous jobs"

# Nothing but the message: no help text, no second copy.
run 64 sickbay why --jsn c1
[ "$(wc -l < err)" -eq 2 ] || fail "a message of 2 lines was expected"
[ ! -s out ] || fail "standard output should be empty"

# What is restarted: a component, a node, or a job by its number.
run 64 sickbay recover
says err "sickbay recover n3/slurmd"
run 64 sickbay recover n3 --node n4
says err "--node and --alone are of a job"
run 64 sickbay recover n3 17
says err "recover n3 17?"
for word in x 17_3 -1 99999999999; do
  run 64 sickbay recover job -- "$word"
  says err "sickbay recover job 17"
done
run 64 sickbay recover n3 --class cluster
says err "recover --class cluster --plan"
run 64 sickbay recover job 17 --class node
says err "not of a job"
