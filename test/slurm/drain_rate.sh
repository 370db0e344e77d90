#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many drains a second a real slurmctld of 1,000 nodes takes from sickbay-slurm.  By hand: its figures stand in
# bench/RESULTS.md.  The nodes have no slurmd, which drains do not need; they are DOWN from the start, for Slurm lifts no
# drain of a node of which it knows nothing.
#   drain_rate.sh BUILD [NODES]
set -euo pipefail
build=$(realpath "${1:?usage: drain_rate.sh BUILD [NODES]}")
count=${2:-1000}
here=$(dirname "$(realpath "$0")")
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
lab_up --nodes 1 --spares 0 --no-sickbayd
conf=$(find "$folder" -name slurm.conf | head -n 1)
cat >>"$conf" <<END
NodeName=p[1-$count] NodeAddr=127.0.0.1 Port=17999 CPUs=1 RealMemory=100 State=DOWN
PartitionName=phantom Nodes=p[1-$count] State=UP
END
restart ctl slurmctld
known() { [ "$(ctl sinfo -h -N -p phantom -o %N | wc -l)" = "$count" ]; }
until_true "slurmctld knows all nodes" known
mapfile -t nodes < <(seq -f 'p%.0f' 1 "$count")
ctl env SLURM_CONF="$conf" "$here/drain_rate.py" "$build/bin/sickbay-slurm" "${nodes[@]}"
holds "none is drained in the end" sh -c "! '$sickbay' lab exec -l '$lab' -- sinfo -h -N -t drain -p phantom -o %N | grep -q ."
finish
