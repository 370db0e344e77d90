-- SPDX-License-Identifier: Apache-2.0
-- title: Energy per month
-- needs: energy
-- chart: bar x=month y=energy
-- units: jobs=jobs energy=kWh kwh_per_core_h=kWh measured=%
-- note: measured is the share of the month's core-hours whose jobs have a figure; compare months only where it is alike. A rising kwh_per_core_h with the same applications: look at cooling, clocks and idle cores.
-- counts: ended amounts
-- left out: Jobs without energy measured (0 is none).
WITH s AS (
  SELECT kwh, core_h, run_begins AS b, run_ends AS e, date_trunc('month', run_begins) AS first, date_trunc('month', run_ends - INTERVAL 1 MICROSECOND) AS last
  FROM j WHERE ran_here
),
-- Few jobs run in more months than one; only they are cut.
parts AS (
  SELECT first AS month, kwh, core_h FROM s WHERE first >= last
  UNION ALL
  SELECT m, kwh * part, core_h * part
  FROM (SELECT m, kwh, core_h, (epoch_us(least(e, m + INTERVAL 1 MONTH)) - epoch_us(greatest(b, m)))::DOUBLE / (epoch_us(e) - epoch_us(b)) AS part
        FROM (SELECT *, unnest(generate_series(first, last, INTERVAL 1 MONTH)) AS m FROM s WHERE first < last))
),
hours AS (
  SELECT month, sum(kwh) AS energy, sum(kwh) FILTER (WHERE core_h > 0) / nullif(sum(core_h) FILTER (WHERE kwh IS NOT NULL), 0) AS kwh_per_core_h,
         100 * sum(core_h) FILTER (WHERE kwh IS NOT NULL) / nullif(sum(core_h), 0) AS measured
  FROM parts GROUP BY month
),
ended AS (SELECT month::TIMESTAMP AS month, count(*) AS jobs FROM j WHERE ended_here AND started AND energy > 0 GROUP BY 1)
SELECT month::DATE AS month, coalesce(jobs, 0) AS jobs, energy, kwh_per_core_h, measured
FROM hours FULL JOIN ended USING (month)
WHERE month >= (SELECT date_trunc('month', begins) FROM period) AND month < (SELECT ends FROM period) AND (energy > 0 OR jobs > 0)
ORDER BY month
