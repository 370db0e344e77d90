#!/usr/bin/gawk -f
# SPDX-License-Identifier: Apache-2.0
# The jobs of workload_log's text as another log has them, for the bench:  gawk -v format=swf|torque -f THIS LOG
# (TZ=UTC.)  swf: one line a job.  torque: a record where a job starts and one where it ends, as their times fall; of jobs
# that never began it has none, and one in fifty runs twice.
BEGIN {
  FS = "|"
  if (format == "swf") print "; UnixStartTime: 1609459200\n; MaxProcs: 262144"
}
function seconds(text) {
  gsub(/[-T:]/, " ", text)
  return mktime(text)
}
# "1-02:03:04" or "02:03:04"
function length_of(text,   part, days, n) {
  days = 0
  if ((n = index(text, "-")) > 0) { days = substr(text, 1, n - 1); text = substr(text, n + 1) }
  split(text, part, ":")
  return days * 86400 + part[1] * 3600 + part[2] * 60 + part[3]
}
function number_of(text) { gsub(/[^0-9]/, "", text); return text == "" ? -1 : text }
function torque(kind, at, rest) { printf "%s;%s;%s.srv;%s\n", strftime("%m/%d/%Y %H:%M:%S", at), kind, $1, rest }
NR == 1 || index($1, ".") > 0 { next }
{
  submit = seconds($9); began = $10 != "None"; start = began ? seconds($10) : 0; end = seconds($11); ran = length_of($12)
  status = $7 == "COMPLETED" ? 0 : 1
}
format == "swf" {
  print $1 - 3999999, submit - 1609459200, (began ? start : end) - submit, began ? ran : 0, $15, -1, -1, $15, length_of($13), -1,
        $7 == "COMPLETED" ? 1 : index($7, "CANCELLED") ? 5 : 0, number_of($3), number_of($4), -1, 1 + NR % 7, 1, -1, -1
}
format == "torque" && began {
  whole = sprintf("user=%s group=%s account=%s jobname=%s queue=%s ctime=%d qtime=%d etime=%d start=%d owner=%s@login exec_host=n%d/0*%d Resource_List.nodect=%d Resource_List.nodes=%d:ppn=%d Resource_List.walltime=10:00:00 Resource_List.pmem=1gb",
                  $3, $4, $4, $2, $5, submit, submit, submit, start, $3, NR % 500, $15, $14, $14, $15 / $14)
  torque("S", start, whole)
  if (NR % 50 == 0 && ran > 100) {
    torque("R", start + int(ran / 2), "")
    sub(/ start=[0-9]+/, " start=" start + int(ran / 2) + 10, whole)
    torque("S", start + int(ran / 2) + 10, whole)
  }
  torque("E", end, sprintf("%s session=%d end=%d Exit_status=%d resources_used.cput=%02d:00:00 resources_used.mem=%dkb resources_used.vmem=%dkb resources_used.walltime=%02d:%02d:%02d",
                           whole, NR, end, status, NR % 90, 1000 + NR % 90000, 2000 + NR % 90000, ran / 3600, ran / 60 % 60, ran % 60))
}
