-- SPDX-License-Identifier: Apache-2.0
-- title: Coverage of demand by partition, QOS and account
-- needs: wait_s
-- chart: hbar x=name y=coverage group=kind suffix=kind
-- units: jobs=jobs used=core-h demanded=core-h coverage=% median_wait=h p90_wait=h
-- words: kind
-- param: top integer 15 how many of each kind, by core-hours
-- note: demanded is core-hours used and queued (wait times cores); coverage is used of demanded. Over 85 % is a queue in which jobs start soon; far below, the queue has too few nodes for its users, or a policy holds its jobs.
-- note: In a queue of short test jobs coverage is low with short waits: look at median_wait first.
-- counts: started amounts waits
-- left out: Jobs that never started, and jobs whose run time or cores are not known.
WITH w AS (
  SELECT at_cluster("partition", cluster_of(cluster)) AS "partition", qos, account, core_h, queued_core_h AS queued_h, CASE WHEN started_here THEN wait_s END AS wait_s
  FROM j WHERE core_h IS NOT NULL AND queued_core_h IS NOT NULL AND (started_here OR ran_here OR queued_core_h > 0)
),
g AS (
  SELECT 0 AS kind_place, 'all' AS kind, '(all)' AS name, count(wait_s) AS jobs, sum(core_h) AS used, sum(core_h) + sum(queued_h) AS demanded,
         quantile_disc(wait_s, [0.5, 0.9]) AS p FROM w HAVING count(*) > 0
  UNION ALL
  SELECT 1, 'partition', "partition", count(wait_s), sum(core_h), sum(core_h) + sum(queued_h), quantile_disc(wait_s, [0.5, 0.9]) FROM w WHERE "partition" IS NOT NULL GROUP BY 3
  UNION ALL
  SELECT 2, 'QOS', qos, count(wait_s), sum(core_h), sum(core_h) + sum(queued_h), quantile_disc(wait_s, [0.5, 0.9]) FROM w WHERE qos IS NOT NULL GROUP BY 3
  UNION ALL
  SELECT 3, 'account', account, count(wait_s), sum(core_h), sum(core_h) + sum(queued_h), quantile_disc(wait_s, [0.5, 0.9]) FROM w WHERE account IS NOT NULL GROUP BY 3
),
ranked AS (SELECT *, row_number() OVER (PARTITION BY kind_place ORDER BY used DESC, jobs DESC, name) AS place FROM g)
SELECT kind, name, jobs, used, demanded, 100 * used / nullif(demanded, 0) AS coverage, p[1] / 3600.0 AS median_wait, p[2] / 3600.0 AS p90_wait
FROM ranked
WHERE place <= getvariable('top')
ORDER BY kind_place, place
