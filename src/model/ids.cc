// SPDX-License-Identifier: Apache-2.0
#include "model/ids.h"

#include <charconv>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr std::string_view kNodePrefix = "node:";
constexpr std::string_view kRunLetters = "rvk";  // in the order of RunKind

// Reads a positive decimal number off the front of `text`; false where there is none or it has a leading 0.
template <class Int>
bool take_number(std::string_view& text, Int& out) {
  // One name, one text: "c017" and "c17" would be two keys for the same case.
  if (text.empty() || text[0] < '1' || text[0] > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// A letter and a number.
Result<std::int64_t> parse_name(std::string_view text, char letter, const char* what) {
  std::string_view rest = text;
  std::int64_t number = 0;
  if (!rest.empty() && rest[0] == letter) {
    rest.remove_prefix(1);
    if (take_number(rest, number) && rest.empty()) return number;
  }
  return fail(ErrorCode::bad_input, "'" + std::string(text.substr(0, 40)) + "' is not " + what);
}

}  // namespace

std::string case_name(std::int64_t case_no) { return "c" + std::to_string(case_no); }

std::string RunId::text() const {
  return case_name(case_no) + "." + kRunLetters[static_cast<std::size_t>(kind)] + std::to_string(n);
}

Result<std::int64_t> parse_case_name(std::string_view text) {
  return parse_name(text, 'c', "a case name like c17");
}

std::string finding_name(std::int64_t finding_no) { return "f" + std::to_string(finding_no); }

Result<std::int64_t> parse_finding_name(std::string_view text) {
  return parse_name(text, 'f', "the name of a finding like f9");
}

Result<JobId> parse_job_id(std::string_view text) {
  std::string_view rest = text;
  JobId job = 0;
  if (take_number(rest, job) && rest.empty()) return job;
  return fail(ErrorCode::bad_input, quote_for_message(text) + " is not a job id");
}

std::string patrol_name(std::int64_t round) { return "p" + std::to_string(round); }

Result<std::int64_t> parse_patrol_name(std::string_view text) {
  return parse_name(text, 'p', "the name of a verification round like p3");
}

std::string PatrolRunId::text() const { return patrol_name(round) + ".v" + std::to_string(n); }

Result<PatrolRunId> parse_patrol_run(std::string_view text) {
  PatrolRunId id;
  const auto dot = text.find(".v");
  if (dot != std::string_view::npos) {
    const auto round = parse_patrol_name(text.substr(0, dot));
    std::string_view rest = text.substr(dot + 2);
    if (round && take_number(rest, id.n) && rest.empty()) {
      id.round = *round;
      return id;
    }
  }
  return fail(ErrorCode::bad_input,
              quote_for_message(text) + " is not a run of a verification round like p3.v1");
}

std::string recovery_name(std::int64_t recovery) { return "r" + std::to_string(recovery); }

Result<std::int64_t> parse_recovery_name(std::string_view text) {
  return parse_name(text, 'r', "the name of a recovery like r3");
}

std::string TaskName::text() const { return std::to_string(array_job_id) + "_" + std::to_string(task); }

Result<TaskName> parse_task_name(std::string_view text) {
  TaskName name;
  std::string_view rest = text;
  if (take_number(rest, name.array_job_id) && rest.size() > 1 && rest[0] == '_') {
    rest.remove_prefix(1);
    // Unlike all other numbers of ours a task's may be 0.
    if (rest == "0") return name;
    if (take_number(rest, name.task) && rest.empty()) return name;
  }
  return fail(ErrorCode::bad_input,
              "'" + std::string(text.substr(0, 40)) + "' is not a task of a job array like 1234_7");
}

namespace {
constexpr std::string_view kJobPrefix = "job:";
}
std::string job_subject(JobId job) { return std::string(kJobPrefix) + std::to_string(job); }
bool is_job_subject(std::string_view subject) { return subject.starts_with(kJobPrefix); }

std::optional<JobId> parse_job_subject(std::string_view text) {
  JobId job = 0;
  if (!is_job_subject(text)) return std::nullopt;
  text.remove_prefix(kJobPrefix.size());
  if (!take_number(text, job) || !text.empty()) return std::nullopt;
  return job;
}

std::string running_subject(JobId job) { return "j" + std::to_string(job); }
std::optional<JobId> parse_running_subject(std::string_view text) {
  JobId job = 0;
  if (text.empty() || text[0] != 'j') return std::nullopt;
  text.remove_prefix(1);
  if (!take_number(text, job) || !text.empty()) return std::nullopt;
  return job;
}

std::string node_subject(std::string_view node) { return std::string(kNodePrefix).append(node); }

std::string_view node_of_subject(std::string_view subject) {
  return subject.starts_with(kNodePrefix) ? subject.substr(kNodePrefix.size()) : std::string_view();
}

Result<RunId> parse_run_id(std::string_view text) {
  RunId id;
  const auto dot = text.find('.');
  if (dot != std::string_view::npos && dot + 1 < text.size()) {
    auto case_no = parse_case_name(text.substr(0, dot));
    std::string_view rest = text.substr(dot + 2);
    const char letter = text[dot + 1];
    const std::size_t kind = kRunLetters.find(letter);
    if (case_no && kind != std::string_view::npos && take_number(rest, id.n) && rest.empty()) {
      id.case_no = *case_no;
      id.kind = static_cast<RunKind>(kind);
      return id;
    }
  }
  return fail(ErrorCode::bad_input,
              "'" + std::string(text.substr(0, 40)) + "' is not a run name like c17.r2 or c17.v1");
}

}  // namespace sickbay
