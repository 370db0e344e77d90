-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs that lost most work to failures
-- needs: job_failures.job_id_raw job_id_raw
-- chart: hbar x=job y=lost_core_h,saved_core_h
-- units: failures=count from_checkpoint=count lost_core_h=core-h saved_core_h=core-h checkpoints=count checkpoint_core_h=core-h
-- words: application
-- param: top integer 20 how many jobs
-- note: checkpoint_core_h is the time that checkpoints took on the job's cores: more than the program lost where it computes on meanwhile. A job with failures and no checkpoint is where one is worth most; one that loses much although it has some should take them more often ('sickbay-ckpt interval').
-- counts: failures
-- left out: Jobs that were not submitted with 'sickbay submit', and those that the log does not hold. Core-hours of jobs without a number of cores.
WITH failed AS (
  SELECT cluster, job_id_raw, user_name, min(application) AS application, count(*) AS failures, count(*) FILTER (WHERE checkpoint > 0) AS from_checkpoint,
         string_agg(state, ', ' ORDER BY failed_at, restart) AS states, sum(lost_core_h) AS lost_core_h, sum(saved_core_h) AS saved_core_h
  FROM failed_runs GROUP BY cluster, job_id_raw, user_name
),
saved AS (
  SELECT cluster, job_id_raw, user_name, count(*) AS checkpoints, sum(checkpoint_core_h) AS checkpoint_core_h
  FROM checkpoints_taken GROUP BY cluster, job_id_raw, user_name
)
SELECT at_cluster(f.job_id_raw::VARCHAR, cluster_of(f.cluster)) AS job, f.user_name, f.application, f.failures, f.states, f.from_checkpoint, f.lost_core_h, f.saved_core_h,
       coalesce(s.checkpoints, 0) AS checkpoints, s.checkpoint_core_h
FROM failed f LEFT JOIN saved s ON s.job_id_raw = f.job_id_raw AND s.cluster IS NOT DISTINCT FROM f.cluster AND s.user_name IS NOT DISTINCT FROM f.user_name
ORDER BY f.lost_core_h DESC NULLS LAST, f.failures DESC, job, f.user_name
LIMIT getvariable('top')
