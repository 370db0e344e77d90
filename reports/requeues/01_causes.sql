-- SPDX-License-Identifier: Apache-2.0
-- title: Why jobs ran again
-- needs: job_id_raw
-- chart: bar x=cause y=lost_core_h
-- units: runs=jobs users=users lost_core_h=core-h lost_node_h=node-h mean_run_time=h
-- note: One row for each end of a run after which the same job was submitted again. lost_core_h is what those runs used; a checkpoint would have kept it. NODE_FAIL is the machine's, PREEMPTED the policy's, REQUEUED a person's or a script's.
-- left out: Runs that the log does not hold: sacct shows them only with --duplicates. Jobs of which no run ended as REQUEUED, PREEMPTED, NODE_FAIL or BOOT_FAIL or has Restarts are not looked at. Jobs with the same id of another user or name (ids begin again) are not taken for one job.
WITH runs AS (
  SELECT cluster, job_id_raw, user_name, job_name, submit_time, state, core_h, node_h, elapsed,
         lead(submit_time) OVER (PARTITION BY cluster, job_id_raw, user_name, job_name ORDER BY submit_time) AS again
  FROM j SEMI JOIN (SELECT job_id_raw FROM j WHERE restarts > 0 OR state IN ('REQUEUED', 'REQUEUE_HOLD', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL')) USING (job_id_raw)
)
SELECT coalesce(state, '(none)') AS cause, count(*) AS runs, nullif(count(DISTINCT user_name), 0) AS users, sum(core_h) AS lost_core_h, sum(node_h) AS lost_node_h,
       avg(elapsed) / 3600 AS mean_run_time
FROM runs
WHERE again IS NOT NULL
GROUP BY 1
ORDER BY lost_core_h DESC NULLS LAST, runs DESC, 1
