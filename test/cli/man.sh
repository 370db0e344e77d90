#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/man holds what the definition of the command line gives.  man.sh --rewrite writes it anew.
. "$(dirname "$0")/common.inc"
rewrite=${1:-}
pages=$SICKBAY_SOURCE/doc/man

# commands: those of the help text.
sickbay --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' > commands
[ "$(wc -l < commands)" -ge 10 ] || fail "the help text lists too few commands"

page() {  # FILE COMMAND
  sickbay man $2 > new.1
  if [ "$rewrite" = --rewrite ]; then cp new.1 "$pages/$1"; fi
  diff -u "$pages/$1" new.1 >&2 || fail "$1 is not what the definition gives; run test/cli/man.sh --rewrite"
  is_roff new.1 "$1"
}
is_roff() {  # FILE NAME: groff finds what is no roff
  command -v groff >/dev/null || return 0
  groff -man -Tascii -ww "$1" > /dev/null 2> warnings
  [ ! -s warnings ] || { cat warnings >&2; fail "groff objects to $2"; }
}
page sickbay.1 ''
while read -r command; do page "sickbay-$command.1" "$command"; done < commands
other_name() {  # NAME COMMAND
  [ "$rewrite" != --rewrite ] || echo ".so man1/sickbay-$2.1" > "$pages/$1.1"
  echo ".so man1/sickbay-$2.1" | diff -u "$pages/$1.1" - || fail "$1.1 should point to sickbay-$2.1"
}
other_name mybatch submit
other_name myrequeue requeue
other_name mytrigger trigger

# No page without a command.
for file in "$pages"/*.1; do
  name=$(basename "$file" .1); name=${name#sickbay-}
  case $name in sickbay|mybatch|myrequeue|mytrigger|smd|nonstop.sh|ckpt) continue ;; esac
  grep -qx "$name" commands || fail "$file is of no command"
done

# Those written by hand.
for file in sickbay-agent.8 sickbay-ckpt.1 sickbay_ckpt.3 smd.1 smd.3 nonstop.sh.1 nonstop.conf.5; do is_roff "$pages/$file" $file; done
# section FILE FROM TO: that part of the page, without fonts.
section() { sed -n "/^.SH $2/,/^.SH $3/p" "$pages/$1" | sed 's/\\f[BIR]//g; s/\\-/-/g'; }
# each OF NAME: every line of OF is a word of the standard input, which NAME has.
each() {
  [ -s "$1" ] || fail "$1 is empty"
  tr -cs 'A-Za-z0-9_-' '\n' | sort -u > there
  sort -u "$1" | comm -23 - there > lacking
  [ ! -s lacking ] || { cat lacking >&2; fail "$2 lacks these"; }
}
smd --help | grep -oE '^  (-[A-Za-z],)? *--[a-z-]+' | grep -oE -e '--[a-z-]+|-[A-Za-z]' > options
section smd.1 OPTIONS POLICIES | each options smd.1
section smd.1 OPTIONS POLICIES | grep -A1 '^\.TP' | grep -oE -e '(^|[ ,])--[a-z-]+' | tr -d ' ,' | sort -u > told
sort -u options | comm -13 - told > unknown
[ ! -s unknown ] || { cat unknown >&2; fail "smd.1 has options that smd has not"; }
for command in save restore list verify interval flush keep fetch run; do sickbay-ckpt $command --help; done | grep -oE -e '--[a-z-]+' | grep -vx -e --help | sort -u > options
section sickbay-ckpt.1 OPTIONS EXIT | each options sickbay-ckpt.1
grep -oE 'smd_[a-z0-9_]+' "$SICKBAY_SOURCE/libsmd/libsmd.map" > functions
section smd.3 SYNOPSIS DESCRIPTION | each functions smd.3
grep -oE 'ENSTOP_[A-Z]+' "$SICKBAY_SOURCE/libsmd/smd.h" | grep -vE 'ENSTOP_(OK|LASTERR)$' > errors
section smd.3 ERRORS EXAMPLE | each errors smd.3
grep -oE 'sickbay_ckpt_[a-z_]+' "$SICKBAY_SOURCE/libckpt/libsickbay-ckpt.map" > functions
section sickbay_ckpt.3 SYNOPSIS DESCRIPTION | each functions sickbay_ckpt.3
grep -oE '^  SICKBAY_CKPT_[A-Z_]+' "$SICKBAY_SOURCE/libckpt/sickbay_ckpt.h" | tr -d ' ' > errors
section sickbay_ckpt.3 RETURN ENVIRONMENT | each errors sickbay_ckpt.3
grep -oE 'SICKBAY_(CHECKPOINT[A-Z_]*|SESSION)' "$SICKBAY_SOURCE/libckpt/sickbay_ckpt.h" > variables
section sickbay_ckpt.3 ENVIRONMENT EXAMPLE | each variables sickbay_ckpt.3
sed -n '/^## nonstop.conf/,$s/^| \([A-Z][A-Za-z, ]*\) |.*/\1/p' "$SICKBAY_SOURCE/doc/formats/nonstop.md" | tr -d ' ' | tr ',' '\n' > keys
section nonstop.conf.5 KEYS EXAMPLE | each keys nonstop.conf.5
run 66 sickbay man wyh
says err "did you mean 'why'?"
