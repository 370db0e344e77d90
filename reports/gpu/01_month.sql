-- SPDX-License-Identifier: Apache-2.0
-- title: GPU-hours per month
-- needs: gpus
-- chart: bar x=month y=gpu_h group=kind stacked=yes
-- units: jobs=jobs users=users gpu_h=GPU-h use=% measured=%
-- note: GPU-hours allocated, by kind of GPU where the log says it. use is the mean use of the GPUs, weighed by GPU-hours, of those GPU-hours for which it was measured (the column measured).
-- note: GPU-hours that grow with a low use: help users before you buy.
-- counts: ended amounts
-- left out: Jobs without GPUs or without a run time.
WITH s AS (
  SELECT coalesce(gpu_type, 'GPU') AS kind, gpu_h, used_gpu_h, user_name, run_begins AS b, run_ends AS e, date_trunc('month', run_begins) AS first,
         date_trunc('month', run_ends - INTERVAL 1 MICROSECOND) AS last
  FROM j WHERE ran_here AND gpus * elapsed > 0
),
-- Few jobs run in more months than one; only they are cut.
parts AS (
  SELECT first AS month, kind, user_name, gpu_h, used_gpu_h FROM s WHERE first >= last
  UNION ALL
  SELECT m, kind, user_name, gpu_h * part, used_gpu_h * part
  FROM (SELECT m, kind, user_name, gpu_h, used_gpu_h, (epoch_us(least(e, m + INTERVAL 1 MONTH)) - epoch_us(greatest(b, m)))::DOUBLE / (epoch_us(e) - epoch_us(b)) AS part
        FROM (SELECT *, unnest(generate_series(first, last, INTERVAL 1 MONTH)) AS m FROM s WHERE first < last))
),
hours AS (
  SELECT month, kind, nullif(count(DISTINCT user_name), 0) AS users, sum(gpu_h) AS gpu_h,
         100 * sum(used_gpu_h) / nullif(sum(gpu_h) FILTER (WHERE used_gpu_h IS NOT NULL), 0) AS use,
         100 * coalesce(sum(gpu_h) FILTER (WHERE used_gpu_h IS NOT NULL), 0) / nullif(sum(gpu_h), 0) AS measured
  FROM parts GROUP BY month, kind
),
ended AS (
  SELECT month::TIMESTAMP AS month, coalesce(gpu_type, 'GPU') AS kind, count(*) AS jobs FROM j WHERE ended_here AND gpus * elapsed > 0 GROUP BY 1, 2
)
SELECT month::DATE AS month, kind, coalesce(jobs, 0) AS jobs, users, gpu_h, use, measured
FROM hours FULL JOIN ended USING (month, kind)
WHERE month >= (SELECT date_trunc('month', begins) FROM period) AND month < (SELECT ends FROM period)
ORDER BY month, kind
