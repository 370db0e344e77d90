-- SPDX-License-Identifier: Apache-2.0
-- title: Core-hours by run time
-- needs: time_class
-- chart: bar x=time_class y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=% users=users mean_cores=cores
-- words: time_class
-- note: Many jobs under a minute are mostly failures or work that belongs into one job or an array. Jobs over a day lose most when a node fails: they should write checkpoints.
-- counts: ended amounts
-- left out: Jobs that never started, and jobs whose run time is not known.
SELECT time_class, count(*) FILTER (WHERE ended_here) AS jobs, 100.0 * jobs / nullif(sum(jobs) OVER (), 0) AS job_share,
       sum(core_h) AS core_h, 100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (), 0) AS core_h_share,
       nullif(count(DISTINCT user_name), 0) AS users, avg(cores) FILTER (WHERE ended_here) AS mean_cores
FROM j
WHERE started AND time_class IS NOT NULL AND (ended_here OR ran_here)
GROUP BY time_class, time_rank
ORDER BY time_rank
