-- SPDX-License-Identifier: Apache-2.0
-- title: How much of the work has a label, and the names that have none
-- needs: application
-- chart: hbar x=name y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=% users=users
-- words: part
-- param: top integer 15 how many unlabelled names
-- note: Recognition R is the job_share of "labelled": of the jobs that ran at least 30 minutes (site.json: debug_length), shorter ones are debugging. core_h_share is of all core-hours.
-- note: Below, the names of unlabelled jobs that hold most core-hours: give each a keyword or a rename (`sickbay labels suggest` proposes them), then import again. Over 95 % is good.
-- counts: ended amounts
-- left out: Jobs that never started; debugging is in no job_share but its own, which is of all jobs that started.
WITH ran AS (
  SELECT known, coalesce(debug, false) AS debug, core_h, user_name, job_name, labelled_by, ended_here FROM j WHERE started AND (ended_here OR ran_here)
),
parts AS (
  SELECT CASE WHEN debug THEN 3 WHEN known THEN 1 ELSE 2 END AS part, CASE WHEN NOT debug AND NOT known THEN coalesce(labelled_by, 'other') END AS why,
         count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h, nullif(count(DISTINCT user_name), 0) AS users
  FROM ran GROUP BY 1, 2
),
names AS (
  SELECT coalesce(job_name, '(no name)') AS name, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h, nullif(count(DISTINCT user_name), 0) AS users
  FROM ran WHERE NOT debug AND NOT known
  GROUP BY 1 ORDER BY core_h DESC NULLS LAST, jobs DESC, name LIMIT getvariable('top')
),
rows AS (
  SELECT part, CASE part WHEN 1 THEN '(all labelled)' WHEN 2 THEN '(all unlabelled: ' || replace(why, '_', ' ') || ')' ELSE '(all debugging)' END AS name, jobs, core_h, users FROM parts
  UNION ALL SELECT 4, name, jobs, core_h, users FROM names
)
SELECT ['labelled', 'unlabelled', 'debugging', 'unlabelled name'][part] AS part, name, jobs,
       100.0 * jobs / nullif((SELECT sum(jobs) FROM parts p WHERE rows.part = 3 OR p.part <> 3), 0) AS job_share,
       core_h, 100 * core_h / nullif((SELECT sum(core_h) FROM parts), 0) AS core_h_share, users
FROM rows
ORDER BY rows.part, core_h DESC NULLS LAST, jobs DESC, name
