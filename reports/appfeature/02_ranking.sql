-- SPDX-License-Identifier: Apache-2.0
-- title: Ranking of applications by activity
-- needs: application known
-- chart: hbar x=application y=activity
-- units: place=none users=users jobs=jobs core_h=core-h core_h_share=% success=% activity=ratio
-- words: field
-- param: top integer 25 how many applications
-- note: Activity is the geometric mean of three ranks, by users, by jobs and by core-hours; each rank is the share of the applications that have as many or fewer, so 1 is first in all three.
-- note: High core-hours with few users: a private code, ask its owners. Many users with few core-hours: a tool that deserves a good installation.
-- counts: ended amounts
-- left out: Jobs without a label, which would be one large application of many, and jobs that never started.
WITH a AS (
  SELECT application, min(app_field) AS field, nullif(count(DISTINCT user_name), 0) AS users, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h,
         100.0 * count(*) FILTER (WHERE ok AND ended_here) / nullif(count(*) FILTER (WHERE finished AND ended_here), 0) AS success
  FROM j WHERE known AND started AND (ended_here OR ran_here)
  GROUP BY application
),
r AS (
  SELECT *, 100 * core_h / nullif((SELECT sum(core_h) FROM j), 0) AS core_h_share,
         cbrt(cume_dist() OVER (ORDER BY coalesce(users, 0)) * cume_dist() OVER (ORDER BY jobs) * cume_dist() OVER (ORDER BY coalesce(core_h, 0))) AS activity
  FROM a
)
SELECT row_number() OVER (ORDER BY activity DESC, core_h DESC NULLS LAST, application) AS place, application, field, users, jobs, core_h,
       core_h_share, success, activity
FROM r
ORDER BY place
LIMIT getvariable('top')
