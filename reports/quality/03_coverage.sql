-- SPDX-License-Identifier: Apache-2.0
-- title: How far each column is filled
-- chart: hbar x=column_name y=filled
-- units: present=jobs filled=%
-- note: A report that needs an empty column is left out. Columns of memory and I/O come from steps: when they are empty, export with steps (no -X) and with MaxRSS, AveRSS, TRESUsageInTot and TRESUsageOutTot.
-- note: Some are meant to be rare: arrays, failed_node, reservation, start_time of jobs that never ran.
-- counts: ended
-- left out: Nothing.
SELECT column_name, present, 100 * share AS filled
FROM coverage
WHERE jobs > 0
ORDER BY filled DESC, column_name
