-- SPDX-License-Identifier: Apache-2.0
-- title: Core-hours by user, team and field of research
-- needs: core_h user_name
-- chart: hbar x=name y=core_h group=kind stacked=yes suffix=kind
-- units: jobs=jobs users=users core_h=core-h share=% core_h_per_job=core-h
-- words: kind
-- param: top integer 20 how many of each kind
-- note: Teams and fields come from the site's users.json; users that are not in it are the team and the field "(not listed)".
-- note: Use it to see whom a change of the machine or of its policy would touch, and which fields need the next machine.
-- counts: ended amounts
-- left out: Jobs without a known run time and cores have no core-hours.
WITH by_user AS (
  SELECT user_name, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h, sum(core_s) FILTER (WHERE ended_here) / 3600.0 AS whole
  FROM j WHERE ended_here OR ran_here GROUP BY user_name
),
named AS (
  SELECT b.*, coalesce(u.team, '(not listed)') AS team, coalesce(u.research_field, '(not listed)') AS research_field
  FROM by_user b LEFT JOIN users u USING (user_name)
),
g AS (
  SELECT 1 AS kind_place, 'user' AS kind, coalesce(user_name, '(no user)') AS name, jobs, 1 AS users, core_h, whole FROM named
  UNION ALL
  SELECT 2, 'team', team, sum(jobs), count(user_name), sum(core_h), sum(whole) FROM named
  WHERE (SELECT count(team) FROM users) > 0 GROUP BY team
  UNION ALL
  SELECT 3, 'field', research_field, sum(jobs), count(user_name), sum(core_h), sum(whole) FROM named
  WHERE (SELECT count(research_field) FROM users) > 0 GROUP BY research_field
),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY kind ORDER BY core_h DESC NULLS LAST, jobs DESC, name) AS place,
         sum(core_h) OVER (PARTITION BY kind) AS total
  FROM g
)
SELECT kind, name, jobs::BIGINT AS jobs, users, core_h, 100 * core_h / nullif(total, 0) AS share, whole / nullif(jobs, 0) AS core_h_per_job
FROM ranked
WHERE place <= getvariable('top')
ORDER BY kind_place, place
