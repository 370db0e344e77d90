-- SPDX-License-Identifier: Apache-2.0
-- title: Run time of each application by job size
-- needs: application cores known elapsed
-- chart: scatter x=cores y=run_p50 group=application log=xy
-- units: cores=cores jobs=jobs run_p25=h run_p50=h run_p75=h
-- param: top integer 6 how many applications, by core-hours
-- param: sizes integer 15 how many sizes of each, by jobs
-- note: Each point is a size, in cores, at which an application ran, and the median of its run times; the table has how many jobs it is of, and the middle half of them. Points that fall to the right: more cores shorten the runs. Points that rise: large runs are also the long ones. A point of few jobs says little.
-- counts: ended
-- left out: Jobs without a label or a run time, and debugging (under 30 minutes, site.json: debug_length).
WITH p AS (
  SELECT application, sum(core_h) AS core_h FROM j WHERE known AND started AND NOT debug GROUP BY 1 ORDER BY 2 DESC NULLS LAST, application LIMIT getvariable('top')
),
q AS (
  SELECT application, cores, count(*) AS jobs, quantile_disc(elapsed, [0.25, 0.5, 0.75]) AS t
  FROM j SEMI JOIN p USING (application)
  WHERE started AND ended_here AND NOT debug AND cores > 0 AND elapsed > 0
  GROUP BY application, cores
),
r AS (SELECT *, row_number() OVER (PARTITION BY application ORDER BY jobs DESC, cores) AS place FROM q)
SELECT application, cores, jobs, t[1] / 3600.0 AS run_p25, t[2] / 3600.0 AS run_p50, t[3] / 3600.0 AS run_p75
FROM r JOIN p USING (application)
WHERE place <= getvariable('sizes')
ORDER BY core_h DESC NULLS LAST, application, cores
