#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sbatch gets its words as they were given.  There is no sickbayd here: the job goes out all the same.
. "$(dirname "$0")/common.inc"
stand_in_sbatch
printf '#!/bin/sh\nhostname\n' > job.sh

run 0 sickbay submit -N 2 --deliver '--comment=a  b' --check 'cmp x y' -HJ name job.sh 'arg 1' --deliver
same sbatch.words <<'EOF'
-N
2
--comment=a  b
-HJ
name
job.sh
arg 1
--deliver
EOF
same out <<'EOF'
Submitted batch job 123
EOF
says err "sickbay: warning: no case is kept for this job"
says err "submitting it all the same"
says err "remedy: start sickbayd"

# Whoever writes a --check must know where the output is.
run 0 sickbay submit --help
says out 'SICKBAY_OUTPUT'

# The same by its other name.
run 0 mybatch --no-rerun -N2 job.sh
same sbatch.words <<'EOF'
-N2
job.sh
EOF

# --require-case turns the warning into an error, and nothing is submitted.
rm sbatch.words
run 69 sickbay submit --require-case job.sh
says err "nothing was submitted (--require-case)"
[ ! -e sbatch.words ] || fail "sbatch was called"

# What is to be put back into the queue may be; the option itself is ours.
run 0 sickbay submit --recover -N2 job.sh arg
same sbatch.words <<'EOF'
-N2
--requeue
job.sh
arg
EOF
printf '#!/bin/sh\n#SBATCH --no-requeue\nhostname\n' > firm.sh
for words in '--deliver job.sh' '--no-requeue job.sh' 'firm.sh' '--array=0-3 job.sh'; do
  rm -f sbatch.words
  # shellcheck disable=SC2086 # words
  run 64 sickbay submit --recover $words
  says err "--recover does not go with"
  [ ! -e sbatch.words ] || fail "sbatch was called"
done

# A script on standard input reaches sbatch's.
printf '#!/bin/sh\necho from stdin\n' | sickbay submit -N1 >out 2>err
same sbatch.in <<'EOF'
#!/bin/sh
echo from stdin
EOF

# What sbatch refuses, it refuses with its own exit code.
echo 7 > sbatch.code; : > sbatch.says
run 7 sickbay submit job.sh
echo 0 > sbatch.code

# No submission: no case, no warning.
echo 'slurm 22.05' > sbatch.says
run 0 sickbay submit --version
[ ! -s err ] || fail "sickbay should say nothing about sbatch --version"

# Jobs that get no case.
echo 'Submitted batch job 5' > sbatch.says
run 0 sickbay submit -N1 : -N2 job.sh
says err "a heterogeneous job cannot be run again"
says err "submit each component as a job of its own"
for word in hetjob packjob; do
  printf '#!/bin/sh\n#SBATCH -N1\n#SBATCH %s\n#SBATCH -N2\n' $word > het.sh
  run 0 sickbay submit het.sh
  says err "a heterogeneous job cannot be run again"
done
rm -f sbatch.words
run 75 sickbay submit --require-case het.sh
says err "nothing was submitted (--require-case)"
[ ! -e sbatch.words ] || fail "sbatch was called"
run 0 sickbay submit -M other job.sh
says err "submit it on a login host of that cluster"

run 0 sickbay submit --json job.sh
same out <<'EOF'
{
  "job_id": 5,
  "case": null
}
EOF
mv bin/sbatch bin/no-sbatch
run 72 env PATH="$SICKBAY_BIN" "$SICKBAY_BIN/sickbay" submit "$PWD/job.sh"
says err "there is no program 'sbatch' in PATH"
