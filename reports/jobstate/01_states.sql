-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs and core-hours by state
-- needs: state
-- chart: bar x=state y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=% node_h=node-h never_started=jobs median_run_time=h
-- note: A state that holds more of the core-hours than of the jobs costs much for each job: TIMEOUT mostly does, and a checkpoint before the limit saves it. NODE_FAIL and BOOT_FAIL are the machine's, FAILED and OUT_OF_MEMORY mostly the user's.
-- counts: ended amounts
-- left out: Nothing; never_started counts jobs of the state that had no start.
SELECT coalesce(state, '(none)') AS state, count(*) FILTER (WHERE ended_here) AS jobs, 100.0 * jobs / nullif(sum(jobs) OVER (), 0) AS job_share,
       sum(core_h) AS core_h, 100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (), 0) AS core_h_share,
       sum(node_h) AS node_h, count(*) FILTER (WHERE ended_here AND NOT started) AS never_started,
       median(elapsed) FILTER (WHERE started AND ended_here) / 3600.0 AS median_run_time
FROM j
WHERE ended_here OR ran_here
GROUP BY 1
ORDER BY jobs DESC, 1
