#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two clusters in one store whose nodes have the same names: capacity, outages and use are of each cluster, and of both the sum; a node
# that grew counts by what it had on the day.  The figures are compared with awk's, which reads the same text.
. "$(dirname "$0")/common.inc"
unset SICKBAY_STORE

# a: two nodes of 16 cores, of which n2 has 32 from the second day on; b: one node of 64, also n1.
cat > a.nodes <<'EOF'
NodeName=n1 CPUTot=16 Partitions=cpu
NodeName=n2 CPUTot=16 Partitions=cpu
EOF
sed 's/^NodeName=n2 CPUTot=16/NodeName=n2 CPUTot=32/' a.nodes > a2.nodes
echo 'NodeName=n1 CPUTot=64 Partitions=cpu' > b.nodes
cat > events <<'EOF'
Cluster|NodeName|TimeStart|TimeEnd|State|Reason
a|n2|2021-05-02T00:00:00|2021-05-02T06:00:00|DOWN|disk
b|n1|2021-05-01T12:00:00|2021-05-01T18:00:00|DOWN|fan
b|n1|2021-05-02T00:00:00|2021-05-02T01:00:00|DOWN|fan
EOF
# a is nearly full, b nearly empty.  One job runs over midnight.
cat > a.log <<'EOF'
JobID|User|Partition|State|Submit|Start|End|AllocCPUS|NodeList
1|ann|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:00|2021-05-01T23:00:00|16|n1
2|ann|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T01:00:00|2021-05-01T22:30:00|16|n2
3|bob|cpu|NODE_FAIL|2021-05-01T00:00:00|2021-05-01T22:30:00|2021-05-02T00:00:00|16|n2
4|bob|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-01T23:00:00|2021-05-02T20:00:00|16|n1
5|bob|cpu|COMPLETED|2021-05-01T00:00:00|2021-05-02T06:00:00|2021-05-02T20:00:00|32|n2
EOF
cat > b.log <<'EOF'
JobID|User|Partition|State|Submit|Start|End|AllocCPUS|NodeList
1|ann|cpu|NODE_FAIL|2021-05-01T00:00:00|2021-05-01T00:00:00|2021-05-01T12:00:00|8|n1
2|cat|cpu|COMPLETED|2021-05-01T18:00:00|2021-05-01T19:00:00|2021-05-02T00:00:00|8|n1
EOF
awk -F'|' '
  function hours(text) { return (substr(text, 9, 2) - 1) * 24 + substr(text, 12, 2) + substr(text, 15, 2) / 60 }
  function both(a, b, c, d) { a = a > c ? a : c; b = b < d ? b : d; return b > a ? b - a : 0 }
  BEGIN { cores["a", "n1", 0] = cores["a", "n1", 1] = cores["a", "n2", 0] = 16; cores["a", "n2", 1] = 32; cores["b", "n1", 0] = cores["b", "n1", 1] = 64
          for (key in cores) { split(key, part, SUBSEP); all[part[1], part[3]] += cores[key] * 24 } }
  FNR == 1 { file = FILENAME; next }
  file == "events" { for (d = 0; d < 2; d++) down[$1, d] += cores[$1, $2, d] * both(hours($3), hours($4), d * 24, d * 24 + 24); next }
  { for (d = 0; d < 2; d++) used[substr(file, 1, 1), d] += $8 * both(hours($6), hours($7), d * 24, d * 24 + 24) }
  function line(name, total, lost, run) { printf "%s %.2f %.2f %.2f %.2f\n", name, total - lost, run, 100 * (total - lost) / total, 100 * run / (total - lost) }
  END {
    n = split("a b", cluster, " ")
    for (i = 1; i <= n; i++) { c = cluster[i]; line(c, all[c, 0] + all[c, 1], down[c, 0] + down[c, 1], used[c, 0] + used[c, 1]) }
    for (d = 0; d < 2; d++) line("day" d + 1, all["a", d] + all["b", d], down["a", d] + down["b", d], used["a", d] + used["b", d])
  }' events a.log b.log > wanted

run 0 sickbay import --store s.db --cluster a --nodes a.nodes a.log
run 0 sickbay import --store s.db --cluster a --nodes a2.nodes --nodes-since 2021-05-02
says out '2 nodes: 0 new, 1 changed'
run 0 sickbay import --store s.db --cluster b --nodes b.nodes b.log
run 0 sickbay import --store s.db --events events
says out '3 node events: 3 new'
# The same once more changes nothing.
run 0 sickbay import --store s.db --cluster a --nodes a2.nodes --nodes-since 2021-05-02 --events events
says out '2 nodes: 0 new, 0 changed'
says out '3 node events: 0 new, 0 changed'

report() { run 0 sickbay report --store s.db --from 2021-05-01 --to 2021-05-03 --reports systatus.summary,systatus.utilisation,systatus.clusters,nodes.failures --out r.json "$@"; }
# rows REPORT FILTER: its rows as objects of jq.
rows() {
  jq -r --arg id "$1" '.reports[] | select(.id == $id) | [.columns[].name] as $n | .rows[] | [$n, .] | transpose | map({(.[0]): .[1]}) | add | '"$2" r.json
}
figures='"\(.available_core_h) \(.used_core_h) \(.availability) \(.utilisation)"'
rounded() { awk '{ printf "%s %.2f %.2f %.2f %.2f\n", $1, $2, $3, $4, $5 }'; }
report
{
  rows systatus.clusters "\"\\(.cluster) \" + $figures"
  rows systatus.utilisation "\"day\\(.day[9:10]) \" + $figures"
} | rounded > out
same out < wanted
utilisation() { rows systatus.summary 'select(.name == "Utilisation") | .value | . * 1000 | round' > out; }
utilisation
awk '/^day/ { available += $2; used += $3 } END { printf "%.0f\n", 100000 * used / available }' wanted > sum
same out < sum
# A node's failures are of its cluster.
rows nodes.failures '"\(.cluster) \(.node) \(.node_fail_jobs) \(.events) \(.down_h | round)"' | sort > out
same out <<'EOF'
a n2 1 1 6
b n1 1 2 7
EOF

# Of one cluster alone: its nodes, no others.
report --clusters b
utilisation
awk '$1 == "b" { printf "%.0f\n", 100000 * $3 / $2 }' wanted > sum
same out < sum

# Whose nodes these are cannot be guessed here.
run 65 sickbay import --store s.db --nodes a.nodes
says err "'a', 'b'"
says err '--cluster'
# sinfo names the cluster itself.
printf 'CLUSTER: b\nNODELIST NODES PARTITION STATE CPUS MEMORY\nn7 1 cpu idle 8 100\n' > sinfo
run 0 sickbay import --store s.db --nodes sinfo --nodes-since 2021-05-02
says out '1 nodes: 1 new'
run 0 sickbay sql --store s.db --format csv "SELECT cluster, cpus, valid_from FROM nodes WHERE node = 'n7'"
says out 'b,8,2021-05-02T00:00:00'
run 64 sickbay import --store s.db --nodes sinfo --nodes-since soon
