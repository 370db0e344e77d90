-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs that were requeued most
-- needs: job_id_raw
-- chart: hbar x=job y=lost_core_h
-- units: runs=count restarts=count lost_core_h=core-h delay=h
-- words: application
-- param: top integer 20 how many jobs
-- note: runs are those that the log holds and that ended in the period, states those of all its runs; restarts is what Slurm counted. delay is first submission to last. A job that runs again and again without an end hits the same bad node or the same fault: hold it and look.
-- counts: ended amounts
-- left out: Jobs that ran once, and jobs of which no run ended as REQUEUED, PREEMPTED, NODE_FAIL or BOOT_FAIL or has Restarts. Core-hours of runs that the log does not hold.
WITH here AS (SELECT job_id_raw FROM j WHERE ended_here OR ran_here),
suspects AS (
  SELECT job_id_raw FROM runs SEMI JOIN here USING (job_id_raw)
  WHERE restarts > 0 OR list_contains(['REQUEUED', 'REQUEUE_HOLD', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL'], state)
),
whole AS (  -- of all runs of a job, also those outside of the period
  SELECT cluster, job_id_raw, user_name, job_name, count(*) AS runs, max(restarts) AS restarts, max(submit_time) AS last,
         string_agg(state, ', ' ORDER BY submit_time) AS states, (epoch_us(max(submit_time)) - epoch_us(min(submit_time))) / 3600e6 AS delay
  FROM runs SEMI JOIN suspects USING (job_id_raw)
  GROUP BY cluster, job_id_raw, user_name, job_name
  HAVING count(*) > 1 OR max(restarts) > 0
),
seen AS (
  SELECT w.cluster, w.job_id_raw, w.user_name, w.job_name, w.runs, w.restarts, w.states, w.delay, min(application) AS application, count(*) FILTER (WHERE ended_here) AS ended, sum(core_h) FILTER (WHERE submit_time < last) AS lost_core_h
  FROM j JOIN whole w ON j.job_id_raw = w.job_id_raw AND j.cluster IS NOT DISTINCT FROM w.cluster AND j.user_name IS NOT DISTINCT FROM w.user_name
                     AND j.job_name IS NOT DISTINCT FROM w.job_name
  WHERE ended_here OR ran_here
  GROUP BY ALL
)
SELECT at_cluster(job_id_raw::VARCHAR, cluster_of(cluster)) AS job, user_name, job_name, application, ended AS runs, restarts, states, lost_core_h, delay
FROM seen
ORDER BY lost_core_h DESC NULLS LAST, greatest(seen.runs, restarts + 1) DESC, job, user_name, job_name
LIMIT getvariable('top')
