-- SPDX-License-Identifier: Apache-2.0
-- title: Percentiles of the wait by class
-- needs: wait_s
-- chart: box x=name low=p10 q1=p25 median=p50 q3=p75 high=p90 most=most count=jobs log=y
-- units: jobs=jobs mean=s p10=s p25=s p50=s p75=s p90=s p95=s p99=s most=s
-- param: of text partition class of jobs: partition, qos, account, user, application, size, run_time or cluster
-- param: top integer 20 how many, those with most jobs; 0: all
-- note: Submission to start. p90 is what 9 of 10 jobs stay under: promise that, not the mean, which a few jobs held back by their users make.
-- counts: started
-- left out: Jobs that never started; jobs of no such class (without a QOS, say).
WITH w AS (
  SELECT CASE getvariable('of')
           WHEN 'partition' THEN at_cluster("partition", cluster_of(cluster)) WHEN 'qos' THEN qos WHEN 'account' THEN account WHEN 'user' THEN user_name
           WHEN 'application' THEN coalesce(application, 'unknown') WHEN 'size' THEN size_class WHEN 'run_time' THEN time_class WHEN 'cluster' THEN cluster_of(cluster)
           ELSE error('of is one of [partition, qos, account, user, application, size, run_time, cluster]') END AS name,
         CASE getvariable('of') WHEN 'size' THEN size_rank WHEN 'run_time' THEN time_rank END AS rank, wait_s
  FROM j WHERE wait_s IS NOT NULL AND started_here
),
g AS (
  SELECT name, rank, count(*) AS jobs, avg(wait_s) AS mean, quantile_disc(wait_s, [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]) AS p, max(wait_s) AS most
  FROM w WHERE name IS NOT NULL GROUP BY name, rank
),
ranked AS (SELECT *, row_number() OVER (ORDER BY jobs DESC, name) AS place FROM g)
SELECT name, jobs, mean, p[1] AS p10, p[2] AS p25, p[3] AS p50, p[4] AS p75, p[5] AS p90, p[6] AS p95, p[7] AS p99, most
FROM ranked
WHERE getvariable('top') <= 0 OR place <= getvariable('top')
ORDER BY rank, place
