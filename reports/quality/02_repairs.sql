-- SPDX-License-Identifier: Apache-2.0
-- title: What was mended, and what is wrong and was left as it is
-- chart: hbar x=kind y=jobs group=what stacked=yes
-- units: jobs=jobs share=% core_h=core-h
-- words: what meaning
-- note: "mended" rows were put right as the meaning says, and count as such in all reports. "left" rows stand in the reports as the log has them, except where a report says so: when their core_h is large, mend the log and import it again.
-- counts: ended amounts
-- left out: Kinds that no job has. A job may have several.
WITH kinds AS (
  SELECT * FROM (VALUES
    (1, 0, 'state_from_steps', 'the state contradicted that of the steps; the steps are believed'),
    (1, 1, 'req_mem_flag', 'memory asked for carried the per-CPU flag of Slurm (2^31) as a number'),
    (1, 2, 'never_started', 'cancelled while pending, written with start = end; the start was removed'),
    (1, 3, 'total_cpu_usage', 'TotalCPU was 0; the usage in TRES took its place'),
    (1, 4, 'elapsed_from_times', 'no run time; end minus start'),
    (1, 5, 'times_from_elapsed', 'no end; start plus run time'),
    (1, 6, 'job_from_steps', 'no row of the job itself; made from its steps'),
    (1, 7, 'name_delimiter', 'a delimiter or line break within a text; the row was put together again'),
    (1, 8, 'bad_utf8', 'bytes that are no UTF-8 were replaced'),
    (1, 9, 'duplicate_rows', 'the same row came more than once'),
    (1, 10, 'text_cut', 'the log itself cut a text'),
    (2, 0, 'end_before_start', 'the end lies before the start'),
    (2, 1, 'start_before_submit', 'the start lies before the submission'),
    (2, 2, 'over_used', 'over 10 times more CPU time used than allocated; not counted for efficiency'),
    (2, 3, 'no_user', 'no user'),
    (2, 4, 'no_cpus', 'ran, and no cores allocated are said; its core-hours are of those asked for'),
    (2, 5, 'unknown_state', 'a state that Slurm does not have'),
    (2, 6, 'over_limit', 'ran over an hour and 10 % longer than its limit'),
    (2, 7, 'in_future', 'a time over a day after the import'),
    (2, 8, 'bad_value', 'a value that could not be read was left out'),
    (2, 9, 'no_start', 'ran, and no start is said; placed by its end, else from its submission on'),
    (2, 62, 'stray', 'its times are far from those of all other jobs')
  ) AS v(what, place, kind, meaning)
),
-- Few different sets of bits, however many jobs.
sets AS (
  SELECT 1 AS what, repairs AS bits, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h FROM j WHERE repairs <> 0 AND (ended_here OR ran_here) GROUP BY repairs
  UNION ALL
  SELECT 2, flaws, count(*) FILTER (WHERE ended_here), sum(core_h) FROM j WHERE flaws <> 0 AND (ended_here OR ran_here) GROUP BY flaws
  UNION ALL
  SELECT 2, 1::BIGINT << 62, nullif(count(*) FILTER (WHERE ended_here), 0), sum(core_h) FROM j, span_of_log
  WHERE (ended_here OR ran_here) AND (end_time < from_here OR end_time > up_to_here)
  HAVING count(*) > 0
)
SELECT CASE k.what WHEN 1 THEN 'mended' ELSE 'left' END AS what, kind, meaning, sum(jobs)::BIGINT AS jobs,
       100.0 * sum(jobs) / nullif((SELECT count(*) FROM j WHERE ended_here), 0) AS share, sum(core_h) AS core_h
FROM kinds k JOIN sets s ON k.what = s.what AND s.bits & (1::BIGINT << k.place) <> 0
GROUP BY k.what, k.place, kind, meaning
ORDER BY k.what, jobs DESC, k.place
