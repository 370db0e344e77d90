-- SPDX-License-Identifier: Apache-2.0
-- title: Memory used of what was asked for, by application
-- needs: req_mem job_rss
-- chart: hbar x=application y=asked,used
-- units: jobs=jobs asked=GiB used=GiB used_share=% near_limit=%
-- words: application
-- param: top integer 20 how many applications, by core-hours
-- note: asked and used are means per job; used_share is all memory used of all memory asked for; near_limit is the share of jobs that used over 90 % of what they asked for.
-- note: A low used_share with a low near_limit: users of this application can ask for less, and more jobs fit on a node. A high near_limit: they should ask for more before jobs end in OUT_OF_MEMORY.
-- counts: ended
-- left out: Jobs without memory asked for, without memory measured, or that never started.
SELECT coalesce(application, 'unknown') AS application, count(*) AS jobs,
       avg(req_mem) / 1073741824 AS asked, avg(job_rss) / 1073741824 AS used,
       100 * sum(job_rss::DOUBLE) / sum(req_mem::DOUBLE) AS used_share,
       100.0 * count(*) FILTER (WHERE job_rss > 0.9 * req_mem) / count(*) AS near_limit
FROM j
WHERE started AND req_mem > 0 AND job_rss IS NOT NULL AND ended_here
GROUP BY 1
ORDER BY sum(core_h) DESC NULLS LAST, jobs DESC, 1
LIMIT getvariable('top')
