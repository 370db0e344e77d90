#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How soon after asking is a gray node named?  A neighbour takes the processor or the disk of one node; `sickbay verify` of all
# nodes must name that one, and no other; in how many cases it did so within a minute is told.
# All nodes of a lab share the machine's processors, so this wants a machine that has nothing else to do.
#   verify_gray.sh BUILD [TURNS = 5] [NODES = 4]
set -euo pipefail
build=$(realpath "${1:?usage: verify_gray.sh BUILD [TURNS] [NODES]}")
turns=${2:-5} nodes=${3:-4}
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
# shellcheck source=test/slurm/verify.inc
. "$(dirname "$(realpath "$0")")/verify.inc"
most=60 # seconds
neighbours=()
# (A neighbour's group ends with it: what it started would go on in the node.)
neighbours_go() {
  [ ${#neighbours[@]} = 0 ] || kill -TERM "${neighbours[@]/#/-}" 2>/dev/null || true
  neighbours=()
}
clean_up() { neighbours_go; }
lab_up --nodes "$nodes" --spares 0 --no-agents

# neighbour NODE SCRIPT: a process beside the user's, until neighbours_go.
neighbour() {
  setsid "$sickbay" lab exec -l "$lab" --node "$1" -- sh -c "$2" </dev/null >/dev/null 2>&1 &
  neighbours+=($!)
}
fault() { "$sickbay" lab fault -l "$lab" "$@" >/dev/null; }

# gray KIND NODE: what makes the node gray.
gray() {
  case $1 in
    cpu_*)
      fault "$2" cpu=100% # its own share of the machine, for which its processes now contend
      neighbour "$2" "for i in \$(seq ${1#cpu_}); do while :; do :; done & done; wait" ;;
    disk)
      fault "$2" slow-disk=200K
      neighbour "$2" 'while dd if=/dev/zero of=/tmp/neighbour bs=64k count=16 conv=fsync 2>/dev/null; do :; done' ;;
  esac
}

now() { date +%s.%N; }
named=0 soon=0 others=0
for kind in cpu_1 cpu_2 cpu_3 disk; do
  for ((turn = 0; turn < turns; turn++)); do
    node=n$((turn % nodes + 1))
    gray "$kind" "$node"
    begin=$(now)
    verify report
    seconds=$(awk -v a="$begin" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }')
    neighbours_go
    "$sickbay" lab heal -l "$lab" "$node" >/dev/null
    checks=$((checks + 1))
    bad=$(bad_in report)
    echo "verify_gray: $kind on $node: named '${bad//$'\n'/ }' after $seconds s"
    echo "$seconds" >>"$folder/$kind.seconds"
    if grep -q -x "$node" <<<"$bad"; then
      named=$((named + 1))
      awk -v s="$seconds" -v most=$most 'BEGIN { exit !(s <= most) }' && soon=$((soon + 1))
    else
      fail "$kind on $node: $(of_report report .summary)"
      of_report report '.nodes[] | "\(.node) \(.result) \(.reason)"'
    fi
    # Of a gray node its links are slow, too; a link between others is another's.
    [ -z "$(but_of "$node" <<<"$bad")" ] || { others=$((others + 1)); fail "$kind on $node: others named: ${bad//$'\n'/ }"; }
  done
  echo "verify_gray: $kind: $(sort -n "$folder/$kind.seconds" | awk '{ v[NR] = $1 } END { printf "median %s s, at most %s s", v[int((NR + 1) / 2)], v[NR] }')"
done
echo "verify_gray: of $checks asked, $named named, $soon of them within $most s, others named in $others; load now $(cut -d' ' -f1 /proc/loadavg)"
finish
