#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# NHC and Sickbay side by side, check by check: a line that this machine passes, and one that it does not.
#
#   test/cli/nhc_checks.sh [FOLDER OF NHC]
#
# Sickbay's verdicts are those of one `sickbay-agent --nhc` over all lines that should pass, and one over those that
# should not.  With a checkout of LBNL NHC its own verdict on each line is asked for as well, and must be the same;
# without one the rows below are what NHC's pages and scripts say.  A table comes at the end.
nhc=${1:-}
. "$(dirname "$0")/common.inc"
[ "$(id -u)" -eq 0 ] || fail "needs root: the agent does"
mkdir -p root/var/lib scripts
cat >scripts/site.nhc <<'END'
site_ok() { log "all is well"; return 0; }
site_bad() { die 1 "$FUNCNAME:  only $1 left"; return 1; }
END
# A process that can be named.
cp "$(command -v tail)" sickbay-marker
./sickbay-marker -f /dev/null & marker=$!
clean_up() { kill "$marker" 2>/dev/null || :; }

sockets=$(grep '^physical id' /proc/cpuinfo | sort -u | wc -l)
threads=$(grep -c '^processor' /proc/cpuinfo)
[ "$sockets" -gt 0 ] || sockets=$threads

# A line that passes | one that fails; "-": this machine has none.
rows() {
  cat <<END
check_hw_cpuinfo $sockets|check_hw_cpuinfo 999
check_hw_physmem 1k 999TB|check_hw_physmem 999TB 999TB 3%
check_hw_physmem_free 1k|check_hw_physmem_free 999TB
check_hw_swap 0 999TB|check_hw_swap 999TB 999TB
check_hw_swap_free 0|check_hw_swap_free 999TB
check_hw_mem 1k 999TB|check_hw_mem 1k 2k
check_hw_mem_free 1k|check_hw_mem_free 999TB
check_hw_eth lo|check_hw_eth nosuch0
-|check_hw_ib 100
-|check_hw_gm nosuch0
check_fs_mount_rw -f /proc|check_fs_mount_rw -f /nosuch
check_fs_mount -t proc -o '/(^|,)rw(,|$)/' -f /proc|check_fs_mount -t 'nfs*' -f /proc
check_fs_mount -s '!nas:*' -f /proc|check_fs_mount -s 'nas:*' -f /proc
-|check_fs_mount_ro -f /proc
check_fs_free / 0%|check_fs_free / 100%
check_fs_free / 1k|check_fs_free / 999TB
check_fs_used / 999TB|check_fs_used / 1k
-|check_fs_used / 1%
check_fs_size / 1k 999TB|check_fs_size / 999TB
check_file_test -d -r -x /tmp|check_file_test -f /tmp
check_file_test -c -r -w /dev/null /dev/zero|check_file_test -s /dev/null
check_file_test -e /etc/pass*|check_file_test -e /etc/no-such-*
check_file_stat -u 0 -g 0 -U root -t 1 -T 3 /dev/null|check_file_stat -t 2 /dev/null
check_file_stat -u 0 /etc/passwd|check_file_stat -u 4711 /etc/passwd
-|check_file_stat -u 0 /nosuch
check_file_contents /etc/passwd '/^root:/'|check_file_contents /etc/passwd '/^no-such-user:/'
check_file_contents /etc/passwd '!/^no-such-user:/'|check_file_contents /etc/passwd '!/^root:/'
check_cmd_status -t 5 -r 0 true|check_cmd_status -t 5 -r 0 false
check_cmd_status -t 5 -r 1 false|check_cmd_status -t 1 -r 0 tail -f /dev/null
check_cmd_output -m '/^one/' -m '!*four*' -e 'echo one two'|check_cmd_output -m 'three' printf one
check_net_socket -! -l '*:1' -p tcp|check_net_socket -l '*:1' -p tcp
check_ps_daemon sickbay-marker|check_ps_daemon sickbay-no-such-daemon
check_ps_daemon sickbay-marker root|check_ps_daemon sickbay-marker nobody
check_ps_service -u root sickbay-marker|check_ps_service -u nobody sickbay-marker
check_ps_service -f -m '/marker -f/' x|check_ps_service -m 'sickbay-no*' x
check_ps_blacklist sickbay-no-such-daemon|check_ps_blacklist sickbay-marker
check_ps_blacklist sickbay-marker '!root'|check_ps_blacklist sickbay-marker root
check_ps_loadavg 99999 '' 99999|check_ps_loadavg 0
check_ps_loadavg \$((99999*HW_CORES))|-
check_ps_mem -A -m '*sickbay-marker' 999TB|check_ps_mem -A -m '*sickbay-marker' 1k
check_ps_physmem -A -m '*sickbay-marker' 999TB|check_ps_physmem -A -m '*sickbay-marker' 1k
check_ps_cpu -A -m '*sickbay-marker' 9999|-
check_ps_time -A -m '*sickbay-marker' 999m|-
check_ps_kswapd 99999999 9999999|-
check_ps_unauth_users ignore|-
check_hw_eth lo && check_file_test -d /tmp|check_hw_eth lo && check_file_test -f /tmp
/bin/true|/bin/false
site_ok|site_bad 3
[[ -d /tmp ]]|[[ -f /tmp ]]
END
}
rows >rows
[ "$(wc -l <rows)" -gt 45 ] || fail "the table of checks is cut"

