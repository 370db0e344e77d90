// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/answer.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "apps/cli/remote.h"
#include "base/error_json.h"
#include "base/text.h"
#include "base/text_table.h"
#include "model/ids.h"

namespace sickbay::cli {
namespace {

// Words of a peer or a user may hold anything; each line of a message is made harmless by itself.
std::string harmless_lines(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    safe += for_terminal(text.substr(0, end));
    if (end == text.npos) break;
    safe += '\n';
    text.remove_prefix(end + 1);
  }
  return safe;
}

bool all_digits(std::string_view word) {
  for (const char c : word)
    if (!is_digit(c)) return false;
  return !word.empty();
}

}  // namespace

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const Json& value) { print(value.pretty() + "\n"); }

int complain(const Error& error, bool json) {
  // Both: who reads JSON finds the error in it, and people see it on standard error.
  if (json) print_json(error_json(error));
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", harmless_lines(error.message("sickbay")));
  return error_row(error.code).exit_code;
}

int exit_code_of(const Ending& ending) {
  return ending.code ? *ending.code : complain(ending.code.error(), ending.json);
}

void warn(const Error& error) {
  std::string text = "sickbay: warning: " + error.line();
  if (!error.cause.empty()) text += "\n  cause:  " + error.cause;
  text += "\n  remedy: " + std::string(error.remedy());
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", harmless_lines(text));
}

Error about_path(Error error) {
  if (error.code == ErrorCode::not_found && error.remedy_text.empty())
    error.remedy_text = "check the path; a relative one begins at the current folder";
  return error;
}

std::string rooted(std::string_view path) {
  const char* root = std::getenv("SICKBAY_ROOT");
  std::string text = root ? root : "";
  while (text.ends_with('/')) text.pop_back();
  return text + std::string(path);
}

Result<ApiClient> connect_to_sickbayd(ApiTimes times) {
  const std::string socket = rooted("/run/sickbay/sickbayd.sock");
  // A socket that is there but closed to us is this host's as well: connect() then says why.
  const bool is_here = ::access(socket.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
  if (is_here && !controller_is_named()) return ApiClient::connect(socket, times);
  auto remote = remote_sickbayd();
  if (remote) return ApiClient(std::move(*remote), times);
  if (remote.error().code != ErrorCode::not_found) return fail(std::move(remote.error()));
  // Nobody knows of another host: then it is this one whose sickbayd is away.
  auto local = ApiClient::connect(socket, times);
  if (!local) local.error().cause += fmt::format("; {}: {}", remote.error().what, remote.error().cause);
  return local;
}

Result<JobId> named_job(const std::string& word) {
  auto job = parse_job_id(word);
  if (job) return job;
  Error error = job.error();
  error.code = ErrorCode::usage;
  return fail(std::move(error).remedied_by("name a job, as 17"));
}

Result<CaseTarget> parse_case_target(std::string_view word) {
  if (word.starts_with('c')) {
    const std::string_view name = word.substr(0, word.find('.'));
    if (parse_case_name(name) && (name == word || parse_run_id(word)))
      return CaseTarget{fmt::format("/v1/cases/{}", name)};
  }
  if (parse_job_id(word) || parse_task_name(word)) return CaseTarget{fmt::format("/v1/jobs/{}/case", word)};
  Error error(ErrorCode::usage, fmt::format("{} names neither a case nor a job", quote_for_message(word)));
  error.remedy_text =
      "give a case (c17), a run (c17.r2), a job id (4711) or a task of a job array (4711_3); 'sickbay cases' "
      "lists them";
  if (const std::size_t end = word.find_first_of("+."); end != word.npos && all_digits(word.substr(0, end)))
    error.cause = "components of heterogeneous jobs and steps have no case of their own";
  return fail(std::move(error));
}

Result<Json> fetch_case(ApiClient& api, std::string_view word) {
  auto target = parse_case_target(word);
  if (!target) return fail(target.error());
  auto view = api.get(target->path);
  if (view || view.error().code != ErrorCode::not_found) return view;
  Error error = view.error();
  if (error.cause.empty() && target->path.starts_with("/v1/jobs/"))
    error.cause = "only jobs submitted through 'sickbay submit' (or mybatch) have a case";
  if (error.remedy_text.empty() || error.remedy_text == error_row(ErrorCode::not_found).remedy)
    error.remedy_text = "'sickbay cases --all' lists your cases; submit the next run with 'sickbay submit'";
  return fail(std::move(error));
}

}  // namespace sickbay::cli
