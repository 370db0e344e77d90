-- SPDX-License-Identifier: Apache-2.0
-- title: The tree of accounts
-- needs: account core_h
-- chart: hbar x=account y=core_h largest=yes
-- units: jobs=jobs core_h=core-h own_core_h=core-h node_h=node-h gpu_h=GPU-h charge=SU share=%
-- param: top integer 100 how many accounts, those with most core-hours; 0: all
-- note: Each row holds the account and all accounts below it, as `sreport cluster AccountUtilizationByUser` shows them; own_core_h is of its own jobs alone. share is of all core-hours of the period. Who stands under whom comes from accounts.json or sacctmgr's dump ("accounts" of site.json, --accounts-file); an account that is not in it stands by itself.
-- counts: ended amounts
-- left out: Jobs without an account; accounts without jobs, in themselves and below. Jobs without a known run time and cores have no core-hours.
WITH own AS (
  SELECT account, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h, sum(node_h) AS node_h, sum(gpu_h) AS gpu_h, sum(charge) AS charge
  FROM j WHERE (ended_here OR ran_here) GROUP BY account
),
tree AS (
  SELECT account, above FROM account_tree
  UNION ALL
  SELECT account, account FROM own WHERE account IS NOT NULL AND account NOT IN (SELECT account FROM accounts)
),
g AS (
  SELECT above, sum(jobs)::BIGINT AS jobs, sum(core_h) AS core_h, sum(core_h) FILTER (WHERE own.account = above) AS own_core_h, sum(node_h) AS node_h,
         sum(gpu_h) AS gpu_h, sum(charge) AS charge
  FROM own JOIN tree USING (account) GROUP BY above
),
ranked AS (SELECT *, row_number() OVER (ORDER BY core_h DESC NULLS LAST, jobs DESC, above) AS place FROM g)
SELECT above AS account, a.parent, a.pi, jobs, core_h, own_core_h, node_h, gpu_h, charge, 100 * core_h / nullif((SELECT sum(core_h) FROM own), 0) AS share
FROM ranked LEFT JOIN accounts a ON a.account = above
WHERE getvariable('top') <= 0 OR place <= getvariable('top')
ORDER BY string_split(coalesce(a.path, above), '/')
