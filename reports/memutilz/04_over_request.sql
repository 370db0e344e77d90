-- SPDX-License-Identifier: Apache-2.0
-- title: Who asks for memory that is not used
-- needs: req_mem job_rss elapsed user_name
-- chart: hbar x=user_name y=unused_gib_h
-- units: jobs=jobs unused_gib_h=GiB-h share=% mean_asked=GiB mean_used=GiB used_share=%
-- param: top integer 20 how many users
-- note: unused_gib_h is memory asked for and not used, times the hours it was held; share is of all such memory. Start with the first rows: a mail with mean_used and 20 % above it as the new request frees most.
-- counts: ended amounts
-- left out: Jobs without memory asked for, without memory measured, or that never started; jobs that used more than they asked for count 0.
SELECT coalesce(user_name, '(no user)') AS user_name, count(*) FILTER (WHERE ended_here) AS jobs,
       sum(greatest(req_mem - job_rss, 0) / 1073741824.0 * elapsed / 3600.0 * within) AS unused_gib_h,
       100 * unused_gib_h / nullif(sum(unused_gib_h) OVER (), 0) AS share,
       avg(req_mem) FILTER (WHERE ended_here) / 1073741824 AS mean_asked, avg(job_rss) FILTER (WHERE ended_here) / 1073741824 AS mean_used,
       100 * sum(job_rss::DOUBLE) FILTER (WHERE ended_here) / sum(req_mem::DOUBLE) FILTER (WHERE ended_here) AS used_share
FROM j
WHERE started AND req_mem > 0 AND job_rss IS NOT NULL AND elapsed > 0 AND (ended_here OR ran_here)
GROUP BY 1
ORDER BY unused_gib_h DESC, jobs DESC, 1
LIMIT getvariable('top')
