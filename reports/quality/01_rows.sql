-- SPDX-License-Identifier: Apache-2.0
-- title: What was read, and what was rejected and why
-- chart: none
-- units: records=count share=% first_line=none lines=count
-- words: what
-- note: A record that cannot be read is left out of all figures. Over 1 % rejected: look at the first line of the reason in the log; mostly it was cut off, or has a delimiter inside a text.
-- counts: store
-- left out: Nothing. Records of a log that was imported twice count once.
WITH r AS (
  SELECT source, 1 AS place, 'read' AS what, format AS reason, sum(records - rejected) AS records, NULL AS first_line, sum(lines) AS lines
  FROM imports GROUP BY source, format
  UNION ALL
  SELECT source, 2, 'rejected', reason, sum(records), min(first_line), NULL
  FROM rejects GROUP BY source, reason
),
-- At most 100 rows: a log may be rejected for as many reasons as it has lines.
top AS (SELECT * FROM r ORDER BY records DESC, source, place, reason LIMIT 100)
SELECT source, what, reason, records::BIGINT AS records,
       100.0 * records / nullif((SELECT sum(i.records) FROM imports i WHERE i.source = top.source), 0) AS share, first_line, lines::BIGINT AS lines
FROM top
ORDER BY source, place, top.records DESC, reason
