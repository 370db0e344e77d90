-- SPDX-License-Identifier: Apache-2.0
-- title: Work on weekends
-- needs: start_time core_h
-- chart: bar x=part_of_week y=core_h
-- units: jobs=jobs core_h=core-h share=%
-- param: friday_hour integer 24 hour of Friday from which it is weekend; 24: from Saturday on
-- note: A weekend is two of seven days, or 28.6 %; where it holds much less of the core-hours, the queue runs dry.
-- left out: A job counts whole for the hour of its start, also where it ran into the week.
WITH parted AS (
  SELECT CASE WHEN isodow(start_local) >= 6
                OR (isodow(start_local) = 5 AND hour(start_local) >= getvariable('friday_hour'))
              THEN 'weekend' ELSE 'week' END AS part_of_week,
         core_h
  FROM j WHERE started
)
SELECT part_of_week, count(*) AS jobs, sum(core_h) AS core_h, 100 * sum(core_h) / sum(sum(core_h)) OVER () AS share
FROM parted GROUP BY part_of_week ORDER BY part_of_week
