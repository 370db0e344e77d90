#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two real sickbayds on two addresses of this host, three real agents that witness, a munged: one is active and the
# other has its journal; the active is killed, the other takes over with all that was acknowledged, and follows back.
# It takes as long as a witness waits after its start, and a lease: two minutes.
# shellcheck source=test/cli/common.inc
. "$(dirname "$0")/common.inc"
[ "$(id -u)" -eq 0 ] || { echo "$test_name: left out: sickbayd needs root"; exit 0; }
stand_in_sbatch
pids=
clean_up() { for pid in $pids; do kill -9 "$pid" 2>/dev/null || :; done; wait 2>/dev/null || :; }
# soon SECONDS COMMAND...: it comes true.
soon() {
  left=$(($1 * 10)); shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { tail -n 20 root*/log >&2; fail "does not come true: $*"; }
    sleep 0.1
  done
}

mkdir munge; chmod 700 munge
head -c 64 /dev/urandom > munge/key; chmod 400 munge/key
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --seed-file="$work/munge/seed" --log-file="$work/munge/log" >/dev/null 2>&1 & pids="$pids $!"
soon 30 test -S munge/socket

# A port that is free on all of them.
port=$((20000 + $$ % 10000))
for head in 1 2; do
  root=$work/root$head
  mkdir -p "$root/etc/sickbay"
  printf '%s\n' ClusterName=none 'SlurmctldHost=none(127.0.0.1)' SlurmctldPort=1 AuthType=auth/none NodeName=n1 \
    'PartitionName=p Nodes=n1' > "$root/slurm.conf"
  cat > "$root/etc/sickbay/sickbay.json" <<END
{"agent": {"listen": "127.0.0.$head:$port"}, "verify": {"user": "root"}, "slurm": {"conf": "$root/slurm.conf"},
 "munge": {"socket": "$work/munge/socket"},
 "standby": {"controllers": ["127.0.0.1:$port", "127.0.0.2:$port"], "name": "127.0.0.$head", "lease": "40s",
             "witnesses": ["127.0.0.11", "127.0.0.12", "127.0.0.13"]}}
END
  SICKBAY_ROOT=$root run 0 sickbayd --check-config
done
for node in 11 12 13; do
  root=$work/root$node
  mkdir -p "$root/etc/sickbay" "$root/var/lib" rules
  cat > "$root/etc/sickbay/agent.json" <<END
{"controller": {"host": "127.0.0.1", "port": $port, "standby": "127.0.0.2", "standby_port": $port, "from": "127.0.0.$node",
                "witness": true},
 "node": {"name": "127.0.0.$node"}, "munge": {"socket": "$work/munge/socket"}, "rules": {"folders": ["$work/rules"]}}
END
  SICKBAY_ROOT=$root sickbay-agent >"$root/log" 2>&1 & pids="$pids $!"
done
start() { SICKBAY_ROOT=$work/root$1 sickbayd >>"root$1/log" 2>&1 & eval "head$1=$!"; pids="$pids $!"; }
# at HEAD COMMAND...
at() { (export SICKBAY_ROOT="$work/root$1"; shift; "$@"); }
# stands HEAD FILTER: `sickbay status` there fits.
stands() { at "$1" sickbay status --json > "status$1" 2>/dev/null; jq -e "$2" "status$1"; }
is_active='.standby.role == "active"'
has_all='.standby.role == "active" and .standby.alone == false'

# Which of two that begin together is the first to have a majority is chance: $a is active, $b follows.
a='' b=''
either_is_active() {
  if stands 1 "$is_active"; then a=1 b=2; elif stands 2 "$is_active"; then a=2 b=1; fi
  [ -n "$a" ]
}
start 1; start 2
soon 20 stands 2 '.standby.role == "waiting"'
# A witness waits a minute after its start.
soon 120 either_is_active
soon 20 stands "$a" "$has_all"
soon 20 stands "$b" '.standby.following'
run 0 at "$b" sickbay status
says out "standby of 127.0.0.$a"
code=0; at "$b" sickbay cases >out 2>err || code=$?
[ "$code" -ne 0 ] || fail "a standby answers"
says err "127.0.0.$b is the standby"

echo '#!/bin/sh' > job.sh
export SECRET_TOKEN=hush
run 0 at "$a" sickbay submit job.sh
# Who is answered knows that what was submitted is on both hosts, and nobody else may read it there.
kept=var/lib/sickbay/cases/c1
cmp "root$a/$kept/submission.json" "root$b/$kept/submission.json" || fail "the standby has not what was submitted"
grep -q SECRET_TOKEN=hush "root$b/$kept/submission.json" || fail "it has another one"
[ "$(stat -c %a "root$b/$kept") $(stat -c %a "root$b/$kept/submission.json")" = '700 600' ] || fail "others may read it"
# It is given to root of the other host alone, over the signed way.
ask_for_it() { curl -s -o /dev/null -w '%{http_code}\n' -d '{"format":1,"cases":[1],"after":0}' -H 'Content-Type: application/json' "$@"; }
[ "$(ask_for_it --unix-socket "root$a/run/sickbay/sickbayd.sock" http://sickbayd/v1/standby/cases)" = 403 ] || fail "by the socket"
case $(ask_for_it "http://127.0.0.$a:$port/v1/standby/cases") in 4??) ;; *) fail "without a signature" ;; esac
# A command on another host passes over the standby.  (That root has to ask on the active's host the active says.)
mkdir -p login/etc/sickbay
for first in "$a" "$b"; do
  other=$((3 - first))
  cat > login/etc/sickbay/sickbay.json <<END
{"munge": {"socket": "$work/munge/socket"}, "standby": {"controllers": ["127.0.0.$first:$port", "127.0.0.$other:$port"]}}
END
  code=0; SICKBAY_ROOT=$work/login sickbay cases >out 2>err || code=$?
  [ "$code" -ne 0 ] || fail "uid 0 of another host is an operator"
  silent_about err standby
done
acknowledged=$(at "$a" sickbay journal --json | wc -l)
active=
eval "active=\$head$a"
kill -9 "$active"; killed=$(date +%s)
soon 80 stands "$b" "$is_active"
echo "took over after $(($(date +%s) - killed)) s"
run 0 at "$b" sickbay cases --all --json
[ "$(jq '.items | length' out)" -ge 1 ] || fail "the case is gone: $(cat out)"
[ "$(at "$b" sickbay journal --json | wc -l)" -gt "$acknowledged" ] || fail "events are gone"
run 1 at "$b" sickbay status
says out "alone: 127.0.0.$a"

# It comes back, and follows.
start "$a"
soon 30 stands "$b" "$has_all"
soon 10 stands "$a" '.standby.following'
for head in 1 2; do run 0 sickbay journal --file "root$head/var/lib/sickbay/journal.db" --verify; done
at "$b" sickbay journal --json | jq -c 'select(.kind == "term_began") | .body' | sed 's/"term":[0-9]*/"term":N/' > terms
same terms <<END
{"term":N,"who":"127.0.0.$a"}
{"term":N,"who":"127.0.0.$b"}
END
