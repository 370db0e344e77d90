-- SPDX-License-Identifier: Apache-2.0
-- title: Users and jobs that move most
-- needs: disk_read
-- chart: hbar x=name y=read,written stacked=yes
-- units: place=none jobs=jobs read=GiB written=GiB share=% rate=GiB/s
-- words: kind application
-- param: top integer 10 how many users and jobs
-- note: First the users, then single jobs; share is of all volume, rate is volume over the run time of all their jobs. A single job with a high rate is one to look for when others complain of a slow file system.
-- counts: ended amounts
-- left out: Jobs without I/O figures.
WITH v AS NOT MATERIALIZED (
  SELECT at_cluster(job_id, cluster_of(cluster)) AS job_id, user_name, application, elapsed * within AS elapsed, read_gib AS r, written_gib AS w, coalesce(read_gib, 0) + coalesce(written_gib, 0) AS moved, ended_here::INTEGER AS ended
  FROM j WHERE (disk_read IS NOT NULL OR disk_write IS NOT NULL) AND (ended_here OR ran_here)
),
by_user AS (SELECT user_name, sum(ended)::BIGINT AS jobs, sum(r) AS r, sum(w) AS w, sum(moved) AS moved, sum(elapsed) AS elapsed FROM v GROUP BY user_name),
single AS (SELECT * FROM v ORDER BY moved DESC, job_id LIMIT getvariable('top')),
g AS (
  (SELECT 'user' AS kind, coalesce(user_name, '(no user)') AS name, NULL AS application, * EXCLUDE (user_name)
   FROM by_user ORDER BY moved DESC, name LIMIT getvariable('top'))
  UNION ALL
  SELECT 'job', concat(coalesce(job_id, '(no id)'), ' (' || user_name || ')'), application, ended, r, w, moved, elapsed FROM single
)
SELECT kind, row_number() OVER (PARTITION BY kind ORDER BY moved DESC, name) AS place, name, application, jobs,
       r AS read, w AS written,
       100 * moved / nullif((SELECT sum(moved) FROM by_user), 0) AS share, moved / nullif(elapsed, 0) AS rate
FROM g
ORDER BY kind DESC, place
