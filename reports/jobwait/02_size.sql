-- SPDX-License-Identifier: Apache-2.0
-- title: Wait by job size
-- needs: wait_s size_class
-- chart: box x=size_class low=p10 q1=p25 median=p50 q3=p75 high=p90 most=most count=jobs log=y
-- units: jobs=jobs mean=s p10=s p25=s p50=s p75=s p90=s most=s queued_core_h=core-h
-- words: size_class
-- note: The box holds the middle half of the jobs, the whiskers 8 of 10. Large jobs wait longer everywhere; when middle sizes wait longer than large ones, priorities or reservations hold them up.
-- counts: started waits
-- left out: Jobs that never started, and jobs whose cores are not known.
WITH q AS (
  SELECT size_class, size_rank, count(*) FILTER (WHERE started_here) AS jobs, avg(wait_s) FILTER (WHERE started_here) AS mean,
         quantile_disc(wait_s, [0.1, 0.25, 0.5, 0.75, 0.9]) FILTER (WHERE started_here) AS p,
         max(wait_s) FILTER (WHERE started_here) AS most, sum(queued_core_h) AS queued_core_h
  FROM j WHERE wait_s IS NOT NULL AND size_class IS NOT NULL AND (started_here OR queued_core_h > 0)
  GROUP BY size_class, size_rank
)
SELECT size_class, jobs, mean, p[1] AS p10, p[2] AS p25, p[3] AS p50, p[4] AS p75, p[5] AS p90, most, queued_core_h
FROM q
ORDER BY size_rank
