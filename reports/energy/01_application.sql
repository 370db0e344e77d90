-- SPDX-License-Identifier: Apache-2.0
-- title: Energy by application
-- needs: energy
-- chart: pareto x=application y=energy share=share
-- units: jobs=jobs energy=kWh share=% kwh_per_core_h=kWh kwh_per_node_h=kWh lost_energy=kWh
-- words: application
-- param: top integer 20 how many applications
-- note: kwh_per_node_h is the mean power of a node in kW: far under that of a busy node, the application leaves nodes idle; a high one is a candidate for a lower clock. lost_energy went into jobs that neither completed nor were cancelled.
-- counts: ended amounts
-- left out: Applications beyond the first; the line ends under 100 % by what they hold. Jobs without energy measured; Slurm writes 0 where it has no meter, so 0 is left out, too. Where jobs share nodes, a job is charged the whole node.
SELECT coalesce(application, 'unknown') AS application, count(*) FILTER (WHERE ended_here) AS jobs, sum(kwh) AS energy,
       100 * sum(kwh) / nullif(sum(sum(kwh)) OVER (), 0) AS share,
       sum(kwh) FILTER (WHERE core_h > 0) / nullif(sum(core_h), 0) AS kwh_per_core_h,
       sum(kwh) FILTER (WHERE node_h > 0) / nullif(sum(node_h), 0) AS kwh_per_node_h,
       sum(kwh * lost::INTEGER) AS lost_energy
FROM j
WHERE energy > 0 AND (ended_here OR ran_here)
GROUP BY 1
ORDER BY sum(kwh) DESC NULLS LAST, jobs DESC, 1
LIMIT getvariable('top')
