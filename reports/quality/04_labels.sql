-- SPDX-License-Identifier: Apache-2.0
-- title: Where labels come from, and what has none
-- chart: bar x=labelled_by y=job_share,core_h_share
-- units: jobs=jobs job_share=% core_h=core-h core_h_share=% names=count
-- words: labelled_by
-- note: The first rows found an application; "unknown" rows say why none was found: default_name is a framework's default (main2d, a.out), interpreter is python and the like, other is a name that no keyword fits.
-- note: Under 95 % of core-hours labelled, read the reports of applications with care; `sickbay labels suggest` helps most for "other".
-- counts: ended amounts
-- left out: Jobs that never started.
SELECT CASE WHEN known THEN coalesce(labelled_by, 'not said') ELSE 'unknown: ' || coalesce(labelled_by, 'not said') END AS labelled_by,
       count(*) FILTER (WHERE ended_here) AS jobs, 100.0 * jobs / nullif(sum(jobs) OVER (), 0) AS job_share,
       sum(core_h) AS core_h, 100 * sum(core_h) / nullif(sum(sum(core_h)) OVER (), 0) AS core_h_share,
       approx_count_distinct(job_name) AS names
FROM j
WHERE started AND (ended_here OR ran_here)
GROUP BY known, j.labelled_by
ORDER BY known DESC, jobs DESC, 1
