-- SPDX-License-Identifier: Apache-2.0
-- title: Lost jobs per day, with exit codes and signals
-- needs: state end_time
-- chart: line x=day y=lost_share
-- units: ended=jobs lost_jobs=jobs lost_share=% by_exit_code=jobs by_signal=jobs timeout=jobs out_of_memory=jobs node_fail=jobs top_exit_code=none top_signal=none lost_node_h=node-h
-- note: A peak of one day is mostly one user or one fault of the machine: node_fail and by_signal tell which. top_exit_code and top_signal are the most frequent of that day that are not 0.
-- left out: Jobs that never started or still run. Node-hours of lost jobs count on the day of their end.
SELECT day, count(*) AS ended, count(*) FILTER (WHERE lost) AS lost_jobs, 100.0 * lost_jobs / count(*) AS lost_share,
       count(*) FILTER (WHERE state = 'FAILED' AND coalesce(exit_signal, 0) = 0) AS by_exit_code,
       count(*) FILTER (WHERE lost AND exit_signal > 0) AS by_signal,
       count(*) FILTER (WHERE state IN ('TIMEOUT', 'DEADLINE')) AS timeout,
       count(*) FILTER (WHERE state = 'OUT_OF_MEMORY') AS out_of_memory,
       count(*) FILTER (WHERE state IN ('NODE_FAIL', 'BOOT_FAIL')) AS node_fail,
       mode(exit_code ORDER BY exit_code) FILTER (WHERE lost AND exit_code <> 0) AS top_exit_code,
       mode(exit_signal ORDER BY exit_signal) FILTER (WHERE lost AND exit_signal <> 0) AS top_signal,
       sum(node_h * lost::INTEGER) AS lost_node_h
FROM j
WHERE finished AND started AND end_local >= (SELECT begins FROM period) AND end_local < (SELECT ends FROM period)
GROUP BY day
ORDER BY day
