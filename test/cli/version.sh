#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The version, three ways, all the same.
. "$(dirname "$0")/common.inc"

run 0 sickbay version
version=$(sed -n 's/^sickbay \([0-9.]*\)$/\1/p' out)
[ -n "$version" ] || fail "no version in: $(cat out)"
run 0 sickbay --version
same out <<EOF
sickbay $version
EOF
run 0 sickbay version --json
says out "\"version\": \"$version\""
