-- SPDX-License-Identifier: Apache-2.0
-- title: Whose limits are furthest from the run time
-- needs: limit_share user_name
-- chart: hbar x=user_name y=unused_core_h
-- units: jobs=jobs unused_core_h=core-h share=% median_used=% timeouts=% median_limit=h median_run_time=h
-- param: top integer 20 how many users
-- note: unused_core_h is the time that was asked for and not run, times cores, of jobs that completed: what the scheduler had to plan for and did not get. A user with a low median_used and no timeouts can ask for half and will start sooner.
-- counts: ended whole
-- left out: Jobs without a limit, and jobs that never started or still run; only jobs that completed count for unused_core_h.
WITH u AS (
  SELECT user_name, sum(greatest(time_limit - elapsed, 0) * cores * ok::INTEGER) / 3600.0 AS unused_core_h
  FROM j WHERE limit_share IS NOT NULL AND started AND finished AND ended_here GROUP BY user_name
),
first AS (
  SELECT user_name, coalesce(unused_core_h, 0) AS unused_core_h, 100 * unused_core_h / nullif((SELECT sum(unused_core_h) FROM u), 0) AS share
  FROM u ORDER BY 2 DESC, user_name NULLS LAST LIMIT getvariable('top')
)
-- Medians of those only that are shown.
SELECT coalesce(f.user_name, '(no user)') AS user_name, count(*) AS jobs, any_value(unused_core_h) AS unused_core_h, any_value(share) AS share,
       100 * median(limit_share) AS median_used, 100.0 * count(*) FILTER (WHERE state = 'TIMEOUT') / count(*) AS timeouts,
       median(time_limit) / 3600.0 AS median_limit, median(elapsed) / 3600.0 AS median_run_time
FROM j JOIN first f ON j.user_name IS NOT DISTINCT FROM f.user_name
WHERE limit_share IS NOT NULL AND started AND finished AND ended_here
GROUP BY f.user_name
ORDER BY unused_core_h DESC, f.user_name NULLS LAST
