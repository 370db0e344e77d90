-- SPDX-License-Identifier: Apache-2.0
-- title: GPU-hours per month
-- needs: gpus
-- chart: bar x=month y=gpu_h group=kind stacked=yes
-- units: jobs=jobs users=users gpu_h=GPU-h use=% measured=%
-- note: GPU-hours allocated, by kind of GPU where the log says it. use is the mean use of the GPUs, weighed by GPU-hours, of those GPU-hours for which it was measured (the column measured).
-- note: GPU-hours that grow with a low use: help users before you buy.
-- left out: Jobs without GPUs or without a run time. A job counts in the month of its end; one that ends before or after the period in none.
SELECT month, coalesce(gpu_type, 'GPU') AS kind, count(*) AS jobs, nullif(count(DISTINCT user_name), 0) AS users, sum(gpu_h) AS gpu_h,
       100 * sum(used_gpu_h) / sum(gpu_h) FILTER (WHERE used_gpu_h IS NOT NULL) AS use,
       100 * coalesce(sum(gpu_h) FILTER (WHERE used_gpu_h IS NOT NULL), 0) / sum(gpu_h) AS measured
FROM j
WHERE gpu_h > 0 AND day >= (SELECT CAST(begins AS DATE) FROM period) AND day < (SELECT ends FROM period)
GROUP BY 1, 2
ORDER BY month, kind
