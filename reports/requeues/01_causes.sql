-- SPDX-License-Identifier: Apache-2.0
-- title: Why jobs ran again
-- needs: job_id_raw
-- chart: bar x=cause y=lost_core_h
-- units: runs=jobs users=users lost_core_h=core-h lost_node_h=node-h mean_run_time=h
-- note: One row for each end of a run after which the same job was submitted again. lost_core_h is what those runs used; a checkpoint would have kept it. NODE_FAIL is the machine's, PREEMPTED the policy's, REQUEUED a person's or a script's.
-- counts: ended amounts
-- left out: Runs that the log does not hold: sacct shows them only with --duplicates. Jobs of which no run ended as REQUEUED, PREEMPTED, NODE_FAIL or BOOT_FAIL or has Restarts are not looked at. Jobs with the same id of another user or name (ids begin again) are not taken for one job.
WITH here AS (SELECT job_id_raw FROM j WHERE ended_here OR ran_here),
suspects AS (
  SELECT job_id_raw FROM runs SEMI JOIN here USING (job_id_raw)
  WHERE restarts > 0 OR list_contains(['REQUEUED', 'REQUEUE_HOLD', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL'], state)
),
again AS (  -- of all runs of a job, also those outside of the period, the one submitted last
  SELECT cluster, job_id_raw, user_name, job_name, max(submit_time) AS last
  FROM runs SEMI JOIN suspects USING (job_id_raw)
  GROUP BY ALL HAVING count(*) > 1
)
SELECT coalesce(state, '(none)') AS cause, count(*) FILTER (WHERE ended_here) AS runs, nullif(count(DISTINCT j.user_name), 0) AS users,
       sum(core_h) AS lost_core_h, sum(node_h) AS lost_node_h, avg(elapsed) FILTER (WHERE ended_here) / 3600 AS mean_run_time
FROM j JOIN again a ON j.job_id_raw = a.job_id_raw AND j.cluster IS NOT DISTINCT FROM a.cluster AND j.user_name IS NOT DISTINCT FROM a.user_name
                   AND j.job_name IS NOT DISTINCT FROM a.job_name AND j.submit_time < a.last
WHERE ended_here OR ran_here
GROUP BY 1
ORDER BY lost_core_h DESC NULLS LAST, runs DESC, 1
