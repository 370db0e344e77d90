#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A login host that is not the controller: its commands find sickbayd through Slurm and speak TCP, signed by MUNGE.
#   login.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: login.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 3 --spares 0 --logins 1
patience=180
# at_login USER COMMAND...: there, in the user's home.
at_login() {
  local user=$1
  shift
  # shellcheck disable=SC2016
  "$sickbay" lab exec -l "$lab" --node login1 --user "$user" -- sh -c 'cd && exec "$@"' sh "$@"
}
# is CODE WHAT COMMAND...: the command's exit code; what it said is in $folder/out.
is() {
  local wanted=$1 what=$2 code=0
  shift 2
  checks=$((checks + 1))
  "$@" >"$folder/out" 2>&1 || code=$?
  [ "$code" = "$wanted" ] || { fail "$what: exit code $code in place of $wanted"; cat "$folder/out"; }
}
says() {
  checks=$((checks + 1))
  grep -qF -e "$1" "$folder/out" || { fail "it does not say '$1'"; cat "$folder/out"; }
}
root=$(root_of login1)
[ ! -e "$root/run/sickbay/sickbayd.sock" ] || fail "the login host sees the socket: nothing here would be tested"
printf '#!/bin/sh\necho token=%s; exit 3\n' '$SECRET' | at_login alice sh -c 'cat >job.sh'

# --- a job that fails
is 0 "submit" at_login alice env SECRET=s3cret "$sickbay" submit --require-case --json -N1 -t5 job.sh
job=$(sed -n 's/.*"job_id": \([0-9]*\).*/\1/p' "$folder/out")
case=$(sed -n 's/.*"case": "\(c[0-9]*\)".*/\1/p' "$folder/out")
[ -n "$job" ] && [ -n "$case" ] || fail "no job and case in: $(cat "$folder/out")"
at_login alice timeout 100 "$sickbay" watch --json "$case" >"$folder/watched" 2>&1 &
watching=$!
is 10 "why --wait" at_login alice timeout 150 "$sickbay" why --wait "$job"
says "program"
checks=$((checks + 1))
wait "$watching" && grep -q '"kind":"case_closed"' "$folder/watched" || { fail "watch did not see the end"; cat "$folder/watched"; }
is 0 "cases" at_login alice "$sickbay" cases --all
says "$case"
is 0 "status" at_login alice "$sickbay" status
is 0 "the journal" at_login alice "$sickbay" journal --subject "$case"
says "case"
ctl "$sickbay" why --json "$case" >"$folder/seen" 2>/dev/null || true
checks=$((checks + 1))
grep -q '"user": "alice"' "$folder/seen" || fail "the case is not alice's: $(cat "$folder/seen")"

# --- a home that the controller does not have: sbatch runs elsewhere, the job where it belongs
"$sickbay" lab fault -l "$lab" ctl storage-away >/dev/null
# (No copy can be made there: with --rerun=copy the case would ask.)
is 0 "submit" at_login alice env SECRET=s3cret "$sickbay" submit --rerun=same --require-case --json -N1 -t5 job.sh
away=$(sed -n 's/.*"case": "\(c[0-9]*\)".*/\1/p' "$folder/out")
is 10 "why --wait" at_login alice timeout 150 "$sickbay" why --wait "$away"
checks=$((checks + 1))
at_login alice sh -c "grep -q token=s3cret sickbay-$away-*.out" || { fail "the re-run left no output beside the job's"; at_login alice ls -l; }
"$sickbay" lab heal -l "$lab" ctl storage-away >/dev/null

# --- who may not
is 77 "another user" at_login bob "$sickbay" why "$job"
says "belongs to alice"
is 77 "root there" at_login root "$sickbay" why "$job"
says "root of another host"
says "remedy: use your own account"
is 77 "root there lifts no drain" at_login root "$sickbay" undo-drains n1
is 77 "root of a node" "$sickbay" lab exec -l "$lab" --node n1 -- "$sickbay" undo-drains --controller "ctl:$(sed -n 's/.*"listen": "0.0.0.0:\([0-9]*\)".*/\1/p' "$root/etc/sickbay/sickbay.json")" n1
is 77 "a user is no operator" at_login alice "$sickbay" undo-drains n1

# --- what goes wrong
is 69 "a host that is none" at_login alice "$sickbay" status --controller no-such-host.invalid
says "its name is not known"
is 65 "a place that is none" at_login alice "$sickbay" status --controller 'x y'
is 69 "a port where nobody listens" at_login alice "$sickbay" status --controller ctl:1
says "sickbayd does not answer at ctl, port 1"
says "--controller named it"
kill_service login1 munged
is 69 "munged stopped" at_login alice "$sickbay" status
says "munged does not answer"
heal login1
is 0 "munged back" at_login alice "$sickbay" status
kill_service ctl sickbayd
is 69 "sickbayd stopped" at_login alice "$sickbay" status
says "sickbayd does not answer at"
says "SlurmctldHost"
is 0 "a submission while sickbayd is stopped" at_login alice "$sickbay" submit -N1 -t5 --wrap true
says "Submitted batch job"
says "warning: no case is kept for this job"
heal ctl
until_true "sickbayd is back" at_login alice "$sickbay" status

# --- a clock that is wrong
"$sickbay" lab fault -l "$lab" login1 clock=+900 >/dev/null
is 77 "a clock that is ahead" at_login alice "$sickbay" status
says "from the future"
"$sickbay" lab heal -l "$lab" login1 clock >/dev/null
until_true "the clock is right again" at_login alice "$sickbay" status

# --- the site refuses submissions that come unencrypted
config=$folder/root/etc/sickbay/sickbay.json
jq '.client.submit = false' "$config" >"$config.new"
mv "$config.new" "$config"
restart ctl sickbayd
until_true "sickbayd is back" at_login alice "$sickbay" status
is 77 "submissions are refused" at_login alice "$sickbay" submit --require-case -N1 -t5 --wrap true
says "client.submit"
is 0 "on the controller they are not" "$sickbay" lab exec -l "$lab" --user alice -- sh -c "cd && $sickbay submit --require-case -N1 -t5 job.sh"

finish
