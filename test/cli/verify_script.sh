#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay-verify.sh, with the real program and a stand-in for srun: a rank that is stopped holds V up for the time of
# its silence, what all others said is there, and V says who was silent.
. "$(dirname "$0")/common.inc"

[ -x "$SICKBAY_BIN/sickbay-verify" ] || { echo "without MPI there is no sickbay-verify"; exit 0; }
mkdir -p bin
# The stand-in starts the program here, once for each node, and ends it all on SIGTERM, as srun does.
cat >bin/srun <<'EOF'
#!/bin/sh
printf '%s\n' "$*" >>"$HOME/srun.words"
nodes="$NODES"
while [ $# -gt 0 ]; do
  case $1 in
    --nodelist=*) nodes=$(printf '%s' "${1#*=}" | tr , ' ') ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
pids=
trap 'kill -KILL $pids; echo "srun: Job step aborted: Waiting up to 32 seconds for job step to finish." >&2; exit 137' TERM
rank=0
for node in $nodes; do
  SLURMD_NODENAME=$node SLURM_PROCID=$rank "$@" &
  pids="$pids $!"
  rank=$((rank + 1))
done
wait
EOF
cat >bin/scontrol <<'EOF'
#!/bin/sh
printf '%s\n' $NODES
EOF
# The program, but for the one thing that is wrong, and for what needs a network between the nodes.
cat >bin/verify <<'EOF'
#!/bin/sh
say() { printf '{"sickbay_verify":1,"node":"%s","rank":%s,%s}\n' "$SLURMD_NODENAME" "$SLURM_PROCID" "$1"; }
case $1 in
  node) if [ "$SLURMD_NODENAME" = "$STOPPED" ]; then
          say '"phase":"start","mode":"node"'
          say '"phase":"cpu","ok":true,"slow":false,"detail":""'
          kill -STOP $$
        fi ;;
  reach|net) say '"phase":"start","mode":"'"$1"'"'; say '"phase":"done","mode":"'"$1"'","ok":true,"slow":false"'; exit 0 ;;
esac
exec sickbay-verify "$@"
EOF
chmod +x bin/*
export PATH="$PWD/bin:$PATH" NODES="n1 n2 n3" SLURM_JOB_NUM_NODES=3 SLURM_JOB_NODELIST=n1,n2,n3 SLURMD_NODENAME=n1 \
       SICKBAY_VERIFY=verify SICKBAY_VERIFY_OPTS="--quick --phases memory --memory 1M" SICKBAY_VERIFY_WATCH="--silence 3"

# All well: no trace of the watch.
STOPPED='' run 0 sh "$SICKBAY_SOURCE/verify/sickbay-verify.sh"
[ "$(grep -c '"phase":"done"' out)" = 9 ] || { cat out; fail "not all came to their end"; }
silent_about out alive
silent_about out '"phase":"silent"'
silent_about srun.words overlap

# It keeps its nodes for as long as it is told to, from its begin on; the verdict is the same.
cat >bin/sleep <<'EOF'
#!/bin/sh
printf '%s\n' "$1" >>"$HOME/sleep.words"
EOF
chmod +x bin/sleep
STOPPED='' SICKBAY_VERIFY_HOLD=9000 run 0 sh "$SICKBAY_SOURCE/verify/sickbay-verify.sh"
slept=$(cat sleep.words)
[ "$slept" -gt 8000 ] && [ "$slept" -le 9000 ] || fail "it keeps its nodes for $slept s"
rm bin/sleep

# One stopped.
: >srun.words
STOPPED=n2 run 1 sh "$SICKBAY_SOURCE/verify/sickbay-verify.sh"
says out '"node":"n2","rank":1,"phase":"cpu"'
grep -Eq '"node":"n2","rank":1,"phase":"silent","mode":"node","ok":false,.*nothing was heard of it for [0-9]+ s after phase cpu, while 2 of 3 came to the end' out || { cat out; fail "n2 is not told"; }
[ "$(grep -c '"phase":"done","mode":"node"' out)" = 2 ] || { cat out; fail "the others are not at their end"; }
# Their network is tested all the same, and waits for nothing that the first step left.
[ "$(grep -c '"phase":"done","mode":"net"' out)" = 2 ] || { cat out; fail "the network was not measured"; }
grep -q -e '--overlap.*verify net' srun.words || { cat srun.words; fail "a step waits for the one that was ended"; }

# A program that cannot be run here (its storage is away) is started by srun all the same.
: >srun.words
printf '#!/bin/sh\nexit 126\n' >bin/verify
STOPPED='' run 1 sh "$SICKBAY_SOURCE/verify/sickbay-verify.sh"
says srun.words "verify node"
silent_about srun.words --beat
