#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --requeue=expedite (Slurm 25.11 and later) with the agent as its Epilog: what Slurm does and what Sickbay says, where
# the program is at fault (no epilog fails: Slurm holds the job, and the case has its verdict), where a node is sick (its
# epilog fails: Slurm drains it and starts the job again at once, and the case follows), and with plain sbatch.
# By hand: it needs a release made by tools/slurm-release, which takes half an hour.
#   expedite.sh [RELEASE]
set -euo pipefail
release=${1:-26.05}
source_dir=$(realpath "$(dirname "$0")/../..")
# The programs of this release see its own libraries: they are run in its lab only.
build=${SB_RELEASES:-$source_dir/build}/slurm-$release/build
[ -x "$build/bin/sickbay" ] || { echo "expedite: no $build: make it with tools/slurm-release $release" >&2; exit 1; }
own=${SB_BUILD:-$source_dir/build/release}
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
inner=$sickbay
sickbay=$own/bin/sickbay
lab_up --nodes 4 --spares 0 --cpus 2 --slurm "$release"

# A file says that the node's device is broken.
for node in n1 n2 n3 n4; do breakable $node 1h "$(root_of $node)/flag"; done
# (Anything but 1 is not the agent's word on the node: a program that cannot even start takes no node out.)
cat >"$folder/etc/epilog" <<EPILOG
#!/bin/sh
export SICKBAY_ROOT=$folder/nodes/\$SLURMD_NODENAME/root
$build/bin/sickbay-agent --once=verdict >>$folder/log/epilog.log 2>&1
[ \$? -ne 1 ]
EPILOG
chmod 755 "$folder/etc/epilog"
sed -i "1a SlurmctldParameters=enable_expedited_requeue\nEpilog=$folder/etc/epilog" "$folder/etc/slurm.conf"
ctl scontrol reconfigure

in_lab() { "$sickbay" lab exec -l "$lab" --user alice -- sh -c "cd; $*"; }
why() { in_lab "$inner why --json $1" 2>/dev/null >"$folder/why.json" || true; }
has_verdict() { why "$1" && jq -e '.verdict.final' "$folder/why.json"; }
is_held() { [ "$(state_of "$1")" = REQUEUE_HOLD ] || job_is "$1" JobState REQUEUE_HOLD; }
printf '#!/bin/sh\nsrun sleep 2\necho "the input is wrong" >&2\nexit 3\n' >"$folder/home/alice/fails.sh"
# Fails where the node's device is broken, as a program does that uses it.
# shellcheck disable=SC2016 # the program's own variable
printf '#!/bin/sh\nsrun sh -c "sleep 2; [ ! -e %s/nodes/\\$SLURMD_NODENAME/root/flag ]" || exit 4\nsrun sleep 3\n' "$folder" >"$folder/home/alice/uses.sh"
chmod 644 "$folder/home/alice/"*.sh
submitted() { sed -n 's/^Submitted batch job //p'; }

# --- the program is at fault
job=$(in_lab "$inner submit --requeue=expedite -N2 -t5 fails.sh" 2>&1 | submitted)
until_true "Slurm holds the job, for no epilog failed" is_held "$job"
until_true "the case has its verdict" has_verdict "$job"
holds "the program is the cause" jq -e '.verdict.cause == "a"' "$folder/why.json"
holds "r2 was no expedited run, and ended" jq -e '[.runs[] | select(.run | test("r2$")) | .state] == ["FAILED"]' "$folder/why.json"
holds "its owner is told that it is held" jq -e '[.notes[] | select(test("scontrol release"))] | length > 0' "$folder/why.json"
in_lab "$inner why $job" || true
echo "expedite: Slurm: $(ctl squeue -a -h -j "$job" -t all -o '%i %T %r')"

# --- plain sbatch
plain=$(in_lab "sbatch --requeue=expedite -N2 -t5 fails.sh" | submitted)
until_true "Slurm holds that one too" is_held "$plain"
# (The exit code of why says that it will not start as it is.)
says_why() { { in_lab "$inner why $plain" 2>&1 || true; } | grep -q "no epilog did"; }
until_true "why says what holds it" says_why
in_lab "$inner why $plain" || true
ctl scancel "$job" "$plain"

# --- a node is sick
touch "$(root_of n1)/flag"
job=$(in_lab "$inner submit --requeue=expedite -w n1 -N1 -t5 uses.sh" 2>&1 | submitted)
node_is_out() { ctl scontrol show node n1 | grep -q 'State=.*DRAIN'; }
until_true "its epilog fails, and Slurm drains the node" node_is_out
goes_again() { ctl scontrol show job "$job" | grep -q 'Restarts=[1-9]'; }
until_true "Slurm puts the job back" goes_again
echo "expedite: Slurm: $(ctl squeue -a -h -j "$job" -t all -o '%i %T %r'); $(ctl sinfo -h -R -o '%n %E' | head -n 1)"
# (It asked for that very node, which is out: as soon as its owner lets it go elsewhere it does.)
ctl scontrol update jobid="$job" reqnodelist=
completes() { ctl sacct -X -n -P -j "$job" -o State | grep -q COMPLETED; }
until_true "it runs elsewhere, and completes" completes
followed() { why "$job" && jq -e '.verdict.final' "$folder/why.json"; }
until_true "the case followed it" followed
in_lab "$inner why $job" || true
holds "and it completed: what failed before its restart is not told of it" jq -e '.verdict.sentence | test("nothing to explain")' "$folder/why.json"
holds "one run, no experiment beside it" jq -e '[.runs[] | .run] == ["c2.r1"]' "$folder/why.json"
holds "and the node is on record" jq -e '.. | strings | select(test("n1"))' "$folder/why.json"
ctl "$inner" nodes n1 || true
tail -n 3 "$folder/log/epilog.log"
finish
