-- SPDX-License-Identifier: Apache-2.0
-- title: Who uses which application
-- needs: application known user_name
-- chart: none
-- units: jobs=jobs core_h=core-h share=% success=%
-- param: top integer 10 how many applications, by core-hours
-- param: users integer 10 how many users of each
-- note: share is what the user holds of the core-hours of the application; success is the share of the user's jobs that completed. The first of an application are those to ask about it; one whose success is far below that of the others needs help.
-- counts: ended amounts
-- left out: Jobs without a label or a user, and jobs that never started.
WITH u AS (
  SELECT application, user_name, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h,
         100.0 * count(*) FILTER (WHERE ok AND ended_here) / nullif(count(*) FILTER (WHERE finished AND ended_here), 0) AS success
  FROM j WHERE known AND started AND user_name IS NOT NULL AND (ended_here OR ran_here)
  GROUP BY application, user_name
),
a AS (
  SELECT application, sum(core_h) AS total, row_number() OVER (ORDER BY sum(core_h) DESC NULLS LAST, sum(jobs) DESC, application) AS place
  FROM u GROUP BY application
),
r AS (
  SELECT u.*, total, a.place AS of_all, row_number() OVER (PARTITION BY application ORDER BY core_h DESC NULLS LAST, jobs DESC, user_name) AS place
  FROM u JOIN a USING (application)
  WHERE a.place <= getvariable('top')
)
SELECT application, user_name, jobs, core_h, 100 * core_h / nullif(total, 0) AS share, success
FROM r
WHERE place <= getvariable('users')
ORDER BY of_all, place
