-- SPDX-License-Identifier: Apache-2.0
-- title: How long jobs wait
-- needs: wait_s
-- chart: box x=part low=p10 q1=p25 median=p50 q3=p75 high=p90 most=most count=jobs log=y
-- units: jobs=jobs mean=s p10=s p25=s p50=s p75=s p90=s p99=s most=s
-- words: part
-- note: The box holds the middle half of the jobs, the whiskers 8 of 10; p90 is what 9 of 10 jobs stay under. "submit to eligible" is a wait for other jobs, a start time or a limit of the user; only "eligible to start" can be helped by more nodes or another scheduling policy.
-- counts: started
-- left out: Jobs that never started; in the two parts also those whose time of becoming eligible is not known.
WITH w AS (  -- one pass over the jobs, then a row for each of the three
  SELECT unnest(['submit to start', 'submit to eligible', 'eligible to start']) AS part, unnest(range(3)) AS place,
         unnest([count(wait_s), count(hold_s), count(queue_s)]) AS jobs, unnest([avg(wait_s), avg(hold_s), avg(queue_s)]) AS mean,
         unnest([quantile_disc(wait_s, [0.1, 0.25, 0.5, 0.75, 0.9, 0.99]), quantile_disc(hold_s, [0.1, 0.25, 0.5, 0.75, 0.9, 0.99]),
                 quantile_disc(queue_s, [0.1, 0.25, 0.5, 0.75, 0.9, 0.99])]) AS p,
         unnest([max(wait_s), max(hold_s), max(queue_s)]) AS most
  FROM (SELECT wait_s, CASE WHEN queue_s IS NOT NULL THEN hold_s END AS hold_s, queue_s FROM j WHERE wait_s IS NOT NULL AND started_here)
)
SELECT part, jobs, mean, p[1] AS p10, p[2] AS p25, p[3] AS p50, p[4] AS p75, p[5] AS p90, p[6] AS p99, most
FROM w
WHERE jobs > 0
ORDER BY place
