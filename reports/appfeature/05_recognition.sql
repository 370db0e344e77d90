-- SPDX-License-Identifier: Apache-2.0
-- title: How much of the work has a label, by month
-- needs: application end_time
-- chart: line x=month y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=%
-- note: job_share is the recognition R: of the jobs that ran at least 30 minutes (site.json: debug_length), those with a label. core_h_share is what these hold of the core-hours of all jobs, debugging too; what it lacks to 100 % is unknown work or debugging, and under 5 % is good.
-- note: A month that falls: a new code or a new user whose names no keyword knows yet (`sickbay labels suggest`).
-- counts: ended whole
-- left out: Jobs that never started; debugging is in core_h only. Jobs whose time is not known or lies beyond the period.
WITH m AS (
  SELECT month, known, coalesce(debug, false) AS debug, core_s FROM j WHERE started AND ended_here AND month >= (SELECT date_trunc('month', begins) FROM period) AND month < (SELECT ends FROM period)
)
SELECT month, count(*) FILTER (WHERE NOT debug) AS jobs, 100.0 * count(*) FILTER (WHERE known AND NOT debug) / nullif(jobs, 0) AS job_share,
       sum(core_s) / 3600.0 AS core_h, 100.0 * coalesce(sum(core_s) FILTER (WHERE known AND NOT debug), 0) / nullif(sum(core_s), 0) AS core_h_share
FROM m
GROUP BY month
ORDER BY month
