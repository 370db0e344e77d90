-- SPDX-License-Identifier: Apache-2.0
-- title: Rate of I/O by application
-- needs: disk_read node_h
-- chart: hbar x=application y=read_per_node_h,written_per_node_h log=x
-- units: jobs=jobs node_h=node-h read_per_node_h=GiB written_per_node_h=GiB mean_rate=GiB/s highest_rate=GiB/s
-- words: application
-- param: top integer 20 how many applications
-- note: GiB that one node reads and writes in an hour; mean_rate and highest_rate are of a whole job, over its run time: bursts are higher.
-- note: Multiply the rate per node by the nodes of a new machine to see what its file system must give.
-- counts: ended amounts
-- left out: Jobs without I/O figures, nodes or run time; jobs of less than 60 s count, but not for highest_rate.
SELECT coalesce(application, 'unknown') AS application, count(*) FILTER (WHERE ended_here) AS jobs, sum(node_h) AS node_h,
       sum(read_gib) / sum(node_h) FILTER (WHERE disk_read IS NOT NULL) AS read_per_node_h,
       sum(written_gib) / sum(node_h) FILTER (WHERE disk_write IS NOT NULL) AS written_per_node_h,
       sum(coalesce(read_gib, 0) + coalesce(written_gib, 0)) / sum(elapsed * within) AS mean_rate,
       max((coalesce(disk_read, 0)::DOUBLE + coalesce(disk_write, 0)) / 1073741824 / elapsed) FILTER (WHERE elapsed >= 60) AS highest_rate
FROM j
WHERE (disk_read IS NOT NULL OR disk_write IS NOT NULL) AND node_h > 0
GROUP BY 1
ORDER BY coalesce(read_per_node_h, 0) + coalesce(written_per_node_h, 0) DESC, jobs DESC, 1
LIMIT getvariable('top')
