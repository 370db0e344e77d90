#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The paper's three examples and its Figures 2 and 3 with real failures: jobs of an ordinary user on a real Slurm lose a
# node (its machine dies), and smd, nonstop.sh and steps.sh see to it.  What the examples print is compared line by line
# with the paper's (src/apps/smd/testdata), names of nodes and the job's number apart.
#   smd.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: smd.sh BUILD}")
here=$(dirname "$(realpath "$0")")
paper=$here/../../src/apps/smd/testdata
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
lab_up --nodes 4 --spares 0 --cpus 2
# shellcheck source=test/slurm/nonstop.inc
. "$here/nonstop.inc"
# The paper's file, but for its hosts; Figure 3 drops a node for an hour.
nonstop_conf ControlAddr=ctl Port=9114 MaxSpareNodeCount=4 TimeLimitDelay=600 TimeLimitExtend=2 TimeLimitDrop=60
serve_nonstop
home=$folder/home/alice

# submit_steps NODES POLICY COUNT COMMAND...: steps.sh as a batch job; its output is in steps.out.
submit_steps() {
  rm -f "$home"/steps.out "$home"/step.*
  job=$(as alice "export PATH=$build/bin:\$PATH; SMD_NONSTOP_FAILED=$2 sbatch --parsable -N$1 -t 30 -o steps.out \$(command -v steps.sh) $3 ${*:4}")
  until_true "job $job runs" runs "$job"
}
is_gone() { ! state_of "$1" 2>/dev/null | grep -q .; } # JOB
# ends WHAT EXAMPLE SED: the job comes to its end, and what smd printed is what the paper's example shows, with SED's names
# for ours.  (What srun says of a node that died, and the date of each step, are not smd's.)  Where a node was lost the
# paper stops there; our next step finds nothing more.
ends() {
  patience=150 until_true "$1: it ends" is_gone "$job"
  checks=$((checks + 1))
  sed -E "s/job(_id)? $job\b/job\1 N/; s/smd_job_${job}_/smd_job_N_/; $3" "$home/steps.out" |
    grep -E '^(is_failed:|_[a-z_]+:|source |   [a-z])' >"$folder/got" || true
  sed -E 's/\.\.\._try/...\n_try/' "$paper/$2.txt" | grep -v '^start:' |
    sed -E 's/job(_id)? [0-9]+\b/job\1 N/; s/smd_job_[0-9]+_/smd_job_N_/' >"$folder/wanted"
  [ "$2" = no_failure ] || grep -v '^start:' "$paper/no_failure.txt" | head -n 2 | sed 's/job 58/job N/' >>"$folder/wanted"
  diff -u "$folder/wanted" "$folder/got" || { fail "$1: not as in the paper"; cat "$home/steps.out"; }
}
lines_in() { [ "$(wc -l <"$home/$1")" = "$2" ]; } # FILE COUNT
# is_sorted FILE WORDS: the file's lines, sorted, are these words.
is_sorted() { [ "$(sort "$home/$1" | tr '\n' ' ')" = "$2 " ]; }
is_idle() { [ "$(ctl sinfo -h -n "$1" -o %T)" = idle ]; } # NODE
mend() { "$sickbay" lab heal -l "$lab" "$1" >/dev/null && until_true "$1 is back" is_idle "$1"; }

# --- example 1: no failure
submit_steps 2 REPLACE 2 sleep 1
ends "no failure" no_failure ''
holds "there were two steps" [ "$(grep -c '^start: step' "$home/steps.out")" = 2 ]

# --- example 2: a node dies and is replaced
# (Not srun --no-kill: as in the paper the step ends with its node.)
where="'hostname >>step.\$SLURM_STEP_ID; sleep \$((SLURM_STEP_ID ? 0 : 20))'"
submit_steps 2 REPLACE 2 sh -c "$where"
until_true "the first step runs on both nodes" lines_in step.0 2
crash n2
ends "a node is replaced" replaced 's/node n2 cpu_count 1/node ercole cpu_count 1/; s/node n2 replaced by n3/node ercole replaced by prometeo/'
holds "the next step ran on the new nodes" is_sorted step.1 "n1 n3"
mend n2

