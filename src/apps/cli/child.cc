// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "adapters/posix/files.h"
#include "base/descriptor.h"
#include "base/text.h"

extern char** environ;  // NOLINT: POSIX's name

namespace sickbay::cli {
namespace {

// SIGINT and SIGQUIT are the child's alone for as long as this lives.
class KeyboardSignalsIgnored {
 public:
  KeyboardSignalsIgnored() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~KeyboardSignalsIgnored() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
  }
  KeyboardSignalsIgnored(const KeyboardSignalsIgnored&) = delete;
  KeyboardSignalsIgnored& operator=(const KeyboardSignalsIgnored&) = delete;

 private:
  struct sigaction interrupt_ = {}, quit_ = {};
};

Error os_error(std::string_view doing, int code) {
  return Error(ErrorCode::os, fmt::format("{}: {}", doing, std::strerror(code)));
}

void read_lines(int fd, const std::function<void(std::string_view)>& on_line) {
  std::string pending;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    pending.append(buffer.data(), static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end; (end = pending.find('\n', begin)) != pending.npos; begin = end + 1)
      on_line(std::string_view(pending).substr(begin, end + 1 - begin));
    pending.erase(0, begin);
  }
  if (!pending.empty()) on_line(pending);
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Result<int> run_child(const ChildSpec& spec, const std::function<void(std::string_view)>& on_line) {
  SB_CHECK(!spec.argv.empty(), "a child needs a program");
  Descriptor input;
  if (spec.input && !(input = memory_file(*spec.input)))
    return fail(os_error("cannot make a file in memory", errno));
  int ends[2];
  // The child keeps its standard output, of which dup2 takes the flag off, and no other end.
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(os_error("cannot make a pipe", errno));
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);

  std::vector<char*> argv;
  for (const std::string& word : spec.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (spec.input) posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT)
    return fail(Error(ErrorCode::missing_program,
                      fmt::format("there is no program {} in PATH", quote_for_message(spec.argv[0]))));
  if (failed == EACCES)
    return fail(ErrorCode::denied, fmt::format("{} may not be run", quote_for_message(spec.argv[0])));
  if (failed != 0) return fail(os_error("cannot run " + quote_for_message(spec.argv[0]), failed));

  // After the start: what is ignored at exec stays ignored in the child.
  const KeyboardSignalsIgnored ignored;
  // Else the pipe would have a writer left, and reading would never end.
  write_end.reset();
  read_lines(read_end.get(), on_line);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return fail(os_error("cannot wait for " + spec.argv[0], errno));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace sickbay::cli
