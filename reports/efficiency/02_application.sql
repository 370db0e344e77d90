-- SPDX-License-Identifier: Apache-2.0
-- title: CPU efficiency by application
-- needs: cpu_eff application
-- chart: hbar x=application y=efficiency
-- units: jobs=jobs core_h=core-h efficiency=% median_efficiency=% low_jobs=% unused_core_h=core-h
-- words: application
-- param: top integer 20 how many applications, by unused core-hours
-- note: efficiency weighs jobs by their core-hours; low_jobs is the share of jobs under 50 %. The first rows hold most unused core-hours: a wrong number of threads or a serial part, which one look at a job script mostly shows.
-- note: An efficiency over 100 % (up to 1000 %) is more threads than cores allocated: with two threads per core this is no fault. Such jobs have no unused core-hours.
-- counts: ended amounts
-- left out: Jobs that say they used over 10 times what they were given (a fault of the log), and jobs without CPU time measured or without run time.
SELECT coalesce(application, 'unknown') AS application, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h,
       100 * sum(used_core_h) / nullif(sum(core_h), 0) AS efficiency, 100 * median(cpu_eff) FILTER (WHERE ended_here) AS median_efficiency,
       100.0 * count(*) FILTER (WHERE cpu_eff < 0.5 AND ended_here) / nullif(count(*) FILTER (WHERE ended_here), 0) AS low_jobs,
       sum(core_h * greatest(1 - cpu_eff, 0)) AS unused_core_h
FROM j
WHERE cpu_eff IS NOT NULL AND started AND (ended_here OR ran_here)
GROUP BY 1
ORDER BY unused_core_h DESC, jobs DESC, 1
LIMIT getvariable('top')
