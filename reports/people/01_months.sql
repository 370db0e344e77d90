-- SPDX-License-Identifier: Apache-2.0
-- title: Active, new and lost users per month
-- needs: user_name submit_time
-- chart: line x=month y=active,new,lost
-- units: active=users new=users lost=users jobs=jobs
-- note: new users submitted their first job of the whole store in that month, lost users their last one. More lost than new for three months: ask those who left why; many new: plan courses.
-- counts: submitted
-- left out: new is empty in the first month of the store and lost in its last, where they cannot be known. Jobs without a user.
WITH seen AS (
  SELECT user_name, date_trunc('month', local_time(min(submit_time))) AS first, date_trunc('month', local_time(max(submit_time))) AS last
  FROM jobs WHERE submit_time IS NOT NULL AND user_name IS NOT NULL GROUP BY user_name
),
ends AS (SELECT min(first) AS first, max(last) AS last FROM seen),
active AS (
  SELECT date_trunc('month', submit_local) AS month, user_name, count(*) AS jobs
  FROM j, period WHERE user_name IS NOT NULL AND submitted_here AND submit_local >= begins AND submit_local < ends GROUP BY 1, 2
)
SELECT CAST(a.month AS DATE) AS month, count(*) AS active,
       CASE WHEN a.month > any_value(ends.first) THEN count(*) FILTER (WHERE s.first = a.month) END AS new,
       CASE WHEN a.month < any_value(ends.last) THEN count(*) FILTER (WHERE s.last = a.month) END AS lost,
       sum(jobs)::BIGINT AS jobs
FROM active a JOIN seen s USING (user_name), ends
GROUP BY a.month
ORDER BY a.month
