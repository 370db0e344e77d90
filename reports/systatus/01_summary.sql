-- SPDX-License-Identifier: Apache-2.0
-- title: The period in figures
-- chart: tiles
-- words: name unit
-- note: Availability is the core time of nodes that were up, of all core time; utilisation is the core time that jobs used, of what was available; coverage is core-hours used, of core-hours used and queued (wait times cores).
-- note: Low availability: overhaul the machine. Low utilisation: talk to users. Low coverage with low utilisation: look at the scheduling policy. All three high is the aim.
-- note: Availability is shown where the store holds both nodes and node events; without node events, utilisation is of all core time.
-- left out: Core-hours before or after the period count in no figure but coverage, which takes each job whole; jobs that never started have no wait to count.
-- left out: Jobs that end over a day after the newest submission do not lengthen the period, where they are no more than 1 % of all; where no period is asked for, their core-hours after it are left out here.
WITH t AS (
  SELECT count(*) AS jobs,
         count(*) FILTER (WHERE started) AS started,
         count(*) FILTER (WHERE finished AND started) AS finished,
         count(*) FILTER (WHERE ok AND started) AS ok,
         nullif(count(DISTINCT user_name), 0) AS users,
         sum(gpu_h) AS gpu_h,
         sum(core_h) AS core_h,
         sum(wait_s * cores) / 3600.0 AS queued_h,
         sum(core_h * greatest(e - s, 0) / nullif(e_all - s_all, 0)) AS used_h
  FROM (SELECT started, finished, ok, user_name, gpu_h, core_h, wait_s, cores,
               epoch_us(start_local) AS s_all, epoch_us(greatest(start_local, begins)) AS s,
               epoch_us(CASE WHEN end_local > start_local THEN end_local ELSE start_local + elapsed * INTERVAL 1 SECOND END) AS e_all,
               least(e_all, epoch_us(ends)) AS e
        FROM j, period)
),
machine AS (SELECT sum(n.cpus) * any_value(p.days) * 24 AS core_h FROM nodes n, period p),
down AS (
  SELECT CASE WHEN (SELECT count(*) FROM node_events) > 0
         THEN coalesce(sum(n.cpus * (epoch_us(d.ends) - epoch_us(d.counted_from))) / 3600e6, 0) END AS core_h
  FROM node_down d JOIN nodes n USING (node) WHERE d.counted_from < d.ends
),
tiles AS (
  SELECT unnest(['Jobs', 'Jobs that started', 'Users', 'Core-hours used in the period', 'GPU-hours allocated', 'Availability', 'Utilisation',
                 'Coverage of demand', 'Jobs that completed']) AS name,
         unnest([t.jobs::DOUBLE, t.started::DOUBLE, t.users::DOUBLE, t.used_h, t.gpu_h,
                 100 * (machine.core_h - down.core_h) / nullif(machine.core_h, 0),
                 100 * t.used_h / nullif(machine.core_h - coalesce(down.core_h, 0), 0),
                 100 * t.core_h / nullif(t.core_h + t.queued_h, 0),
                 100.0 * t.ok / nullif(t.finished, 0)]) AS value,
         unnest(['jobs', 'jobs', 'users', 'core-h', 'GPU-h', '%', '%', '%', '%']) AS unit,
         unnest(range(9)) AS place
  FROM t, machine, down
)
SELECT name, value, unit FROM tiles WHERE value IS NOT NULL ORDER BY place
