-- SPDX-License-Identifier: Apache-2.0
-- title: Availability and utilisation per day
-- needs: nodes.cpus
-- chart: line x=day y=availability,utilisation mark=80 mark_of=utilisation
-- units: availability=% utilisation=% used_core_h=core-h available_core_h=core-h total_core_h=core-h
-- note: Availability is the core time of nodes that were up, of all core time; utilisation is what jobs used, of what was available. Days of a utilisation under 80 % are marked.
-- note: Low availability: overhaul the machine. Low utilisation: talk to users, or look at jobs that block the queue. Core-hours of a job are spread over the days on which it ran.
-- note: Without node events in the store, availability is empty and utilisation is of all core time. With several clusters the figures are of all those whose nodes the store knows, each node with what it had on the day.
-- counts: amounts outages
-- left out: Jobs without a start, a run time or cores; nodes whose cores are not known; node events of nodes that are not in the list of nodes; draining nodes count as available, since their jobs go on.
WITH calendar AS (
  SELECT unnest(generate_series(date_trunc('day', begins), ends - INTERVAL 1 MICROSECOND, INTERVAL 1 DAY)) AS d, begins, ends
  FROM period
),
sized AS (SELECT cluster AS of_cluster, min(begins) AS since FROM node_sizes GROUP BY 1),
spans AS (
  SELECT epoch_us(greatest(run_begins, since)) AS s, epoch_us(least(run_ends, ends)) AS e,
         core_h * 3600e6 / (epoch_us(run_ends) - epoch_us(run_begins)) AS cores
  FROM j CROSS JOIN period JOIN sized ON sized.of_cluster IS NOT DISTINCT FROM cluster_of(j.cluster)
  WHERE ran_here AND core_h > 0
),
-- One pass over the jobs; there are few different pairs of days.
running AS (
  SELECT s // 86400000000 AS first, e // 86400000000 AS last, sum(cores) AS cores,
         sum(cores * (86400 - s % 86400000000 / 1e6)) AS first_part, sum(cores * (86400 - e % 86400000000 / 1e6)) AS last_part
  FROM spans WHERE s < e GROUP BY 1, 2
),
-- What the nodes have, and what of it they lose; from when to when.
held AS (
  SELECT epoch_us(begins) AS s, epoch_us(ends) AS e, cpus AS cores, CASE WHEN watched THEN cpus ELSE 0 END AS watched, 0 AS lost FROM node_sizes WHERE cpus > 0
  UNION ALL
  SELECT epoch_us(begins), epoch_us(ends), 0, 0, cpus FROM node_lost WHERE cpus > 0
),
-- Cores are added at a start and taken away at an end, as in the report before; each kind apart.
edges AS (
  SELECT first AS d, cores AS used, first_part AS used_part, 0 AS held, 0 AS held_part, 0 AS watched, 0 AS watched_part, 0 AS lost, 0 AS lost_part FROM running
  UNION ALL
  SELECT last, -cores, -last_part, 0, 0, 0, 0, 0, 0 FROM running
  UNION ALL
  SELECT moment // 86400000000, 0, 0, sum(sign * cores), sum(sign * cores * (86400 - moment % 86400000000 / 1e6)), sum(sign * watched),
         sum(sign * watched * (86400 - moment % 86400000000 / 1e6)), sum(sign * lost), sum(sign * lost * (86400 - moment % 86400000000 / 1e6))
  FROM (SELECT *, s AS moment, 1 AS sign FROM held UNION ALL SELECT *, e, -1 FROM held) GROUP BY 1
  UNION ALL
  SELECT epoch_us(d) // 86400000000, 0, 0, 0, 0, 0, 0, 0, 0 FROM calendar
),
days AS (
  SELECT d, sum(used) AS used, sum(used_part) AS used_part, sum(held) AS held, sum(held_part) AS held_part, sum(watched) AS watched,
         sum(watched_part) AS watched_part, sum(lost) AS lost, sum(lost_part) AS lost_part
  FROM edges GROUP BY d
),
summed AS (
  SELECT d,
         (used_part + 86400 * coalesce(sum(used) OVER w, 0)) / 3600 AS used_h,
         (held_part + 86400 * coalesce(sum(held) OVER w, 0)) / 3600 AS total_h,
         (watched_part + 86400 * coalesce(sum(watched) OVER w, 0)) / 3600 AS watched_h,
         (lost_part + 86400 * coalesce(sum(lost) OVER w, 0)) / 3600 AS lost_h
  FROM days WINDOW w AS (ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
events AS (SELECT coalesce(bool_or(watched), false) AS events FROM node_sizes),
hours AS (
  SELECT c.d, used_h, lost_h, events, watched_h, total_h
  FROM calendar c JOIN summed s ON s.d = epoch_us(c.d) // 86400000000, events
)
SELECT CAST(d AS DATE) AS day,
       CASE WHEN events THEN round(100 * (watched_h - lost_h) / nullif(watched_h, 0), 3) END AS availability,
       round(100 * used_h / nullif(total_h - lost_h, 0), 3) AS utilisation,
       100 * used_h < 80 * (total_h - lost_h) AS under_80,
       round(used_h, 3) AS used_core_h,
       CASE WHEN events THEN round(total_h - lost_h, 3) END AS available_core_h,
       round(total_h, 3) AS total_core_h
FROM hours
ORDER BY day
