-- SPDX-License-Identifier: Apache-2.0
-- title: Figures of the two periods
-- needs: period2.begins
-- chart: none
-- units: this_period=none other_period=none change=%
-- words: figure unit
-- note: Counts and hours are per day, so that periods of different length can be compared. A change of waits without one of core-hours is the policy's or the mix of jobs; both together are the demand's.
-- counts: ended amounts waits
-- left out: Made only when a second period is asked for (--compare).
WITH all_jobs AS (
  SELECT 1 AS period, user_name, core_h, used_core_h, gpu_h, queued_core_h, wait_s, started, started_here, ended_here, ran_here, finished, ok, lost, cpu_eff, elapsed FROM j
  UNION ALL BY NAME
  SELECT 2 AS period, user_name, core_h, used_core_h, gpu_h, queued_core_h, wait_s, started, started_here, ended_here, ran_here, finished, ok, lost, cpu_eff, elapsed FROM j2
),
days AS (SELECT 1 AS period, days FROM period UNION ALL SELECT 2, days FROM period2),
f AS (
  SELECT period, count(*) FILTER (WHERE ended_here) / any_value(days) AS jobs, nullif(count(DISTINCT user_name) FILTER (WHERE ended_here OR ran_here), 0)::DOUBLE AS users, sum(core_h) / any_value(days) AS core_h,
         sum(gpu_h) / any_value(days) AS gpu_h, 100.0 * count(*) FILTER (WHERE ok AND started AND ended_here) / nullif(count(*) FILTER (WHERE started AND finished AND ended_here), 0) AS completed,
         100 * sum(core_h) FILTER (WHERE lost) / nullif(sum(core_h), 0) AS lost,
         avg(wait_s) FILTER (WHERE started_here) / 3600 AS mean_wait, quantile_disc(wait_s, 0.5) FILTER (WHERE started_here) / 3600.0 AS median_wait,
         100 * sum(core_h) FILTER (WHERE queued_core_h IS NOT NULL) / nullif(sum(core_h + queued_core_h), 0) AS coverage,
         100 * sum(used_core_h) FILTER (WHERE cpu_eff IS NOT NULL) / nullif(sum(core_h) FILTER (WHERE cpu_eff IS NOT NULL), 0) AS efficiency,
         avg(elapsed) FILTER (WHERE started AND ended_here) / 3600 AS mean_run_time
  FROM all_jobs JOIN days USING (period) GROUP BY period
),
l AS (
  SELECT period, unnest(['Jobs per day', 'Users', 'Core-hours per day', 'GPU-hours per day', 'Jobs that completed', 'Core-hours of lost jobs', 'Mean wait', 'Median wait', 'Coverage of demand', 'CPU efficiency', 'Mean run time']) AS figure,
         unnest(['jobs', 'users', 'core-h', 'GPU-h', '%', '%', 'h', 'h', '%', '%', 'h']) AS unit, unnest(range(11)) AS place,
         unnest([jobs, users, core_h, gpu_h, completed, lost, mean_wait, median_wait, coverage, efficiency, mean_run_time]::DOUBLE[]) AS value
  FROM f
)
SELECT figure, unit, any_value(value) FILTER (WHERE period = 1) AS this_period, any_value(value) FILTER (WHERE period = 2) AS other_period,
       100 * (this_period - other_period) / nullif(other_period, 0) AS change
FROM l
WHERE (SELECT begins FROM period2) IS NOT NULL
GROUP BY figure, unit, place
HAVING count(value) > 0
ORDER BY place
