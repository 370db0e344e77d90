#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sickbay-ckpt run: a program that goes on while its state is saved, alone and as four processes.
. "$(dirname "$0")/common.inc"
: "${work:?common.inc sets it}"
unset SLURM_STEP_ID SLURM_PROCID PMI_RANK SICKBAY_SESSION 2>/dev/null || :
work=$PWD
export SLURM_JOB_ID=17 SICKBAY_CHECKPOINTS="$work/store"
wrappers=()  # what this test has started; each ends with its program
clean_up() { local pid folder; for folder in "$work"/*/; do touch "$folder/stop"; done; for pid in "${wrappers[@]}"; do wait "$pid" || :; done 2>/dev/null; }

# The program: it counts, and when it is asked writes state.R, then done.R with the label.  Files steer it: stop; mute
# (it answers nothing); hold (once asked it waits before it writes); label (what it calls its state).
# (Not a shell: bash 5.2 loses a signal now and then on a busy machine, one of 480, and never runs its trap.)
cat > program <<'EOF'
#!/usr/bin/env python3
import os, signal, sys, time
rank = sys.argv[1]
asks = answered = 0

def here(name): return os.path.exists(name) or os.path.exists(name + "." + rank)
def put(name, text):
    with open(f"{name}.{rank}.new", "w") as file: file.write(f"{text}\n")
    os.rename(f"{name}.{rank}.new", f"{name}.{rank}")
def add(name):
    with open(f"{name}.{rank}", "a") as file: file.write("x\n")
def line_of(name):
    try:
        with open(name) as file: return file.readline().strip()
    except FileNotFoundError: return ""
def asked(*_):
    global asks
    asks += 1
    add("asked")

if not here("late"): signal.signal(signal.SIGUSR1, asked)
signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
signal.signal(signal.SIGUSR2, lambda *_: add("usr2"))
put("up", f"{os.environ.get('SICKBAY_CKPT_RESTORED', 'none')} {os.getpid()}")
before = line_of("state." + rank)
count = int(before) if before.isdigit() else 0
while not here("stop"):
    count += 1
    time.sleep(0.02)
    if here("late") and not os.path.exists("early"): signal.signal(signal.SIGUSR1, asked)
    if os.path.exists("ask." + rank):
        os.remove("ask." + rank)
        asked()
    if asks == answered or here("mute") or here("hold"): continue
    answered = asks  # (before it writes: who asks meanwhile gets another state)
    put("state", count)
    put("done", line_of("label." + rank) or line_of("label"))
put("last", count)
sys.exit(3 if os.path.exists("bad") else 0)
EOF
chmod +x program

# until_so WHAT...: waits until that command succeeds; half a minute at most.
until_so() {
  local tries=0
  until "$@" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { tail -n 5 err.* >&2; fail "in vain: $*"; }
    sleep 0.05
  done
}
# begin RANKS WORDS...: that many wrappers in the background, with their programs; err.R is what each says.
begin() {
  local ranks=$1 rank; shift
  rm -f up.* asked.* done.*
  session=$((${session:-0} + 1)) pids=()
  for ((rank = 0; rank < ranks; rank++)); do
    sickbay-ckpt run --files 'state.%t' --done 'done.%t' --session s$session --rank $rank --ranks "$ranks" "$@" -- \
      "$work/program" $rank > out.$rank 2> err.$rank < /dev/null & pids+=($!)
  done
  wrappers+=("${pids[@]}")
  for ((rank = 0; rank < ranks; rank++)); do until_so test -s up.$rank; done
}
# ends RANK CODE
ends() { local code=0; wait "${pids[$1]}" || code=$?; [ "$code" = "$2" ] || { cat "err.$1" >&2; fail "rank $1 ended with $code, not $2"; }; }
program_of() { cut -d ' ' -f 2 "up.$1"; }
taken() { grep -q "sickbay-ckpt: checkpoint $1" err.0; }
noted() { grep -qF "note: no checkpoint: $1" err.0; }
here() { mkdir "$work/$1"; cd "$work/$1" || exit; export SLURM_JOB_ID=$2; }

# Alone: asked by Slurm (sbatch --signal, scancel --signal), and by its own timer.
here one 17
begin 1
same up.0 <<< "none $(program_of 0)"
kill -USR1 "${pids[0]}"; until_so taken 1; cp state.0 first
kill -USR1 "${pids[0]}"; until_so taken 2
kill -USR2 "${pids[0]}"; until_so test -s usr2.0
touch stop; ends 0 0
[ "$(wc -l < asked.0)" = 2 ] || fail "the program was asked $(wc -l < asked.0) times"
silent_about out.0 checkpoint
rm stop; echo lost > state.0; touch usr2.0
begin 1 --every 1s
same up.0 <<< "2 $(program_of 0)"
until_so taken 4
touch bad stop; ends 0 3; rm bad stop
# What it is told it is told while it computes; what ends it ends both.
begin 1; kill -TERM "${pids[0]}"; ends 0 7
begin 1; kill -KILL "$(program_of 0)"; ends 0 137
run 64 sickbay-ckpt run --files x --done d --ask KILL -- true
run 64 sickbay-ckpt run --files x --done d --every 0s -- true
run 64 sickbay-ckpt run --files x --done d --engine dmtpc -- true; says err 'did you mean dmtcp'
run 72 sickbay-ckpt run --files x --done d --engine criu -- touch ran; says err 'it would need CAP_CHECKPOINT_RESTORE'; [ ! -e ran ]
run 64 sickbay-ckpt run --files x --done d
run 127 sickbay-ckpt run --files x --done d -- no-such-program
run 126 sickbay-ckpt run --files x --done d -- /etc/passwd
run 5 sickbay-ckpt run --files x --done d -- sh -c 'exit 5'

# It catches no signal yet: it is not killed by one, and asked when it does.
touch late.0 early; begin 1 --timeout 1s
kill -USR1 "${pids[0]}"; until_so noted 'the program of rank 0 catches no signal that asks it (for 1 s)'
kill -0 "$(program_of 0)"; rm early
kill -USR1 "${pids[0]}"; until_so taken 5
touch stop; ends 0 0; rm stop late.0

# It never answers: a note, and it goes on; then it does.
touch mute; begin 1 --timeout 1s
kill -USR1 "${pids[0]}"; until_so noted 'the program of rank 0 was asked and has not written its done file for 1 s'
rm mute; until_so test -e done.0
kill -USR1 "${pids[0]}"; until_so taken 6
touch stop; ends 0 0; rm stop
# Slurm may signal the program as well (by its kind of proctrack): it may write twice, and one of both is taken.
# (Where it writes while it is saved, that number is none, and the next one is taken.)
begin 1; kill -USR1 "${pids[0]}" "$(program_of 0)"; until_so taken '[0-9]'
n=$(sed -n 's/^sickbay-ckpt: checkpoint \([0-9]*\).*/\1/p' err.0 | tail -n 1)
silent_about err.0 note; touch stop; ends 0 0; rm stop
# By a file; and what stands before it begins is not taken for a wish or an answer.
touch ask.0 done.0; begin 1 --ask-file 'ask.%t'
[ ! -e asked.0 ]
kill -USR1 "${pids[0]}"; until_so taken $((n + 1)); [ "$(wc -l < asked.0)" = 1 ]
touch stop; ends 0 0; rm stop
# Before the limit, and when it has ended.
SLURM_JOB_END_TIME=$(($(date +%s) + 4)) begin 1 --before-end 3s --at-end save
until_so taken $((n + 2)); touch stop; ends 0 0; rm stop; until_so taken $((n + 3))
run 0 sickbay-ckpt list --json; says out '"label":"end"'
# From outside, by the board: once for each word.
begin 1 --quiet
echo '{"token": "c17.4"}' > new; mv new "$work/store/17/board/ask"
until_so grep -q '"asked_done":"c17.4"' "$work/store/17/board/series.json"
touch stop; ends 0 0; rm stop
[ "$(wc -l < asked.0)" = 1 ]; silent_about err.0 checkpoint

# Four: rank 0 alone is asked, all save.
here four 19
echo one > label; begin 4
kill -USR1 "${pids[0]}"; until_so taken '1 (one)'
was=$(cat state.?); touch stop
for rank in 0 1 2 3; do ends $rank 0; done
rm stop state.?; begin 4
for rank in 0 1 2 3; do same up.$rank <<< "1 $(program_of $rank)"; done
[ "$(cat state.?)" = "$was" ]
# They do not write the same: no checkpoint.  Or not at first: all are waited for.
echo other > label.2; kill -USR1 "${pids[0]}"; until_so test -e done.2
cp label done.2.new; mv done.2.new done.2; until_so taken '2 (one)'
rm label.2
# One does not answer: a note, and all go on; the next one is together again.
touch stop; for rank in 0 1 2 3; do ends $rank 0; done; rm stop
touch mute.3; begin 4 --timeout 2s
kill -USR1 "${pids[0]}"; until_so noted 'the program of rank 3 was asked and has not written'
rm mute.3; until_so test -e done.3; kill -USR1 "${pids[0]}"; until_so taken 3
# One wrapper is gone with its program: the others are told so in time, and end as their programs do.
kill -KILL "${pids[3]}" "$(program_of 3)"; ends 3 137
kill -USR1 "${pids[0]}"; until_so noted 'no answer of rank 3 for 4 s'
touch stop; for rank in 0 1 2; do ends $rank 0; done; rm stop

# In the midst: rank 0's program has written and is killed, the last one has not; what all have written is kept.
touch hold.3; begin 4
kill -USR1 "${pids[0]}"; until_so test -e done.0; until_so test -s asked.3
kill -KILL "$(program_of 0)"; rm hold.3; ends 0 137; until_so taken 4
# Rank 0 is gone: the others compute on, wait for nobody, and end as their programs do.
until_so test -e done.3
touch stop; for rank in 1 2 3; do ends $rank 0; done; rm stop
# One ends before it has written: no checkpoint, and no more; the others compute on.
touch hold.2; begin 4
kill -USR1 "${pids[0]}"; until_so test -s asked.2
touch stop.2; ends 2 0; until_so noted 'the program of rank 2 has ended'
kill -0 "$(program_of 0)"; touch stop; for rank in 0 1 3; do ends $rank 0; done; rm stop stop.2 hold.2
run 0 sickbay-ckpt verify; run 0 sickbay-ckpt list --json; says out '"checkpoint":4'; silent_about out '"checkpoint":5'
# All have ended well.
begin 4 --at-end save --keep 2; touch stop.1 stop.0 stop.2 stop.3
for rank in 0 1 2 3; do ends $rank 0; done; taken '[0-9]* (end)' || { cat err.0 >&2; fail 'nothing at the end'; }
rm stop.?; touch bad; begin 4 --at-end save; touch stop; for rank in 0 1 2 3; do ends $rank 3; done
noted 'the program of rank 0 has failed'
