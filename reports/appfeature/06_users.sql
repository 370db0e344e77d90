-- SPDX-License-Identifier: Apache-2.0
-- title: Users of each application
-- needs: application known user_name
-- chart: hbar x=application y=users
-- units: users=users user_share=% jobs=jobs core_h=core-h
-- words: field
-- param: top integer 25 how many applications
-- note: Who ran the application at least once; user_share is of all users whose jobs ran. What half of the users need is worth a course and an installation of its own.
-- counts: ended amounts
-- left out: Jobs without a label or a user, and jobs that never started.
WITH u AS (
  SELECT application, user_name, known, min(app_field) AS field, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h
  FROM j WHERE started AND user_name IS NOT NULL AND (ended_here OR ran_here)
  GROUP BY application, user_name, known
)
SELECT application, min(field) AS field, count(*) AS users, 100.0 * count(*) / (SELECT count(DISTINCT user_name) FROM u) AS user_share,
       sum(jobs)::BIGINT AS jobs, sum(core_h) AS core_h
FROM u
WHERE known
GROUP BY application
ORDER BY users DESC, core_h DESC NULLS LAST, jobs DESC, application
LIMIT getvariable('top')
