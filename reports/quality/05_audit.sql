-- SPDX-License-Identifier: Apache-2.0
-- title: A sample of labelled jobs to check by hand
-- needs: application user_name
-- chart: none
-- units: core_h=core-h
-- words: labelled_by
-- param: users integer 20 how many users
-- param: sample integer 300 how many jobs
-- param: seed integer 1 another number draws another sample
-- note: Ask the users, or read their scripts: is the application right? Of 300 jobs without a mistake, the true share of mistakes is under 1 % with a probability of 95 %. `sickbay labels audit` keeps the answers and reports the precision.
-- counts: ended whole
-- left out: Jobs without a label, without a user, or that never started. The draw depends on the seed only, so it can be repeated.
WITH people AS (
  SELECT user_name FROM (SELECT DISTINCT user_name FROM j WHERE known AND started AND ended_here AND user_name IS NOT NULL)
  ORDER BY hash(user_name, getvariable('seed')), user_name LIMIT getvariable('users')
),
drawn AS (
  SELECT user_name, application, job_name, step_names, work_dir, labelled_by, job_id, submit_time, core_s / 3600.0 AS core_h
  FROM j SEMI JOIN people USING (user_name)
  WHERE known AND started AND ended_here
  ORDER BY hash(job_id, getvariable('seed')), job_id, submit_time LIMIT getvariable('sample')
)
SELECT user_name, application, job_name, step_names, work_dir, labelled_by, job_id, core_h
FROM drawn
ORDER BY user_name, application, job_id, submit_time
