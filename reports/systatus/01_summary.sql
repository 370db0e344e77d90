-- SPDX-License-Identifier: Apache-2.0
-- title: The period in figures
-- chart: tiles
-- words: name unit
-- note: Availability is the core time of nodes that were up, of all core time; utilisation is the core time that jobs used, of what was available; coverage is core-hours used, of core-hours used and queued (wait times cores), of jobs whose wait, run time and cores are known.
-- note: Low availability: overhaul the machine. Low utilisation: talk to users. Low coverage with low utilisation: look at the scheduling policy. All three high is the aim.
-- note: Availability is shown where the store holds both nodes and node events; without node events, utilisation is of all core time. With several clusters both are of all those whose nodes the store knows, each node with what it had at the time; the report of clusters shows them apart.
-- counts: ended amounts waits
-- left out: Jobs that never started have no wait to count.
-- left out: Where no period is asked for, all jobs of the log count whole, but availability and utilisation are of its span: the head says what lies outside of it.
WITH sized AS (SELECT cluster AS of_cluster, min(begins) AS since FROM node_sizes GROUP BY 1),
t AS (
  SELECT count(*) FILTER (WHERE submitted_here) AS submitted,
         count(*) FILTER (WHERE started_here) AS started,
         count(*) FILTER (WHERE ended_here AND finished) AS ended,
         count(*) FILTER (WHERE ended_here AND finished AND started) AS ran,
         count(*) FILTER (WHERE ended_here AND ok AND started) AS ok,
         nullif(count(DISTINCT user_name) FILTER (WHERE ended_here OR ran_here), 0) AS users,
         sum(gpu_h) AS gpu_h,
         sum(core_h) AS core_h,
         -- One definition with the report of coverage (jobwait.queue): jobs with a wait, a run time and cores.
         sum(core_h) FILTER (WHERE queued_core_h IS NOT NULL) AS covered_h,
         sum(queued_core_h) FILTER (WHERE core_h IS NOT NULL) AS queued_h,
         -- Where no period was asked for, core_h is of the whole log, and the machine's that of its span.
         sum(core_h * greatest(epoch_us(least(run_ends, ends)) - epoch_us(greatest(run_begins, since)), 0)::DOUBLE
             / (epoch_us(run_ends) - epoch_us(run_begins))) FILTER (WHERE since IS NOT NULL) AS used_h
  FROM j CROSS JOIN period LEFT JOIN sized ON sized.of_cluster IS NOT DISTINCT FROM cluster_of(j.cluster)
),
machine AS (
  SELECT sum(cpus * (epoch_us(ends) - epoch_us(begins))) / 3600e6 AS core_h,
         sum(cpus * (epoch_us(ends) - epoch_us(begins))) FILTER (WHERE watched) / 3600e6 AS watched_h
  FROM node_sizes
),
down AS (SELECT coalesce(sum(cpus * (epoch_us(ends) - epoch_us(begins))) / 3600e6, 0) AS core_h FROM node_lost),
tiles AS (
  SELECT unnest(['Jobs submitted', 'Jobs that started', 'Jobs that ended', 'Users', 'Core-hours used in the period', 'GPU-hours allocated', 'Availability', 'Utilisation',
                 'Coverage of demand', 'Jobs that completed']) AS name,
         unnest([t.submitted::DOUBLE, t.started::DOUBLE, t.ended::DOUBLE, t.users::DOUBLE, t.core_h, t.gpu_h,
                 100 * (machine.watched_h - down.core_h) / nullif(machine.watched_h, 0),
                 100 * t.used_h / nullif(machine.core_h - down.core_h, 0),
                 100 * t.covered_h / nullif(t.covered_h + t.queued_h, 0),
                 100.0 * t.ok / nullif(t.ran, 0)]) AS value,
         unnest(['jobs', 'jobs', 'jobs', 'users', 'core-h', 'GPU-h', '%', '%', '%', '%']) AS unit,
         unnest(range(10)) AS place
  FROM t, machine, down
)
SELECT name, value, unit FROM tiles WHERE value IS NOT NULL ORDER BY place
