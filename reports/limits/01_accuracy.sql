-- SPDX-License-Identifier: Apache-2.0
-- title: How much of the time limit jobs use
-- needs: limit_share
-- chart: bar x=used_of_limit y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=% timeouts=jobs
-- words: used_of_limit
-- note: The scheduler fills gaps by the limits: when most jobs stand at the left, gaps stay empty and all wait longer. Ask users for a limit of twice the run time; timeouts say where limits are too short.
-- counts: ended amounts
-- left out: Jobs without a limit or with that of the partition, and jobs that never started or still run. Jobs cut short by their own failure count; they did not need the time.
WITH l AS (
  SELECT CASE WHEN limit_share < 0.01 THEN 1 WHEN limit_share < 0.1 THEN 2 WHEN limit_share < 0.25 THEN 3 WHEN limit_share < 0.5 THEN 4
              WHEN limit_share < 0.75 THEN 5 WHEN limit_share < 0.9 THEN 6 WHEN limit_share < 1 THEN 7 ELSE 8 END AS class,
         core_h, ended_here, state = 'TIMEOUT' AS timeout
  FROM j WHERE limit_share IS NOT NULL AND started AND finished AND (ended_here OR ran_here)
)
SELECT ['under 1 %', '1-10 %', '10-25 %', '25-50 %', '50-75 %', '75-90 %', '90-100 %', '100 % and over'][class] AS used_of_limit,
       count(*) FILTER (WHERE ended_here) AS jobs, 100.0 * jobs / nullif(sum(jobs) OVER (), 0) AS job_share,
       sum(core_h) AS core_h, 100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (), 0) AS core_h_share,
       count(*) FILTER (WHERE timeout AND ended_here) AS timeouts
FROM l
GROUP BY class
ORDER BY class
