-- SPDX-License-Identifier: Apache-2.0
-- title: Jobs and core-hours by job size
-- needs: size_class
-- chart: bar x=size_class y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=% users=users
-- words: size_class
-- note: Small jobs are mostly many and hold few core-hours; the classes that hold the core-hours are those that the machine and the scheduling policy should suit.
-- counts: ended amounts
-- left out: Jobs whose cores are not known. Jobs that never started count as jobs, with the cores they asked for.
SELECT size_class, count(*) FILTER (WHERE ended_here) AS jobs, 100.0 * jobs / nullif(sum(jobs) OVER (), 0) AS job_share,
       sum(core_h) AS core_h, 100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (), 0) AS core_h_share,
       nullif(count(DISTINCT user_name), 0) AS users
FROM j
WHERE size_class IS NOT NULL AND (ended_here OR ran_here)
GROUP BY size_class, size_rank
ORDER BY size_rank
