-- SPDX-License-Identifier: Apache-2.0
-- title: GPU-hours by user
-- needs: gpus user_name
-- chart: hbar x=user_name y=gpu_h
-- units: jobs=jobs gpu_h=GPU-h share=% use=% measured=% gpus_per_job=count gpu_memory=GiB idle_gpu_h=GPU-h
-- param: top integer 20 how many users
-- note: A user with many GPU-hours and a low use holds GPUs that others wait for: ask what the jobs do.
-- note: use is weighed by GPU-hours and only of those measured; idle_gpu_h are GPU-hours of jobs whose GPUs were used under 5 %; gpu_memory is the 95th percentile of the largest step.
-- counts: ended amounts
-- left out: Jobs without GPUs or without a run time.
SELECT coalesce(user_name, '(no user)') AS user_name, count(*) FILTER (WHERE ended_here) AS jobs, sum(gpu_h) AS gpu_h,
       100 * sum(gpu_h) / nullif(sum(sum(gpu_h)) OVER (), 0) AS share,
       100 * sum(used_gpu_h) / nullif(sum(gpu_h) FILTER (WHERE used_gpu_h IS NOT NULL), 0) AS use,
       100 * coalesce(sum(gpu_h) FILTER (WHERE used_gpu_h IS NOT NULL), 0) / nullif(sum(gpu_h), 0) AS measured,
       avg(gpus) FILTER (WHERE ended_here) AS gpus_per_job, quantile_disc(gpu_mem, 0.95) FILTER (WHERE ended_here) / 1073741824.0 AS gpu_memory,
       sum(gpu_h * (used_gpu_h < 0.05 * gpu_h)::INTEGER) AS idle_gpu_h
FROM j
WHERE gpus * elapsed > 0 AND (ended_here OR ran_here)
GROUP BY 1
ORDER BY gpu_h DESC, jobs DESC, 1
LIMIT getvariable('top')
