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
  # groff finds what is no roff.
  if command -v groff >/dev/null; then
    groff -man -Tascii -ww new.1 > /dev/null 2> warnings
    [ ! -s warnings ] || { cat warnings >&2; fail "groff objects to $1"; }
  fi
}
page sickbay.1 ''
while read -r command; do page "sickbay-$command.1" "$command"; done < commands
[ "$rewrite" != --rewrite ] || echo '.so man1/sickbay-submit.1' > "$pages/mybatch.1"
echo '.so man1/sickbay-submit.1' | diff -u "$pages/mybatch.1" - || fail "mybatch.1 should point to sickbay-submit.1"

# No page without a command.
for file in "$pages"/*.1; do
  name=$(basename "$file" .1); name=${name#sickbay-}
  case $name in sickbay|mybatch) continue ;; esac
  grep -qx "$name" commands || fail "$file is of no command"
done
run 66 sickbay man wyh
says err "did you mean 'why'?"
