#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# peer_nhc_like.sh PORT: the quick set of checks as a shell checker makes it, for bench_operations.cc.
#
# Our own, not LBNL NHC: one bash, a function for each check, /proc read by bash itself where that is natural and
# ps, df, awk and find where a shell script would call them; ps is asked once for all checks, as NHC does.
# Ends with 0 when every check could be made; what they find is printed nowhere and does not count.
set -uo pipefail
port=$1
declare -A meminfo
declare -a ps_lines

read_meminfo() { while IFS=': ' read -r key value _; do meminfo[$key]=$value; done </proc/meminfo; }
read_ps() { mapfile -t ps_lines < <(ps -eo pid=,ppid=,uid=,stat=,rss=,comm=); }

check_memory() { ((meminfo[MemAvailable] * 100 / meminfo[MemTotal] >= 0)); }
check_swap() { ((meminfo[SwapTotal] >= meminfo[SwapFree])); }
check_cpus() { [ "$(grep -c ^processor /proc/cpuinfo)" -gt 0 ]; }
check_load() { read -r load _ </proc/loadavg && [ -n "$load" ]; }
check_zombies() { local n=0 line stat; for line in "${ps_lines[@]}"; do read -r _ _ _ stat _ <<<"$line"; [[ $stat == Z* ]] && ((n++)); done; ((n >= 0)); }
check_foreign() { local n=0 line uid; for line in "${ps_lines[@]}"; do read -r _ _ uid _ <<<"$line"; ((uid >= 1000)) && ((n++)); done; ((n >= 0)); }
check_hogs() { local most=0 line rss; for line in "${ps_lines[@]}"; do read -r _ _ _ _ rss _ <<<"$line"; ((rss > most)) && most=$rss; done; ((most > 0)); }
check_read_only() { awk '$4 ~ /(^|,)ro(,|$)/ && $1 ~ /^\/dev/ { n++ } END { exit 0 }' /proc/mounts; }
check_filesystem() { df -P "$1" | awk 'NR == 2 { used = $5 } END { exit used == "" }' && df -iP "$1" | awk 'NR == 2 { used = $5 } END { exit used == "" }'; }
check_tcp() { awk '/^Tcp: [0-9]/ { sent = $12; again = $13 } END { exit sent == "" }' /proc/net/snmp; }
check_service() { local line comm; for line in "${ps_lines[@]}"; do read -r _ _ _ _ _ comm <<<"$line"; [ "$comm" = "$1" ] && return; done; return 0; }
check_edac() { local f n=0; for f in /sys/devices/system/edac/mc/mc*/ce_count; do [ -r "$f" ] && ((n += $(<"$f"))); done; ((n >= 0)); }
check_mce() { awk '$1 == "MCE:" { for (i = 2; i <= NF; i++) n += $i } END { exit 0 }' /proc/interrupts; }
check_temperature() { local f t most=0; for f in /sys/class/hwmon/hwmon*/temp*_input; do [ -r "$f" ] && t=$(<"$f") && ((t > most)) && most=$t; done; ((most >= 0)); }
check_disks() { local f n=0; for f in /sys/block/*/device; do [ -e "$f" ] && ((n++)); done; ((n >= 0)); }
check_nic() { local device; device=$(ip -o route show default 2>/dev/null | awk '{ print $5; exit }'); device=${device:-eth0}; [ ! -r "/sys/class/net/$device/operstate" ] || [ -n "$(<"/sys/class/net/$device/operstate")" ]; }
check_infiniband() { local f; for f in /sys/class/infiniband/*/ports/*/state; do [ -r "$f" ] && [ -n "$(<"$f")" ]; done; return 0; }
check_reach() { timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"; }

failed=0
try() { "$@" || { echo "failed: $*" >&2; failed=1; }; }
read_meminfo
read_ps
try check_memory
try check_swap
try check_cpus
try check_load
try check_zombies
try check_foreign
try check_hogs
try check_read_only
try check_filesystem /
try check_filesystem /tmp
try check_tcp
try check_service munged
try check_service slurmd
try check_edac
try check_mce
try check_temperature
try check_disks
try check_nic
try check_infiniband
try check_reach
exit "$failed"
