-- SPDX-License-Identifier: Apache-2.0
-- title: The clusters apart
-- needs: core_h
-- chart: hbar x=cluster y=availability,utilisation
-- units: jobs=jobs users=users nodes=nodes used_core_h=core-h available_core_h=core-h total_core_h=core-h availability=% utilisation=%
-- note: total_core_h is what the nodes of a cluster had, each with the cores that it had at the time; available_core_h is without the time in which they were down. Utilisation is of the time from which on the store knows the nodes.
-- note: A cluster with a low utilisation beside one with long waits: let jobs go to it.
-- counts: ended amounts outages
-- left out: Nodes whose cores are not known. Availability of clusters without node events, capacity of those without nodes in the store. Users of several clusters count in each.
WITH sizes AS (
  SELECT cluster, min(begins) AS since, count(DISTINCT node) AS nodes, bool_or(watched) AS watched,
         sum(cpus * (epoch_us(ends) - epoch_us(begins))) / 3600e6 AS total_h
  FROM node_sizes GROUP BY cluster
),
down AS (SELECT cluster, sum(cpus * (epoch_us(ends) - epoch_us(begins))) / 3600e6 AS lost_h FROM node_lost GROUP BY cluster),
used AS (
  SELECT cluster_of(j.cluster) AS of_cluster, count(*) FILTER (WHERE ended_here) AS jobs, nullif(count(DISTINCT user_name), 0) AS users, sum(core_h) AS core_h,
         sum(core_h * greatest(epoch_us(least(run_ends, ends)) - epoch_us(greatest(run_begins, since)), 0)::DOUBLE
             / (epoch_us(run_ends) - epoch_us(run_begins))) FILTER (WHERE since IS NOT NULL) AS used_h
  FROM j CROSS JOIN period LEFT JOIN sizes s ON s.cluster IS NOT DISTINCT FROM cluster_of(j.cluster)
  WHERE ended_here OR ran_here GROUP BY 1
),
c AS (
  SELECT coalesce(u.of_cluster, s.cluster, '(no cluster)') AS cluster, coalesce(jobs, 0) AS jobs, users, nodes, core_h, total_h, coalesce(lost_h, 0) AS lost_h, watched,
         CASE WHEN s.since IS NOT NULL THEN coalesce(used_h, 0) END AS used_h
  FROM used u FULL JOIN sizes s ON s.cluster IS NOT DISTINCT FROM u.of_cluster LEFT JOIN down d ON d.cluster IS NOT DISTINCT FROM s.cluster
)
SELECT cluster, jobs, users, nodes, core_h AS used_core_h, total_h - CASE WHEN watched THEN lost_h END AS available_core_h, total_h AS total_core_h,
       CASE WHEN watched THEN 100 * (total_h - lost_h) / nullif(total_h, 0) END AS availability,
       100 * used_h / nullif(total_h - lost_h, 0) AS utilisation
FROM c
ORDER BY core_h DESC NULLS LAST, cluster
