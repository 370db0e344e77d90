#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sickbay-agent --nhc: an nhc.conf as it is, for a week beside NHC; it writes no rules, and hears of a change.
. "$(dirname "$0")/common.inc"
[ "$(id -u)" -eq 0 ] || fail "needs root: the agent does"
mkdir -p root/var/lib
host=$(uname -n)
cat >nhc.conf <<END
# Of this node, of all, of others.
   $host || check_file_test -d /tmp
   * || export LICENSES=4
   n1 || check_file_test -e /nosuch
   !n1 || check_fs_free / 100%
   {n[2-9]} || check_file_test -e /nosuch
   * || check_moab_sched -t 10
   * || site_check \$LICENSES
END
echo '{"node": {"name": "n1"}}' >agent.json
agent=0
clean_up() { [ "$agent" -eq 0 ] || kill "$agent" 2>/dev/null || :; }
# soon TEXT: the agent says it within half a minute.
soon() {
  for _ in $(seq 300); do grep -qF -e "$1" log && return; sleep 0.1; done
  cat log >&2; fail "the agent does not say: $1"
}

# What becomes of each line.
run 0 sickbay-agent --config agent.json --nhc nhc.conf --check-config
says out "line 7: no: 'check_moab_sched -t 10' (it asks another resource manager)"
says out "line 8: stub: 'site_check \$LICENSES' (it is no check of NHC's own)"
says out '6 of 7 lines taken: 2 whole, 1 as stubs, 1 settings, 2 for other nodes'

# Once: what this node fails, and nothing else.
run 0 sickbay-agent --config agent.json --nhc nhc.conf --once
says err 'event=finding specification=nhc rule=out_4 result=fault action=drain'
[ "$(grep -c 'result=fault' err)" -eq 1 ] || { cat err >&2; fail "other lines failed, too"; }
says err 'there is no such check or command in /etc/nhc/scripts'

# On and on; another nhc.conf is other rules.
sickbay-agent --config agent.json --nhc nhc.conf 2>log & agent=$!
soon 'event=started'
echo '   * || check_file_test -e /nosuch/either' >>nhc.conf
kill -HUP "$agent"
soon 'event=rules_changed specifications=1'
# A slip of the pen leaves the old ones in force.
echo '   * check_file_test' >>nhc.conf
kill -HUP "$agent"
soon 'event=rules_refused what='
kill -0 "$agent" || fail "a typo ended the agent"
kill "$agent"; wait "$agent" || :
agent=0
# But nobody begins with rules that were not asked for.
run 65 sickbay-agent --config agent.json --nhc nhc.conf
says err "nhc.conf:10: '* check_file_test' has no '||'"
[ -z "$(find root -name '*rules*' -o -name 'nhc*.json')" ] || { find root; fail "it wrote rules"; }
run 66 sickbay-agent --config agent.json --nhc gone.conf --check-config
