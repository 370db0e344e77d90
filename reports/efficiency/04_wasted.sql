-- SPDX-License-Identifier: Apache-2.0
-- title: Who holds most unused core-hours
-- needs: cpu_eff user_name
-- chart: pareto x=user_name y=unused_core_h share=share
-- units: jobs=jobs core_h=core-h unused_core_h=core-h share=% efficiency=% lost_core_h=core-h
-- words: application
-- param: top integer 20 how many users
-- note: unused_core_h are core-hours allocated in which no process ran; share is of all of them. lost_core_h is what the same user's jobs used that neither completed nor were cancelled. A talk with the first five pays most.
-- note: An efficiency over 100 % (up to 1000 %) is more threads than cores allocated: with two threads per core this is no fault. Such jobs have no unused core-hours.
-- note: Slurm records no CPU time of steps that it killed in some versions: ask before you blame a job that stands at 0 % and ended in TIMEOUT or CANCELLED.
-- counts: ended amounts
-- left out: Users beyond the first; the line ends under 100 % by what they hold. Jobs that say they used over 10 times what they were given (a fault of the log), and jobs without CPU time measured or without run time.
WITH parts AS (  -- few, however many jobs there are
  SELECT user_name, application, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h, sum(core_h * greatest(1 - cpu_eff, 0)) AS unused,
         sum(used_core_h) AS used, sum(core_h * lost::INTEGER) AS lost
  FROM j WHERE cpu_eff IS NOT NULL AND started AND (ended_here OR ran_here)
  GROUP BY user_name, application
)
SELECT coalesce(user_name, '(no user)') AS user_name, first(application ORDER BY p.jobs DESC, application) AS application,
       sum(p.jobs)::BIGINT AS jobs, sum(p.core_h) AS core_h, sum(unused) AS unused_core_h,
       100 * unused_core_h / nullif(sum(unused_core_h) OVER (), 0) AS share,
       100 * sum(used) / nullif(sum(p.core_h), 0) AS efficiency, sum(lost) AS lost_core_h
FROM parts p
GROUP BY 1
ORDER BY unused_core_h DESC, jobs DESC, 1
LIMIT getvariable('top')
