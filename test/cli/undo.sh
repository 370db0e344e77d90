#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three R by hand: a job reads a wrong file, its owner goes back, repairs and replays.  sickbayd, files and checkpoints are
# real ones; squeue, scancel and sbatch are stand-ins that say what they were asked.
. "$(dirname "$0")/common.inc"
stand_in_sbatch
printf '#!/bin/sh\ncat "$HOME/squeue.says"\n' > bin/squeue
printf '#!/bin/sh\necho "$@" >> "$HOME/scancel.words"\n: > "$HOME/squeue.says"\n' > bin/scancel
chmod +x bin/squeue bin/scancel
: > squeue.says
sickbayd_up
mkdir job; cd job || exit
top=$OLDPWD
unset SLURM_STEP_ID SLURM_PROCID PMI_RANK SICKBAY_SESSION
printf '#!/bin/sh\ncat in.dat other.dat\n' > job.sh
printf 'one\ntwo\nthree\n' > in.dat; echo other > other.dat; chmod 640 in.dat
submits_as() { echo "Submitted batch job $1" > ../sbatch.says; }
tree() { sickbay history "$1" | sed -E 's/ [0-9-]{10} [0-9:]{8} / /'; }

# --- what cannot be: each with cause and remedy, and nothing is changed
run 64 sickbay undo; says err 'it is not said what is to be undone'; says err 'remedy: sickbay undo JOB --to'
run 64 sickbay undo 17; says err 'it is not said what'
run 64 sickbay undo 17 --to 1 --drop 2; says err 'one thing is undone at a time'
run 64 sickbay undo --to 1; says err 'the job is not named'
run 64 sickbay undo 17 --act d1; says err 'an act is of no job'
run 64 sickbay undo x --to 1; says err 'name a job'
run 64 sickbay redo; run 64 sickbay restore
run 66 sickbay undo 17 --to 1; says err 'no history of job 17'
submits_as 16; run 0 sickbay submit job.sh
run 75 sickbay undo 16 --to start; says err 'was not submitted with --record'
run 75 sickbay redo 16; says err 'was not gone back in'
run 66 sickbay restore 16; says err 'no checkpoint of job 16 was told of'

# --- the job, its checkpoints, and what spoils it
submits_as 17; COLOUR=green run 0 sickbay submit --record -N 2 job.sh fast
export SLURM_JOB_ID=17
echo 10 > state; run 0 sickbay-ckpt save --store sickbay-checkpoints --files state
echo 20 > state; run 0 sickbay-ckpt save --store sickbay-checkpoints --files state
tree 17 > ../tree; says ../tree "checkpoint 2"  # sickbay-ckpt has told of it
unset SLURM_JOB_ID
printf 'one\nWRONG\nthree\n' > in.dat
printf '17 RUNNING\t%s\t\n15 RUNNING\t%s\t\n18 RUNNING\t%s\tmine sickbay:c2.r2\n19 RUNNING\t/elsewhere\tsickbay:c2.r3\n' "$PWD" "$PWD" "$PWD" > ../squeue.says

# --- the plan says all, and does nothing
cp in.dat ../spoilt
run 0 sickbay undo 17 --to 1 --plan
says out "Would go back to 17.2, checkpoint 1 in $PWD/sickbay-checkpoints/17 (whole)"
says out 'cancel   job 17 (RUNNING)'; says out 'cancel   job 18 (RUNNING)'
silent_about out 'job 15'; silent_about out 'job 19'
says out "restore  $PWD/in.dat"; says out "leave    $PWD/other.dat"
cmp in.dat ../spoilt; [ ! -e ../scancel.words ] || fail "the plan cancelled a job"
[ "$(tree 17 | grep -c rewound)" = 0 ] || fail "the plan was told"
run 0 sickbay undo 17 --to 1 --plan --json
[ "$(jq -c '[.done, .images, [.cancels[].job], [.files[].do]]' out)" = '[false,"whole",[17,18],["restore","leave","leave"]]' ] || fail "$(cat out)"
run 66 sickbay undo 17 --to 9; says err 'no checkpoint 9'
run 75 sickbay undo 17 --drop 1; says err 'nothing would be left of the job'
run 75 sickbay undo 17 --edit 2; says err 'an image brings back exactly what was'

# --- a checkpoint that is damaged is not gone back to, and no job ends for it
cp -r sickbay-checkpoints ../sound
truncate -s -5 sickbay-checkpoints/17/c1.r0.pack
run 75 sickbay undo 17 --to 1; says err 'is damaged'; says err 'no job was ended'
[ ! -e ../scancel.words ] || fail "a job was ended"
rm -r sickbay-checkpoints; mv ../sound sickbay-checkpoints
# --- nor where what is to be put back is damaged, or was lost
object=.sickbay/objects/$(printf 'one\ntwo\nthree\n' | sha256sum | sed 's|^\(..\)\(.\{62\}\).*|\1/\2|')
cp "$object" ../kept
echo x >> "$object"; run 75 sickbay undo 17 --to 1; says err 'is damaged'; cmp in.dat ../spoilt
rm "$object"; run 66 sickbay undo 17 --to 1; says err 'were not kept'; says err 'remedy: put the file back yourself'; cmp in.dat ../spoilt
[ ! -e ../scancel.words ] || fail "a job was ended"
cp ../kept "$object"
# --- nor where Slurm does not answer
mv ../bin/squeue ../bin/kept; printf '#!/bin/sh\nexit 1\n' > ../bin/squeue; chmod +x ../bin/squeue
run 69 sickbay undo 17 --to 1; says err 'squeue failed'; cmp in.dat ../spoilt
mv ../bin/kept ../bin/squeue

