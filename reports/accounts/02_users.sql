-- SPDX-License-Identifier: Apache-2.0
-- title: Users of each account
-- needs: account user_name core_h
-- chart: hbar x=name y=core_h group=account stacked=yes
-- units: jobs=jobs core_h=core-h used_core_h=core-h node_h=node-h gpu_h=GPU-h charge=SU share=%
-- param: top integer 100 how many pairs of account and user, those with most core-hours; 0: all
-- note: What `sreport cluster AccountUtilizationByUser` and `UserUtilizationByAccount` show, here as hours: one row for each user of each account. share is of the account's own core-hours.
-- counts: ended amounts
-- left out: Jobs without an account. Jobs without a known run time and cores have no core-hours.
WITH g AS (
  SELECT account, coalesce(user_name, '(no user)') AS name, count(*) FILTER (WHERE ended_here) AS jobs, sum(core_h) AS core_h, sum(used_core_h) AS used_core_h,
         sum(node_h) AS node_h, sum(gpu_h) AS gpu_h, sum(charge) AS charge
  FROM j WHERE account IS NOT NULL AND (ended_here OR ran_here) GROUP BY ALL
),
ranked AS (
  SELECT *, row_number() OVER (ORDER BY core_h DESC NULLS LAST, jobs DESC, account, name) AS place, sum(core_h) OVER (PARTITION BY account) AS total FROM g
)
SELECT account, name, jobs, core_h, used_core_h, node_h, gpu_h, charge, 100 * core_h / nullif(total, 0) AS share
FROM ranked
WHERE getvariable('top') <= 0 OR place <= getvariable('top')
ORDER BY account, core_h DESC NULLS LAST, jobs DESC, name
