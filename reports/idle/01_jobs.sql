-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs that held cores for over an hour and did nothing
-- needs: cpu_eff
-- chart: hbar x=job y=core_h
-- units: cores=cores gpus=count run_time=h core_h=core-h used=% gpu_used=%
-- words: application
-- param: top integer 25 how many jobs, by core-hours
-- note: These used under 5 % of their core time. Mostly a forgotten interactive session, a job that waits for a licence or a file, or one whose processes died. Ask the user; a time limit for interactive jobs helps.
-- note: Slurm records no CPU time of steps that it killed in some versions: ask before you blame a job that stands at 0 % and ended in TIMEOUT or CANCELLED.
-- counts: amounts
-- left out: Jobs without CPU time measured, under an hour, that still run, or whose GPUs were used 5 % or more (there the cores only wait for the GPUs).
SELECT at_cluster(job_id, cluster_of(cluster)) AS job, user_name, application, state, cores, gpus, elapsed / 3600.0 AS run_time, core_h,
       100 * cpu_eff AS used, gpu_util_milli / 10.0 AS gpu_used
FROM j
WHERE cpu_eff < 0.05 AND elapsed > 3600 AND finished AND coalesce(gpu_util_milli, 0) < 50 AND (ended_here OR ran_here)
ORDER BY core_h DESC, job
LIMIT getvariable('top')
