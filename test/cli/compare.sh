#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two outputs are the same result or not: the exit code says it.
. "$(dirname "$0")/common.inc"
printf 'started 10:00:01\nsum 1.0000000\n' > good
printf 'started 11:30:59\nsum 1.0000001\n' > second
printf 'started 12:12:12\nsum 1.0000002\n' > third
printf 'started 12:12:12\nsum 1.5\n' > wrong

run 0 sickbay compare good good
[ ! -s out ] || fail "there is nothing to say about the same"
run 1 sickbay compare good third
says out "2 lines differ"
says out "line 1: '10' is '12' in third"
run 1 sickbay compare good third --tolerance 1e-6
says out "1 line differs"
run 0 sickbay compare good third --learn second
run 1 sickbay compare good wrong --learn second --json
says out '"same": false'
run 65 sickbay compare good third --tolerance much
says err "'much' is no tolerance"
run 66 sickbay compare good none

# submit: the file must be there before the job is submitted, and one judge is enough.
stand_in_sbatch
printf '#!/bin/sh\nhostname\n' > job.sh
run 66 sickbay submit --compare none job.sh
run 64 sickbay submit --compare good --check true job.sh
run 64 sickbay submit --tolerance 1e-6 job.sh
[ ! -e sbatch.words ] || fail "sbatch was called"
run 0 sickbay submit --compare good=result.dat --tolerance 1e-6 -N2 job.sh
same sbatch.words <<'END'
-N2
job.sh
END
