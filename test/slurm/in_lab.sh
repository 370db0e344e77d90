#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# in_lab.sh BIN PROGRAM [ARG...]: runs PROGRAM on the controller host of a lab made for it, then removes the
# lab.  BIN is the folder of sickbay and sickbay-slurm.  SB_LAB=NAME uses a running lab and leaves it there.
#
# PROGRAM is inside ctl's namespaces and cannot break a node itself: it writes the words of a `sickbay lab`
# command, "fault n3 crash", to LAB/test-request, and reads its exit code from LAB/test-reply.
set -eu
bin=$1
shift
program=$(basename "$1")
if [ "$(id -u)" != 0 ]; then
  echo "in_lab.sh: a lab needs root; run ctest as root, or leave these tests out: ctest -LE lab" >&2
  exit 77
fi
lab=${SB_LAB:-t$$}
server='' dir=/nonexistent
finish() {
  code=$?
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  # (What Slurm wrote is gone with the lab.)
  [ "$code" = 0 ] || { echo "not ok: $program ended with $code" && tail -n 60 "$dir/log/slurmctld.log" "$dir"/log/slurmd-*.log; } >&2 || true
  [ -n "${SB_LAB:-}" ] || "$bin/sickbay" lab down "$lab" >&2
}
trap finish EXIT
trap 'exit 143' INT TERM
[ -n "${SB_LAB:-}" ] || "$bin/sickbay" lab up "$lab" --nodes 4 --spares 0 --no-sickbayd >&2
# shellcheck disable=SC2016
conf=$("$bin/sickbay" lab exec -l "$lab" -- /bin/sh -c 'echo "$SLURM_CONF"')
dir=${conf%/etc/slurm.conf}

rm -f "$dir/test-request" "$dir/test-reply"
mkfifo "$dir/test-request" "$dir/test-reply"
while read -r command words <"$dir/test-request"; do
  code=0
  # shellcheck disable=SC2086 # words of a command
  "$bin/sickbay" lab "$command" -l "$lab" $words >&2 || code=$?
  echo "$code" >"$dir/test-reply"
done &
server=$!

# (Shared storage is the user's home.)
# shellcheck disable=SC2016
"$bin/sickbay" lab exec -l "$lab" -- /bin/sh -c '
  export SB_TEST_USER=alice SB_TEST_CHILD="$1/sickbay-slurm" SB_TEST_LAB="$2" SB_TEST_SHARED="$2/home/alice"
  shift 2
  exec "$@"' sh "$bin" "$dir" "$@"
