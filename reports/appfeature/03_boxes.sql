-- SPDX-License-Identifier: Apache-2.0
-- title: Size, run time and memory of each application
-- needs: application cores known elapsed
-- chart: box x=application low=cores_p5 q1=cores_p25 median=cores_p50 q3=cores_p75 high=cores_p95 least=cores_least most=cores_most count=jobs log=y
-- units: jobs=jobs cores_least=cores cores_p5=cores cores_p25=cores cores_p50=cores cores_p75=cores cores_p95=cores cores_most=cores run_p25=h run_p50=h run_p75=h run_p95=h memory_p25=GiB memory_p50=GiB memory_p75=GiB memory_p95=GiB time_to_size=ratio
-- param: top integer 15 how many applications, by core-hours
-- note: The box shows parallel size: half of the jobs lie in it, 9 of 10 between the whiskers. The table has run time and memory of the largest process likewise.
-- note: time_to_size is the correlation of the logarithms of run time and cores, -1 to 1: near -1 more cores shorten the jobs of an application; near 0 users choose cores without regard to it; above 0 large jobs are the long ones.
-- counts: ended
-- left out: Jobs without a label, and debugging (under 30 minutes, site.json: debug_length).
WITH p AS (
  SELECT application, sum(core_h) AS core_h FROM j WHERE known AND started AND NOT debug GROUP BY 1 ORDER BY 2 DESC NULLS LAST, application LIMIT getvariable('top')
),
q AS (
  SELECT application, count(*) AS jobs,
         quantile_disc(cores, [0.05, 0.25, 0.5, 0.75, 0.95]) AS c, min(cores) AS cores_least, max(cores) AS cores_most,
         quantile_disc(elapsed, [0.25, 0.5, 0.75, 0.95]) AS t,
         quantile_disc(max_rss, [0.25, 0.5, 0.75, 0.95]) AS m,
         corr(ln(elapsed), ln(cores)) AS time_to_size
  FROM j SEMI JOIN p USING (application)
  WHERE started AND ended_here AND NOT debug AND cores > 0 AND elapsed > 0
  GROUP BY application
)
SELECT application, jobs, cores_least, c[1] AS cores_p5, c[2] AS cores_p25, c[3] AS cores_p50, c[4] AS cores_p75, c[5] AS cores_p95, cores_most,
       t[1] / 3600.0 AS run_p25, t[2] / 3600.0 AS run_p50, t[3] / 3600.0 AS run_p75, t[4] / 3600.0 AS run_p95,
       m[1] / 1073741824.0 AS memory_p25, m[2] / 1073741824.0 AS memory_p50, m[3] / 1073741824.0 AS memory_p75, m[4] / 1073741824.0 AS memory_p95,
       CASE WHEN isfinite(time_to_size) THEN time_to_size END AS time_to_size
FROM q JOIN p USING (application)
ORDER BY core_h DESC NULLS LAST, application
