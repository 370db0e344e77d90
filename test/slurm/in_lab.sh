#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# in_lab.sh BIN PROGRAM [ARG...]: runs PROGRAM on the controller host of a lab made for it, then removes the
# lab.  BIN is the folder of sickbay and sickbay-slurm.  SB_LAB=NAME uses a running lab and leaves it there.
set -eu
bin=$1
shift
if [ "$(id -u)" != 0 ]; then
  echo "in_lab.sh: a lab needs root; run ctest as root, or leave these tests out: ctest -LE lab" >&2
  exit 77
fi
lab=${SB_LAB:-t$$}
if [ -z "${SB_LAB:-}" ]; then
  trap '"$bin/sickbay" lab down "$lab" >&2' EXIT
  trap 'exit 143' INT TERM
  "$bin/sickbay" lab up "$lab" --nodes 4 --spares 0 --no-sickbayd >&2
fi
# (SLURM_CONF is set by exec; shared storage is the user's home.)
"$bin/sickbay" lab exec -l "$lab" -- /bin/sh -c '
  export SB_TEST_USER=alice SB_TEST_CHILD="$1/sickbay-slurm" SB_TEST_LAB="${SLURM_CONF%/etc/slurm.conf}"
  export SB_TEST_SHARED="$SB_TEST_LAB/home/alice"
  shift
  exec "$@"' sh "$bin" "$@"
