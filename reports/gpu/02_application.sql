-- SPDX-License-Identifier: Apache-2.0
-- title: GPU-hours by application
-- needs: gpus
-- chart: hbar x=application y=gpu_h
-- units: jobs=jobs gpu_h=GPU-h share=% use=% measured=% gpus_per_job=count gpu_memory=GiB idle_gpu_h=GPU-h
-- words: application
-- param: top integer 20 how many applications
-- note: The applications to choose the next GPUs for. A low use with many GPU-hours: the code waits for data or does not use the GPUs it has.
-- note: use is weighed by GPU-hours and only of those measured; idle_gpu_h are GPU-hours of jobs whose GPUs were used under 5 %; gpu_memory is the 95th percentile of the largest step.
-- counts: ended amounts
-- left out: Jobs without GPUs or without a run time.
SELECT coalesce(application, 'unknown') AS application, count(*) FILTER (WHERE ended_here) AS jobs, sum(gpu_h) AS gpu_h,
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
