-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs and core-hours by CPU efficiency
-- needs: cpu_eff
-- chart: bar x=efficiency y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=% unused_core_h=core-h
-- words: efficiency
-- note: Efficiency is CPU time used, of core time allocated. Core-hours at the left were held and not used: often one process on many cores, or a job that waited for data.
-- note: Over 100 % (up to 1000 %) is more threads than cores allocated: with two threads per core this is no fault.
-- note: Slurm records no CPU time of steps that it killed in some versions: ask before you blame a job that stands at 0 % and ended in TIMEOUT or CANCELLED.
-- counts: ended amounts
-- left out: Jobs without CPU time measured, without run time, and those that say they used over 10 times what they were given (a fault of the log). Jobs on GPUs count, though theirs is mostly low.
WITH e AS (
  SELECT cpu_eff, core_h, ended_here, least(floor(cpu_eff * 10), 10)::INTEGER AS tenth FROM j WHERE cpu_eff IS NOT NULL AND started AND (ended_here OR ran_here)
)
SELECT CASE tenth WHEN 10 THEN '100 % and over' ELSE format('{}-{} %', tenth * 10, tenth * 10 + 10) END AS efficiency,
       count(*) FILTER (WHERE ended_here) AS jobs, 100.0 * jobs / nullif(sum(jobs) OVER (), 0) AS job_share,
       sum(core_h) AS core_h, 100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (), 0) AS core_h_share,
       sum(core_h * greatest(1 - cpu_eff, 0)) AS unused_core_h
FROM e
GROUP BY tenth
ORDER BY tenth
