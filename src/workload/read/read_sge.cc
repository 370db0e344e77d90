// SPDX-License-Identifier: Apache-2.0
// Accounting files of Grid Engine (Sun's, Son of, Open, Univa's up to 8): one job a line, its fields between
// colons, in one order since 5.3; lines of '#' tell the version.  The reporting file has the same record
// behind a time and "acct", among others that tell nothing of a job's end.
//
// The 33 fields up to the department are there in every version; the 12 behind them came one after the other,
// and what Univa writes behind these is left out.  A category may itself hold colons ("-l h_rt=1:00:00"), so
// what follows it is looked for.  Times are seconds, with Univa 8.2 milliseconds.
// A process that a parallel job started on another node by `qrsh -inherit` may have a record of its own
// (pe_taskid): it is a step.  Then the job's own record tells the CPU time of its first process alone, so
// that it is given as a step, too, and the merge sums them. Source: accounting(5) of Grid Engine 6.2u5
// and 8.1.9, reporting(5).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "workload/read/formats.h"
#include "workload/read/hosts.h"
#include "workload/read/lines.h"
#include "workload/read/sge_words.h"

namespace sickbay::workload {
namespace {

// Places of the fields that are read.
enum Place : std::size_t {
  qname = 0,
  hostname,
  group,
  owner,
  job_name,
  job_number,
  account,
  priority,
  submission_time,
  start_time,
  end_time,
  failed,
  exit_status,
  ru_wallclock,
  ru_utime,
  ru_stime,
  ru_maxrss,
  project = 31,
  department,
  granted_pe,
  slots,
  task_number,
  cpu,
  category = 39,
};
constexpr std::size_t kLeastFields = department + 1;
constexpr std::size_t kMostFields = 80;

// Records of the reporting file that tell nothing of the end of a job.
constexpr auto kOtherRecords = std::to_array<std::string_view>(
    {"new_job", "job_log", "host", "host_consumable", "queue", "queue_consumable", "sharelog", "new_ar",
     "ar_log", "ar_attr", "ar_acct", "online_usage", "del_job", "job_done"});

// "0.000000", as iow and maxvmem are written; the parts of "h_rt=1:00:00" are not.
bool is_fraction(std::string_view text) {
  std::int64_t n = 0;
  return text.find('.') != std::string_view::npos && parse_integer(text, n, true);
}

struct Cut {
  std::array<std::string_view, kMostFields> fields;
  std::size_t count = 0;
  bool other = false;  // a record of the reporting file that is not of a job's end
  std::string_view at(std::size_t place) const { return place < count ? fields[place] : std::string_view(); }
};

Cut cut(std::string_view line) {
  Cut all;
  const auto first = line.substr(0, line.find(':'));
  if (std::int64_t n = 0; first.size() < line.size() && parse_integer(first, n)) {
    const auto rest = line.substr(first.size() + 1);
    const auto kind = rest.substr(0, rest.find(':'));
    for (const std::string_view name : kOtherRecords) all.other = all.other || kind == name;
    if (kind == "acct") line = rest.substr(std::min(rest.size(), kind.size() + 1));
  }
  while (all.count < kMostFields) {
    const std::size_t colon = line.find(':');
    all.fields[all.count++] = line.substr(0, colon);
    if (colon == std::string_view::npos) break;
    line.remove_prefix(colon + 1);
  }
  return all;
}

// What stands behind the category: iow, pe_taskid, maxvmem, arid.
struct Behind {
  std::string_view category, pe_task, max_vmem, reservation;
};
Behind behind_of(const Cut& c) {
  Behind found;
  if (c.count <= category) return found;
  found.category = c.fields[category];
  for (std::size_t i = category + 1; i + 2 < c.count; ++i) {
    if (!is_fraction(c.fields[i]) || !is_fraction(c.fields[i + 2])) continue;
    const char* const begin = c.fields[category].data();
    found.category = {begin, static_cast<std::size_t>(c.fields[i].data() - begin) - 1};
    found.pe_task = c.fields[i + 1];
    found.max_vmem = c.fields[i + 2];
    found.reservation = c.at(i + 3);
    break;
  }
  return found;
}

bool is_none(std::string_view text) { return text.empty() || equal_ignoring_case(text, "none"); }

// "123", "123[4]": the id of an array's task.
std::size_t write_id(std::string_view number, std::string_view task, char* to, std::size_t room) {
  const auto end = task.empty() || task == "0" ? fmt::format_to_n(to, room, "{}", number)
                                               : fmt::format_to_n(to, room, "{}[{}]", number, task);
  return std::min(room, end.size);
}

// "8.552755": milliseconds; -1 for what is no number or none that can be.
std::int64_t milliseconds(std::string_view text) {
  std::int64_t n = 0;
  if (!parse_integer(text, n, true) || n < 0 || !multiply(n, 1000, n)) return -1;
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos)
    for (std::size_t i = 1, unit = 100; i <= 3 && dot + i < text.size() && is_digit(text[dot + i]);
         ++i, unit /= 10)
      if (!add(n, static_cast<std::int64_t>(unit) * (text[dot + i] - '0'), n)) return -1;
  return n;
}

// A field that must hold a number.
class Numbers {
 public:
  Numbers(const Cut& c, std::string& reason) : cut_(c), reason_(reason) {}
  bool ok() const { return ok_; }
  std::int64_t get(std::size_t place, std::string_view name) {
    std::int64_t n = 0;
    if (!ok_ || parse_integer(cut_.at(place), n, true)) return n;
    reason_ = fmt::format("{} is {}, and it should be a number", name, quote_for_message(cut_.at(place)));
    ok_ = false;
    return 0;
  }
  // Seconds or milliseconds since 1970; 0: there is none.
  std::int64_t time(std::size_t place, std::string_view name) {
    std::int64_t n = get(place, name);
    if (n > 99'999'999'999) n /= 1000;
    if (!ok_ || n == 0 || plausible_time(n)) return n;
    reason_ = fmt::format("{} is {}, which is no time", name, quote_for_message(cut_.at(place)));
    ok_ = false;
    return 0;
  }

 private:
  const Cut& cut_;
  std::string& reason_;
  bool ok_ = true;
};

class SgeReader : public LineReader {
 public:
  explicit SgeReader(std::string cluster) : cluster_(std::move(cluster)) {}
  bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const override;
  bool tells_runs() const override { return true; }
  std::string describe() const override {
    return "a job's times, user, project, queue, slots, CPU time, memory of a process, time limit, exit "
           "status and reason; no nodes of parallel jobs, disk traffic, GPUs or energy";
  }
  FieldSet fields() const override {
    return FieldSet::of(Text::job_id, Text::cluster, Text::job_name, Text::user_name, Text::group_name,
                        Text::account, Text::partition, Text::reservation, Text::state, Text::reason,
                        Text::node_list, Text::constraints, Text::step, Num::job_id_raw, Num::array_job_id,
                        Num::array_task_id, Num::priority, Num::submit_time, Num::start_time, Num::end_time,
                        Num::elapsed, Num::time_limit, Num::cpus, Num::nodes, Num::total_cpu, Num::user_cpu,
                        Num::system_cpu, Num::req_mem, Num::max_rss, Num::max_vmsize, Num::exit_code,
                        Num::exit_signal, Num::restarts, Num::repairs, Num::flaws);
  }

