#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs that hang are told of, with rank and call, and jobs that are silent for long are not: C, C++ and Fortran, with and without symbols,
# MPICH and, where it is there, Open MPI.  Prints the time from the last progress to the word, each and p95.
#   hang.sh BUILD [KINDS]     KINDS: "hanging", "healthy" or both
set -euo pipefail
build=$(realpath "${1:?usage: hang.sh BUILD [hanging|healthy]}")
kinds=${2:-hanging healthy}
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
here=$(dirname "$(realpath "$0")")/hang
lab_up --nodes 4 --spares 0

# shellcheck source=test/slurm/hang/jobs.inc
. "$here/jobs.inc"
for row in "mpicc ranks.c c" "mpicxx ranks.cc cxx" "mpifort ranks.f90 fortran"; do
  read -r compiler source language <<<"$row"
  for mpi in mpich openmpi; do build_program "$mpi" "$compiler" "$source" "$language"; done
done

stage_of() { sed -n 's/^ *stage //p' "$programs/out.$1" | head -n 1; }
has_stage() { [ -n "$(stage_of "$1")" ]; }
stop_job() { ctl scancel "$1" >/dev/null 2>&1 || true; within 30 ended "$1" || fail "job $1 does not end"; }

times=()
hangs() { # PROGRAM KIND ODD CALL PATH: a job that must be told of
  local job at stage took
  job=$(submit "$1" "$2" 0)
  checks=$((checks + 1))
  if ! within 60 has_stage "$job"; then fail "$1 $2 does not get to its stage"; stop_job "$job"; return; fi
  if ! within 40 has_hang "$job"; then
    page "$job"
    fail "$1 $2 is not told of: $(jq -c .ranks "$folder/why.json")"
    stop_job "$job"
    return
  fi
  local judged
  judged=$(first_hang "$job")
  at=$(jq .at <<<"$judged")
  stage=$(stage_of "$job")
  took=$(((at - stage) / 1000))
  times+=("$took")
  echo "$1 $2: told after $took ms: $(jq -r .text <<<"$judged")"
  checks=$((checks + 1))
  jq -e --arg odd "$3" --arg call "$4" '(.odd == $odd) and ($call == "" or .call == $call)' >/dev/null <<<"$judged" ||
    fail "$1 $2: not the rank and the call: $judged"
  if [ -n "${5:-}" ]; then
    checks=$((checks + 1))
    jq -e --arg path "$5" '.groups | any(.path | contains($path))' >/dev/null <<<"$judged" ||
      fail "$1 $2: no path $5: $judged"
  fi
  stop_job "$job"
}

waits_for() { # PROGRAM: rank 1 computes without end; no hang before the long window, but it is named
  local job
  job=$(submit "$1" loop 0)
  checks=$((checks + 1))
  named() { says "$job" '.ranks.why == "waits_for" and .ranks.odd == "1"'; }
  # (It is seen by the next whole look, which comes after as long again as the start took.)
  { within 60 has_stage "$job" && within 90 named; } || fail "$1 loop: rank 1 is not named: $(jq -c .ranks "$folder/why.json")"
  as alice "$sickbay why $job" | sed -n '/^Ranks/,/^$/p' || true
  has_hang "$job" && fail "$1 loop: told as a hang at once"
  stop_job "$job"
}

# (An error within an expression ends all of a block, and not the script: what was not asked is no success.)
asked=0
if [[ $kinds == *hanging* ]]; then
  for program in "${built[@]}"; do
    suffix=
    [[ $program == *fortran ]] && suffix=_
    hangs "$program" recv 3 MPI_Recv "MPI_Recv < exchange$suffix"
    hangs "$program.stripped" recv 3 MPI_Recv "MPI_Recv < $program.stripped+0x"
    hangs "$program" order "" "" "MPI_Bcast < disorder$suffix"
    waits_for "$program"
    if [[ $program == *.c ]]; then hangs "$program" thread "" MPI_Recv "MPI_Recv < exchange < receive"; fi
  done
  # Who only asks is suspected, and its end in the limit does not forget that.
  job=$(limit=15 submit mpich.c ask 0)
  checks=$((checks + 1))
  within 120 says "$job" '.ranks.why == "nowhere" and .ranks.call == "MPI_Test"' || fail "who only asks is not suspected: $(jq -c .ranks "$folder/why.json")"
  ctl scontrol update "JobId=$job" TimeLimit=1 # which is over by now
  checks=$((checks + 1))
  within 120 ended "$job" || { fail "job $job has no end"; ctl scancel "$job" || true; }
  until_true "and it is known what it looked like" says "$job" '.runs[0].suspicion.why == "nowhere" and .runs[0].outcome == "failed"'
  has_hang "$job" && fail "mpich.c ask: told as a hang"
  if [ ${#times[@]} -gt 0 ]; then
    printf '%s\n' "${times[@]}" | sort -n | awk '{t[NR] = $1} END {i = int(NR * 0.95 + 0.999); print "last progress to HANG: " NR " hangs, median " t[int((NR + 1) / 2)] " ms, p95 " t[i] " ms, longest " t[NR] " ms"}'
  fi
  as alice "$sickbay cases" | head -n 20
  asked=$((asked + 1))
fi

if [[ $kinds == *healthy* ]]; then
  for program in "${built[@]}"; do
    [[ $program == *.c ]] || continue
    for kind in slow compute io exchange large heap helper; do
      # No healthy program may ever be ended.
      job=$(hang=cancel submit "$program" "$kind" 40)
      within 120 over "$job" || { fail "$program $kind does not end"; ctl scancel "$job" || true; }
      was_healthy "$job" "$program $kind"
    done
  done
  asked=$((asked + 1))
fi

checks=$((checks + 1))
[ "$asked" = "$(wc -w <<<"$kinds")" ] || fail "not all was asked"

# With cancel the run ends, and its end is a failure.
for program in "${built[@]}"; do
  [[ $program == *.c ]] || continue
  job=$(hang=cancel submit "$program" recv 0)
  until_true "$program: a job that hangs is ended" ended "$job"
  until_true "$program: and that is a failure" says "$job" '.runs[0].outcome == "failed" and .runs[0].hang.why == "deadlock" and .runs[0].hang.proven'
  as alice "$sickbay why $job" || true
done
finish
