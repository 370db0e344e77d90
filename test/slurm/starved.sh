#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job of which one process gets half a processor: it runs into its limit, completes elsewhere, V finds nothing, and
# the node is named all the same, for what its agent saw while the job ran; nobody is drained.  The same job left alone
# is normal, and so is one that sleeps.
# By hand, on a machine with nothing else to do: where compilers or other labs take the processors all nodes wait alike,
# and nothing can be said of one (which is what it says then).
#   starved.sh BUILD [SHARE]     SHARE of a processor that the process gets; default 50%
set -euo pipefail
build=$(realpath "${1:?usage: starved.sh BUILD}")
share=${2:-50%}
here=$(dirname "$(realpath "$0")")
[ -x "$build/blame/sp" ] || { echo "no mpicc: the programs of the corpus are not built; left out"; exit 0; }
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
lab_up --nodes 4 --spares 0 --cpus 4

submit() { # OPTIONS...: sp on two nodes, of a size that takes about half a minute
  as alice "env BLAME_PROGRAMS=$build/blame BLAME_SEED= $sickbay submit --parsable -N2 --ntasks-per-node=1 -t 1 --expect-time=0:45 -o /dev/null $* $here/../../bench/blame/programs/job.sh sp H"
}
events() { ctl "$sickbay" journal --json | jq -c "select(.kind == \"starved_seen\" and .body.job_id == $1)"; }
pid_of() { "$sickbay" lab exec -l "$lab" --node "$1" -- pgrep -x sp | head -n 1; }
closed() { says "$1" '.state == "closed"'; }
patience=400

# --- left alone
healthy=$(submit -w 'n[1-2]')
until_true "the healthy job has a verdict" closed "$healthy"
holds "which is that it is normal" says "$healthy" '.verdict.cause == "normal"'
holds "and no node of it stands apart" sh -c "[ -z '$(events "$healthy" | jq -c 'select(.body.apart)')' ]"

# --- one process of it slowed
starved=$(submit -w 'n[1-2]')
until_true "the job runs" pid_of n2
"$sickbay" lab fault -l "$lab" n2 "cpu=$share" --pid "$(pid_of n2)" >/dev/null
until_true "its agent tells of it while it runs" sh -c "[ -n \"\$('$sickbay' lab exec -l '$lab' -- '$sickbay' journal --json | grep starved_seen | grep '\"node\":\"n2\"')\" ]"
until_true "it has a verdict" closed "$starved"
events "$starved" | jq -c .body
jq -r '.verdict | .rule, .sentence, .why[]' "$folder/why.json" | sed 's/^/    /'
holds "the node is the cause" says "$starved" '.verdict.cause == "b" and .verdict.nodes == ["n2"] and .verdict.rule == "T1"'
holds "not surely" says "$starved" '.verdict.confidence == "medium"'
holds "and it is not drained" says "$starved" '[.verdict.faulty[] | select(.drains)] | length == 0'
holds "by nobody" sh -c "! '$sickbay' lab exec -l '$lab' -- sinfo -h -N -o '%N %T' | grep -i drain"

# --- one that sleeps asks for no processor
as alice "printf '#!/bin/sh\nsrun sleep 35\n' >sleeps.sh"
sleeps=$(as alice "$sickbay submit --parsable -N2 -t 5 --expect-time=0:05 --no-rerun -o /dev/null sleeps.sh")
until_true "the job that sleeps has a verdict" closed "$sleeps"
holds "and nothing was seen of it" sh -c "[ -z '$(events "$sleeps")' ]"
finish
