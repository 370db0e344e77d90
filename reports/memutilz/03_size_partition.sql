-- SPDX-License-Identifier: Apache-2.0
-- title: Memory per core by job size and partition
-- needs: job_rss size_class
-- chart: heatmap x=size_class y=partition value=gib_per_core count=jobs
-- units: jobs=jobs gib_per_core=GiB gib_per_node=GiB used_share=% most_per_node=GiB
-- words: size_class
-- param: top integer 15 how many partitions, by jobs
-- note: gib_per_core and gib_per_node are means over jobs. A partition of large nodes whose jobs need little memory per core can take work from others; one near its limit needs larger nodes.
-- counts: ended
-- left out: Jobs without memory measured, without cores, or that never started.
WITH m AS NOT MATERIALIZED (
  SELECT at_cluster("partition", cluster_of(cluster)) AS "partition", size_class, size_rank, job_rss, req_mem, cores, nodes
  FROM j WHERE job_rss IS NOT NULL AND started AND ended_here
),
p AS (
  SELECT "partition" FROM m WHERE "partition" IS NOT NULL
  GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT getvariable('top')
)
SELECT size_class, "partition", count(*) AS jobs,
       avg(job_rss / nullif(cores, 0)::DOUBLE) / 1073741824 AS gib_per_core,
       avg(job_rss / nullif(nodes, 0)::DOUBLE) / 1073741824 AS gib_per_node,
       max(job_rss / nullif(nodes, 0)::DOUBLE) / 1073741824 AS most_per_node,
       100 * sum(job_rss::DOUBLE) FILTER (WHERE req_mem > 0) / sum(req_mem::DOUBLE) FILTER (WHERE req_mem > 0) AS used_share
FROM m SEMI JOIN p USING ("partition")
WHERE cores > 0 AND size_class IS NOT NULL
GROUP BY size_class, size_rank, "partition"
ORDER BY "partition", size_rank
