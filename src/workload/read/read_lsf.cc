// SPDX-License-Identifier: Apache-2.0
// LSF's lsb.acct: one event a line, its fields between blanks, texts in double quotes (a quote in them is
// doubled), lists as their length and then so many fields.  Of the events only JOB_FINISH tells of a job.
//
// Read up to exitInfo, whose place is the same in LSF 6 to 10; later fields came and went with versions.
// Source: IBM Spectrum LSF 10.1, Configuration Reference, "lsb.acct"; lsbatch.h for the TERM_ numbers.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/text.h"
#include "workload/read/formats.h"
#include "workload/read/hosts.h"
#include "workload/read/lines.h"

namespace sickbay::workload {
namespace {

// The next field, without its quotes; `quoted` where it had some.  False at the end, or where a quote is not
// closed.
bool take_field(std::string_view& text, std::string_view& field, bool& quoted) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  if (text.empty()) return false;
  quoted = text.front() == '"';
  if (!quoted) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    field = text.substr(0, end);
    text.remove_prefix(end);
    return true;
  }
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] != '"') continue;
    if (i + 1 < text.size() && text[i + 1] == '"') {
      ++i;  // a doubled one; the empty text "" is followed by a blank
      continue;
    }
    field = text.substr(1, i - 1);
    text.remove_prefix(i + 1);
    return true;
  }
  return false;
}

