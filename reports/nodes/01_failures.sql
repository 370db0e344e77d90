-- SPDX-License-Identifier: Apache-2.0
-- title: Failures of each node
-- needs: state node_list|failed_node|node_events.node
-- chart: hbar x=node y=suspicion,events suffix=cluster
-- units: node_fail_jobs=jobs suspicion=count lost_core_h=core-h events=count down_h=h
-- param: top integer 25 how many nodes
-- note: node_fail_jobs are jobs on the node that ended in NODE_FAIL. Suspicion adds 1 for each of them, shared among all nodes of the job where the log does not name the node that failed. events and down_h come from the node events in the store.
-- note: A node that stands far above the rest is to be drained and tested, also when each failure had its own explanation.
-- counts: ended amounts outages
-- left out: NODE_FAIL jobs without a node list. Nodes with names of two bracketed parts stay together as one row.
WITH failed AS (
  SELECT row_number() OVER () AS job, coalesce(failed_node, node_list) AS hosts, core_h, ended_here, cluster_of(cluster) AS of_cluster
  FROM j WHERE (ended_here OR ran_here) AND (state = 'NODE_FAIL' OR failed_node IS NOT NULL) AND coalesce(failed_node, node_list) IS NOT NULL
),
-- "n[1-3,07],login1" -> names with one bracket each -> its ranges -> the nodes.
names AS (SELECT job, core_h, ended_here, of_cluster, unnest(regexp_extract_all(hosts, '[^,\[]+(?:\[[^\]]*\][^,\[]*)*')) AS name FROM failed),
ranges AS (
  SELECT job, core_h, ended_here, of_cluster, name, regexp_extract(name, '^([^\[]*)\[', 1) AS before, regexp_extract(name, '\]([^\[]*)$', 1) AS behind,
         unnest(CASE WHEN regexp_full_match(name, '[^\[]*\[[0-9,-]+\][^\[]*') THEN string_split(regexp_extract(name, '\[([^\]]*)\]', 1), ',') ELSE [NULL] END) AS span
  FROM names
),
bounds AS (
  SELECT *, split_part(span, '-', 1) AS low, try_cast(split_part(span, '-', 1) AS BIGINT) AS first, try_cast(split_part(span, '-', -1) AS BIGINT) AS last
  FROM ranges
),
hosts AS (
  SELECT job, core_h, ended_here, of_cluster, CASE WHEN number IS NULL THEN name ELSE before || lpad(number::VARCHAR, greatest(length(low), length(number::VARCHAR))::INTEGER, '0') || behind END AS node
  FROM (SELECT *, unnest(CASE WHEN first IS NULL OR last IS NULL THEN [NULL] ELSE range(first, least(last, first + 65535) + 1) END) AS number FROM bounds)
),
shared AS (SELECT *, 1.0 / count(*) OVER (PARTITION BY job) AS part FROM (SELECT DISTINCT job, core_h, ended_here, of_cluster, node FROM hosts)),
by_job AS (SELECT of_cluster, node, count(*) FILTER (WHERE ended_here) AS node_fail_jobs, sum(part) FILTER (WHERE ended_here)::DOUBLE AS suspicion, sum(core_h) AS lost_core_h FROM shared GROUP BY of_cluster, node),
by_node AS (
  SELECT cluster, node, count(*) FILTER (WHERE began_here) AS events, sum(greatest(epoch_us(ends) - epoch_us(counted_from), 0)) / 3600e6 AS down_h,
         mode(reason ORDER BY begins, reason) AS reason
  FROM node_down GROUP BY cluster, node
),
both_sides AS (
  SELECT coalesce(j.node, n.node) AS node, coalesce(j.of_cluster, n.cluster) AS cluster, coalesce(node_fail_jobs, 0) AS node_fail_jobs, round(coalesce(suspicion, 0), 3) AS suspicion, lost_core_h,
         CASE WHEN coalesce(j.of_cluster, n.cluster, '') IN (SELECT coalesce(cluster_of(e.cluster), '') FROM node_events e) THEN coalesce(events, 0) END AS events, down_h, reason
  FROM by_job j FULL JOIN by_node n ON n.node = j.node AND n.cluster IS NOT DISTINCT FROM j.of_cluster
)
SELECT * FROM both_sides
ORDER BY suspicion + coalesce(events, 0) DESC, down_h DESC NULLS LAST, node, cluster
LIMIT getvariable('top')