 protected:
  bool is_record(std::string_view line, std::uint64_t& job) const override {
    if (trimmed(line).size() <= 1 || line.front() == '#') return false;
    const Cut c = cut(line);
    if (c.other) return false;
    std::array<char, 64> id{};
    job =
        hash_job(cluster_, {id.data(), write_id(c.at(job_number), c.at(task_number), id.data(), id.size())});
    return true;
  }

 private:
  std::string cluster_;
};

// What a process used, of the record of a job or of one of its processes.
void set_usage(const Cut& c, std::string_view max_vmem, Row& row) {
  const std::int64_t user = milliseconds(c.at(ru_utime)), system = milliseconds(c.at(ru_stime));
  std::int64_t total = milliseconds(c.at(cpu)), sum = 0;
  if (user >= 0) row.set(Num::user_cpu, user);
  if (system >= 0) row.set(Num::system_cpu, system);
  if (total <= 0 && user >= 0 && system >= 0 && add(user, system, sum)) total = sum;
  if (total >= 0) row.set(Num::total_cpu, total);
  std::int64_t n = 0;
  if (parse_integer(c.at(ru_maxrss), n, true) && n > 0 && multiply(n, 1024, n)) row.set(Num::max_rss, n);
  if (parse_integer(max_vmem, n, true) && n > 0) row.set(Num::max_vmsize, n);
}

bool SgeReader::parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const {
  if (!fit_to_read(record, reason)) return false;
  const Cut c = cut(record);
  if (c.count < kLeastFields) {
    reason = fmt::format("it has {} fields, and an accounting record has {} or more", c.count, kLeastFields);
    return false;
  }
  Numbers number(c, reason);
  const std::int64_t job = number.get(job_number, "job_number");
  const std::int64_t submit = number.time(submission_time, "submission_time"),
                     start = number.time(start_time, "start_time"), end = number.time(end_time, "end_time");
  const Behind behind = behind_of(c);
  SgeFacts facts;
  facts.failed = number.get(failed, "failed");
  facts.exit_status = number.get(exit_status, "exit_status");
  const std::int64_t wallclock = number.get(ru_wallclock, "ru_wallclock");
  std::int64_t task = 0;
  if (c.count > slots) facts.slots = number.get(slots, "slots");
  if (c.count > task_number) task = number.get(task_number, "task_number");
  if (!number.ok()) return false;
  if (job <= 0) {
    reason = fmt::format("{} is no job id", quote_for_message(c.at(job_number)));
    return false;
  }
  facts.category = behind.category;
  parse_integer(behind.max_vmem, facts.max_vmem, true);

  const bool is_process = !is_none(behind.pe_task);
  std::array<char, 64> id{};
  const std::string_view job_id =
      arena.copy({id.data(), write_id(std::to_string(job), std::to_string(task), id.data(), id.size())});
  const auto begin_row = [&]() -> Row& {
    Row& row = rows.add();
    row.set(Text::job_id, job_id);
    if (!cluster_.empty()) row.set(Text::cluster, cluster_);
    if (submit > 0) row.set(Num::submit_time, submit);
    if (start > 0) row.set(Num::start_time, start);
    if (end > 0) row.set(Num::end_time, end);
    return row;
  };
  const auto add_step = [&](RowKind kind, std::string_view name) {
    Row& row = begin_row();
    row.kind = kind;
    set_text(row, Text::step, name, arena);
    set_usage(c, behind.max_vmem, row);
  };
  if (is_process) {
    add_step(RowKind::step, behind.pe_task);
    return true;
  }

  const bool parallel = c.count > granted_pe && !is_none(c.at(granted_pe));
  Row& row = begin_row();
  if (task > 0) {
    row.set(Num::array_job_id, job);
    row.set(Num::array_task_id, task);
  } else {
    row.set(Num::job_id_raw, job);
  }
  const auto word = [&](Text field, std::string_view text) {
    if (!is_none(text)) set_text(row, field, text, arena);
  };
  word(Text::partition, c.at(qname));
  word(Text::group_name, c.at(group));
  word(Text::user_name, c.at(owner));
  word(Text::job_name, c.at(job_name));
  word(Text::account, c.at(project));
  // Nearly every job has this account, which nobody chose.
  if (!row.has(Text::account) && c.at(account) != "sge") word(Text::account, c.at(account));
  word(Text::constraints, behind.category);
  if (behind.reservation != "0") word(Text::reservation, behind.reservation);
  if (std::int64_t n = 0; parse_integer(c.at(priority), n)) row.set(Num::priority, n);
  if (start > 0) {
    facts.ran = wallclock > 0 ? wallclock : end >= start && end > 0 ? end - start : -1;
    if (facts.ran >= 0) row.set(Num::elapsed, facts.ran);
    if (facts.slots > 0) row.set(Num::cpus, facts.slots);
    // Of a parallel job only the first of its nodes is told.
    if (!parallel && !is_none(c.at(hostname))) {
      std::vector<std::string> names = {std::string(c.at(hostname))};
      set_hosts(names, arena, row);
    }
  }
  set_sge_requests(facts, row);
  set_sge_end(facts, row);
  if (!parallel)
    set_usage(c, behind.max_vmem, row);
  else if (start > 0)
    add_step(RowKind::batch, "batch");
  return true;
}

// Whether the places of numbers hold some.
bool is_record_of_accounting(const Cut& c) {
  if (c.count < kLeastFields) return false;
  for (const std::size_t place :
       {job_number, priority, submission_time, start_time, end_time, failed, exit_status})
    if (std::int64_t n = 0; !parse_integer(c.at(place), n)) return false;
  return true;
}

}  // namespace

bool looks_like_sge(std::string_view head, const ReadOptions&) {
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (trimmed(line).size() <= 1 || line.front() == '#') continue;
    const Cut c = cut(line);
    return c.other || is_record_of_accounting(c);
  }
  return false;
}

Result<OpenedReader> open_sge(std::string_view, bool, const ReadOptions& options) {
  OpenedReader opened;
  opened.format = "sge";
  opened.notes.push_back(
      "Grid Engine tells the first node of a parallel job only; its memory is that of one process.");
  opened.reader = std::make_unique<SgeReader>(options.cluster);
  return opened;
}

}  // namespace sickbay::workload
