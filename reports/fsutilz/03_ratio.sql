-- SPDX-License-Identifier: Apache-2.0
-- title: Reading against writing
-- needs: disk_read disk_write
-- chart: bar x=jobs_that y=job_share,volume_share
-- units: jobs=jobs job_share=% read=GiB written=GiB volume_share=% read_to_written=ratio core_h=core-h
-- words: jobs_that
-- note: Jobs by what they read for each byte that they write. Mostly reading: a cache or local copies help. Mostly writing: checkpoints and output, where burst buffers and fewer, larger files help.
-- left out: Jobs that lack one of the two figures.
WITH c AS (
  SELECT disk_read::DOUBLE AS r, disk_write::DOUBLE AS w, core_h,
         CASE WHEN r + w = 0 THEN 6 WHEN r > 10 * w THEN 1 WHEN r > 2 * w THEN 2 WHEN r * 2 >= w THEN 3 WHEN r * 10 >= w THEN 4 ELSE 5 END AS place
  FROM j WHERE disk_read IS NOT NULL AND disk_write IS NOT NULL
)
SELECT ['read over 10 times more', 'read 2 to 10 times more', 'read and write alike', 'write 2 to 10 times more',
        'write over 10 times more', 'do neither'][place] AS jobs_that,
       count(*) AS jobs, 100.0 * count(*) / sum(count(*)) OVER () AS job_share,
       sum(r) / 1073741824 AS read, sum(w) / 1073741824 AS written,
       100 * sum(r + w) / nullif(sum(sum(r + w)) OVER (), 0) AS volume_share,
       sum(r) / nullif(sum(w), 0) AS read_to_written, sum(core_h) AS core_h
FROM c
GROUP BY place
ORDER BY place
