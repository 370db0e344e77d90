-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs submitted, started and ended per day
-- needs: submit_time
-- chart: line x=day y=submitted,started,ended
-- units: submitted=jobs started=jobs ended=jobs busy_cores=cores core_h=core-h
-- note: Where more jobs are submitted than start for days, the queue grows; where fewer end than start, jobs are long or the log stops.
-- note: The core-hours of a job are spread evenly over the days on which it ran; busy_cores is their mean over the day.
-- left out: Core-hours of jobs without a start or a run time; what lies before or after the period.
WITH calendar AS (
  SELECT unnest(generate_series(date_trunc('day', begins), ends - INTERVAL 1 MICROSECOND, INTERVAL 1 DAY)) AS d, begins, ends
  FROM period
),
events AS (
  SELECT date_trunc('day', submit_local) AS d, count(*) AS submitted, 0 AS started, 0 AS ended
  FROM j, period WHERE submit_local >= begins AND submit_local < ends GROUP BY 1
  UNION ALL
  SELECT date_trunc('day', start_local), 0, count(*), 0
  FROM j, period WHERE start_local >= begins AND start_local < ends GROUP BY 1
  UNION ALL
  SELECT date_trunc('day', end_local), 0, 0, count(*)
  FROM j, period WHERE end_local >= begins AND end_local < ends GROUP BY 1
),
running AS (
  SELECT greatest(start_local, begins) AS s,
         least(CASE WHEN end_local > start_local THEN end_local ELSE start_local + elapsed * INTERVAL 1 SECOND END, ends) AS e,
         core_s * 1e6 / CASE WHEN end_local > start_local THEN epoch_us(end_local) - epoch_us(start_local) ELSE elapsed * 1000000 END AS cores
  FROM j, period
  WHERE start_local IS NOT NULL AND core_s > 0 AND elapsed > 0
),
-- A job adds its cores from its start to the end of that day and to all later days, and takes them away likewise
-- at its end: two sums for each day instead of one row for each job and day.
edges AS (
  SELECT date_trunc('day', s) AS d, sum(cores) AS cores, sum(cores * (86400 - epoch_us(s) % 86400000000 / 1e6)) AS part
  FROM running WHERE s < e GROUP BY 1
  UNION ALL
  SELECT date_trunc('day', e), -sum(cores), -sum(cores * (86400 - epoch_us(e) % 86400000000 / 1e6))
  FROM running WHERE s < e GROUP BY 1
),
days AS (
  SELECT d, sum(submitted) AS submitted, sum(started) AS started, sum(ended) AS ended, sum(cores) AS cores, sum(part) AS part
  FROM (SELECT *, 0 AS cores, 0 AS part FROM events
        UNION ALL BY NAME SELECT d, 0 AS submitted, 0 AS started, 0 AS ended, cores, part FROM edges
        UNION ALL BY NAME SELECT d, 0 AS submitted, 0 AS started, 0 AS ended, 0 AS cores, 0 AS part FROM calendar)
  GROUP BY d
),
summed AS (
  SELECT *, part + 86400 * coalesce(sum(cores) OVER (ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS core_s
  FROM days
)
SELECT CAST(c.d AS DATE) AS day,
       submitted::BIGINT AS submitted, started::BIGINT AS started, ended::BIGINT AS ended,
       round(core_s * 1e6 / (epoch_us(least(c.d + INTERVAL 1 DAY, c.ends)) - epoch_us(greatest(c.d, c.begins))), 3) AS busy_cores,
       round(core_s / 3600, 3) AS core_h
FROM calendar c JOIN summed USING (d)
ORDER BY day
