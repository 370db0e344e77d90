// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/bounded_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "adapters/posix/poll_loop.h"
#include "adapters/posix/process_runner.h"
#include "base/duration.h"
#include "base/text.h"

extern char** environ;  // NOLINT: POSIX's name

namespace sickbay::cli {
namespace {

// Ours, with `more` in place of what has the same name.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view ours(*each);
    const std::string_view name = ours.substr(0, ours.find('='));
    if (std::none_of(more.begin(), more.end(), [&](const auto& m) { return m.first == name; }))
      all.emplace_back(ours);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

// The folder that we stand in; "" (the runner's "/") where it is gone.
std::string here() {
  char* path = ::get_current_dir_name();
  std::string text = path != nullptr ? path : "";
  ::free(path);  // NOLINT: get_current_dir_name allocates so
  return text;
}

// The runner's words are for operators of a daemon; here somebody has just named the program.
Error not_started(Error error, const std::string& shown) {
  if (error.code != ErrorCode::missing_program) return error;
  if (error.what.ends_with(std::strerror(EACCES)))
    return Error(ErrorCode::denied, fmt::format("{} may not be run", shown)).remedied_by("chmod +x it");
  if (!error.what.ends_with(std::strerror(ENOENT))) return error;
  return Error(ErrorCode::missing_program, fmt::format("there is no program {}", shown))
      .remedied_by("install it, or correct its name");
}

// Its last line that says something.
std::string last_line(std::string_view text) {
  text = trimmed(text);
  return std::string(trimmed(text.substr(text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1)));
}

}  // namespace

Result<std::string> run_bounded(const BoundedChild& child) {
  SB_CHECK(!child.argv.empty(), "a child needs a program");
  auto loop = make_poll_loop();
  if (!loop) return fail(loop.error());
  const auto runner = make_process_runner(**loop);
  ProcessSpec spec;
  spec.argv = child.argv;
  spec.environment = environment_with(child.environment);
  spec.folder = child.folder.empty() ? here() : child.folder;
  spec.time_limit = child.time_limit;
  spec.output_limit = child.most_bytes;
  spec.stop_on_flood = true;
  std::optional<Result<ProcessOutcome>> ended;
  runner->run(std::move(spec), [&](Result<ProcessOutcome> outcome) {
    ended = std::move(outcome);
    (*loop)->stop();
  });
  (*loop)->run();

  const std::string shown = quote_for_message(child.argv[0], 200);
  if (!*ended) return fail(not_started(std::move(ended->error()), shown));
  ProcessOutcome& outcome = **ended;
  if (outcome.flooded)
    return fail(
        Error(ErrorCode::bad_input, fmt::format("{} printed more than {} bytes", shown, child.most_bytes)));
  if (outcome.timed_out)
    return fail(Error(ErrorCode::timed_out, fmt::format("{} ran longer than {}", shown,
                                                        describe_duration(Micros(child.time_limit)))));
  if (outcome.exit_code == 0) return std::move(outcome.out);
  Error error(ErrorCode::bad_input,
              outcome.signal != 0 ? fmt::format("{} was ended by signal {}", shown, outcome.signal)
                                  : fmt::format("{} ended with exit code {}", shown, outcome.exit_code));
  error.cause = last_line(outcome.err);
  return fail(std::move(error));
}

}  // namespace sickbay::cli
