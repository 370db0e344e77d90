#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# smd's own words: version as sickbay's, completion as its help, and a wrong line is refused.
. "$(dirname "$0")/common.inc"
unset SLURM_JOB_ID SLURM_JOBID SMD_NONSTOP_FAILED SMD_NONSTOP_FAILING 2>/dev/null || :

run 0 smd --version
same out <<< "smd $(sickbay version | sed -n 's/^sickbay //p')"
run 0 smd --help
says out "--check-policy"
run 64 smd --repalce n1 17
says err "did you mean '--replace'?"
run 64 smd -f
says err "SLURM_JOB_ID"
SMD_NONSTOP_FAILED=REPLACE:TIME_LIMIT_DELAY=4min run 0 smd --check-policy
says out "waiting up to 4 minutes"
SMD_NONSTOP_FAILED=RELACE run 65 smd --check-policy
says err "did you mean REPLACE?"
says err "  remedy: "
run 1 sh -c 'SMD_NONSTOP_FAILED=RELACE nonstop.sh 17'
# Standard output that cannot be written is told.
if [ -w /dev/full ]; then run 74 sh -c 'smd --help > /dev/full'; fi

# The words of the completion are those of the help.
. "$SICKBAY_SOURCE/src/apps/smd/completion.bash"
completes() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _smd || :; printf '%s\n' "${COMPREPLY[@]}" | sort > out; }
smd --help | grep -oE '^  (-[A-Za-z],)? *--[a-z-]+' | grep -oE -e '--[a-z-]+|-[A-Za-z]' | sort > options
completes smd -; diff -u options out >&2 || fail "the completion and the help differ"
completes smd --re; same out <<< $'--reason\n--replace'
mkdir -p one/two; completes smd -o one/; same out <<< 'one/two'
completes smd -r n; same out <<< ''  # no service: nothing, and no message
