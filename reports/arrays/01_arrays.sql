-- SPDX-License-Identifier: Apache-2.0
-- title: Job arrays rolled up
-- needs: array_job_id
-- chart: hbar x=array y=core_h,tasks
-- units: tasks=jobs started=jobs completed=% core_h=core-h share=% mean_run_time=h span=h mean_at_once=ratio lost_core_h=core-h
-- words: application
-- param: top integer 20 how many arrays, by core-hours
-- note: One row stands for all tasks of an array; share is of all core-hours. mean_at_once is how many tasks ran at the same time on average, span is first start to last end.
-- note: An array with a low completed share failed for one reason many times: stop it early. Tasks of under a minute belong together into fewer tasks.
-- counts: ended amounts
-- left out: Jobs that belong to no array. A row of tasks that still wait counts as its number of tasks.
WITH first AS (
  SELECT cluster, array_job_id, sum(core_h) AS core_h FROM j WHERE array_job_id IS NOT NULL AND (ended_here OR ran_here) GROUP BY ALL
  ORDER BY core_h DESC NULLS LAST, count(*) DESC, cluster, array_job_id LIMIT getvariable('top')
)
-- The rest of those only that are shown.
SELECT concat(at_cluster(j.array_job_id::VARCHAR, cluster_of(f.cluster)), ' ', min(job_name)) AS array, min(user_name) AS user_name, mode(application ORDER BY application) AS application,
       coalesce(sum(coalesce(array_tasks, 1)) FILTER (WHERE ended_here), 0)::BIGINT AS tasks, count(*) FILTER (WHERE started_here) AS started,
       100.0 * count(*) FILTER (WHERE ok AND ended_here) / nullif(count(*) FILTER (WHERE finished AND ended_here), 0) AS completed,
       any_value(f.core_h) AS core_h, 100 * any_value(f.core_h) / nullif((SELECT sum(core_h) FROM j), 0) AS share,
       avg(elapsed) FILTER (WHERE started AND ended_here) / 3600 AS mean_run_time,
       (epoch_us(max(end_local)) - epoch_us(min(start_local))) / 3600e6 AS span,
       sum(elapsed) FILTER (WHERE started) / 3600.0 / nullif(span, 0) AS mean_at_once,
       sum(j.core_h * lost::INTEGER) AS lost_core_h
FROM j JOIN first f ON j.array_job_id = f.array_job_id AND j.cluster IS NOT DISTINCT FROM f.cluster
WHERE ended_here OR ran_here
GROUP BY f.cluster, j.array_job_id
ORDER BY any_value(f.core_h) DESC NULLS LAST, count(*) DESC, f.cluster, j.array_job_id
