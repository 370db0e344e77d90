-- SPDX-License-Identifier: Apache-2.0
-- title: Memory of a process of each application
-- needs: application ave_rss known
-- chart: box x=application low=p5 q1=p25 median=p50 q3=p75 high=p95 least=least most=most count=jobs log=y
-- units: jobs=jobs least=GiB p5=GiB p25=GiB p50=GiB p75=GiB p95=GiB most=GiB largest_p50=GiB
-- param: top integer 15 how many applications, by core-hours
-- note: A job counts with the mean of its processes (AveRSS). largest_p50 is the median of the largest process (MaxRSS): far above p50, one process of a job, often the first, needs more than the others, and is what fails on a small node.
-- counts: ended
-- left out: Jobs without a label or without memory measured, and debugging (under 30 minutes, site.json: debug_length).
WITH p AS (
  SELECT application, sum(core_h) AS core_h FROM j WHERE known AND started AND NOT debug GROUP BY 1 ORDER BY 2 DESC NULLS LAST, application LIMIT getvariable('top')
),
q AS (
  SELECT application, count(*) AS jobs, min(ave_rss) AS least, max(ave_rss) AS most, quantile_disc(ave_rss, [0.05, 0.25, 0.5, 0.75, 0.95]) AS m,
         quantile_disc(max_rss, 0.5) AS largest
  FROM j SEMI JOIN p USING (application)
  WHERE started AND ended_here AND NOT debug AND ave_rss IS NOT NULL
  GROUP BY application
)
SELECT application, jobs, least / 1073741824.0 AS least, m[1] / 1073741824.0 AS p5, m[2] / 1073741824.0 AS p25, m[3] / 1073741824.0 AS p50,
       m[4] / 1073741824.0 AS p75, m[5] / 1073741824.0 AS p95, most / 1073741824.0 AS most, largest / 1073741824.0 AS largest_p50
FROM q JOIN p USING (application)
ORDER BY core_h DESC NULLS LAST, application
