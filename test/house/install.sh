#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make install` into a DESTDIR: everything is there, and the installed programs run and find their parts.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DESTDIR=$work cmake --install "$SICKBAY_BUILD" --prefix /opt/sickbay > "$work/log"
to=$work/opt/sickbay
for file in bin/sickbay bin/mybatch bin/myrequeue bin/mytrigger bin/sickbayd bin/sickbay-agent bin/sickbay-verify libexec/sickbay/sickbay-slurm libexec/sickbay/sickbay-folder libexec/sickbay/sickbay-ranks \
    share/sickbay/sickbay-verify.sh share/sickbay/echarts.min.js lib/sickbay/libsickbay_clock_shift.so \
    share/doc/sickbay/licenses/echarts-Apache-2.0.txt \
    share/man/man1/sickbay-why.1 \
    share/sickbay/operations/memory_test share/sickbay/operations/memory_bank share/sickbay/rules/node.json \
    share/doc/sickbay/operations.md share/doc/sickbay/formats/operation.md \
    share/bash-completion/completions/sickbay lib/systemd/system/sickbayd.service lib/libsmd.so.1 lib/libsmd.a include/smd.h \
    lib/pkgconfig/smd.pc share/sickbay/libsmd/smd.py share/sickbay/libsmd/smd.f90 \
    lib/libsickbay-ckpt.so.1 lib/libsickbay-ckpt.a include/sickbay_ckpt.h lib/pkgconfig/sickbay-ckpt.pc share/sickbay/libckpt/sickbay_ckpt.f90 \
    share/sickbay/checkpoint/wave.c share/man/man3/sickbay_ckpt.3 \
    lib/systemd/system/sickbay-agent.service lib/systemd/system/sickbay-backup.service lib/systemd/system/sickbay-backup.timer \
    lib/systemd/system/sickbay-import.service lib/systemd/system/sickbay-import.timer share/man/man8/sickbay-agent.8 share/doc/sickbay/README.md; do
  [ -s "$to/$file" ] || { echo "$file is not installed" >&2; exit 1; }
