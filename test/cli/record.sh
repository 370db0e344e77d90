#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay submit --record keeps script, environment and declared files, for their owner alone.  The sickbayd is a real one.
. "$(dirname "$0")/common.inc"
stand_in_sbatch
sickbayd_up
mkdir job; cd job || exit
printf '#!/bin/sh\ncat in.dat\n./prog\n' > job.sh
echo right > in.dat
printf '#!/bin/sh\n' > prog; chmod 750 prog
digest() { sha256sum < "$1" | cut -c1-64; }
object() { d=$(digest "$1"); echo ".sickbay/objects/$(echo "$d" | cut -c1-2)/$(echo "$d" | cut -c3-)"; }
state() { sickbay history "$1" --json | jq -c "$2"; }

# Without it nothing is kept.
run 0 sickbay submit job.sh
[ ! -e .sickbay ] || fail "something was kept that nobody asked for"
[ "$(state 123 .parts[0].recorded)" = false ] || fail "recorded"

echo 'Submitted batch job 124' > ../sbatch.says
KEY=secret run 0 sickbay submit --record -N 2 job.sh fast
[ "$(state 124 .parts[0].recorded)" = true ] || fail "not recorded"
for file in in.dat prog job.sh; do
  cmp $file "$(object $file)" || fail "$file was not kept"
  [ "$(stat -c %a "$(object $file)")" = 600 ] || fail "$file is for all to see"
done
[ "$(stat -c %a .sickbay)" = 700 ] || fail ".sickbay is for all to see"
record=.sickbay/records/c2.json
[ "$(stat -c %a $record)" = 600 ] || fail "the record is for all to see"
[ "$(jq -c '[.own, .submission.script_args, .submission.sbatch_options]' $record)" = '[["--record"],["fast"],["-N","2"]]' ] || fail "words: $(cat $record)"
jq -r '.submission.environment[]' $record | grep -qx KEY=secret || fail "no environment"
[ "$(jq -r '.script_path' $record)" = "$PWD/job.sh" ] || fail "no path of the script"
[ "$(jq -r '.files[] | select(.path | endswith("/prog")) | .mode' $record)" = $((0750)) ] || fail "no mode"
# The history has digests alone.
run 0 sickbay journal --json
says out '"recorded":true'
silent_about out secret

# What cannot be kept does not keep the job back, unless it must be.
chmod 755 .sickbay
echo 'Submitted batch job 125' > ../sbatch.says
run 0 sickbay submit --record job.sh
says err 'the submission is not recorded'
says err 'is no folder of yours alone'
says err 'remedy: '
[ "$(state 125 .parts[0].recorded)" = false ] || fail "recorded"
run 77 sickbay submit --record --require-case job.sh
says err 'nothing was submitted'
