-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs and hours of each application
-- needs: application known
-- chart: hbar x=application y=job_share,core_h_share
-- units: jobs=jobs job_share=% node_h=node-h core_h=core-h core_h_share=%
-- words: field
-- param: top integer 25 how many applications
-- note: Shares of all jobs that started and of all core-hours, those without a label, too. Far more hours than jobs: long or large runs, where a faster code saves most; far more jobs than hours: many small runs, which arrays or one larger job would carry.
-- counts: ended amounts
-- left out: Jobs without a label and jobs that never started have no row.
WITH a AS (
  SELECT application, known, min(app_field) AS field, count(*) FILTER (WHERE ended_here) AS jobs, sum(node_h) AS node_h, sum(core_h) AS core_h
  FROM j WHERE started AND (ended_here OR ran_here)
  GROUP BY application, known
)
SELECT application, field, jobs, 100.0 * jobs / nullif((SELECT sum(jobs) FROM a), 0) AS job_share, node_h, core_h,
       100 * core_h / nullif((SELECT sum(core_h) FROM a), 0) AS core_h_share
FROM a
WHERE known
ORDER BY core_h DESC NULLS LAST, jobs DESC, application
LIMIT getvariable('top')
