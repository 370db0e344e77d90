#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For hours: healthy MPI programs with long silent phases, one of each kind at any time, all watched with --hang=cancel.
# Nobody may be told of as a hang, nobody may be ended, each must do its work.  Prints the hours of jobs that were watched.
# By hand, not part of `make test`; a busy machine is no excuse:
#   quiet_hours.sh BUILD [SECONDS = 3600]
set -euo pipefail
build=$(realpath "${1:?usage: quiet_hours.sh BUILD [SECONDS]}")
most=${2:-3600}
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
here=$(dirname "$(realpath "$0")")/hang
lab_up --nodes 4 --spares 0 --cpus 8
# shellcheck source=test/slurm/hang/jobs.inc
. "$here/jobs.inc"
build_program mpich mpicc ranks.c c

RANDOM=${SEED:-1}
kinds=(slow compute io exchange large heap helper)
declare -A job_of silent_of begun_of
watched=0 jobs=0 longest=0 began=$SECONDS
begin() { # KIND: the next job of it, silent for half a minute to a quarter of an hour, as far as there is time
  local left=$((began + most - SECONDS)) silent=$((30 + RANDOM % 870))
  [ "$silent" -lt "$left" ] || silent=$left
  if [ "$silent" -lt 20 ]; then unset "job_of[$1]"; return 0; fi
  silent_of[$1]=$silent begun_of[$1]=$SECONDS
  job_of[$1]=$(ranks=2 hang=cancel limit=120 submit mpich.c "$1" "$silent")
}
settle() { # KIND: what became of its job
  jobs=$((jobs + 1)) watched=$((watched + SECONDS - begun_of[$1]))
  [ "$longest" -ge "${silent_of[$1]}" ] || longest=${silent_of[$1]}
  was_healthy "${job_of[$1]}" "$1, silent for ${silent_of[$1]} s"
}

for kind in "${kinds[@]}"; do begin "$kind"; done
# (A job that is still there a quarter of an hour behind its time does not end.)
while [ ${#job_of[@]} -gt 0 ] && [ $SECONDS -lt $((began + most + 900)) ]; do
  for kind in "${kinds[@]}"; do
    job=${job_of[$kind]:-}
    [ -n "$job" ] || continue
    over "$job" || continue
    settle "$kind"
    begin "$kind"
  done
  within 5 false || true # (until_true's pace)
  note_load
done
checks=$((checks + 1))
[ ${#job_of[@]} = 0 ] || fail "these do not end: ${!job_of[*]}"
echo "quiet_hours: $jobs jobs, $(awk "BEGIN { printf \"%.1f\", $watched / 3600 }") hours of them, the longest silence $longest s, $finalized hung in MPI_Finalize behind their work; \
load $(loads)"
finish
