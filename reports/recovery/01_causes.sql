-- SPDX-License-Identifier: Apache-2.0
-- title: Work lost and saved, by how runs ended
-- needs: job_failures.job_id_raw job_id_raw
-- chart: bar x=cause y=lost_core_h,saved_core_h
-- units: failures=count jobs=jobs users=users from_checkpoint=count lost_core_h=core-h saved_core_h=core-h mean_lost=h
-- note: lost_core_h was computed once more: from the checkpoint that the job went on from (or would go on from) to the failure; without checkpoints, from its start. saved_core_h is what had to be computed once more without them. from_checkpoint are failures after which a checkpoint was gone on from.
-- note: A second failure of the same job has the progress of the first behind it, which it would have lost, too.
-- counts: failures
-- left out: Jobs that were not submitted with 'sickbay submit', and those that the log does not hold. Runs that their owner or an operator cancelled. Core-hours of jobs without a number of cores.
SELECT state AS cause, count(*) AS failures, count(DISTINCT (cluster, job_id_raw)) AS jobs, nullif(count(DISTINCT user_name), 0) AS users,
       count(*) FILTER (WHERE checkpoint > 0) AS from_checkpoint, sum(lost_core_h) AS lost_core_h, sum(saved_core_h) AS saved_core_h,
       avg(recomputed_s) / 3600 AS mean_lost
FROM failed_runs
GROUP BY state
ORDER BY lost_core_h DESC NULLS LAST, failures DESC, cause
