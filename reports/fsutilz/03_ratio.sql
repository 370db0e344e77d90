-- SPDX-License-Identifier: Apache-2.0
-- title: Reading against writing
-- needs: disk_read disk_write
-- chart: bar x=jobs_that y=job_share,volume_share
-- units: jobs=jobs job_share=% read=GiB written=GiB volume_share=% read_to_written=ratio core_h=core-h
-- words: jobs_that
-- note: Jobs by what they read for each byte that they write. Mostly reading: a cache or local copies help. Mostly writing: checkpoints and output, where burst buffers and fewer, larger files help.
-- counts: ended amounts
-- left out: Jobs that lack one of the two figures.
WITH c AS (
  SELECT disk_read::DOUBLE AS r, disk_write::DOUBLE AS w, read_gib, written_gib, core_h, ended_here,
         CASE WHEN r + w = 0 THEN 6 WHEN r > 10 * w THEN 1 WHEN r > 2 * w THEN 2 WHEN r * 2 >= w THEN 3 WHEN r * 10 >= w THEN 4 ELSE 5 END AS place
  FROM j WHERE disk_read IS NOT NULL AND disk_write IS NOT NULL AND (ended_here OR ran_here)
)
SELECT ['read over 10 times more', 'read 2 to 10 times more', 'read and write alike', 'write 2 to 10 times more',
        'write over 10 times more', 'do neither'][place] AS jobs_that,
       count(*) FILTER (WHERE ended_here) AS jobs, 100.0 * jobs / nullif(sum(jobs) OVER (), 0) AS job_share,
       sum(read_gib) AS read, sum(written_gib) AS written,
       100 * (read + written) / nullif(sum(read + written) OVER (), 0) AS volume_share,
       sum(read_gib) / nullif(sum(written_gib), 0) AS read_to_written, sum(core_h) AS core_h
FROM c
GROUP BY place
ORDER BY place
