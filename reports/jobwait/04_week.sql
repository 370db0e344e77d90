-- SPDX-License-Identifier: Apache-2.0
-- title: Wait by hour and weekday of submission
-- needs: wait_s
-- chart: heatmap x=hour y=weekday value=mean_wait count=jobs
-- units: hour=none jobs=jobs mean_wait=s mean_hold=s mean_queue=s
-- words: weekday
-- note: Hours of the zone of the report. mean_wait is submit to start; mean_hold is submit to eligible and mean_queue eligible to start. Long waits of what is submitted in the morning of workdays: test jobs are better helped by a small reserved partition at these hours.
-- counts: submitted
-- left out: Jobs that never started.
SELECT ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'][isodow(submit_local)] AS weekday,
       hour(submit_local) AS hour, count(*) AS jobs, avg(wait_s) AS mean_wait, avg(hold_s) AS mean_hold, avg(queue_s) AS mean_queue
FROM j
WHERE wait_s IS NOT NULL AND submitted_here
GROUP BY isodow(submit_local), 2
ORDER BY isodow(submit_local), hour
