-- SPDX-License-Identifier: Apache-2.0
-- title: Users with most idle core-hours
-- needs: cpu_eff user_name
-- chart: hbar x=user_name y=idle_core_h
-- units: idle_jobs=jobs idle_core_h=core-h share=% of_own=%
-- param: top integer 15 how many users
-- note: Core-hours of jobs that used under 5 % of their core time for over an hour. share is of all idle core-hours, of_own of the user's own: near 100 % the user's way of working is to hold cores.
-- note: Slurm records no CPU time of steps that it killed in some versions: ask before you blame a job that stands at 0 % and ended in TIMEOUT or CANCELLED.
-- counts: ended amounts
-- left out: Jobs without CPU time measured, under an hour, that still run, or whose GPUs were used 5 % or more.
SELECT coalesce(user_name, '(no user)') AS user_name, count(*) FILTER (WHERE idle AND ended_here) AS idle_jobs, sum(core_h) FILTER (WHERE idle) AS idle_core_h,
       100 * idle_core_h / nullif(sum(idle_core_h) OVER (), 0) AS share, 100 * idle_core_h / nullif(sum(core_h), 0) AS of_own
FROM (SELECT user_name, core_h, ended_here, cpu_eff < 0.05 AND elapsed > 3600 AND coalesce(gpu_util_milli, 0) < 50 AS idle FROM j WHERE cpu_eff IS NOT NULL AND finished AND (ended_here OR ran_here))
GROUP BY 1
HAVING count(*) FILTER (WHERE idle) > 0
ORDER BY idle_core_h DESC NULLS LAST, idle_jobs DESC, 1
LIMIT getvariable('top')
