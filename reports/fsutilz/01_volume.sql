-- SPDX-License-Identifier: Apache-2.0
-- title: Volume read and written by application
-- needs: disk_read
-- chart: hbar x=application y=read,written stacked=yes
-- units: jobs=jobs users=users read=GiB written=GiB share=% read_per_job=GiB written_per_job=GiB
-- words: application
-- param: top integer 20 how many applications
-- note: Share is of all that was read and written. The first applications are those to look at when the file system is slow, and to try a new one with.
-- counts: ended amounts
-- left out: Jobs without I/O figures: Slurm gathers them only with a plug-in that counts (jobacct_gather), and of the processes of steps.
SELECT coalesce(application, 'unknown') AS application, count(*) FILTER (WHERE ended_here) AS jobs, nullif(count(DISTINCT user_name), 0) AS users,
       sum(read_gib) AS read, sum(written_gib) AS written,
       100 * (coalesce(read, 0) + coalesce(written, 0)) / nullif(sum(coalesce(read, 0) + coalesce(written, 0)) OVER (), 0) AS share,
       avg(disk_read) FILTER (WHERE ended_here) / 1073741824 AS read_per_job, avg(disk_write) FILTER (WHERE ended_here) / 1073741824 AS written_per_job
FROM j
WHERE (disk_read IS NOT NULL OR disk_write IS NOT NULL) AND (ended_here OR ran_here)
GROUP BY 1
ORDER BY share DESC NULLS LAST, jobs DESC, 1
LIMIT getvariable('top')
