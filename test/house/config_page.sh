#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/formats/config.md lists the keys that sickbayd takes, in its words.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$SICKBAY_BIN/sickbayd" --help-config > "$work/keys"
[ "$(wc -l < "$work/keys")" -ge 20 ] || { echo "sickbayd --help-config lists too few keys" >&2; exit 1; }
grep '^| `' "$SICKBAY_SOURCE/doc/formats/config.md" | diff -u - "$work/keys" ||
  { echo "doc/formats/config.md (first) is not what sickbayd --help-config prints" >&2; exit 1; }
"$SICKBAY_BIN/sickbay-agent" --help-config > "$work/keys"
[ "$(wc -l < "$work/keys")" -ge 8 ] || { echo "sickbay-agent --help-config lists too few keys" >&2; exit 1; }
grep '^| `' "$SICKBAY_SOURCE/doc/formats/agent.md" | diff -u - "$work/keys" ||
  { echo "doc/formats/agent.md (first) is not what sickbay-agent --help-config prints" >&2; exit 1; }
"$SICKBAY_BIN/sickbay-agent" --help-components > "$work/keys"
[ "$(wc -l < "$work/keys")" -ge 8 ] || { echo "sickbay-agent --help-components lists too few keys" >&2; exit 1; }
grep '^| `' "$SICKBAY_SOURCE/doc/formats/component.md" | diff -u - "$work/keys" ||
  { echo "doc/formats/component.md (first) is not what sickbay-agent --help-components prints" >&2; exit 1; }
