#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# totals.sh [LOG [DELIMITER [COLUMNS]]]: jobs and core-hours of each state, counted by awk straight from the
# text of a sacct log and by `sickbay report`, side by side; exit code 1 when they differ.  Without a log it
# takes the excerpts of test/fixtures/workload.
#
# awk knows only this: a row without '.' in its JobID is a job, JobID and Submit make it one, its state is the
# first word, its core-hours are CPUTime, else cores times run time.  Repairs of states (a job that says
# COMPLETED with a failed batch script) are the only difference there may be: they are counted apart.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${SICKBAY_BIN:=$here/../../build/release/bin}"
export LC_ALL=C TZ=UTC
work=$(mktemp -d "${TMPDIR:-/tmp}/sickbay-totals.XXXXXX")
trap 'rm -rf "$work"' EXIT

from_text() {  # LOG DELIMITER COLUMNS
  awk -F "$2" -v columns="$3" '
    function seconds(text,   part, n, days, i, s) {  # [D-]HH:MM:SS[.mmm] or MM:SS
      days = 0
      if ((i = index(text, "-")) > 0) { days = substr(text, 1, i - 1); text = substr(text, i + 1) }
      n = split(text, part, ":"); s = 0
      for (i = 1; i <= n; i++) s = s * 60 + part[i]
      return days * 86400 + s
    }
    function at(name) { return name in place ? $place[name] : "" }
    NR == 1 {
      n = split(columns == "" ? $0 : columns, names, columns == "" ? FS : ",")
      for (i = 1; i <= n; i++) place[names[i]] = i
      if (columns == "") next
    }
    {
      id = at("JobID") != "" ? at("JobID") : at("JobIDRaw")
      if (id == "" || index(id, ".") > 0 || ((id, at("Submit")) in seen)) next
      seen[id, at("Submit")] = 1
      split(at("State"), word, " ")
      cores = at("AllocCPUS") != "" ? at("AllocCPUS") : at("NCPUS") != "" ? at("NCPUS") : at("ReqCPUS")
      run = at("ElapsedRaw") != "" ? at("ElapsedRaw") : seconds(at("Elapsed"))
      core_s = at("CPUTimeRAW") != "" ? at("CPUTimeRAW") : at("CPUTime") != "" ? seconds(at("CPUTime")) : cores * run
      jobs[word[1]]++; core_h[word[1]] += core_s / 3600
      all++; all_h += core_s / 3600
    }
    END {
      for (state in jobs) printf "%s %d %.3f\n", state, jobs[state], core_h[state]
      printf "ALL %d %.3f\n", all, all_h
    }' "$1" | sort
}

from_report() {  # LOG DELIMITER COLUMNS
  set -- "$1" ${3:+--columns "$3"} ${2:+--delimiter "$2"}
  "$SICKBAY_BIN/sickbay" report "$@" --reports jobstate.states,quality.repairs -o "$work/report.csv" >&2
  awk -F, '
    /^# jobstate.states/ { part = 1; next }
    /^# quality.repairs/ { part = 2; next }
    /^#/ || /^\r?$/ { part = 0; next }
    part == 1 && $1 !~ /^"?[Ss]tate/ { printf "%s %d %.3f\n", $1, $2, $4; all += $2; all_h += $4 }
    part == 2 && /state_from_steps/ { match($0, /,[0-9]+,/); mended = substr($0, RSTART + 1, RLENGTH - 2) }
    END { printf "ALL %d %.3f\n", all, all_h; if (mended) printf "MENDED %d 0\n", mended }' "$work/report.csv" | sort
}

compare() {  # LOG DELIMITER COLUMNS
  from_text "$@" > "$work/text"
  from_report "$@" > "$work/report"
  printf '\n%s\n' "$(basename "$1")"
  awk '
    NR == FNR { jobs[$1] = $2; hours[$1] = $3; names[$1]; next }
    $1 == "MENDED" { mended = $2; next }
    { jobs2[$1] = $2; hours2[$1] = $3; names[$1] }
    END {
      printf "%-16s %10s %10s %16s %16s\n", "state", "jobs: awk", "report", "core-h: awk", "report"
      for (state in names) {
        moved = jobs[state] - jobs2[state]; if (moved < 0) moved = -moved
        apart = hours[state] - hours2[state]; if (apart < 0) apart = -apart
        # The report rounds to a thousandth per state.
        bad = state == "ALL" || !mended ? moved > 0 || apart > 0.01 : moved > mended
        worst += bad
        printf "%-16s %10d %10d %16.3f %16.3f %s\n", state, jobs[state], jobs2[state], hours[state], hours2[state], bad ? "DIFFERS" : ""
      }
      if (mended) printf "%d states were mended from the steps\n", mended
      exit worst > 0
    }' "$work/text" "$work/report" > "$work/table" || code=1
  { head -n 1 "$work/table"; tail -n +2 "$work/table" | sort; }
}

code=0
if [ $# -gt 0 ]; then
  compare "$1" "${2:-|}" "${3:-}"
else
  fixtures=$here/../fixtures/workload
  compare "$fixtures/drac-2021.sacct.txt" '|' ''
  compare "$fixtures/hb-sacct.txt" '☃' "JobID,JobName,User,Partition,NodeList,NNodes,NCPUS,NTasks,State,Submit,Start,End,Timelimit,Elapsed,TotalCPU,CPUTime,UserCPU,SystemCPU,ReqMem,MaxRSS,MaxVMSize,ReqTRES,AllocTRES,TRESUsageInMax,TRESUsageInTot,TRESUsageOutTot,MaxDiskRead,MaxDiskWrite,MaxRSSNode,MaxRSSTask,MaxVMSizeNode,MaxVMSizeTask,MaxDiskReadNode,MaxDiskReadTask,MaxDiskWriteNode,MaxDiskWriteTask,Comment"
fi
exit "$code"
