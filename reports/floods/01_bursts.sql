-- SPDX-License-Identifier: Apache-2.0
-- title: Hours with floods of short jobs
-- needs: user_name elapsed submit_time
-- chart: hbar x=flood y=jobs
-- units: jobs=jobs arrays=count median_run_time=s core_h=core-h failed=%
-- param: seconds integer 60 a job is short under this run time
-- param: jobs integer 100 short jobs of one user in an hour that make a flood
-- param: top integer 20 how many floods
-- note: Each start of a job costs the controller and the file system more than a short job is worth. Ask the user to put many runs into one job (srun steps, GNU parallel) or, when failed is high, to test the script before submitting it a hundred times.
-- counts: submitted whole
-- left out: Jobs that never started, and jobs without a user. The hour is that of submission.
WITH flood AS (
  -- Counted first: the medians of a million small groups would cost more than all else.
  SELECT date_trunc('hour', submit_local) AS hour, user_name, count(*) AS jobs
  FROM j
  WHERE started AND submitted_here AND elapsed < getvariable('seconds') AND submit_local IS NOT NULL AND user_name IS NOT NULL
  GROUP BY ALL
  HAVING count(*) >= getvariable('jobs')
  ORDER BY jobs DESC, hour, user_name
  LIMIT getvariable('top'))
SELECT strftime(flood.hour, '%Y-%m-%d %H:00 ') || flood.user_name AS flood, count(*) AS jobs,
       count(DISTINCT array_job_id) AS arrays, median(elapsed) AS median_run_time, sum(core_s) / 3600.0 AS core_h,
       100.0 * count(*) FILTER (WHERE lost) / count(*) AS failed, mode(job_name ORDER BY job_name) AS job_name
FROM j JOIN flood ON flood.hour = date_trunc('hour', submit_local) AND flood.user_name = j.user_name
WHERE started AND submitted_here AND elapsed < getvariable('seconds')
GROUP BY flood.hour, flood.user_name
ORDER BY jobs DESC, flood
