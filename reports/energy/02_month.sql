-- SPDX-License-Identifier: Apache-2.0
-- title: Energy per month
-- needs: energy
-- chart: bar x=month y=energy
-- units: jobs=jobs energy=kWh kwh_per_core_h=kWh measured=%
-- note: measured is the share of the month's core-hours whose jobs have a figure; compare months only where it is alike. A rising kwh_per_core_h with the same applications: look at cooling, clocks and idle cores.
-- left out: Jobs without energy measured (0 is none). A job counts in the month of its end; one that ends before or after the period in none.
SELECT month, count(*) FILTER (WHERE energy > 0) AS jobs, sum(energy::DOUBLE) / 3.6e6 AS energy,
       sum(energy::DOUBLE) FILTER (WHERE core_h > 0) / 3.6e6 / nullif(sum(core_h) FILTER (WHERE energy > 0), 0) AS kwh_per_core_h,
       100 * sum(core_h) FILTER (WHERE energy > 0) / nullif(sum(core_h), 0) AS measured
FROM j
WHERE started AND day >= (SELECT CAST(begins AS DATE) FROM period) AND day < (SELECT ends FROM period)
GROUP BY month
HAVING sum(energy) > 0
ORDER BY month
