-- SPDX-License-Identifier: Apache-2.0
-- title: Profiles of applications on 13 axes
-- needs: application known
-- chart: radar name=application axes=users,jobs,core_hours,activity,success,fluctuation,typical_size,maximum_size,run_time,memory_per_process,memory_per_job,io,wait places=_rank
-- units: users=users jobs=jobs core_hours=core-h activity=ratio success=% fluctuation=ratio typical_size=cores maximum_size=cores run_time=s memory_per_process=GiB memory_per_job=GiB io=GiB wait=s users_rank=ratio jobs_rank=ratio core_hours_rank=ratio activity_rank=ratio success_rank=ratio fluctuation_rank=ratio typical_size_rank=ratio maximum_size_rank=ratio run_time_rank=ratio memory_per_process_rank=ratio memory_per_job_rank=ratio io_rank=ratio wait_rank=ratio
-- param: top integer 6 how many applications, by core-hours
-- note: The table has the values; each axis of the chart is a rank: the share of all labelled applications that have the same or less, so 1 is the most. Activity is the geometric mean of the ranks by users, jobs and core-hours, itself not ranked.
-- note: typical_size, run_time, the memories and wait are medians; io is GiB read and written per job; fluctuation is the coefficient of variation of run time among like jobs (same user, name and cores, at least 3 that completed).
-- note: main_users are the first three by core-hours, each with its jobs, its core-hours and the share of its jobs that completed.
-- note: Choose test cases for a new machine so that their shapes differ. A high fluctuation with a high success means that run times cannot be foretold: look at I/O and at noise on the network.
-- counts: ended amounts
-- left out: Jobs without a label or that never started; debugging (under 30 minutes) counts for users, jobs, core-hours, success and wait only. An axis that the log does not fill is empty.
WITH s AS NOT MATERIALIZED (
  SELECT application, user_name, job_name, cores, elapsed, core_h, max_rss, job_rss, wait_s, ok, finished, ended_here, coalesce(debug, false) AS debug,
         CASE WHEN disk_read IS NOT NULL OR disk_write IS NOT NULL THEN coalesce(disk_read, 0) + coalesce(disk_write, 0) END AS moved
  FROM j WHERE known AND started AND (ended_here OR ran_here)
),
by_user AS (
  SELECT application, user_name, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h, count(*) FILTER (WHERE ok AND ended_here) AS ok,
         count(*) FILTER (WHERE finished AND ended_here) AS finished
  FROM s GROUP BY application, user_name
),
by_app AS (
  SELECT application, nullif(count(user_name), 0) AS users, sum(jobs) AS jobs, sum(core_h) AS core_h, sum(ok) / nullif(sum(finished), 0) AS success
  FROM by_user GROUP BY application
),
shapes AS (
  SELECT application, quantile_disc(cores, 0.5) AS typical, max(cores) AS largest, quantile_disc(elapsed, 0.5) AS run_time,
         quantile_disc(max_rss, 0.5) AS process, quantile_disc(job_rss, 0.5) AS memory, avg(moved) AS io
  FROM s WHERE ended_here AND NOT debug GROUP BY application
),
waits AS (SELECT application, quantile_disc(wait_s, 0.5) AS wait FROM s WHERE ended_here GROUP BY application),
alike AS (
  SELECT application, count(*) AS jobs, stddev_samp(elapsed) / avg(elapsed) AS variation
  FROM s WHERE ok AND ended_here AND NOT debug AND cores > 0 AND elapsed > 0
  GROUP BY application, user_name, job_name, cores HAVING count(*) >= 3
),
varying AS (SELECT application, sum(jobs * variation) / sum(jobs) AS fluctuation FROM alike GROUP BY application),
-- A rank among those that have the figure at all.
ranked AS (
  SELECT a.*, s.* EXCLUDE (application), wait, fluctuation,
         CASE WHEN users IS NOT NULL THEN cume_dist() OVER (PARTITION BY users IS NULL ORDER BY users) END AS users_rank,
         cume_dist() OVER (ORDER BY a.jobs) AS jobs_rank,
         CASE WHEN core_h IS NOT NULL THEN cume_dist() OVER (PARTITION BY core_h IS NULL ORDER BY core_h) END AS core_hours_rank,
         CASE WHEN success IS NOT NULL THEN cume_dist() OVER (PARTITION BY success IS NULL ORDER BY success) END AS success_rank,
         CASE WHEN fluctuation IS NOT NULL THEN cume_dist() OVER (PARTITION BY fluctuation IS NULL ORDER BY fluctuation) END AS fluctuation_rank,
         CASE WHEN typical IS NOT NULL THEN cume_dist() OVER (PARTITION BY typical IS NULL ORDER BY typical) END AS typical_size_rank,
         CASE WHEN largest IS NOT NULL THEN cume_dist() OVER (PARTITION BY largest IS NULL ORDER BY largest) END AS maximum_size_rank,
         CASE WHEN run_time IS NOT NULL THEN cume_dist() OVER (PARTITION BY run_time IS NULL ORDER BY run_time) END AS run_time_rank,
         CASE WHEN process IS NOT NULL THEN cume_dist() OVER (PARTITION BY process IS NULL ORDER BY process) END AS memory_per_process_rank,
         CASE WHEN memory IS NOT NULL THEN cume_dist() OVER (PARTITION BY memory IS NULL ORDER BY memory) END AS memory_per_job_rank,
         CASE WHEN io IS NOT NULL THEN cume_dist() OVER (PARTITION BY io IS NULL ORDER BY io) END AS io_rank,
         CASE WHEN wait IS NOT NULL THEN cume_dist() OVER (PARTITION BY wait IS NULL ORDER BY wait) END AS wait_rank
  FROM by_app a LEFT JOIN shapes s USING (application) LEFT JOIN waits USING (application) LEFT JOIN varying USING (application)
),
main AS (
  SELECT application, string_agg(format('{}: {}, {}, {}', coalesce(user_name, '-'), jobs, coalesce(format('{:.0f}', core_h), '-'),
                                        CASE WHEN finished > 0 THEN format('{:.0f} %', 100.0 * ok / finished) ELSE '-' END), '; ' ORDER BY place) AS main_users
  FROM (SELECT *, row_number() OVER (PARTITION BY application ORDER BY core_h DESC NULLS LAST, jobs DESC, user_name) AS place FROM by_user)
  WHERE place <= 3 GROUP BY application
)
SELECT application, users, jobs::BIGINT AS jobs, core_h AS core_hours, cbrt(users_rank * jobs_rank * core_hours_rank) AS activity, 100 * success AS success, fluctuation,
       typical AS typical_size, largest AS maximum_size, run_time, process / 1073741824.0 AS memory_per_process, memory / 1073741824.0 AS memory_per_job,
       io / 1073741824 AS io, wait, main_users,
       users_rank, jobs_rank, core_hours_rank, activity AS activity_rank, success_rank, fluctuation_rank, typical_size_rank, maximum_size_rank, run_time_rank,
       memory_per_process_rank, memory_per_job_rank, io_rank, wait_rank
FROM ranked JOIN main USING (application)
ORDER BY core_h DESC NULLS LAST, ranked.jobs DESC, application
LIMIT getvariable('top')
