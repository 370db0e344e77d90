#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that writes its own files and knows nothing of Sickbay (demo/checkpoint/wave_files.c, MPI), under
# `sickbay-ckpt run` in a job of an ordinary user: asked by `sickbay checkpoint`, by a signal to its step, by sbatch
# --signal, saved to a fast place of each node and flushed from there; its node dies, and it goes on from there, to the result of a
# run without faults.
#   checkpoint.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: checkpoint.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 4 --spares 0 --cpus 1
set_site '{detect: {default: "fast"}}'
home=$folder/home/alice
wave=$build/demo/wave_files
# A minute at the least, for it must not end while it is asked; of few steps, for on a busy machine each takes longer.
size=64 steps=1200 step_ms=50
as alice 'cat >job.sh' <<JOB
#!/bin/bash
exec srun --mpi=pmi2 $build/bin/sickbay-ckpt run --files 'state.%t' --done 'done.%t' -- $wave "\$@" >>wave.out
JOB
# newest JOB: the newest checkpoint of its store, 0 where there is none.
newest() { as alice "$build/bin/sickbay-ckpt list --store sickbay-checkpoints --job $1 --json" 2>/dev/null | jq -s '[.. | .checkpoint? | numbers] | max // 0'; }
has() { [ "$(newest "$1")" -ge "$2" ]; } # JOB NUMBER
told() { as alice "$sickbay history $1 --json" | jq -e "[.parts[].operations[] | select(.what == \"$2\" and .checkpoint.checkpoint >= $3)] | length > 0"; }

sum_of() { grep -oh 'checksum .*' "$1"; } # FILE

# --- a job of sickbay submit
job=$(as alice "export SICKBAY_CHECKPOINT_FAST=/tmp/alice-fast:64M; $sickbay submit --parsable --recover --rerun=never -N2 -t 10 job.sh $steps $size $step_ms" 2>"$folder/submit.err")
until_true "job $job computes" grep -q 'from step 0' "$home/wave.out"
holds "its owner asks for a checkpoint, and has its number" [ "$(as alice "$sickbay checkpoint $job --wait 30s" 2>&1)" = 1 ]
holds "it is there" has "$job" 1
until_true "sickbayd was told of it" told "$job" checkpoint 1
holds "another user is refused" as bob "! $sickbay checkpoint $job 2>/dev/null"
holds "sickbayd believes no other user who tells of one" as bob "! $sickbay checkpoint $job --tell '{\"job\":$job,\"checkpoint\":9,\"event\":\"taken\",\"folder\":\"/tmp/x\"}' 2>/dev/null"
holds "a signal to its step asks, too" as alice "scancel --signal=USR1 $job.0"
until_true "that one is taken" has "$job" 2
# (Slurm signals the program itself, too: where it wrote twice that number is none, and the next one is taken.)
number=$(newest "$job")
holds "its program goes on meanwhile" runs "$job"
# (/tmp is each node's own.)
on_its_nodes() { local n; for n in $(ctl scontrol show hostnames "$(ctl squeue -h -j "$job" -o %N)"); do "$sickbay" lab exec -l "$lab" --node "$n" -- sh -c "ls /tmp/alice-fast/*/r*/c$number.*pack" || return 1; done; }
holds "it is in the fast place of each node" on_its_nodes
flushed() { as alice "$build/bin/sickbay-ckpt list --store sickbay-checkpoints --job $1 --json" | jq -se "[.. | objects | select(.checkpoint? == $2 and .tier == \"shared\")] | length > 0"; }
until_true "and comes to shared storage behind the program" flushed "$job" "$number"

node=$(ctl squeue -h -j "$job" -o %N)
node=$(ctl scontrol show hostnames "$node" | tail -n 1)
"$sickbay" lab fault -l "$lab" "$node" crash >/dev/null
until_true "without $node it begins anew, from the checkpoint" grep -q 'from step [1-9]' "$home/wave.out"
until_true "sickbayd was told what it went on from" told "$job" restored "$number"
"$sickbay" lab heal -l "$lab" "$node" >/dev/null
until_true "it ends" grep -q 'checksum' "$home/wave.out"
mkdir "$folder/reference"
(cd "$folder/reference" && "$(command -v mpiexec.mpich || command -v mpiexec)" -n 2 "$wave" $steps $size >../reference.out)
holds "with the right result: $(sum_of "$home/wave.out")" test "$(sum_of "$home/wave.out")" = "$(sum_of "$folder/reference.out")"
ended() { as alice "$sickbay history $job --json" | jq -e ".parts[] | select(.job == $job and .state == \"ended\")"; }
until_true "its history has ended" ended
account() { as alice "$sickbay history $job --json" | jq -e ".parts[] | select(.job == $job) | .account | .failures | length == 1 and .[0].saved_us > 0 and .[0].gone_on"; }
holds "its account: one failure, and the time that the checkpoint saved" account
holds "who asks too late is told so" as alice "! $sickbay checkpoint $job 2>late.err && grep -q 'does not run' late.err"

# --- the same of the whole cluster, as a report: what it tells of this job is what its history tells
ctl "$sickbay" journal --json >"$folder/journal"
ctl sacct -a -D -P -S 2020-01-01 -o ALL >"$folder/sacct"
in_report() {
  "$sickbay" report "$folder/sacct" --journal "$folder/journal" --reports recovery.jobs --json |
    jq -e ".reports[0] | .outcome == \"made\" and (.rows | map(select(.[0] == \"$job\" and .[3] == 1)) | length == 1)"
}
holds "the report of failures has it" in_report

# --- a job of plain sbatch, which sickbayd does not know: asked by Slurm before its limit, and from outside with --store
rm -f "$home/wave.out"
other=$(as alice "sbatch --parsable -N2 -t 1 --signal=USR1@50 --output=slurm.out job.sh 100000 $size $step_ms")
until_true "sbatch --signal asks" has "$other" 1
holds "and so does its owner" as alice "$sickbay checkpoint $other --store sickbay-checkpoints --wait 30s"
ctl scancel "$other"
finish
