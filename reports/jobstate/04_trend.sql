-- SPDX-License-Identifier: Apache-2.0
-- title: Lost jobs per day, with exit codes and signals
-- needs: state end_time
-- chart: line x=day y=lost_share
-- units: ended=jobs lost_jobs=jobs lost_share=% by_exit_code=jobs by_signal=jobs timeout=jobs out_of_memory=jobs node_fail=jobs top_exit_code=none top_signal=none lost_node_h=node-h
-- note: A peak of one day is mostly one user or one fault of the machine: node_fail and by_signal tell which. top_exit_code and top_signal are the most frequent of that day that are not 0.
-- counts: ended amounts
-- left out: Jobs that never started or still run. Node-hours of lost jobs are spread over the days on which these ran.
WITH s AS (
  SELECT node_h, run_begins AS b, run_ends AS e, date_trunc('day', run_begins) AS first, date_trunc('day', run_ends - INTERVAL 1 MICROSECOND) AS last
  FROM j WHERE ran_here AND lost AND node_h > 0
),
parts AS (
  SELECT first AS day, node_h FROM s WHERE first >= last
  UNION ALL
  SELECT m, node_h * (epoch_us(least(e, m + INTERVAL 1 DAY)) - epoch_us(greatest(b, m)))::DOUBLE / (epoch_us(e) - epoch_us(b))
  FROM (SELECT *, unnest(generate_series(first, last, INTERVAL 1 DAY)) AS m FROM s WHERE first < last)
),
hours AS (SELECT day::DATE AS day, sum(node_h) AS lost_node_h FROM parts GROUP BY 1),
-- Counted by what they ended with first: a mode over all jobs of a day would keep each of them.
counted AS (
  SELECT day, state, lost, exit_code, exit_signal, count(*) AS n FROM j WHERE finished AND started AND ended_here AND end_local IS NOT NULL GROUP BY ALL
),
ended AS (
  SELECT day, sum(n)::BIGINT AS ended, coalesce(sum(n) FILTER (WHERE lost), 0)::BIGINT AS lost_jobs,
         sum(n) FILTER (WHERE state = 'FAILED' AND coalesce(exit_signal, 0) = 0)::BIGINT AS by_exit_code,
         sum(n) FILTER (WHERE lost AND exit_signal > 0)::BIGINT AS by_signal,
         sum(n) FILTER (WHERE state IN ('TIMEOUT', 'DEADLINE'))::BIGINT AS timeout,
         sum(n) FILTER (WHERE state = 'OUT_OF_MEMORY')::BIGINT AS out_of_memory,
         sum(n) FILTER (WHERE state IN ('NODE_FAIL', 'BOOT_FAIL'))::BIGINT AS node_fail
  FROM counted GROUP BY day
),
-- Of as frequent ones the least.
codes AS (
  SELECT day, arg_max(exit_code, (n, -exit_code)) AS top_exit_code
  FROM (SELECT day, exit_code, sum(n) AS n FROM counted WHERE lost AND exit_code <> 0 GROUP BY ALL) GROUP BY day
),
signals AS (
  SELECT day, arg_max(exit_signal, (n, -exit_signal)) AS top_signal
  FROM (SELECT day, exit_signal, sum(n) AS n FROM counted WHERE lost AND exit_signal <> 0 GROUP BY ALL) GROUP BY day
)
SELECT day, coalesce(ended, 0) AS ended, coalesce(lost_jobs, 0) AS lost_jobs, 100.0 * lost_jobs / ended AS lost_share, coalesce(by_exit_code, 0) AS by_exit_code,
       coalesce(by_signal, 0) AS by_signal, coalesce(timeout, 0) AS timeout, coalesce(out_of_memory, 0) AS out_of_memory, coalesce(node_fail, 0) AS node_fail,
       top_exit_code, top_signal, lost_node_h
FROM ended FULL JOIN hours USING (day) LEFT JOIN codes USING (day) LEFT JOIN signals USING (day)
WHERE day >= (SELECT CAST(begins AS DATE) FROM period) AND day < (SELECT ends FROM period)
ORDER BY day