echo '{"node": {"name": "n1"}}' >agent.json
# verdicts NAME FIELD: Sickbay's verdicts into NAME.says, "LINE sick|unknown"; lines that are not named are well.
verdicts() {
  { echo "* || INCDIR=$PWD/scripts"; echo "* || TIMEOUT=20"
    while IFS= read -r row; do
      check=$(printf '%s\n' "$row" | field "$2")
      if [ "$check" = - ]; then echo "# none"; else echo "* || $check"; fi
    done <rows; } >"$1.conf"
  rm -rf root/var/lib/sickbay-agent
  sickbay-agent --config agent.json --nhc "$1.conf" --check-config >"$1.taken"
  sickbay-agent --config agent.json --nhc "$1.conf" --once 2>"$1.log"
  sed -n 's/.*event=finding specification=nhc rule=out_\([0-9]*\)[_0-9]* result=fault.*/\1 sick/p' "$1.log" | sort -u >"$1.says"
}
# The rows part their two lines at the only '|' that stands between letters, quotes or digits and a check.
field() { awk -v n="$1" '{ i = match($0, /\|(check_|-$|\/bin|site_|\[\[)/); if (n == 1) print substr($0, 1, i - 1); else print substr($0, i + 1) }'; }
verdicts well 1
verdicts sick 2
grep -q ' 0 of ' well.taken && fail "no line was taken"

# nhc_says CHECK: well or sick, by NHC itself.
if [ -n "$nhc" ]; then
  [ -f "$nhc/nhc" ] || fail "$nhc holds no nhc"
  mkdir -p merged && cp "$nhc"/scripts/*.nhc merged/ && cp scripts/site.nhc merged/
fi
nhc_says() {
  [ -n "$nhc" ] || { echo "$2"; return; }
  printf '* || %s\n' "$1" >one.conf
  if bash "$nhc/nhc" -c one.conf INCDIR="$PWD/merged" LOGFILE=/dev/null RUNDIR="$PWD" MARK_OFFLINE=0 NHC_RM=slurm TIMEOUT=20 \
    >nhc.log 2>&1; then echo well; else echo sick; fi
}

wrong=0 line=2
printf '%-5s %-8s %-8s %s\n' WANT NHC SICKBAY CHECK >table
while IFS= read -r row; do
  line=$((line + 1))
  for side in well sick; do
    check=$(printf '%s\n' "$row" | field "$([ "$side" = well ] && echo 1 || echo 2)")
    [ "$check" = - ] && continue
    ours=well; grep -qx "$line sick" "$side.says" && ours=sick
    theirs=$(nhc_says "$check" "$side")
    printf '%-5s %-8s %-8s %s\n' "$side" "$([ -n "$nhc" ] && echo "$theirs" || echo -)" "$ours" "$check" >>table
    if [ "$ours" != "$side" ] || [ "$theirs" != "$ours" ]; then
      wrong=$((wrong + 1)); printf 'line %s of %s: wanted %s, NHC %s, Sickbay %s: %s\n' "$line" "$side.conf" "$side" "$theirs" "$ours" "$check" >&2
    fi
  done
done <rows
cat table; cat well.taken sick.taken
# What is unknown would pass for well.
if grep -E 'event=finding specification=nhc .*result=unknown' well.log sick.log >&2; then fail "a check that cannot be made passes for well"; fi
[ "$wrong" -eq 0 ] || { cat well.log sick.log >&2; fail "$wrong verdicts differ"; }
