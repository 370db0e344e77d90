// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/bounded_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/duration.h"
#include "base/text.h"

extern char** environ;  // NOLINT: POSIX's name

namespace sickbay::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostComplaint = 64 * 1024;  // of its standard error, the end is kept

struct Pipe {
  int read = -1, write = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  ~Pipe() { close_read(), close_write(); }
  void close_read() {
    if (read >= 0) ::close(read);
    read = -1;
  }
  void close_write() {
    if (write >= 0) ::close(write);
    write = -1;
  }
  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0], write = ends[1];
    return true;
  }
};

Error os_error(std::string_view doing, int code) {
  return Error(ErrorCode::os, fmt::format("{}: {}", doing, std::strerror(code)));
}

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

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// posix_spawn's attributes and actions, freed on all ways out.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

Result<pid_t> start(const BoundedChild& child, int out, int err) {
  SpawnPlan plan;
  posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, err, STDERR_FILENO);
  if (!child.folder.empty()) posix_spawn_file_actions_addchdir_np(&plan.actions, child.folder.c_str());
  const auto environment = environment_with(child.environment);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, child.argv[0].c_str(), &plan.actions, &plan.attributes,
                                  pointers(child.argv).data(), pointers(environment).data());
  const std::string shown = quote_for_message(child.argv[0], 200);
  if (failed == ENOENT)
    return fail(Error(ErrorCode::missing_program, fmt::format("there is no program {}", shown))
                    .remedied_by("install it, or correct its name"));
  if (failed == EACCES)
    return fail(Error(ErrorCode::denied, fmt::format("{} may not be run", shown)).remedied_by("chmod +x it"));
  if (failed != 0) return fail(os_error("cannot run " + shown, failed));
  return pid;
}

Error too_long(const BoundedChild& child) {
  return Error(ErrorCode::timed_out,
               fmt::format("{} ran longer than {}", quote_for_message(child.argv[0], 200),
                           describe_duration(
                               std::chrono::duration_cast<std::chrono::microseconds>(child.time_limit))));
}

// Its last line that says something.
std::string last_line(std::string_view text) {
  text = trimmed(text);
  return std::string(trimmed(text.substr(text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1)));
}

}  // namespace

Result<std::string> run_bounded(const BoundedChild& child) {
  SB_CHECK(!child.argv.empty(), "a child needs a program");
  Pipe out, err;
  if (!out.open() || !err.open()) return fail(os_error("cannot make a pipe", errno));
  auto pid = start(child, out.write, err.write);
  if (!pid) return fail(pid.error());
  out.close_write();
  err.close_write();

  std::string printed, complaint;
  const auto end = Clock::now() + child.time_limit;
  Error broken;
  bool stopped = false;
  while (!stopped && (out.read >= 0 || err.read >= 0)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) {
      stopped = true;
      broken = too_long(child);
      break;
    }
    std::array<pollfd, 2> fds = {pollfd{out.read, POLLIN, 0}, pollfd{err.read, POLLIN, 0}};
    if (poll(fds.data(), fds.size(), static_cast<int>(std::min<long long>(left, 1000))) < 0 &&
        errno != EINTR) {
      stopped = true;
      broken = os_error("cannot wait for " + child.argv[0], errno);
      break;
    }
    for (int i = 0; i < 2; ++i) {
      if ((fds[static_cast<std::size_t>(i)].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      std::array<char, 65536> buffer;
      Pipe& pipe = i == 0 ? out : err;
      std::string& to = i == 0 ? printed : complaint;
      const ssize_t n = read(pipe.read, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        pipe.close_read();
        continue;
      }
      to.append(buffer.data(), static_cast<std::size_t>(n));
      if (complaint.size() > kMostComplaint) complaint.erase(0, complaint.size() - kMostComplaint);
    }
    if (printed.size() > child.most_bytes) {
      stopped = true;
      broken =
          Error(ErrorCode::bad_input, fmt::format("{} printed more than {} bytes",
                                                  quote_for_message(child.argv[0], 200), child.most_bytes));
    }
  }
  // Both pipes are closed; the program itself may still be at work.
  siginfo_t info = {};
  while (!stopped && Clock::now() < end) {
    if (waitid(P_PID, static_cast<id_t>(*pid), &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid != 0)
      break;
    poll(nullptr, 0, 2);
  }
  if (!stopped && info.si_pid == 0) {
    stopped = true;
    broken = too_long(child);
  }
  // The whole group, also after a good end: nothing that it started may outlive the report.  (Until it is
  // waited for, its number is no other's.)
  kill(-*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0)
    if (errno != EINTR) return fail(os_error("cannot wait for " + child.argv[0], errno));
  if (stopped) return fail(std::move(broken));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return printed;
  Error error(ErrorCode::bad_input,
              WIFSIGNALED(status) ? fmt::format("{} was ended by signal {}",
                                                quote_for_message(child.argv[0], 200), WTERMSIG(status))
                                  : fmt::format("{} ended with exit code {}",
                                                quote_for_message(child.argv[0], 200), WEXITSTATUS(status)));
  error.cause = last_line(complaint);
  return fail(std::move(error));
}

}  // namespace sickbay::cli
