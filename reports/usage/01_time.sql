-- SPDX-License-Identifier: Apache-2.0
-- title: Use over time
-- needs: core_h
-- chart: bar x=begins y=core_h group=name stacked=yes
-- units: jobs=jobs users=users core_h=core-h used_core_h=core-h node_h=node-h gpu_h=GPU-h charge=SU
-- param: of text account whose use: account, user, pi, group (of the log), team or field (of users.json), application, partition, qos or cluster
-- param: unit text month day, week (from Monday), month, quarter or year
-- param: top integer 12 how many names, those with most core-hours; the others are one row; 0: all
-- note: begins is the first day of each day, week, month, quarter or year, in the zone of the report. The full table: --param usage.time.top=0 -o use.csv, of users by week: --param usage.time.of=user --param usage.time.unit=week.
-- note: charge is what site.json charges for ("charges"); without it, a core-hour is 1.
-- counts: ended amounts
-- left out: Jobs without a known run time and cores have no core-hours.
WITH u AS (SELECT CASE getvariable('unit') WHEN 'day' THEN INTERVAL 1 DAY WHEN 'week' THEN INTERVAL 7 DAY WHEN 'month' THEN INTERVAL 1 MONTH
                       WHEN 'quarter' THEN INTERVAL 3 MONTH WHEN 'year' THEN INTERVAL 1 YEAR ELSE error('unit is one of [day, week, month, quarter, year]') END AS step),
-- What a name is made of, one key for each job; users.json and accounts are asked once for each key, below.
s AS (
  SELECT CASE getvariable('of')
           WHEN 'account' THEN account WHEN 'user' THEN user_name WHEN 'group' THEN group_name WHEN 'application' THEN coalesce(application, 'unknown')
           WHEN 'partition' THEN at_cluster("partition", cluster_of(cluster)) WHEN 'qos' THEN qos WHEN 'cluster' THEN cluster_of(cluster)
           WHEN 'pi' THEN account WHEN 'team' THEN user_name WHEN 'field' THEN user_name
           ELSE error('of is one of [account, user, pi, group, team, field, application, partition, qos, cluster]') END AS key,
         user_name, core_h, used_core_h, node_h, gpu_h, charge, ran_here, run_begins AS b, run_ends AS e,
         CASE WHEN ended_here THEN date_trunc(getvariable('unit'), coalesce(end_local, start_local, submit_local)) END AS ended,
         CASE WHEN ran_here THEN date_trunc(getvariable('unit'), run_begins) END AS first,
         CASE WHEN ran_here THEN date_trunc(getvariable('unit'), run_ends - INTERVAL 1 MICROSECOND) END AS last
  FROM j WHERE ended_here OR ran_here
),
whole AS MATERIALIZED (
  SELECT key, user_name, ended, first, count(*) AS jobs, sum(core_h) AS core_h, sum(used_core_h) AS used_core_h, sum(node_h) AS node_h, sum(gpu_h) AS gpu_h,
         sum(charge) AS charge
  FROM s WHERE first IS NULL OR first >= last GROUP BY ALL
),
-- Few jobs run in more units than one; only they are cut.
long AS MATERIALIZED (SELECT * FROM s WHERE first < last),
parts AS (
  SELECT first AS begins, key, user_name, core_h, used_core_h, node_h, gpu_h, charge, 0 AS jobs FROM whole WHERE first IS NOT NULL
  UNION ALL
  SELECT ended, key, user_name, NULL, NULL, NULL, NULL, NULL, jobs FROM whole WHERE ended IS NOT NULL
  UNION ALL
  SELECT m, key, user_name, core_h * part, used_core_h * part, node_h * part, gpu_h * part, charge * part, 0
  FROM (SELECT *, (epoch_us(least(e, m + step)) - epoch_us(greatest(b, m)))::DOUBLE / (epoch_us(e) - epoch_us(b)) AS part
        FROM (SELECT *, unnest(generate_series(first, last, step)) AS m FROM long, u))
  UNION ALL
  SELECT ended, key, user_name, NULL, NULL, NULL, NULL, NULL, 1 FROM long WHERE ended IS NOT NULL
),
inside AS MATERIALIZED (
  SELECT parts.* EXCLUDE (key), coalesce(CASE getvariable('of') WHEN 'pi' THEN a.pi WHEN 'team' THEN p.team WHEN 'field' THEN p.research_field ELSE key END, '(none)') AS name
  FROM parts CROSS JOIN period LEFT JOIN accounts a ON a.account = key LEFT JOIN users p ON p.user_name = key
  WHERE parts.begins >= date_trunc(getvariable('unit'), period.begins) AND parts.begins < period.ends
),
places AS (
  SELECT name, row_number() OVER (ORDER BY sum(core_h) DESC NULLS LAST, sum(jobs) DESC, name) AS place FROM inside GROUP BY name
),
named AS (
  SELECT inside.* REPLACE (CASE WHEN getvariable('top') > 0 AND place > getvariable('top') THEN '(all others)' ELSE name END AS name),
         CASE WHEN getvariable('top') > 0 AND place > getvariable('top') THEN getvariable('top') + 1 ELSE place END AS place
  FROM inside JOIN places USING (name)
)
SELECT begins::DATE AS begins, name, sum(jobs)::BIGINT AS jobs, nullif(count(DISTINCT user_name), 0) AS users, sum(core_h) AS core_h,
       sum(used_core_h) AS used_core_h, sum(node_h) AS node_h, sum(gpu_h) AS gpu_h, sum(charge) AS charge
FROM named
GROUP BY begins, name, place
ORDER BY begins, place
