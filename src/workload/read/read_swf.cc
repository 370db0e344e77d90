// SPDX-License-Identifier: Apache-2.0
// The Standard Workload Format of the Parallel Workloads Archive: a line of 18 numbers for each job, -1 for
// what is not known, after a header of ';' lines.  Logs with 19 to 21 columns exist, and logs without header:
// what comes after the 18th is left out, and without UnixStartTime times count from 1970.
// Source: D. Feitelson, "The Standard Workload Format" (version 2.2).
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "workload/read/formats.h"
#include "workload/read/lines.h"

namespace sickbay::workload {
namespace {

// The columns, in their order.
enum Column : std::size_t {
  kJob,
  kSubmit,  // seconds since UnixStartTime
  kWait,
  kRunTime,
  kProcs,
  kCpuTime,  // seconds of each process, on average
  kMemory,   // KiB of each process, on average
  kReqProcs,
  kReqTime,
  kReqMemory,  // KiB for each process
  kStatus,
  kUser,
  kGroup,
  kExecutable,
  kQueue,
  kPartition,
  kBefore,
  kThink,
  kColumns
};

using Values = std::array<std::int64_t, kColumns>;

// The first 18 numbers; `words` tells how many words there are.
bool read_values(std::string_view line, Values& values, std::size_t& words, std::string_view& wrong) {
  words = 0;
  while (true) {
    const auto word = take_word(line);
    if (word.empty()) return true;
    if (words < kColumns && !parse_integer(word, values[words], true)) {
      wrong = word;
      return false;
    }
    ++words;
  }
}

bool is_job_line(std::string_view line) {
  Values values;
  std::size_t words = 0;
  std::string_view wrong;
  return read_values(line, values, words, wrong) && words >= kColumns && words <= 21;
}

// What the header says: "; UnixStartTime: 843480031".
bool header_value(std::string_view line, std::string_view name, std::int64_t& value) {
  line = trimmed(line);
  while (!line.empty() && (line.front() == ';' || line.front() == ' ')) line.remove_prefix(1);
  if (line.size() <= name.size() || !equal_ignoring_case(line.substr(0, name.size()), name)) return false;
  line = trimmed(line.substr(name.size()));
  if (line.empty() || line.front() != ':') return false;
  line = trimmed(line.substr(1));
  return parse_integer(line.substr(0, line.find_first_of(" \t")), value);
}

class SwfReader : public LineReader {
 public:
  SwfReader(std::int64_t begin, std::string cluster) : begin_(begin), cluster_(std::move(cluster)) {}

  bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const override;

  // What parse() sets: a store of the columns of this log alone takes a fraction of the memory.
  FieldSet fields() const override {
    return FieldSet::of(Text::job_id, Num::job_id_raw, Text::cluster, Num::submit_time, Num::start_time,
                        Num::end_time, Num::elapsed, Num::cpus, Num::req_cpus, Num::time_limit,
                        Num::total_cpu, Num::ave_rss, Num::usage_mem, Num::req_mem_per_cpu, Text::state,
                        Num::flaws, Text::user_name, Text::group_name, Text::partition, Text::job_name);
  }

  std::string describe() const override {
    return "a job's times, cores, average CPU time and memory of a process, limit, status; numbers in place "
           "of "
           "users, groups, executables and queues; no steps, nodes, exit codes, names or folders";
  }

 protected:
  bool is_record(std::string_view line, std::uint64_t& job) const override {
    line = trimmed(line);
    if (line.front() == ';') return false;
    job = hash_job(cluster_, take_word(line));
    return true;
  }

 private:
  bool set_times(const Values& v, Row& row, std::string& reason) const;

