#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A node is drained while jobs run on it: the program under `sickbay-ckpt run`, with no timer, takes a checkpoint at once,
# and one more when the node is drained once more; a program that knows nothing of Sickbay is left alone.  All go on.
#   checkpoint_drain.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: checkpoint_drain.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 3 --spares 0 --cpus 2
home=$folder/home/alice
# It counts, and adds up what it counts; asked, it writes both.  All of them end when `enough` is there.
as alice 'cat >counts' <<'JOB'
#!/bin/bash
rank=$SLURM_PROCID asked= count=0 sum=0
trap 'asked=1' USR1
echo begun >>begun.$rank
until [ -e enough ]; do
  count=$((count + 1)) sum=$((sum + count))
  sleep 0.05
  [ -n "$asked" ] || continue
  asked=
  echo "$count $sum" >state.$rank.new; mv state.$rank.new state.$rank
  echo asked >done.$rank.new; mv done.$rank.new done.$rank
done
echo "$count $sum" >last.$rank
JOB
as alice 'chmod +x counts; cat >job.sh' <<JOB
#!/bin/bash
exec srun $build/bin/sickbay-ckpt run --before-end 0s --files 'state.%t' --done 'done.%t' -- ./counts
JOB
# It counts the signals that it gets, and tells so when it ends.
as alice 'cat >plain.sh' <<'JOB'
#!/bin/bash
signals=0
for name in USR1 USR2 HUP TERM; do trap 'signals=$((signals + 1))' $name; done
echo begun >plain.out
until [ -e enough ]; do sleep 0.2; done
echo "signals: $signals" >>plain.out
JOB
newest() { as alice "$build/bin/sickbay-ckpt list --store sickbay-checkpoints --job $1 --json" 2>/dev/null | jq -s '[.. | .checkpoint? | numbers] | max // 0'; }
has() { [ "$(newest "$1")" -ge "$2" ]; } # JOB NUMBER
leaving() { echo "$(root_of "$1")/run/sickbay-agent/leaving"; } # NODE

job=$(as alice "sbatch --parsable -N3 --ntasks-per-node=1 --cpus-per-task=1 -t 20 -o job.out job.sh")
plain=$(as alice "sbatch --parsable -N1 -w n3 --cpus-per-task=1 -t 20 -o /dev/null plain.sh")
all_begun() { local rank; for rank in 0 1 2; do grep -q begun "$home/begun.$rank" || return 1; done; }
until_true "job $job computes" all_begun
until_true "and job $plain" grep -q begun "$home/plain.out"
holds "there is no checkpoint" [ "$(newest "$job")" = 0 ]
holds "and n3 is not leaving" test ! -e "$(leaving n3)"

# --- an operator drains a node, not that of rank 0
began=$SECONDS
ctl scontrol update nodename=n3 state=drain reason=fan
until_true "a checkpoint is taken" has "$job" 1
echo "checkpoint_drain: taken $((SECONDS - began)) s after the drain"
holds "since n3 is leaving" test -s "$(leaving n3)"
holds "any user may read it" as bob "cat $(leaving n3)"
holds "n1 is not" test ! -e "$(leaving n1)"
holds "the program goes on" runs "$job"

# --- it is lifted, and drained again
ctl scontrol update nodename=n3 state=resume
until_true "n3 is leaving no more" test ! -e "$(leaving n3)"
holds "once is enough" [ "$(newest "$job")" = 1 ]
ctl scontrol update nodename=n3 state=drain reason=disk
until_true "drained again, there is another one" has "$job" 2

# --- agent and sickbayd are started anew: the same drain
restart n3 sickbay-agent
restart ctl sickbayd
until_true "sickbayd is there again" ctl "$sickbay" nodes
# The next drain is seen by then, and its checkpoint is the next: there was none between.
ctl scontrol update nodename=n2 state=drain reason=fan
until_true "another node's drain is another one" has "$job" 3
holds "and n3's was not taken again" [ "$(newest "$job")" = 3 ]

# --- all go on to their ends
holds "the program goes on" runs "$job"
holds "and so does the other" runs "$plain"
as alice 'touch enough'
until_true "the other ends" grep -q signals "$home/plain.out"
holds "nobody has touched it: $(tail -n 1 "$home/plain.out")" grep -qx 'signals: 0' "$home/plain.out"
is_over() { [ -z "$(ctl squeue -h -j "$job" -o %T 2>/dev/null | grep -v COMPLETED)" ]; }
until_true "the program ends" is_over
# right RANK: it was begun once, has ended, and has added up what it counted.
right() { local count sum; [ "$(cat "$home/begun.$1")" = begun ] && read -r count sum <"$home/last.$1" && [ "$sum" = $((count * (count + 1) / 2)) ]; }
for rank in 0 1 2; do holds "rank $rank ends right" right $rank; done
holds "and well" [ "$(ctl sacct -n -X -j "$job" -o State%20 | tr -d ' ')" = COMPLETED ]
holds "what was saved is whole" as alice "$build/bin/sickbay-ckpt verify --store sickbay-checkpoints --job $job"
finish
