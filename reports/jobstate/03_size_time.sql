-- SPDX-License-Identifier: Apache-2.0
-- title: Lost jobs by size and run time
-- needs: state size_class time_class
-- chart: heatmap x=time_class y=size_class value=lost_share count=jobs
-- units: jobs=jobs lost_jobs=jobs lost_share=% lost_core_h=core-h machine_lost=jobs
-- words: size_class time_class
-- note: lost_share is the share of jobs that neither completed nor were cancelled. High at the left: jobs fail at their start, from wrong scripts. High at the right: time limits and failing nodes; write checkpoints. machine_lost counts NODE_FAIL and BOOT_FAIL.
-- counts: ended amounts
-- left out: Jobs that never started or still run, and jobs whose cores or run time are not known.
SELECT size_class, time_class, count(*) FILTER (WHERE ended_here) AS jobs, count(*) FILTER (WHERE lost AND ended_here) AS lost_jobs,
       100.0 * lost_jobs / nullif(jobs, 0) AS lost_share, sum(core_h * lost::INTEGER) AS lost_core_h,
       count(*) FILTER (WHERE ended_here AND state IN ('NODE_FAIL', 'BOOT_FAIL')) AS machine_lost
FROM j
WHERE finished AND started AND size_class IS NOT NULL AND time_class IS NOT NULL AND (ended_here OR ran_here)
GROUP BY size_class, size_rank, time_class, time_rank
ORDER BY size_rank, time_rank
