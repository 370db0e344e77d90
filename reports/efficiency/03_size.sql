-- SPDX-License-Identifier: Apache-2.0
-- title: CPU efficiency by job size
-- needs: cpu_eff size_class
-- chart: bar x=size_class y=efficiency,median_efficiency
-- units: jobs=jobs core_h=core-h efficiency=% median_efficiency=% low_jobs=% unused_core_h=core-h
-- words: size_class
-- note: efficiency weighs jobs by their core-hours; low_jobs is the share of jobs under 50 %. Where it falls with size, applications do not scale that far, or jobs use one node of several.
-- note: An efficiency over 100 % (up to 1000 %) is more threads than cores allocated: with two threads per core this is no fault. Such jobs have no unused core-hours.
-- counts: ended amounts
-- left out: Jobs that say they used over 10 times what they were given (a fault of the log), and jobs without CPU time measured, without run time or without cores.
SELECT size_class, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h,
       100 * sum(used_core_h) / nullif(sum(core_h), 0) AS efficiency, 100 * median(cpu_eff) FILTER (WHERE ended_here) AS median_efficiency,
       100.0 * count(*) FILTER (WHERE cpu_eff < 0.5 AND ended_here) / nullif(count(*) FILTER (WHERE ended_here), 0) AS low_jobs,
       sum(core_h * greatest(1 - cpu_eff, 0)) AS unused_core_h
FROM j
WHERE cpu_eff IS NOT NULL AND started AND size_class IS NOT NULL AND (ended_here OR ran_here)
GROUP BY size_class, size_rank
ORDER BY size_rank
