#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Gini coefficient of the users' core-hours: asks the store with `sickbay sql --views` for the jobs of the filter,
# computes in awk, prints CSV.
set -eu
sickbay sql --views --store "$SICKBAY_STORE" --format csv "
  SELECT sum(core_h) AS core_h
  FROM j WHERE user_name IS NOT NULL
  GROUP BY user_name HAVING sum(core_h) >= $SICKBAY_PARAM_LEAST_CORE_H ORDER BY 1" |
  awk 'NR > 1 { n++; sum += $1; weighted += n * $1; largest = $1 }
       END { print "users,gini,largest"
             if (sum > 0) printf "%d,%.4f,%.2f\n", n, 2 * weighted / (n * sum) - (n + 1) / n, 100 * largest / sum }'
