-- SPDX-License-Identifier: Apache-2.0
-- title: What checkpoints cost and what they saved
-- needs: job_checkpoints.job_id_raw|job_failures.job_id_raw job_id_raw
-- chart: hbar x=user_name y=checkpoint_core_h,lost_core_h,saved_core_h
-- units: jobs=jobs checkpoints=count failures=count checkpoint_core_h=core-h lost_core_h=core-h saved_core_h=core-h worth=ratio
-- words: application
-- param: top integer 20 how many rows
-- note: worth is saved_core_h over checkpoint_core_h: below 1, checkpoints cost more than failures took; so it is where there was no failure, as with any insurance. lost_core_h far above checkpoint_core_h says that checkpoints came too seldom: at the best interval (Daly) both are about equal.
-- counts: failures
-- left out: Jobs that were not submitted with 'sickbay submit', and those that the log does not hold. Checkpoints that a program takes without sickbay-ckpt.
WITH both_sides AS (
  SELECT cluster, job_id_raw, user_name, application, 0 AS checkpoints, NULL::DOUBLE AS checkpoint_core_h, 1 AS failures, lost_core_h, saved_core_h
  FROM failed_runs
  UNION ALL
  SELECT cluster, job_id_raw, user_name, application, 1, checkpoint_core_h, 0, NULL, NULL FROM checkpoints_taken
)
SELECT user_name, application, count(DISTINCT (cluster, job_id_raw)) AS jobs, sum(checkpoints)::BIGINT AS checkpoints, sum(failures)::BIGINT AS failures,
       sum(checkpoint_core_h) AS checkpoint_core_h, sum(lost_core_h) AS lost_core_h, sum(saved_core_h) AS saved_core_h,
       sum(saved_core_h) / nullif(sum(checkpoint_core_h), 0) AS worth
FROM both_sides
GROUP BY user_name, application
ORDER BY coalesce(sum(lost_core_h), 0) + coalesce(sum(checkpoint_core_h), 0) DESC, user_name, application
LIMIT getvariable('top')
