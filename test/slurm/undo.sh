#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three R on a real Slurm: a job reads a wrong number in its middle and goes on with it.  Its owner rewinds to the
# checkpoint before that, while it runs, repairs the file and replays from there: the right result, no step done twice, and
# both ways in the history.
#   undo.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: undo.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 2 --spares 0 --cpus 2
me() { as alice "cd three_r && { $*; }"; }
as alice 'mkdir three_r'

# Adds the numbers of in.dat, one a step, each with a checkpoint; the last step waits for the file `go`.
me 'cat >job.sh' <<JOB
#!/bin/sh
ckpt=$build/bin/sickbay-ckpt
cp in.dat numbers
total=0 step=0
\$ckpt restore >restored 2>>log || [ \$? = 1 ] || exit 4
[ ! -e state ] || read -r step total <state
while [ \$step -lt 4 ]; do
  step=\$((step + 1))
  if [ \$step = 4 ]; then until [ -e go ]; do sleep 0.2; done; fi
  total=\$((total + \$(sed -n "\${step}p" numbers)))
  echo "\$SLURM_JOB_ID step \$step" >>done_steps
  echo "\$step \$total" >state
  \$ckpt save --files state --keep 0 >>saved 2>>log || exit 5
done
echo "\$total" >result
JOB
me 'printf "1\n2\n30\n4\n" >in.dat'

job=$(me "$sickbay submit --record --rerun=never -t 5 job.sh" | awk '/Submitted/ { print $NF }')
saved() { [ "$(me 'wc -l <saved')" -ge "$1" ]; }
until_true "three checkpoints are saved" saved 3
until_true "the job runs" runs "$job"
history() { me "$sickbay history $job --json"; }
knows() { history | jq -e "[.parts[].operations[] | select(.what == \"checkpoint\" and .checkpoint.checkpoint == $1)] | length > 0"; }
for n in 1 2 3; do until_true "sickbay-ckpt has told of checkpoint $n" knows $n; done
until_true "the history knows the start" eval "history | jq -e '[.parts[].operations[].what] | index(\"started\")'"

# --- rewind
me "$sickbay undo $job --to 2 --plan" >"$folder/plan" || fail "no plan"
holds "the plan says what is cancelled, and that the checkpoint is whole" \
  eval "grep -q 'cancel   job $job (RUNNING)' '$folder/plan' && grep -q 'checkpoint 2 .*(whole)' '$folder/plan'"
holds "a plan changes nothing" runs "$job"
holds "what others own they alone go back in" eval "! as bob '$sickbay undo $job --to 2'"
me 'echo spoilt >>in.dat' # (somebody's wrong repair, in haste: it is kept, and goes)
me "$sickbay undo $job --to 2" >"$folder/undone" || fail "no rewind"
holds "the job has ended" test -z "$(state_of "$job")"
holds "in.dat is what was submitted" test "$(me 'tr "\n" " " <in.dat')" = "1 2 30 4 "
holds "what it held is kept" me 'grep -rqx spoilt .sickbay/objects'

# --- repair
me 'sed -i s/30/3/ in.dat'
# --- replay
me 'touch go'
replay=$(me "$sickbay redo $job" | tee "$folder/redone" | awk '/Submitted/ { print $NF }')
holds "the repair is shown" eval "grep -qx '    -30' '$folder/redone' && grep -qx '    +3' '$folder/redone'"
ended() { me "test -e result" && [ -z "$(state_of "$1")" ]; }
until_true "the replay ends" ended "$replay"
holds "the right result: $(me 'cat result' 2>&1)" test "$(me 'cat result')" = 10
holds "it went on from checkpoint 2" test "$(me 'cat restored')" = 2
holds "steps 1 and 2 were done once" test "$(me "grep -c '^$replay ' done_steps")" = 2
done_well() { history | jq -e "[.parts[] | select(.job == $replay) | .operations[] | select(.what == \"ended\" and .state == \"COMPLETED\")] | length == 1"; }
until_true "the history has the end of the replay" done_well
holds "both ways are in the history" eval "history | jq -e '[.parts[].operations[].what] | index(\"rewound\") and index(\"repaired\")'"
holds "the replay hangs under the repair" eval \
  "history | jq -e '(.parts[0].operations[] | select(.what == \"repaired\") | .op) as \$op | .parts[1] | .job == $replay and .under == \$op'"
me "$sickbay history $job"
finish
