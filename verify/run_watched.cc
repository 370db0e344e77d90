// SPDX-License-Identifier: Apache-2.0
// The pipe behind Watch, and the end of an srun that is waited for in vain.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "seconds.h"
#include "watch.h"

namespace sickbay::verify {
namespace {

constexpr double kLook = 1;  ///< seconds; more than that between two looks is time of which nothing is known
constexpr double kLastWords = 2;  ///< for what is still in the pipe when the command has ended
constexpr int kCannotRun = 127;

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

pid_t start(const std::vector<std::string>& command, int out) {
  const pid_t watcher = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  // It goes with its watcher: nobody would read what it says.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != watcher) ::_exit(kCannotRun);
  ::dup2(out, STDOUT_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  std::fprintf(stderr, "sickbay-verify: cannot run %s: %s\n", words[0], std::strerror(errno));
  ::_exit(kCannotRun);
}

/// Lines of a pipe as they come.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}
  ~Lines() {
    if (fd_ >= 0) ::close(fd_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  bool open() const { return fd_ >= 0; }
  /// Waits for bytes, `seconds` at most, and hands on what of them the watch wants shown; true where some
  /// came.
  bool listen(Watch& watch, double seconds) {
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, fd_ >= 0 ? 1 : 0, static_cast<int>(seconds * 1e3)) <= 0) return false;
    std::array<char, 65536> bytes;
    const ssize_t n = ::read(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) return false;
    if (n <= 0) {
      write_all(rest_);
      rest_.clear();
      ::close(fd_);
      fd_ = -1;
      return false;
    }
    rest_.append(bytes.data(), static_cast<std::size_t>(n));
    std::size_t from = 0;
    for (std::size_t end; (end = rest_.find('\n', from)) != std::string::npos; from = end + 1) {
      const std::string_view line(rest_.data() + from, end - from);
      if (watch.hear(line)) write_all({line.data(), line.size() + 1});
    }
    rest_.erase(0, from);
    return true;
  }

 private:
  int fd_;
  std::string rest_;
};

}  // namespace

int run_watched(Watch watch, double grace, const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (command.empty() || ::pipe2(ends.data(), O_CLOEXEC) != 0) return kCannotRun;
  const pid_t child = start(command, ends[1]);
  ::close(ends[1]);
  Lines lines(ends[0]);
  if (child < 0) return kCannotRun;
  double ending_since = -1;
  bool killed = false;
  double before = seconds_now();
  int status = 0;
  for (;;) {
    const pid_t over = ::waitpid(child, &status, WNOHANG);
    if (over == child || (over < 0 && errno == ECHILD)) break;
    if (lines.open())
      lines.listen(watch, kLook / 4);
    else
      ::usleep(20'000);
    const double now = seconds_now();
    watch.pass(std::min(now - before, kLook));
    before = now;
    if (ending_since < 0 && watch.in_vain()) {
      // Said before it is ended: what does not end must not take the word with it.
      for (const Gone& gone : watch.gone()) write_all(line_of(gone) + "\n");
      ::kill(child, SIGTERM);
      ending_since = now;
    }
    if (ending_since >= 0 && !killed && now - ending_since > grace) {
      ::kill(child, SIGKILL);
      killed = true;
    }
  }
  // A grandchild may hold the pipe open: no longer than somebody speaks.
  while (lines.open() && lines.listen(watch, kLastWords)) {
  }
  if (ending_since >= 0) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace sickbay::verify
