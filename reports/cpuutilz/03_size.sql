-- SPDX-License-Identifier: Apache-2.0
-- title: Core-hours by job size and month
-- needs: size_class core_h
-- chart: bar x=month y=core_h group=size_class stacked=yes
-- units: jobs=jobs core_h=core-h share=% mean_cores=cores mean_run_time=h
-- words: size_class
-- note: Share is of the core-hours of the month. A class that grows from month to month says what the next machine must run well; one that shrinks may be held up by its wait (see Waiting).
-- left out: Jobs that never started, and jobs whose cores or run time are not known. A job counts in the month of its end; one that ends before or after the period in none.
SELECT month, size_class, count(*) AS jobs, sum(core_h) AS core_h,
       100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (PARTITION BY month), 0) AS share,
       avg(cores) AS mean_cores, avg(elapsed) / 3600 AS mean_run_time
FROM j
WHERE started AND size_class IS NOT NULL AND core_h IS NOT NULL
  AND day >= (SELECT CAST(begins AS DATE) FROM period) AND day < (SELECT ends FROM period)
GROUP BY month, size_class, size_rank
ORDER BY month, size_rank