std::string_view undoubled(std::string_view text, Arena& arena) {
  if (text.find("\"\"") == std::string_view::npos) return text;
  char* const begin = arena.take(text.size());
  char* p = begin;
  for (std::size_t i = 0; i < text.size(); ++i) {
    *p++ = text[i];
    if (text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') ++i;
  }
  return {begin, static_cast<std::size_t>(p - begin)};
}

// exitInfo: why LSF ended a job, and what Slurm would call that.
struct Term {
  std::string_view name, state;
};
// clang-format off
constexpr auto kTerms = std::to_array<Term>({
    {"TERM_UNKNOWN",         "FAILED"},         // 0: LSF did not end it
    {"TERM_PREEMPT",         "PREEMPTED"},
    {"TERM_WINDOW",          "DEADLINE"},       // the queue's hours were over
    {"TERM_LOAD",            "PREEMPTED"},      // the host's load went over the queue's threshold
    {"TERM_OTHER",           "FAILED"},
    {"TERM_RUNLIMIT",        "TIMEOUT"},
    {"TERM_DEADLINE",        "DEADLINE"},
    {"TERM_PROCESSLIMIT",    "FAILED"},
    {"TERM_FORCE_OWNER",     "CANCELLED"},      // bkill -r
    {"TERM_FORCE_ADMIN",     "CANCELLED"},
    {"TERM_REQUEUE_OWNER",   "REQUEUED"},
    {"TERM_REQUEUE_ADMIN",   "REQUEUED"},
    {"TERM_CPULIMIT",        "TIMEOUT"},        // a limit on CPU time is a limit on time
    {"TERM_CHKPNT",          "REQUEUED"},       // checkpointed and killed
    {"TERM_OWNER",           "CANCELLED"},      // bkill
    {"TERM_ADMIN",           "CANCELLED"},
    {"TERM_MEMLIMIT",        "OUT_OF_MEMORY"},
    {"TERM_EXTERNAL_SIGNAL", "FAILED"},         // killed by a signal that LSF did not send
    {"TERM_RMS",             "FAILED"},
    {"TERM_ZOMBIE",          "NODE_FAIL"},      // ended while LSF did not see its host
    {"TERM_SWAP",            "OUT_OF_MEMORY"},
    {"TERM_THREADLIMIT",     "FAILED"},
    {"TERM_SLURM",           "NODE_FAIL"},      // Slurm below LSF lost a node
    {"TERM_BUCKET_KILL",     "CANCELLED"},      // bkill -b
    {"TERM_CTRL_PID",        "FAILED"},
    {"TERM_CWD_NOTEXIST",    "BOOT_FAIL"},
    {"TERM_REMOVE_HUNG_JOB", "NODE_FAIL"},
    {"TERM_ORPHAN_SYSTEM",   "CANCELLED"},      // what it depended on failed
    {"TERM_PRE_EXEC_FAIL",   "BOOT_FAIL"},
    {"TERM_DATA",            "BOOT_FAIL"},
    {"TERM_MC_RECALL",       "REQUEUED"},
    {"TERM_RC_RECLAIM",      "PREEMPTED"},      // the cloud took its host back
});
// clang-format on

// Fields one after the other; the first that is not there, or no number, says so in `reason`.
class Fields {
 public:
  Fields(std::string_view text, std::string& reason) : text_(text), reason_(reason) {}

  bool ok() const { return ok_; }
  std::string_view text(std::string_view name) {
    std::string_view field;
    bool quoted = false;
    if (!ok_) return {};
    if (!take_field(text_, field, quoted)) {
      reason_ = fmt::format("the record ends before its field {}", name);
      ok_ = false;
    }
    return field;
  }
  std::int64_t number(std::string_view name) {
    const auto field = text(name);
    std::int64_t n = 0;
    if (ok_ && !parse_integer(field, n, true)) {
      reason_ = fmt::format("{} is {}, and it should be a number", name, quote_for_message(field));
      ok_ = false;
    }
    return n;
  }
  // "-1.000000", "0.168266": milliseconds; -1 where it is not known.
  std::int64_t milliseconds(std::string_view name) {
    const auto field = text(name);
    std::int64_t n = 0;
    if (ok_ && !parse_integer(field, n, true)) {
      reason_ = fmt::format("{} is {}, and it should be a number", name, quote_for_message(field));
      ok_ = false;
    }
    if (!ok_ || field.front() == '-' || !multiply(n, 1000, n)) return -1;
    if (const std::size_t dot = field.find('.'); dot != std::string_view::npos)
      for (std::size_t i = 1, unit = 100; i <= 3 && dot + i < field.size(); ++i, unit /= 10)
        if (!add(n, static_cast<std::int64_t>(unit) * (field[dot + i] - '0'), n)) return -1;
    return n;
  }
  void skip(int count, std::string_view name) {
    for (int i = 0; i < count && ok_; ++i) text(name);
  }

 private:
  std::string_view text_;
  std::string& reason_;
  bool ok_ = true;
};

class LsfReader : public LineReader {
 public:
  explicit LsfReader(std::string cluster) : cluster_(std::move(cluster)) {}
  bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const override;
  std::string describe() const override {
    return "a job's times, user, project, queue, cores, nodes, CPU time, memory of all its processes, exit "
           "status "
           "and reason, command and folder; no steps, limits, memory asked for, disk traffic or energy";
  }

 protected:
  bool is_record(std::string_view line, std::uint64_t& job) const override {
    std::string_view event, field;
    bool quoted = false;
    if (!take_field(line, event, quoted) || !quoted) return true;  // for parse() to reject
    if (event != "JOB_FINISH") {
      // Another event has a name of capitals; anything else is a line that cannot be read.
      for (const char c : event)
        if (c != '_' && !is_digit(c) && (c < 'A' || c > 'Z')) return true;
      return event.empty();
    }
    for (int i = 0; i < 3; ++i)
      if (!take_field(line, field, quoted)) return true;
    job = hash_job(cluster_, field);
    return true;
  }

 private:
  std::string cluster_;
};

// Only JOB_FINISH comes here, or what is no record.
bool LsfReader::parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const {
  if (!fit_to_read(record, reason)) return false;
  Fields f(record, reason);
  if (const auto event = f.text("event type"); f.ok() && event != "JOB_FINISH") {
    reason = fmt::format("{} is no event of lsb.acct", quote_for_message(event));
    return false;
  }
  Row& row = rows.add();
  const auto wrong = [&] {
    rows.drop_last();
    return false;
  };
  const auto word = [&](Text field, std::string_view text) {
    set_text(row, field, undoubled(text, arena), arena);
  };
  f.text("version");
  const std::int64_t end = f.number("event time");
  const std::string_view id = f.text("jobId");
  const std::int64_t uid = f.number("userId");
  f.number("options");
  const std::int64_t asked = f.number("numProcessors"), submit = f.number("submitTime");
  f.number("beginTime");
  f.number("termTime");
  const std::int64_t start = f.number("startTime");
  if (!f.ok()) return wrong();
  std::int64_t number = 0;
  if (!parse_integer(id, number) || number <= 0) {
    reason = fmt::format("{} is no job id", quote_for_message(id));
    return wrong();
  }
  for (const std::int64_t time : {end, submit, start}) {
    if (time == 0 || plausible_time(time)) continue;
    reason = fmt::format("{} is no time", time);
    return wrong();
  }
  word(Text::user_name, f.text("userName"));
  word(Text::partition, f.text("queue"));
  word(Text::constraints, f.text("resReq"));
  f.skip(3, "fromHost");  // dependCond, preExecCmd
  word(Text::work_dir, f.text("cwd"));
  f.skip(4, "jobFile");  // inFile, outFile, errFile
  for (std::int64_t n = f.number("numAskedHosts"); n > 0 && f.ok(); --n) f.text("askedHosts");

  // "16*host" stands for 16 slots (LSF_HPC_EXTENSIONS="SHORT_EVENTFILE"); else each slot is a field.
  thread_local std::vector<std::string> names;
  names.clear();
  std::int64_t slots = 0;
  for (std::int64_t n = f.number("numExHosts"); n > 0 && f.ok(); --n) {
    std::string_view host = f.text("execHosts");
    std::int64_t times = 1;
    if (const std::size_t star = host.find('*'); star != std::string_view::npos) {
      if (!parse_integer(host.substr(0, star), times) || times < 0 || times > 100'000'000) times = 1;
      host.remove_prefix(star + 1);
    }
    slots += times;
    if (names.empty() || names.back() != host) names.emplace_back(host);
  }
  const std::int64_t status = f.number("jStatus");
  f.text("hostFactor");
  word(Text::job_name, f.text("jobName"));
  word(Text::submit_line, f.text("command"));
  const std::int64_t user_ms = f.milliseconds("ru_utime"), system_ms = f.milliseconds("ru_stime");
  const std::int64_t max_rss = f.number("ru_maxrss");
  f.skip(16, "lsfRusage");
  f.text("mailUser");
  word(Text::account, f.text("projectName"));
  const std::int64_t exit_status = f.number("exitStatus");
  f.number("maxNumProcessors");
  f.skip(2, "timeEvent");  // loginShell
  const std::int64_t index = f.number("idx"), memory = f.number("maxRMem");
  f.skip(3, "commandSpool");  // maxRSwap, inFileSpool
  word(Text::reservation, f.text("rsvId"));
  f.text("sla");
  f.number("exceptMask");
  f.text("additionalInfo");
  const std::int64_t why = f.number("exitInfo");
  if (!f.ok()) return wrong();

  if (index > 0) {
    row.set(Num::array_job_id, number);
    row.set(Num::array_task_id, index);
    row.set(Text::job_id, arena.copy(fmt::format("{}[{}]", number, index)));
  } else {
    row.set(Num::job_id_raw, number);
    row.set(Text::job_id, id);
  }
  if (!cluster_.empty()) row.set(Text::cluster, cluster_);
  if (uid >= 0) row.set(Num::uid, uid);
  if (asked > 0) row.set(Num::req_cpus, asked);
  if (submit > 0) row.set(Num::submit_time, submit);
  if (end > 0) row.set(Num::end_time, end);
  if (start > 0) {
    row.set(Num::start_time, start);
    if (end >= start) row.set(Num::elapsed, end - start);
    if (slots > 0) row.set(Num::cpus, slots);
    set_hosts(names, arena, row);
  }
  std::int64_t value = 0;
  if (user_ms >= 0) row.set(Num::user_cpu, user_ms);
  if (system_ms >= 0) row.set(Num::system_cpu, system_ms);
  if (user_ms >= 0 && system_ms >= 0 && add(user_ms, system_ms, value)) row.set(Num::total_cpu, value);
  if (max_rss > 0 && multiply(max_rss, 1024, value)) row.set(Num::max_rss, value);
  if (memory > 0 && multiply(memory, 1024, value)) row.set(Num::usage_mem, value);

  // jStatus 64 is DONE, 32 EXIT; exitStatus is wait()'s.
  row.set(Num::exit_code, exit_status >= 0 ? (exit_status >> 8) & 0xff : exit_status);
  row.set(Num::exit_signal, exit_status >= 0 ? exit_status & 0x7f : 0);
  if (why > 0)
    row.set(Text::reason, static_cast<std::size_t>(why) < kTerms.size()
                              ? kTerms[static_cast<std::size_t>(why)].name
                              : std::string_view("TERM of a newer LSF"));
  if (status == 64) {
    row.set(Text::state, "COMPLETED");
  } else if (status == 32) {
    const bool known = why > 0 && static_cast<std::size_t>(why) < kTerms.size();
    row.set(Text::state, known        ? kTerms[static_cast<std::size_t>(why)].state
                         : start == 0 ? std::string_view("CANCELLED")  // never dispatched: nothing failed
                                      : std::string_view("FAILED"));
  } else {
    row.set(Text::state, arena.copy(fmt::format("LSF {}", status)));
    row.add_bits(Num::flaws, bit(Flaw::unknown_state));
  }
  return true;
}

}  // namespace

bool looks_like_lsf(std::string_view head, const ReadOptions&) {
  std::string_view line = first_line(head), event, version, time;
  bool quoted = false, quoted_too = false;
  std::int64_t n = 0;
  if (!take_field(line, event, quoted) || !take_field(line, version, quoted_too) || !quoted || !quoted_too)
    return false;
  if (!take_field(line, time, quoted) || quoted || !parse_integer(time, n)) return false;
  return event.starts_with("JOB_") || event.starts_with("EVENT_");
}

Result<OpenedReader> open_lsf(std::string_view, bool, const ReadOptions& options) {
  OpenedReader opened;
  opened.format = "lsf";
  opened.notes.push_back(
      "LSF has no steps, and its limits are left out: memory is that of all processes of a job.");
  opened.reader = std::make_unique<LsfReader>(options.cluster);
  return opened;
}

}  // namespace sickbay::workload