# --- example 3: no node is left: wait for a minute, drop it, half an hour more
submit_steps 4 REPLACE:TIME_LIMIT_DELAY=1:DROP:TIME_LIMIT_DROP=30 2 sh -c "$where"
until_true "the first step runs on all nodes" lines_in step.0 4
crash n4
ends "a node is dropped" dropped 's/node n4\b/node spartaco/; s/^   n4$/   spartaco/'
holds "the next step ran on what is left" is_sorted step.1 "n1 n2 n3"
mend n4

# --- Figure 2: the program sees the failure itself, asks for a node, and starts its next step there
# batch NODES TEXT: a batch script of alice, with all that its commands say in steps.out.
batch() {
  rm -f "$home"/steps.out "$home"/step.*
  printf '%s\n' '#!/bin/sh' "PATH=$build/bin:\$PATH" "$2" >"$home/figure.sh"
  chmod 755 "$home/figure.sh"
  job=$(as alice "sbatch --parsable --no-kill -N$1 -t 30 -o steps.out figure.sh")
  until_true "job $job runs" runs "$job"
}
until_lost='until smd -f | grep -q "FAILED node n2"; do sleep 0.5; done'
batch 2 "srun sh -c 'hostname >>step.0; sleep 30'
echo \"step: \$?\"
$until_lost
smd -r n2 -E >new_nodes.sh || exit 1
. ./new_nodes.sh
srun hostname >step.1"
until_true "Figure 2: the first step runs" lines_in step.0 2
crash n2
until_true "Figure 2: the job ends" is_gone "$job"
cat "$home/steps.out"
# (srun's exit code is 0: the tasks that it knows of ended well.)
holds "Figure 2: the first step ended with its node" grep -q 'Node failure on n2' "$home/steps.out"
holds "Figure 2: the next step ran on the new nodes" is_sorted step.1 "n1 n3"
mend n2

# --- Figure 3: a node could be had in an hour; it is dropped, and the limit is an hour more
other=$(as alice "sbatch --parsable -w 'n[3-4]' --exclusive -t 60 -o /dev/null --wrap 'sleep 3600'")
until_true "the other job has the other nodes" runs "$other"
batch 2 "srun --no-kill sh -c 'hostname >>step.0; sleep 30'
$until_lost
smd --json -r n2 >replace.json
echo \"replace: \$?\"
smd -D n2 -E >new_nodes.sh && smd -e 60 || exit 1
. ./new_nodes.sh
scontrol show job \$SLURM_JOB_ID | grep -o 'TimeLimit=[^ ]*'
srun hostname >step.1"
until_true "Figure 3: the first step runs" lines_in step.0 2
crash n2
until_true "Figure 3: the job ends" is_gone "$job"
cat "$home/steps.out"
cat "$home/replace.json"
holds "Figure 3: a replacement would come later" grep -qx 'replace: 75' "$home/steps.out"
holds "Figure 3: in an hour" jq -e '.when_available - now | . > 3000 and . < 3660' "$home/replace.json"
holds "Figure 3: the limit is an hour more" grep -qx 'TimeLimit=01:30:00' "$home/steps.out"
holds "Figure 3: the next step ran on what is left" is_sorted step.1 n1
mend n2
ctl scancel "$other"

# --- the same, through libsmd
other=$(as alice "sbatch --parsable -w 'n[3-4]' --exclusive -t 60 -o /dev/null --wrap 'sleep 3600'")
job=$(as alice "sbatch --parsable --no-kill -N2 -t 30 -o /dev/null --wrap 'sleep 600'")
until_true "both run" runs "$job"
crash n2
becomes "libsmd: n2 is lost" alice 'print([n.name for n in smd.faulty_nodes()])' "['n2']"
gives alice 'import time; r = smd.replace("n2"); print(r.replacement, 50 < (r.when_available - time.time()) / 60 < 61)' 'None True'
gives alice 'print(smd.drop("n2").nodelist)' n1
gives alice 'smd.extend(60)' ''
holds "libsmd: the limit is an hour more" [ "$(limit_of "$job")" = 01:30:00 ]
finish
