-- SPDX-License-Identifier: Apache-2.0
-- title: Top users, accounts and partitions
-- needs: core_h
-- chart: hbar x=name y=share group=kind stacked=yes suffix=kind
-- units: place=none jobs=jobs core_h=core-h share=% cumulated_share=%
-- words: kind
-- param: top integer 10 how many of each kind
-- note: Share is of all core-hours of the period; the cumulated share says how few hold most of the work.
-- note: Where three users hold over half, a talk with them is worth more than any change of policy.
-- counts: ended amounts
-- left out: Jobs without a known run time and cores have no core-hours; jobs without a user, account or partition are in none of the three lists, but in the total.
WITH sets AS (  -- few, however many jobs there are
  SELECT user_name, account, at_cluster("partition", cluster_of(cluster)) AS "partition", count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h FROM j WHERE ended_here OR ran_here GROUP BY ALL
),
g AS (
  SELECT CASE grouping(user_name, account, "partition") WHEN 3 THEN 'user' WHEN 5 THEN 'account' ELSE 'partition' END AS kind,
         coalesce(user_name, account, "partition") AS name,
         sum(jobs)::BIGINT AS jobs, sum(core_h) AS core_h
  FROM sets
  GROUP BY GROUPING SETS ((user_name), (account), ("partition"))
),
ranked AS (
  SELECT *, row_number() OVER w AS place, sum(core_h) OVER w AS cumulated, (SELECT sum(core_h) FROM sets) AS total
  FROM g WHERE name IS NOT NULL AND core_h > 0
  WINDOW w AS (PARTITION BY kind ORDER BY core_h DESC, jobs DESC, name ROWS UNBOUNDED PRECEDING)
)
SELECT kind, place, name, jobs, core_h, 100 * core_h / total AS share, 100 * cumulated / total AS cumulated_share
FROM ranked
WHERE place <= getvariable('top')
ORDER BY CASE kind WHEN 'user' THEN 1 WHEN 'account' THEN 2 ELSE 3 END, place
