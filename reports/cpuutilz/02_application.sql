-- SPDX-License-Identifier: Apache-2.0
-- title: Core-hours by application
-- needs: core_h
-- chart: pareto x=application y=core_h share=share
-- units: jobs=jobs users=users core_h=core-h share=% median_cores=cores median_run_time=h
-- words: application
-- param: top integer 25 how many applications
-- note: The line is the cumulated share of all core-hours. The applications left of 80 % are those to benchmark, to tune and to ask a new machine for.
-- note: "unknown" is work without a label: when it is large, `sickbay labels suggest` proposes keywords.
-- counts: ended amounts
-- left out: Applications beyond the first; the line ends under 100 % by what they hold.
SELECT coalesce(application, 'unknown') AS application, count(*) FILTER (WHERE ended_here) AS jobs, nullif(count(DISTINCT user_name), 0) AS users,
       sum(core_h) AS core_h, 100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (), 0) AS share,
       median(cores) FILTER (WHERE started AND ended_here) AS median_cores,
       median(elapsed) FILTER (WHERE started AND ended_here) / 3600.0 AS median_run_time
FROM j
WHERE ended_here OR ran_here
GROUP BY 1
ORDER BY core_h DESC NULLS LAST, jobs DESC, 1
LIMIT getvariable('top')
