-- SPDX-License-Identifier: Apache-2.0
-- title: Availability and utilisation per day
-- needs: nodes.cpus
-- chart: line x=day y=availability,utilisation mark=80 mark_of=utilisation
-- units: availability=% utilisation=% used_core_h=core-h available_core_h=core-h total_core_h=core-h
-- note: Availability is the core time of nodes that were up, of all core time; utilisation is what jobs used, of what was available. Days of a utilisation under 80 % are marked.
-- note: Low availability: overhaul the machine. Low utilisation: talk to users, or look at jobs that block the queue. Core-hours of a job are spread over the days on which it ran.
-- note: Without node events in the store, availability is empty and utilisation is of all core time.
-- counts: amounts outages
-- left out: Jobs without a start, a run time or cores; nodes whose cores are not known; node events of nodes that are not in the list of nodes; draining nodes count as available, since their jobs go on.
WITH calendar AS (
  SELECT unnest(generate_series(date_trunc('day', begins), ends - INTERVAL 1 MICROSECOND, INTERVAL 1 DAY)) AS d, begins, ends
  FROM period
),
spans AS (
  SELECT epoch_us(greatest(run_begins, begins)) AS s, epoch_us(least(run_ends, ends)) AS e,
         core_h * 3600e6 / (epoch_us(run_ends) - epoch_us(run_begins)) AS cores
  FROM j, period
  WHERE ran_here AND core_h > 0
),
-- One pass over the jobs; there are few different pairs of days.
running AS (
  SELECT s // 86400000000 AS first, e // 86400000000 AS last, sum(cores) AS cores,
         sum(cores * (86400 - s % 86400000000 / 1e6)) AS first_part, sum(cores * (86400 - e % 86400000000 / 1e6)) AS last_part
  FROM spans WHERE s < e GROUP BY 1, 2
),
down AS (SELECT counted_from AS s, ends AS e, n.cpus AS cores FROM node_down JOIN nodes n USING (node) WHERE counted_from < ends AND n.cpus > 0),
-- Cores are added at a start and taken away at an end, as in the report before; `used` and `lost` apart.
edges AS (
  SELECT first AS d, cores AS used, first_part AS used_part, 0 AS lost, 0 AS lost_part FROM running
  UNION ALL
  SELECT last, -cores, -last_part, 0, 0 FROM running
  UNION ALL
  SELECT epoch_us(s) // 86400000000, 0, 0, sum(cores), sum(cores * (86400 - epoch_us(s) % 86400000000 / 1e6)) FROM down GROUP BY 1
  UNION ALL
  SELECT epoch_us(e) // 86400000000, 0, 0, -sum(cores), -sum(cores * (86400 - epoch_us(e) % 86400000000 / 1e6)) FROM down GROUP BY 1
  UNION ALL
  SELECT epoch_us(d) // 86400000000, 0, 0, 0, 0 FROM calendar
),
days AS (
  SELECT d, sum(used) AS used, sum(used_part) AS used_part, sum(lost) AS lost, sum(lost_part) AS lost_part FROM edges GROUP BY d
),
summed AS (
  SELECT d,
         (used_part + 86400 * coalesce(sum(used) OVER w, 0)) / 3600 AS used_h,
         (lost_part + 86400 * coalesce(sum(lost) OVER w, 0)) / 3600 AS lost_h
  FROM days WINDOW w AS (ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
known AS (SELECT (SELECT sum(cpus) FROM nodes) AS cores, (SELECT count(*) FROM node_events) > 0 AS events),
hours AS (
  SELECT c.d, s.used_h, s.lost_h, events,
         cores * (epoch_us(least(c.d + INTERVAL 1 DAY, c.ends)) - epoch_us(greatest(c.d, c.begins))) / 3600e6 AS total_h
  FROM calendar c JOIN summed s ON s.d = epoch_us(c.d) // 86400000000, known
)
SELECT CAST(d AS DATE) AS day,
       CASE WHEN events THEN round(100 * (total_h - lost_h) / nullif(total_h, 0), 3) END AS availability,
       round(100 * used_h / nullif(total_h - lost_h, 0), 3) AS utilisation,
       100 * used_h < 80 * (total_h - lost_h) AS under_80,
       round(used_h, 3) AS used_core_h,
       CASE WHEN events THEN round(total_h - lost_h, 3) END AS available_core_h,
       round(total_h, 3) AS total_core_h
FROM hours
ORDER BY day
