#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file that was named and is not there: the remedy speaks of its path, not of the names of cases and nodes.
# shellcheck source=test/cli/common.inc
. "$(dirname "$0")/common.inc"
export SICKBAY_STORE=$work/jobs.duckdb
log=$SICKBAY_SOURCE/test/fixtures/workload/drac-2021.sacct.txt

missing() {
  run 66 "$@"
  says err "no/such"
  says err "remedy: check the path"
  silent_about err "sickbay cases"
}
missing sickbay import no/such
missing sickbay import --nodes no/such
missing sickbay import --events no/such
missing sickbay import "$log" --rejects no/such/file
missing sickbay report no/such
missing sickbay report "$log" --nodes no/such
missing sickbay report "$log" --pseudonyms no/such
missing sickbay report "$log" --column-map no/such
missing sickbay report "$log" --labels no/such
missing sickbay report --site no/such
missing sickbay labels list --labels no/such
missing sickbay labels audit --marked no/such
missing sickbay rules lint no/such
missing sickbay rules import-nhc no/such
missing sickbay rules import-nhc "$SICKBAY_SOURCE/src/engine/diagnose/testdata/nhc.conf" --out no/such
missing sickbay journal --file no/such