done
grep -q '^ExecStart=/opt/sickbay/bin/sickbayd$' "$to/lib/systemd/system/sickbayd.service"
grep -q '^ExecStart=/opt/sickbay/bin/sickbay-agent$' "$to/lib/systemd/system/sickbay-agent.service"
grep -q '^ExecStart=/opt/sickbay/bin/sickbay import --from last$' "$to/lib/systemd/system/sickbay-import.service"
SICKBAY_ROOT=$work/agent "$to/bin/sickbay-agent" --check-config  # the shipped rules are found and hold
"$to/bin/sickbay" version > /dev/null
"$to/bin/mybatch" --help > /dev/null
# No program looks for libraries in the current folder, built or installed: root runs them in folders of users.
for file in "$SICKBAY_BIN"/* "$SICKBAY_BUILD"/lib*/*.so "$to"/bin/* "$to"/lib/*.so "$to"/libexec/sickbay/* "$to"/share/sickbay/operations/*; do
  [ -f "$file" ] || continue
# An element that is empty is the current folder, and one that is relative is below it.
  if readelf -d "$file" 2>/dev/null | sed -n 's/.*R\(UN\)\{0,1\}PATH).*\[\(.*\)\]$/\2/p' | tr ':' '\n' | grep -v '^[/$]'; then
    echo "$file looks for libraries in the current folder" >&2; exit 1
  fi
done
# A program finds libsmd by pkg-config, and runs with the shared library and without it.
cat > "$work/asks.c" <<'C'
#include <smd.h>
#include <stdio.h>
int main(void) { return puts(smd_nonstop_errstr(ENSTOP_NODENOTFAILED)) < 0 ? 1 : 0; }
C
export PKG_CONFIG_PATH=$to/lib/pkgconfig
# shellcheck disable=SC2046 # words of a command
${CC:-cc} -Wall -Werror -o "$work/asks" "$work/asks.c" $(pkg-config --cflags --libs smd)
readelf -d "$work/asks" | grep -q 'NEEDED.*libsmd.so.1'
[ "$(LD_LIBRARY_PATH=$to/lib "$work/asks")" = 'Node has not failed' ]
# shellcheck disable=SC2046
${CC:-cc} -o "$work/asks" "$work/asks.c" $(pkg-config --cflags smd) "$to/lib/libsmd.a" -lmunge -pthread
[ "$("$work/asks")" = 'Node has not failed' ]
# And libsickbay-ckpt; the C program prints the text of an error, since no job is named.
cat > "$work/saves.c" <<'C'
#include <sickbay_ckpt.h>
#include <stdio.h>
int main(void) {
  sickbay_ckpt *ckpt;
  if (sickbay_ckpt_open(&ckpt, NULL) != SICKBAY_CKPT_USAGE) return 1;
  return puts(sickbay_ckpt_error(NULL)) < 0 ? 1 : 0;
}
C
unset SLURM_JOB_ID SLURM_JOBID SICKBAY_CHECKPOINT_JOB
# shellcheck disable=SC2046 # words of a command
${CC:-cc} -std=c99 -Wall -Wextra -Werror -o "$work/saves" "$work/saves.c" $(pkg-config --cflags --libs sickbay-ckpt)
readelf -d "$work/saves" | grep -q 'NEEDED.*libsickbay-ckpt.so.1'
LD_LIBRARY_PATH=$to/lib "$work/saves" | grep -q 'no job is named'
# shellcheck disable=SC2046
${CC:-cc} -o "$work/saves" "$work/saves.c" $(pkg-config --cflags sickbay-ckpt) "$to/lib/libsickbay-ckpt.a" $(sed -n 's/^Libs.private: //p' "$to/lib/pkgconfig/sickbay-ckpt.pc")
"$work/saves" | grep -q 'no job is named'
# What loads DuckDB finds it under the prefix, wherever that is, and nothing of the build folder.
readelf -d "$to/bin/sickbay" | grep -q 'RUNPATH.*\[$ORIGIN/../lib/sickbay\]' || { echo "the run path is not the prefix's" >&2; exit 1; }
echo 'no store' > "$work/log.csv"
code=0
"$to/bin/sickbay" sql --store "$work/log.csv" 'SELECT 1' 2> "$work/err" || code=$?
[ -d "$to/share/sickbay/reports" ] || { echo "the reports are not installed" >&2; exit 1; }
[ "$code" = 74 ] || { cat "$work/err" >&2; echo "the installed sickbay does not load DuckDB" >&2; exit 1; }
# The shipped verification script is found relative to the program; the account is one that every machine has.
# Verifications do not run as root unless the site says so.
echo '{}' > "$work/sickbay.json"
if ! getent passwd sickbay-verify > /dev/null; then
  if "$to/bin/sickbayd" --config "$work/sickbay.json" --check-config 2> "$work/err"; then
    echo "sickbayd does not miss the account of verifications" >&2; exit 1
  fi
  grep -q "no user 'sickbay-verify' on this host" "$work/err"
fi
grep -q '^u sickbay-verify ' "$to/lib/sysusers.d/sickbay.conf"
grep -q '^ExecStartPre=-[+]systemd-sysusers /opt/sickbay/lib/sysusers.d/sickbay.conf$' "$to/lib/systemd/system/sickbayd.service"
echo '{"verify": {"user": "root"}}' > "$work/sickbay.json"
"$to/bin/sickbayd" --config "$work/sickbay.json" --check-config
# Nor does it obey what others may write.
if [ "$(id -u)" -eq 0 ]; then
  chmod 666 "$work/sickbay.json"
  if "$to/bin/sickbayd" --config "$work/sickbay.json" --check-config 2> "$work/err"; then
    echo "sickbayd obeys a configuration that others may write" >&2; exit 1
  fi
  grep -q 'sickbay.json may be written by others' "$work/err"
  chmod 644 "$work/sickbay.json"
  mkdir "$work/slurm"
  chmod 777 "$work/slurm"
  printf '{"verify": {"user": "root"}, "slurm": {"bin_dir": "%s"}}\n' "$work/slurm" > "$work/sickbay.json"
  if "$to/bin/sickbayd" --config "$work/sickbay.json" --check-config 2> "$work/err"; then
    echo "sickbayd runs programs of a folder that others may write" >&2; exit 1
  fi
  grep -q "$work/slurm may be written by others" "$work/err"
  echo '{"verify": {"user": "root"}}' > "$work/sickbay.json"
fi
mv "$to/share/sickbay" "$to/share/elsewhere"
if "$to/bin/sickbayd" --config "$work/sickbay.json" --check-config 2> "$work/err"; then
  echo "sickbayd does not miss its verification script" >&2; exit 1
fi
grep -q 'sickbay-verify.sh is not installed' "$work/err"
