#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay sql and export, as far as they go without a store: which one is meant, and what is said of it.
. "$(dirname "$0")/common.inc"
unset SICKBAY_STORE

run 66 sickbay sql 'SELECT 1'
says err "there is no store '$HOME/.local/share/sickbay/jobs.duckdb'"
SICKBAY_STORE=$HOME/named.duckdb run 66 sickbay sql --json 'SELECT 1'
says err "there is no store '$HOME/named.duckdb'"
says out '"code": "not_found"'
run 66 sickbay export --store given.duckdb --parquet folder
says err "there is no store 'given.duckdb'"
[ ! -e folder ] || fail "an export without a store left something"

run 64 sickbay sql --format yaml 'SELECT 1'
run 64 sickbay sql --json --format csv 'SELECT 1'
run 64 sickbay export
says err '--parquet'

# What is there and is no store is left as it is.
echo 'a,b' > log.csv
run 74 sickbay sql --store log.csv 'SELECT 1'
says err 'this is not a store'
run 74 sickbay sql --write --store log.csv 'SELECT 1'
[ "$(cat log.csv)" = 'a,b' ] || fail "a file that is no store was changed"
