-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs submitted, started and ended per day
-- needs: submit_time
-- chart: line x=day y=submitted,started,ended
-- units: submitted=jobs started=jobs ended=jobs busy_cores=cores core_h=core-h
-- note: Where more jobs are submitted than start for days, the queue grows; where fewer end than start, jobs are long or the log stops.
-- note: The core-hours of a job are spread evenly over the days on which it ran; busy_cores is their mean over the day.
-- counts: amounts
-- left out: Core-hours of jobs without a start or a run time; what lies before or after the period.
WITH calendar AS (
  SELECT unnest(generate_series(date_trunc('day', begins), ends - INTERVAL 1 MICROSECOND, INTERVAL 1 DAY)) AS d, begins, ends
  FROM period
),
spans AS (
  SELECT CASE WHEN submit_local >= begins AND submit_local < ends THEN epoch_us(submit_local) // 86400000000 END AS submitted,
         CASE WHEN start_local >= begins AND start_local < ends THEN epoch_us(start_local) // 86400000000 END AS started,
         CASE WHEN end_local >= begins AND end_local < ends THEN epoch_us(end_local) // 86400000000 END AS ended,
         epoch_us(greatest(run_begins, begins)) AS s, epoch_us(least(run_ends, ends)) AS e,
         core_h * 3600e6 / (epoch_us(run_ends) - epoch_us(run_begins)) AS cores
  FROM j, period
),
-- One pass over the jobs; there are few different sets of days.
sets AS (
  SELECT submitted, started, ended, s // 86400000000 AS first, e // 86400000000 AS last, count(*) AS jobs,
         sum(cores) FILTER (WHERE s < e) AS cores,
         sum(cores * (86400 - s % 86400000000 / 1e6)) FILTER (WHERE s < e) AS first_part,
         sum(cores * (86400 - e % 86400000000 / 1e6)) FILTER (WHERE s < e) AS last_part
  FROM spans GROUP BY 1, 2, 3, 4, 5
),
-- A job adds its cores from its start to the end of that day and to all later days, and takes them away likewise
-- at its end: so no row for each job and day is needed.
edges AS (
  SELECT submitted AS d, jobs AS submitted, 0 AS started, 0 AS ended, 0 AS cores, 0 AS part FROM sets
  UNION ALL SELECT started, 0, jobs, 0, 0, 0 FROM sets
  UNION ALL SELECT ended, 0, 0, jobs, 0, 0 FROM sets
  UNION ALL SELECT first, 0, 0, 0, cores, first_part FROM sets WHERE cores IS NOT NULL
  UNION ALL SELECT last, 0, 0, 0, -cores, -last_part FROM sets WHERE cores IS NOT NULL
  UNION ALL SELECT epoch_us(d) // 86400000000, 0, 0, 0, 0, 0 FROM calendar
),
days AS (
  SELECT d, sum(submitted) AS submitted, sum(started) AS started, sum(ended) AS ended, sum(cores) AS cores, sum(part) AS part
  FROM edges WHERE d IS NOT NULL GROUP BY d
),
summed AS (
  SELECT *, part + 86400 * coalesce(sum(cores) OVER (ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS core_s
  FROM days
)
SELECT CAST(c.d AS DATE) AS day,
       submitted::BIGINT AS submitted, started::BIGINT AS started, ended::BIGINT AS ended,
       round(core_s * 1e6 / (epoch_us(least(c.d + INTERVAL 1 DAY, c.ends)) - epoch_us(greatest(c.d, c.begins))), 3) AS busy_cores,
       round(core_s / 3600, 3) AS core_h
FROM calendar c JOIN summed ON summed.d = epoch_us(c.d) // 86400000000
ORDER BY day