# --- rewind
run 0 sickbay undo 17 --to 1
says out 'Gone back to 17.2, checkpoint 1'; says out 'then: sickbay redo 17'
same ../scancel.words <<< '17 18'
printf 'one\ntwo\nthree\n' | cmp - in.dat; [ "$(stat -c %a in.dat)" = 640 ] || fail "mode $(stat -c %a in.dat)"
spoilt=$(sha256sum < ../spoilt | sed 's|^\(..\)\(.\{62\}\).*|\1/\2|')
cmp ../spoilt ".sickbay/objects/$spoilt" || fail "what was there is lost"
tree 17 > ../tree; says ../tree '`-- 17.4 rewound to checkpoint 1 by root'

# --- repair and replay
printf 'one\nTWO\nthree\n' > in.dat
run 0 sickbay redo 17 --plan
says out 'Replay from 17.4, checkpoint 1'; says out "repaired file:$PWD/in.dat"; says out '-two'; says out '+TWO'
[ "$(tree 17 | grep -c repaired)" = 0 ] || fail "the plan was told"
printf '17 COMPLETING\t%s\t\n' "$PWD" > ../squeue.says
run 75 sickbay redo 17; says err 'job 17 (COMPLETING) of this history is still there'
: > ../squeue.says
run 64 sickbay redo 17 --env 'a b=1'; says err 'is no variable with its value'
submits_as 31
printf '#!/bin/sh\nenv > "$HOME/sbatch.env"\npwd > "$HOME/sbatch.pwd"\n%s\n' "$(tail -n +2 ../bin/sbatch)" > ../bin/sbatch
(cd / && COLOUR=red sickbay redo 17 --env SPEED=2 --exclude n7 > "$top/out" 2> "$top/err") || { cat ../err; fail "no replay"; }
cp ../out ../err .
says out 'Submitted batch job 31'
same ../sbatch.words <<EOF
-N
2
--exclude=n7
job.sh
fast
EOF
same ../sbatch.pwd <<< "$PWD"
for entry in COLOUR=green SPEED=2 SICKBAY_CHECKPOINT_JOB=17 SICKBAY_CHECKPOINT_FROM=1 SICKBAY_REPLAYS=17.5 "SICKBAY_CHECKPOINTS=$PWD/sickbay-checkpoints"; do
  grep -qxF "$entry" ../sbatch.env || fail "the replay lacks $entry"
done
tree 17 > ../tree
says ../tree "17.5 repaired by root: file:$PWD/in.dat, environment:SPEED, exclude"
says ../tree '31.1 submitted job.sh by root'; says ../tree 'Replayed as job 31'
sickbay history 17 --json | jq -r '.parts[0].operations[] | select(.op == "17.5") | .changes[0].diff' > told.diff
says told.diff '-two'; says told.diff '+TWO'
run 75 sickbay redo 17; says err 'was replayed from here already, as job 31'

# --- another way: restore, which goes back and on; the job in squeue is the replay
printf '31 PENDING\t%s\t\n' "$PWD" > ../squeue.says
submits_as 32
run 0 sickbay restore 17 --from 2 --nodes n5
says ../scancel.words 31
says ../sbatch.words '--nodelist=n5'; silent_about ../sbatch.words exclude
printf 'one\ntwo\nthree\n' | cmp - in.dat
grep -qx SICKBAY_CHECKPOINT_FROM=2 ../sbatch.env || fail "not from checkpoint 2"
tree 17 > ../tree; says ../tree '32.1 submitted job.sh by root'

# --- selective: the repair is dropped, and another one takes its place
run 0 sickbay undo 31 --drop 17.5
says out 'Gone back to'; printf 'one\ntwo\nthree\n' | cmp - in.dat
run 0 sickbay undo 31 --drop 17.3; says out 'is crossed out'
run 0 sickbay checkpoints 17; says out 'checkpoint 2 (dropped)'
# The script counts, too; a file that goes is a repair, and comes back.
printf '#!/bin/sh\ncat in.dat\n' > job.sh; rm other.dat
submits_as 33; run 0 sickbay redo 31; says out 'repaired script'; says out "repaired file:$PWD/other.dat"
run 0 sickbay undo 33 --to start
says out "restore  $PWD/other.dat: (no file)"; [ "$(cat other.dat)" = other ] || fail "other.dat did not come back"
grep -q other.dat job.sh || fail "the script did not come back"
[ -z "$(find . -name '*.??????' -not -path './.sickbay/*')" ] || fail "something is left beside"
