#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A checkout may lie anywhere: a lab works from a build folder in /tmp, which its machines have of their own, and from one
# in a folder that others may not enter, as in /root; its users run the programs there, and a full /tmp does not take
# them away.  What no user could run is refused before anything starts.
#   any_folder.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: any_folder.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
mine=()
clean_up() { rm -rf "${mine[@]}"; }
lab_is_gone() { [ ! -e "$folder" ] && ! grep -qs "$folder" /proc/mounts && ! grep -ls "$folder" /proc/[0-9]*/mounts; }
# on MACHINE USER COMMAND...
on() { "$sickbay" lab exec -l "$lab" --node "$1" --user "$2" -- "${@:3}"; }
refuses() { ! "$@"; }
answers() { on ctl alice "$sickbay" nodes n1; }
# Whether alice on n1 may run the program, which reads what lies beside it.
runs() { on n1 alice "$sickbay" version && on n1 alice test -r "${sickbay%/*}/rules/node.json"; }
# Whether a fault over /tmp is felt by root on n1: full, read-only, or another folder than before.
writes() { on n1 root sh -c 'echo text >/tmp/new'; }
keeps() { on n1 root test -e /tmp/kept; }
# fresh FOLDER MODE: a build folder FOLDER/build with the programs of this one, and beside it what nobody asked for.
fresh() {
  mine+=("$1")
  mkdir "$1" "$1/build"
  cp -a "$build/bin" "$build/demo" "$build/CMakeCache.txt" "$1/build/"
  echo mine >"$1/secret"
  chmod "$2" "$1"
  sickbay=$1/build/bin/sickbay
}
works() { # FOLDER MODE
  # What is shown besides may be closed itself, as mktemp -d makes it.
  lab_up --nodes 2 --spares 0 --show "$data"
  holds "$1: alice reads what --show names" on n1 alice grep -q text "$data/here" "$data/folder/below"
  until_true "$1: sickbayd answers alice" answers
  holds "$1: alice runs a program of it" runs
  holds "$1: an agent of it runs" on n1 root pgrep -x sickbay-agent
  holds "$1: alice's job runs a program of it" on ctl alice srun -N2 -t 2 --mpi=pmi2 "$1/build/demo/exit_code" 0
  holds "$1: nobody writes there from inside" refuses on n1 root touch "$1/build/bin/new"
  holds "$1: nothing else of it is shown" refuses on n1 root test -e "$1/secret"
  holds "$1: its mode is as it was" test "$(stat -c %a "$1")" = "$2"
  holds "$1: /tmp is n1's own" on n1 root touch /tmp/kept
  local fault felt
  for fault in disk-full:writes read-only:writes unmount=/tmp:keeps; do
    felt=${fault#*:} fault=${fault%:*}
    "$sickbay" lab fault -l "$lab" n1 "$fault" >/dev/null
    holds "$1: $fault is felt" refuses "$felt"
    holds "$1: alice runs programs under $fault" runs
    "$sickbay" lab heal -l "$lab" n1 >/dev/null
    holds "$1: $fault is healed" "$felt"
    holds "$1: alice runs programs after $fault" runs
  done
  "$sickbay" lab down "$lab"
  holds "$1: nothing is left" lab_is_gone
  holds "$1: what was there still is" test -x "$sickbay" -a -e "$1/secret"
}

data=$(mktemp -d "/tmp/sb-data-$lab.XXXXXX")
mine+=("$data")
mkdir "$data/folder"
echo text | tee "$data/here" >"$data/folder/below"
chmod -R go+rX "$data/here" "$data/folder"

fresh "/tmp/sb-$lab" 755
works "/tmp/sb-$lab" 755

fresh "/var/tmp/sb-$lab" 700
works "/var/tmp/sb-$lab" 700

# --- up is killed as soon as the first machine has its mounts
"$sickbay" lab up "$lab" --nodes 2 --spares 0 >/dev/null 2>&1 &
up=$!
mounts_are_made() { grep -qs " /var/tmp/sb-$lab " "/proc/$(cut -d' ' -f1 "$folder/nodes/ctl/holder")/mounts"; }
until_true "the programs are mounted" mounts_are_made
kill -9 $up
wait $up 2>/dev/null || true
"$sickbay" lab down "$lab"
holds "nothing is left of a killed up" lab_is_gone
holds "the programs are left" test -x "$sickbay"

# --- what cannot work is said before anything starts
refused() { # WHAT TEXT COMMAND...
  local what=$1 text=$2 said
  shift 2
  checks=$((checks + 1))
  if said=$("$@" 2>&1); then fail "$what: it was not refused"; fi
  [[ $said == *"$text"* && $said == *cause:* && $said == *remedy:* ]] || fail "$what: $said"
  [[ $said != *starting* && ! -e $folder ]] || fail "$what: something was started: $said"
}
chmod o-rx "$sickbay"
refused "a program that others may not run" "chmod -R go+rX /var/tmp/sb-$lab/build" "$sickbay" lab up "$lab"
chmod o+rx "$sickbay"
refused "all of /tmp" "cannot see all of /tmp" "$sickbay" lab up "$lab" --show /tmp

finish
