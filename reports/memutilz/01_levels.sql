-- SPDX-License-Identifier: Apache-2.0
-- title: Memory of a process, a job, a node and a core
-- needs: max_rss
-- chart: bar x=memory_of y=mean,median,high,most log=y
-- units: jobs=jobs mean=GiB median=GiB high=GiB most=GiB
-- words: memory_of
-- note: high is the 95th percentile: 19 of 20 jobs need no more. Compare the rows per node and per core with what your nodes have: memory that no job needs was bought for nothing, and jobs near the limit are those that end in OUT_OF_MEMORY.
-- note: A process is its largest resident set (MaxRSS), or the mean of the processes (AveRSS); a job is the sum of its processes in its largest step.
-- counts: ended
-- left out: Jobs without steps or without memory in them; per node and per core also those without nodes or cores.
WITH m AS (
  SELECT max_rss, ave_rss, job_rss, job_rss / nullif(nodes, 0) AS per_node, job_rss / nullif(cores, 0) AS per_core
  FROM j WHERE (max_rss IS NOT NULL OR job_rss IS NOT NULL) AND ended_here
),
-- One pass over the jobs, then a row for each of the five.
s AS (
  SELECT unnest(['process, largest', 'process, mean', 'job', 'node', 'core']) AS memory_of, unnest(range(5)) AS place,
         unnest([count(max_rss), count(ave_rss), count(job_rss), count(per_node), count(per_core)]) AS jobs,
         unnest([avg(max_rss), avg(ave_rss), avg(job_rss), avg(per_node), avg(per_core)]) AS mean,
         unnest([quantile_disc(max_rss, [0.5, 0.95]), quantile_disc(ave_rss, [0.5, 0.95]), quantile_disc(job_rss, [0.5, 0.95]),
                 quantile_disc(per_node::BIGINT, [0.5, 0.95]), quantile_disc(per_core::BIGINT, [0.5, 0.95])]) AS p,
         unnest([max(max_rss), max(ave_rss), max(job_rss), max(per_node), max(per_core)]) AS most
  FROM m
)
SELECT memory_of, jobs, mean / 1073741824 AS mean, p[1] / 1073741824.0 AS median, p[2] / 1073741824.0 AS high, most / 1073741824.0 AS most
FROM s
WHERE jobs > 0
ORDER BY place