  std::int64_t begin_;
  std::string cluster_;
};

bool SwfReader::set_times(const Values& v, Row& row, std::string& reason) const {
  // Without a submission or a wait the run has no place, but a length; reports place it by what there is.
  const bool never_began = v[kStatus] == 5 && v[kRunTime] <= 0;
  if (v[kRunTime] >= 0 && !never_began) row.set(Num::elapsed, v[kRunTime]);
  if (v[kSubmit] < 0) return true;  // not known, and so is all that counts from it
  std::int64_t submit = 0, start = 0, end = 0;
  if (!add(begin_, v[kSubmit], submit) || submit > 99'999'999'999) {
    reason = fmt::format("submission {} s after the log's start is no time", v[kSubmit]);
    return false;
  }
  row.set(Num::submit_time, submit);
  if (v[kWait] < 0) return true;
  if (!add(submit, v[kWait], start) || start > 99'999'999'999) {
    reason = fmt::format("wait time {} s is no time", v[kWait]);
    return false;
  }
  // Status 5 without a run: cancelled while it waited; the wait ended, and nothing began.
  if (never_began) {
    row.set(Num::end_time, start);
    return true;
  }
  row.set(Num::start_time, start);
  if (v[kRunTime] < 0) return true;
  if (!add(start, v[kRunTime], end) || end > 99'999'999'999) {
    reason = fmt::format("run time {} s is no time", v[kRunTime]);
    return false;
  }
  row.set(Num::end_time, end);
  return true;
}

bool SwfReader::parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const {
  if (!fit_to_read(record, reason)) return false;
  Values v{};
  std::size_t words = 0;
  std::string_view wrong;
  if (!read_values(record, v, words, wrong)) {
    reason = fmt::format("column {} is {}, and all columns of SWF are numbers", words + 1,
                         quote_for_message(wrong));
    return false;
  }
  if (words < kColumns) {
    reason = fmt::format("the line has {} columns, and SWF has 18", words);
    return false;
  }
  if (v[kJob] < 0) {
    reason = fmt::format("job number {} is none", v[kJob]);
    return false;
  }
  Row& row = rows.add();
  if (!set_times(v, row, reason)) {
    rows.drop_last();
    return false;
  }
  std::string_view text = record, word[kColumns];
  for (auto& w : word) w = take_word(text);
  row.set(Text::job_id, word[kJob]);
  row.set(Num::job_id_raw, v[kJob]);
  if (!cluster_.empty()) row.set(Text::cluster, cluster_);

  std::int64_t value = 0;
  const std::int64_t procs = v[kProcs];
  if (procs > 0) row.set(Num::cpus, procs);
  if (v[kReqProcs] > 0) row.set(Num::req_cpus, v[kReqProcs]);
  if (v[kReqTime] >= 0) row.set(Num::time_limit, v[kReqTime]);
  // "24.65" seconds of each process: thousandths count where there are many processes.
  if (std::int64_t ms = 0; v[kCpuTime] >= 0 && procs > 0 && multiply(v[kCpuTime], 1000, ms)) {
    if (const std::size_t dot = word[kCpuTime].find('.'); dot != std::string_view::npos)
      for (std::size_t i = 1, unit = 100; i <= 3 && dot + i < word[kCpuTime].size(); ++i, unit /= 10)
        ms += static_cast<std::int64_t>(unit) * (word[kCpuTime][dot + i] - '0');
    if (multiply(ms, procs, value)) row.set(Num::total_cpu, value);
  }
  if (v[kMemory] >= 0 && multiply(v[kMemory], 1024, value)) {
    row.set(Num::ave_rss, value);
    if (procs > 0 && multiply(value, procs, value)) row.set(Num::usage_mem, value);
  }
  if (v[kReqMemory] >= 0 && multiply(v[kReqMemory], 1024, value)) row.set(Num::req_mem_per_cpu, value);
  // 2, 3 and 4 are parts of a job that was checkpointed: to be continued, its last part, its failed last
  // part.
  switch (v[kStatus]) {
    case 0:
    case 4:
      row.set(Text::state, "FAILED");
      break;
    case 1:
    case 3:
      row.set(Text::state, "COMPLETED");
      break;
    case 2:
      row.set(Text::state, "REQUEUED");
      break;
    case 5:
      row.set(Text::state, "CANCELLED");
      break;
    case -1:
      break;
    default:
      row.set(Text::state, word[kStatus]);
      row.add_bits(Num::flaws, bit(Flaw::unknown_state));
  }
  const auto name = [&](Text field, Column column) {
    if (v[column] >= 0) row.set(field, word[column]);
  };
  name(Text::user_name, kUser);
  name(Text::group_name, kGroup);
  name(Text::partition, kPartition);
  name(Text::partition, kQueue);  // where both are there, the queue: the partition is a part of the machine
  // An executable's number is no name: as one, it keeps the runs of one program together.
  if (v[kExecutable] >= 0) row.set(Text::job_name, arena.copy(fmt::format("executable-{}", v[kExecutable])));
  return true;
}

}  // namespace

bool looks_like_swf(std::string_view head, const ReadOptions&) {
  bool header = false;
  for (int lines = 0; !head.empty() && lines < 2000;) {
    const bool whole = head.find('\n') != std::string_view::npos;
    const auto line = trimmed(take_line(head));
    if (line.empty()) continue;
    if (line.front() == ';') {
      std::int64_t value = 0;
      header = header || header_value(line, "UnixStartTime", value) || header_value(line, "MaxProcs", value);
      ++lines;
      continue;
    }
    return is_job_line(line) || (header && !whole);
  }
  return header;
}

Result<OpenedReader> open_swf(std::string_view head, bool, const ReadOptions& options) {
  OpenedReader opened;
  opened.format = "swf";
  std::int64_t begin = 0;
  bool known = false;
  while (head.size() > opened.header_bytes) {
    std::string_view rest = head.substr(opened.header_bytes);
    if (rest.find('\n') == std::string_view::npos) break;
    const auto line = trimmed(take_line(rest));
    if (!line.empty() && line.front() != ';') break;
    std::int64_t value = 0;
    if (header_value(line, "UnixStartTime", value) && value >= 0 && value <= 99'999'999'999) {
      begin = value;
      known = true;
    }
    opened.header_bytes = head.size() - rest.size();
    ++opened.header_lines;
  }
  if (!known)
    opened.notes.push_back("The header does not say UnixStartTime: times are counted from 1970-01-01.");
  opened.notes.push_back("SWF has numbers in place of names, and no nodes, steps or exit codes.");
  opened.reader = std::make_unique<SwfReader>(begin, options.cluster);
  return opened;
}

}  // namespace sickbay::workload
