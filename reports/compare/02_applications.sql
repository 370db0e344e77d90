-- SPDX-License-Identifier: Apache-2.0
-- title: Applications of the two periods
-- needs: period2.begins
-- chart: hbar x=application y=this_period,other_period
-- units: this_period=core-h other_period=core-h change=% this_users=users other_users=users this_jobs=jobs other_jobs=jobs
-- words: application
-- param: top integer 20 how many applications, by the larger of the two
-- note: Core-hours per day, so that periods of different length can be compared. An empty change is an application that the other period did not have.
-- counts: ended amounts
-- left out: Made only when a second period is asked for (--compare).
WITH a AS (
  SELECT coalesce(application, 'unknown') AS application, sum(core_h) / (SELECT days FROM period) AS core_h, nullif(count(DISTINCT user_name), 0) AS users, count(*) FILTER (WHERE ended_here) AS jobs FROM j
  WHERE (SELECT begins FROM period2) IS NOT NULL AND (ended_here OR ran_here) GROUP BY 1
),
b AS (
  SELECT coalesce(application, 'unknown') AS application, sum(core_h) / (SELECT days FROM period2) AS core_h, nullif(count(DISTINCT user_name), 0) AS users, count(*) FILTER (WHERE ended_here) AS jobs FROM j2 WHERE ended_here OR ran_here GROUP BY 1
)
SELECT application, coalesce(a.core_h, 0) AS this_period, coalesce(b.core_h, 0) AS other_period,
       100 * (this_period - other_period) / nullif(other_period, 0) AS change,
       coalesce(a.users, 0) AS this_users, coalesce(b.users, 0) AS other_users, coalesce(a.jobs, 0) AS this_jobs, coalesce(b.jobs, 0) AS other_jobs
FROM a FULL JOIN b USING (application)
ORDER BY greatest(this_period, other_period) DESC, application
LIMIT getvariable('top')
