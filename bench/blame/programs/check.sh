#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh PROGRAM SIZE: a user's --check: whether the output of a run has the known digest.
known=$("${BLAME_PROGRAMS:?is not set: the folder of the programs, build/blame}/$1" --digest "$2") || exit 1
grep -q "^$1: digest $known" "${SICKBAY_OUTPUT:?is not set: sickbay sets it}"
