-- SPDX-License-Identifier: Apache-2.0
-- title: Core-hours by job size and month
-- needs: size_class core_h
-- chart: bar x=month y=core_h group=size_class stacked=yes
-- units: jobs=jobs core_h=core-h share=% mean_cores=cores mean_run_time=h
-- words: size_class
-- note: Share is of the core-hours of the month. A class that grows from month to month says what the next machine must run well; one that shrinks may be held up by its wait (see Waiting).
-- counts: ended amounts
-- left out: Jobs that never started, and jobs whose cores or run time are not known.
WITH s AS (
  SELECT size_class, size_rank, core_h, run_begins AS b, run_ends AS e, date_trunc('month', run_begins) AS first,
         date_trunc('month', run_ends - INTERVAL 1 MICROSECOND) AS last
  FROM j WHERE ran_here AND size_class IS NOT NULL AND core_h IS NOT NULL
),
-- Few jobs run in more months than one; only they are cut.
parts AS (
  SELECT first AS month, size_class, size_rank, sum(core_h) AS core_h FROM s WHERE first >= last GROUP BY ALL
  UNION ALL
  SELECT m, size_class, size_rank, sum(core_h * (epoch_us(least(e, m + INTERVAL 1 MONTH)) - epoch_us(greatest(b, m)))::DOUBLE / (epoch_us(e) - epoch_us(b)))
  FROM (SELECT *, unnest(generate_series(first, last, INTERVAL 1 MONTH)) AS m FROM s WHERE first < last) GROUP BY ALL
),
hours AS (SELECT month, size_class, size_rank, sum(core_h) AS core_h FROM parts GROUP BY ALL),
ended AS (
  SELECT month::TIMESTAMP AS month, size_class, size_rank, count(*) AS jobs, avg(cores) AS mean_cores, avg(elapsed) / 3600 AS mean_run_time
  FROM j WHERE ended_here AND started AND size_class IS NOT NULL AND core_h IS NOT NULL GROUP BY ALL
)
SELECT month::DATE AS month, size_class, coalesce(jobs, 0) AS jobs, core_h, 100 * core_h / nullif(sum(core_h) OVER (PARTITION BY month), 0) AS share,
       mean_cores, mean_run_time
FROM hours FULL JOIN ended USING (month, size_class, size_rank)
WHERE month >= (SELECT date_trunc('month', begins) FROM period) AND month < (SELECT ends FROM period)
ORDER BY month, size_rank
