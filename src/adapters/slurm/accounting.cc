// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/accounting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <random>

#include "base/text.h"
#include "model/slurm_state.h"

namespace sickbay::slurm {
namespace {

using Text = std::string_view;

template <class T>
bool read_number(Text text, T& value) {
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  return bad == std::errc() && end == text.data() + text.size();
}

/// Slurm's own bounds (time_t of 32 bits unsigned, minutes likewise); more than that would overflow our
/// clock.
constexpr std::int64_t kMost = 0xffffffff;

/// Seconds since 1970; "None" and "Unknown" where it has not happened.
bool read_time(Text text, TimePoint& time) {
  if (text.empty() || text == "None" || text == "Unknown") return true;
  std::int64_t seconds = 0;
  if (!read_number(text, seconds) || seconds < 0 || seconds > kMost) return false;
  time = from_unix_seconds(seconds);
  return true;
}

bool read_text(Text text, std::string& value) {
  value = text;
  return true;
}

bool read_state(Text text, AccountingJob& entry) {
  const auto state = parse_job_state(text);
  if (!state) return false;
  entry.job.state = base_name(*state);
  entry.job.flags = flag_names(*state);
  return true;
}

bool read_exit(Text text, AccountingJob& entry) {
  const auto colon = text.find(':');
  return colon != Text::npos && read_number(text.substr(0, colon), entry.job.exit_code) &&
         read_number(text.substr(colon + 1), entry.job.exit_signal);
}

bool read_nodes(Text text, AccountingJob& entry) {
  return read_text(text == "None assigned" ? Text() : text, entry.job.nodes);
}

/// Minutes; UNLIMITED and Partition_Limit are 0, as JobInfo has it.
bool read_limit(Text text, AccountingJob& entry) {
  std::int64_t minutes = 0;
  if (!text.empty() && text[0] >= '0' && text[0] <= '9' && (!read_number(text, minutes) || minutes > kMost))
    return false;
  entry.job.time_limit_s = limit_seconds(minutes);
  return true;
}

/// "1234_7", "1234_[8-19%4]" for those that ended before they started; of a job of no array just its number.
bool read_task(Text text, AccountingJob& entry) {
  const auto mark = text.find('_');
  if (mark == Text::npos) return true;
  const auto tasks = TaskIds::parse(text.substr(mark + 1));
  if (tasks) entry.job.array_task_id = tasks->text();
  return tasks && read_number(text.substr(0, mark), entry.job.array_job_id);
}

/// What is asked for, in this order, and where it goes.
struct FieldRow {
  Text name;
  bool (*read)(Text, AccountingJob&);
};
constexpr auto kFields = std::to_array<FieldRow>({
    {"JobIDRaw", [](Text t, AccountingJob& a) { return read_number(t, a.job.job_id); }},
    {"UID", [](Text t, AccountingJob& a) { return t.empty() || read_number(t, a.job.uid); }},
    {"State", read_state},
    {"ExitCode", read_exit},
    {"Start", [](Text t, AccountingJob& a) { return read_time(t, a.job.start); }},
    {"End", [](Text t, AccountingJob& a) { return read_time(t, a.job.end); }},
    {"Submit", [](Text t, AccountingJob& a) { return read_time(t, a.job.submit); }},
    {"NodeList", read_nodes},
    {"Partition", [](Text t, AccountingJob& a) { return read_text(t, a.job.partition); }},
    {"TimelimitRaw", read_limit},
    {"NNodes", [](Text t, AccountingJob& a) { return t.empty() || read_number(t, a.job.num_nodes); }},
    {"Comment", [](Text t, AccountingJob& a) { return read_text(t, a.job.comment); }},
    {"WorkDir", [](Text t, AccountingJob& a) { return read_text(t, a.job.work_dir); }},
    {"JobName", [](Text t, AccountingJob& a) { return read_text(t, a.job.name); }},
    {"JobID", read_task},
    {"SubmitLine", [](Text t, AccountingJob& a) { return read_text(t, a.submit_line); }},
});

}  // namespace

std::string random_delimiter() {
  std::random_device source;  // the kernel's: not to be guessed by whoever names a job
  std::string word;
  for (int i = 0; i < 24; ++i) word += static_cast<char>('A' + source() % 26);
  return word;
}

ProcessSpec sacct_command(const AccountingQuestion& question, const std::string& sacct,
                          const std::string& slurm_conf, const std::string& delimiter) {
  std::vector<std::string> names;
  for (const FieldRow& row : kFields) names.emplace_back(row.name);
  ProcessSpec spec;
  spec.argv = {sacct,
               "--parsable",
               "--noheader",
               "--allocations",
               "--allusers",
               "--delimiter=" + delimiter,
               "--format=" + fmt::format("{}", fmt::join(names, ","))};
  if (question.jobs.empty()) {
    // Without a start sacct looks at today alone.
    spec.argv.push_back(fmt::format("--uid={}", question.uid));
    spec.argv.push_back(fmt::format("--starttime=now-{}days", question.days));
  } else {
    spec.argv.push_back(fmt::format("--jobs={}", fmt::join(question.jobs, ",")));
  }
  // Without SLURM_BITSTR_LEN a long list of tasks is cut.
  // Times as seconds and in UTC: a local time is ambiguous once a year.
  spec.environment = {"SLURM_CONF=" + slurm_conf, "TZ=UTC", "SLURM_TIME_FORMAT=%s", "LC_ALL=C",
                      "SLURM_BITSTR_LEN=0"};
  spec.output_limit = std::size_t{64} << 20;
  return spec;
}

Result<std::vector<AccountingJob>> parse_sacct(std::string_view out, std::string_view delimiter) {
  std::vector<AccountingJob> jobs;
  while (!trimmed(out).empty()) {
    AccountingJob entry;
    // By the delimiter and not by lines: a job's name or comment may hold line ends, and it cannot be
    // guessed.
    for (const FieldRow& row : kFields) {
      const auto end = out.find(delimiter);
      if (end == std::string_view::npos)
        return fail(ErrorCode::bad_input, fmt::format("sacct's answer ends before the field {}", row.name));
      const std::string_view field = out.substr(0, end);
      out.remove_prefix(end + delimiter.size());
      if (!row.read(field, entry))
        return fail(ErrorCode::bad_input,
                    fmt::format("sacct's field {} is {}", row.name, quote_for_message(field)));
    }
    if (!out.empty() && out[0] != '\n')
      return fail(ErrorCode::bad_input, "a line of sacct's has too many fields");
    if (!out.empty()) out.remove_prefix(1);
    jobs.push_back(std::move(entry));
  }
  return jobs;
}

Error sacct_error(const ProcessOutcome& outcome) {
  const std::string words(trimmed(outcome.err));
  if (outcome.timed_out) return Error(ErrorCode::timed_out, "sacct did not end in time").because(words);
  if (outcome.truncated) return Error(ErrorCode::os, "sacct printed more than can be read");
  if (words.find("onnection") != std::string::npos || words.find("Problem talking") != std::string::npos)
    return Error(ErrorCode::slurm_away, "sacct cannot reach slurmdbd").because(words.substr(0, 500));
  return Error(ErrorCode::refused_by_slurm, "sacct failed: " + words.substr(0, 500));
}

}  // namespace sickbay::slurm
