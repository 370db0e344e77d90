-- SPDX-License-Identifier: Apache-2.0
-- title: Bounded slowdown by job size
-- needs: wait_s size_class
-- chart: box x=size_class low=p10 q1=p25 median=p50 q3=p75 high=p90 most=most count=jobs log=y
-- units: jobs=jobs mean=ratio p10=ratio p25=ratio p50=ratio p75=ratio p90=ratio most=ratio
-- words: size_class
-- param: bound integer 10 run time in seconds below which a job counts as this long
-- note: Slowdown is wait and run time together, of run time: 1 is no wait, 2 is a wait as long as the run. The bound keeps jobs of a second from ruling the figure. Compare the medians: users feel slowdown, not hours.
-- counts: ended
-- left out: Jobs that never started, and jobs whose run time or cores are not known.
WITH q AS (
  SELECT size_class, size_rank, count(*) AS jobs, avg(s) AS mean, quantile_disc(s, [0.1, 0.25, 0.5, 0.75, 0.9]) AS p, max(s) AS most
  FROM (SELECT size_class, size_rank, greatest(1, (wait_s + elapsed) / greatest(elapsed, getvariable('bound'))::DOUBLE) AS s
        FROM j WHERE wait_s IS NOT NULL AND elapsed IS NOT NULL AND size_class IS NOT NULL AND ended_here)
  GROUP BY size_class, size_rank
)
SELECT size_class, jobs, mean, p[1] AS p10, p[2] AS p25, p[3] AS p50, p[4] AS p75, p[5] AS p90, most
FROM q
ORDER BY size_rank
