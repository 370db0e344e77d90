-- SPDX-License-Identifier: Apache-2.0
-- title: How the jobs of each application end
-- needs: state
-- chart: hbar x=application y=completed,failed,timeout,out_of_memory,node_fail,cancelled,other stacked=yes
-- units: jobs=jobs completed=% failed=% timeout=% out_of_memory=% node_fail=% cancelled=% other=% lost_core_h=core-h lost_share=%
-- words: application
-- param: top integer 20 how many applications, by core-hours
-- note: Shares of the jobs that started and ended. lost_core_h is what jobs used that neither completed nor were cancelled. An application with a high lost_share and many core-hours is where help pays most.
-- counts: ended amounts
-- left out: Jobs that never started or still run.
SELECT coalesce(application, 'unknown') AS application, count(*) FILTER (WHERE ended_here) AS jobs,
       100.0 * count(*) FILTER (WHERE ended_here AND ok) / nullif(jobs, 0) AS completed,
       100.0 * count(*) FILTER (WHERE ended_here AND state = 'FAILED') / nullif(jobs, 0) AS failed,
       100.0 * count(*) FILTER (WHERE ended_here AND state IN ('TIMEOUT', 'DEADLINE')) / nullif(jobs, 0) AS timeout,
       100.0 * count(*) FILTER (WHERE ended_here AND state = 'OUT_OF_MEMORY') / nullif(jobs, 0) AS out_of_memory,
       100.0 * count(*) FILTER (WHERE ended_here AND state IN ('NODE_FAIL', 'BOOT_FAIL')) / nullif(jobs, 0) AS node_fail,
       100.0 * count(*) FILTER (WHERE ended_here AND state = 'CANCELLED') / nullif(jobs, 0) AS cancelled,
       100.0 * count(*) FILTER (WHERE ended_here AND NOT list_contains(['COMPLETED', 'FAILED', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL', 'CANCELLED'], state)) / nullif(jobs, 0) AS other,
       sum(core_h * lost::INTEGER) AS lost_core_h,
       100 * lost_core_h / nullif(sum(core_h), 0) AS lost_share
FROM j
WHERE finished AND started AND (ended_here OR ran_here)
GROUP BY 1
ORDER BY sum(core_h) DESC NULLS LAST, jobs DESC, 1
LIMIT getvariable('top')
