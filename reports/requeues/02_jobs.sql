-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs that were requeued most
-- needs: job_id_raw
-- chart: hbar x=job y=lost_core_h
-- units: runs=count restarts=count lost_core_h=core-h delay=h
-- words: application
-- param: top integer 20 how many jobs
-- note: runs are those that the log holds, restarts is what Slurm counted. delay is first submission to last. A job that runs again and again without an end hits the same bad node or the same fault: hold it and look.
-- left out: Jobs that ran once, and jobs of which no run ended as REQUEUED, PREEMPTED, NODE_FAIL or BOOT_FAIL or has Restarts. Core-hours of runs that the log does not hold.
WITH many AS (
  SELECT job_id_raw FROM j WHERE restarts > 0 OR state IN ('REQUEUED', 'REQUEUE_HOLD', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL')
),
runs AS (
  SELECT cluster, job_id_raw, user_name, job_name, application, state, restarts, core_h, submit_time,
         max(submit_time) OVER (PARTITION BY cluster, job_id_raw, user_name, job_name) AS last
  FROM j SEMI JOIN many USING (job_id_raw)
)
SELECT job_id_raw::VARCHAR AS job, user_name, job_name, min(application) AS application, count(*) AS runs, max(restarts) AS restarts,
       string_agg(state, ', ' ORDER BY submit_time) AS states, sum(core_h) FILTER (WHERE submit_time < last) AS lost_core_h,
       (epoch_us(max(submit_time)) - epoch_us(min(submit_time))) / 3600e6 AS delay
FROM runs
GROUP BY cluster, job_id_raw, user_name, job_name
HAVING count(*) > 1 OR max(restarts) > 0
ORDER BY lost_core_h DESC NULLS LAST, greatest(count(*), max(restarts) + 1) DESC, job, user_name, job_name
LIMIT getvariable('top')
