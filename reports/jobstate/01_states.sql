-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs and core-hours by state
-- needs: state
-- chart: bar x=state y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=% node_h=node-h never_started=jobs median_run_time=h
-- note: A state that holds more of the core-hours than of the jobs costs much for each job: TIMEOUT mostly does, and a checkpoint before the limit saves it. NODE_FAIL and BOOT_FAIL are the machine's, FAILED and OUT_OF_MEMORY mostly the user's.
-- left out: Nothing; never_started counts jobs of the state that had no start.
SELECT coalesce(state, '(none)') AS state, count(*) AS jobs, 100.0 * count(*) / sum(count(*)) OVER () AS job_share,
       sum(core_h) AS core_h, 100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (), 0) AS core_h_share,
       sum(node_h) AS node_h, count(*) FILTER (WHERE NOT started) AS never_started,
       median(elapsed) FILTER (WHERE started) / 3600.0 AS median_run_time
FROM j
GROUP BY 1
ORDER BY jobs DESC, 1
