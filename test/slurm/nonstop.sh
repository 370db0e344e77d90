#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job of an ordinary user loses a node, asks for another through libsmd, and goes on with it under its number; then
# nonstop.conf is read again, with and without a fault.
#   nonstop.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: nonstop.sh BUILD}")
here=$(dirname "$(realpath "$0")")
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
lab_up --nodes 5 --spares 0 --cpus 2

# shellcheck source=test/slurm/nonstop.inc
. "$here/nonstop.inc"
nonstop_conf ControlAddr=ctl Port=9115 MaxSpareNodeCount=4 TimeLimitDelay=10 TimeLimitDrop=5 TimeLimitExtend=2 UserDrainAllow=bob
serve_nonstop
gives root 'print(smd.config().port)' 9115
conf=$folder/etc/nonstop.conf

job=$(as alice "sbatch --parsable --no-kill -N3 -t 60 -o /dev/null --wrap 'sleep 600'")
until_true "the job runs" has_nodes "$job" 'n[1-3]'
gives alice 'print(smd.faulty_nodes(), smd.job_info().replaced)' '[] 0'
gives bob 'smd.faulty_nodes()' "['PERM']"
gives bob 'smd.replace("n3")' "['PERM']"
gives bob 'smd.drain("n3", "smells")' "['PERM']"
gives alice 'smd.replace("n3")' "['NODENOTFAILED']"
gives alice 'smd.replace("n5")' "['NODENOTINJOB']"

crash n3
becomes "the lost node is known" alice 'print([n.name for n in smd.faulty_nodes()])' "['n3']"
gives alice 'r = smd.replace("n3"); print(r.failed, r.replacement, r.set.nodelist, r.set.count)' 'n3 n4 n[1-2,4] 3'
holds "the job has another node, under its number" has_nodes "$job" 'n[1-2,4]'
gives alice 'r = smd.replace("n3"); print(r.replacement)' 'n4'
gives alice 'i = smd.job_info(); print(len(i.nodes), i.replaced, i.time_extend_avail)' '0 1 2'
gives alice 'smd.extend(1); print(smd.job_info().time_extend_avail)' '1'
holds "its limit is a minute longer" [ "$(limit_of "$job")" = 01:01:00 ]

# --- nonstop.conf again
pid=$(ctl "$sickbay" status --json | jq .pid)
sed -i 's/^TimeLimitDrop=5/TimeLimitDrop=7/' "$conf"
ctl kill -HUP "$pid"
becomes "the file is read again" root 'print(smd.config().time_limit_drop)' 7
echo 'TimeLimitDelai=3' >>"$conf"
ctl kill -HUP "$pid"
until_true "a file with a fault is refused with its line" sh -c "grep -qs 'nonstop.conf:8' '$folder/log/sickbayd-ctl.out'"
becomes "and sickbayd answers as before" alice 'print(smd.job_info().replaced)' 1
sed -i '/Delai/d; s/^Port=.*/Port=9116/' "$conf"
ctl kill -HUP "$pid"
becomes "the server is at its new port" alice 'print(smd.job_info().replaced)' 1

# --- spares
holds "an operator sets spares" ctl "$sickbay" spares main 1
until_true "a spare is held back" ctl sh -c "scontrol show reservation HOT_SPARE_main | grep -q 'Nodes=n5'"
holds "it is shown" sh -c "'$sickbay' lab exec -l '$lab' -- '$sickbay' spares | grep -q 'main.*n5'"
holds "and given back" ctl "$sickbay" spares main 0
until_true "the reservation is gone or empty" ctl sh -c "! scontrol show reservation HOT_SPARE_main 2>/dev/null | grep -q 'Nodes=n5'"
finish
