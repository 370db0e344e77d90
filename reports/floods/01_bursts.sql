-- SPDX-License-Identifier: Apache-2.0
-- title: Hours with floods of short jobs
-- needs: user_name elapsed submit_time
-- chart: hbar x=flood y=jobs
-- units: jobs=jobs arrays=count median_run_time=s core_h=core-h failed=%
-- param: seconds integer 60 a job is short under this run time
-- param: jobs integer 100 short jobs of one user in an hour that make a flood
-- param: top integer 20 how many floods
-- note: Each start of a job costs the controller and the file system more than a short job is worth. Ask the user to put many runs into one job (srun steps, GNU parallel) or, when failed is high, to test the script before submitting it a hundred times.
-- left out: Jobs that never started, and jobs without a user. The hour is that of submission.
SELECT strftime(date_trunc('hour', submit_local), '%Y-%m-%d %H h ') || user_name AS flood, count(*) AS jobs,
       count(DISTINCT array_job_id) AS arrays, median(elapsed) AS median_run_time, sum(core_h) AS core_h,
       100.0 * count(*) FILTER (WHERE lost) / count(*) AS failed, mode(job_name) AS job_name
FROM j
WHERE started AND elapsed < getvariable('seconds') AND submit_local IS NOT NULL AND user_name IS NOT NULL
GROUP BY date_trunc('hour', submit_local), user_name
HAVING count(*) >= getvariable('jobs')
ORDER BY jobs DESC, flood
LIMIT getvariable('top')
