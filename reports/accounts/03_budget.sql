-- SPDX-License-Identifier: Apache-2.0
-- title: Budgets: what is left, and until when
-- needs: accounts.budget
-- chart: hbar x=account y=spent,gone
-- units: budget=none used=none left_over=none spent=% gone=% per_day=none
-- words: unit
-- param: days integer 30 how many of the last days tell how fast it is used
-- param: top integer 100 how many accounts, those that have spent the largest share; 0: all
-- note: used is what the account and all below it used from the first day of its budget to the end of the period; per_day is the mean of the last days, and runs_out the day on which the rest is used up if it goes on so. An account of which spent is far over gone (the share of its time that is over) runs out early; runs_out is empty where the budget's time ends before.
-- note: Budgets come from accounts.json, or are the GrpTRESMins of sacctmgr's dump, which Slurm itself may let decay (PriorityDecayHalfLife). A charge (SU) is what site.json charges.
-- counts: budgets
-- left out: Accounts without a budget. Jobs without a known run time have no hours.
WITH r AS (
  SELECT account, core_h, node_h, gpu_h, charge, run_begins AS b, run_ends AS e FROM j_all WHERE ran_here AND account IS NOT NULL
),
at_end AS (SELECT ends, ends - to_days(CAST(getvariable('days') AS INTEGER)) AS recent FROM period),
of_budget AS (
  SELECT a.account, greatest(r.b, coalesce(a.since, r.b)) AS b, least(r.e, coalesce(a.until, ends), ends) AS e, recent,
         CASE a.budget_of WHEN 'core-h' THEN core_h WHEN 'GPU-h' THEN gpu_h WHEN 'node-h' THEN node_h ELSE charge END / (epoch_us(r.e) - epoch_us(r.b)) AS per_us
  FROM accounts a JOIN account_tree t ON t.above = a.account JOIN r ON r.account = t.account, at_end WHERE a.budget IS NOT NULL
),
used AS (
  SELECT account, sum(per_us * (epoch_us(e) - epoch_us(b))) FILTER (WHERE e > b) AS so_far,
         sum(per_us * (epoch_us(e) - epoch_us(greatest(b, recent)))) FILTER (WHERE e > greatest(b, recent)) AS lately
  FROM of_budget GROUP BY account
),
g AS (
  SELECT a.account, a.pi, a.budget_of AS unit, a.budget, coalesce(so_far, 0) AS used, a.budget - coalesce(so_far, 0) AS left_over,
         100 * coalesce(so_far, 0) / nullif(a.budget, 0) AS spent,
         CASE WHEN a.until > a.since THEN 100 * least(1, greatest(0, (epoch_us(ends) - epoch_us(a.since))::DOUBLE / (epoch_us(a.until) - epoch_us(a.since)))) END AS gone,
         coalesce(lately, 0) * 86400e6 / nullif(greatest(0, epoch_us(ends) - epoch_us(greatest(recent, coalesce(a.since, recent)))), 0) AS per_day, ends, a.until
  FROM accounts a LEFT JOIN used USING (account), at_end WHERE a.budget IS NOT NULL
),
told AS (
  SELECT *, CASE WHEN left_over <= 0 THEN ends WHEN per_day > 0 AND left_over / per_day < 36500 THEN ends + to_microseconds(CAST(86400e6 * left_over / per_day AS BIGINT)) END AS empty_at,
         row_number() OVER (ORDER BY spent DESC NULLS LAST, account) AS place
  FROM g
)
SELECT account, pi, unit, budget, used, left_over, spent, gone, per_day, CASE WHEN until IS NULL OR empty_at < until THEN empty_at::DATE END AS runs_out, until::DATE AS until
FROM told
WHERE getvariable('top') <= 0 OR place <= getvariable('top')
ORDER BY place
