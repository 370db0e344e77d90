// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/text.h"

namespace sickbay::slurm {
namespace {

constexpr std::size_t kLogLinesKept = 4;
constexpr std::size_t kLongestLogLine = 4096;
constexpr int kSendPatienceMs = 1000;

Error os_error(std::string what) {
  return Error(ErrorCode::os, fmt::format("{}: {}", what, std::strerror(errno)));
}

/// Reaps `pid`, which has been killed or has closed its socket.  It is gone in a moment; one that is stuck in
/// the kernel is left to a timer, so that the loop never waits for it.
void reap(Loop& loop, pid_t pid, int tries = 0) {
  const pid_t got = ::waitpid(pid, nullptr, WNOHANG);
  if (got != 0) return;  // reaped, or no child of ours any more
  const auto pause = std::chrono::milliseconds(tries < 100 ? 10 : 1000);
  loop.at(loop.now() + pause, [&loop, pid, tries] { reap(loop, pid, tries + 1); });
}

struct SpawnActions {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnActions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(Loop& loop, const std::string& path,
                                                          const std::vector<std::string>& environment,
                                                          Events events) {
  int sockets[2], log[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return fail(os_error("cannot make a socket pair"));
  if (::pipe2(log, O_CLOEXEC) != 0) {
    Error error = os_error("cannot make a pipe");
    ::close(sockets[0]);
    ::close(sockets[1]);
    return fail(std::move(error));
  }
  // Both may have landed on 3 already; dup2 onto itself would keep close-on-exec.  Moved out of the way
  // first.
  for (int* fd : {&sockets[0], &sockets[1], &log[0], &log[1]}) {
    const int moved = ::fcntl(*fd, F_DUPFD_CLOEXEC, 10);
    if (moved < 0) continue;
    ::close(*fd);
    *fd = moved;
  }

  SpawnActions spawn;
  posix_spawn_file_actions_addopen(&spawn.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&spawn.actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&spawn.actions, log[1], 2);
  posix_spawn_file_actions_adddup2(&spawn.actions, sockets[1], 3);
  // It inherits nothing else: neither the journal nor clients' connections.
  posix_spawn_file_actions_addclosefrom_np(&spawn.actions, 4);
  // Its own group: a Ctrl-C at our terminal must not cut a call in two.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&spawn.attributes, &none);
  posix_spawnattr_setpgroup(&spawn.attributes, 0);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);

  std::string argv0 = "sickbay-slurm";
  char* argv[] = {argv0.data(), nullptr};
  std::vector<std::string> kept = environment;
  std::vector<char*> envp;
  for (std::string& one : kept) envp.push_back(one.data());
  envp.push_back(nullptr);

  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, path.c_str(), &spawn.actions, &spawn.attributes, argv, envp.data());
  ::close(sockets[1]);
  ::close(log[1]);
  if (failed != 0) {
    ::close(sockets[0]);
    ::close(log[0]);
    const auto code = failed == ENOENT || failed == EACCES ? ErrorCode::missing_program : ErrorCode::os;
    return fail(Error(code, fmt::format("cannot start {}: {}", path, std::strerror(failed)))
                    .remedied_by("sickbay-slurm belongs beside sickbayd; install Sickbay anew"));
  }
  ::fcntl(sockets[0], F_SETFL, O_NONBLOCK);
  ::fcntl(log[0], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<ChildProcess>(new ChildProcess(loop, pid, sockets[0], log[0], std::move(events)));
}

ChildProcess::ChildProcess(Loop& loop, pid_t pid, int socket, int log, Events events)
    : loop_(loop), pid_(pid), socket_(socket), log_(log), events_(std::move(events)) {
  loop_.watch(socket_, [this] { read_socket(); });
  loop_.watch(log_, [this] { read_log(); });
}

ChildProcess::~ChildProcess() {
  loop_.unwatch(socket_);
  ::close(socket_);
  if (log_ >= 0) {
    loop_.unwatch(log_);
    ::close(log_);
  }
  // Not yet reaped, so the id is still the child's own.
  ::kill(pid_, SIGKILL);
  reap(loop_, pid_);
}

Status ChildProcess::send(const Json& json) {
  const std::string bytes = frame(json);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t n = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd writable{socket_, POLLOUT, 0};
      // The only place where the loop waits: a request is small, and a child that takes none for a second is
      // ill.
      if (::poll(&writable, 1, kSendPatienceMs) <= 0)
        return fail(ErrorCode::os, "sickbay-slurm does not take its request");
    } else if (errno == EPIPE || errno == ECONNRESET) {
      // It ended before it read: libslurm ends its process when it cannot use its configuration.
      take_last_words();
      return fail(Error(ErrorCode::slurm_away, "sickbay-slurm ended before it took its request")
                      .because(last_words()));
    } else if (errno != EINTR) {
      return fail(os_error("cannot send to sickbay-slurm"));
    }
  }
  return {};
}

void ChildProcess::read_socket() {
  std::array<char, 65536> buffer;
  const ssize_t n = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return end("it ended");
  reader_.feed({buffer.data(), static_cast<std::size_t>(n)});
  const auto here = lifetime_.watch();
  while (!here.over()) {  // a callback may destroy this object
    auto next = reader_.next();
    if (!next) return end(next.error().line());
    if (!*next) return;
    events_.on_frame(std::move(**next));
  }
}

void ChildProcess::read_log() {
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(log_, buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    loop_.unwatch(log_);
    ::close(log_);
    log_ = -1;
    return;
  }
  log_rest_.append(buffer.data(), static_cast<std::size_t>(n));
  take_log_lines();
}

void ChildProcess::take_log_lines() {
  for (;;) {
    auto end = log_rest_.find('\n');
    if (end == std::string::npos && log_rest_.size() < kLongestLogLine) return;
    // A line that does not end is cut: else it would grow in our memory.
    if (end == std::string::npos) end = log_rest_.size();
    std::string line(trimmed(std::string_view(log_rest_).substr(0, end)));
    log_rest_.erase(0, end + 1);
    if (line.empty()) continue;
    if (events_.on_log) events_.on_log(line);
    log_lines_.push_back(std::move(line));
    if (log_lines_.size() > kLogLinesKept) log_lines_.pop_front();
  }
}

std::string ChildProcess::last_words() const { return fmt::format("{}", fmt::join(log_lines_, "; ")); }

void ChildProcess::take_last_words() {
  // Why it ended is in the pipe, and its end may be seen before that was read.
  while (log_ >= 0) {
    pollfd readable{log_, POLLIN, 0};
    if (::poll(&readable, 1, 0) <= 0) break;
    read_log();
  }
}

void ChildProcess::end(std::string why) {
  if (gone_) return;
  gone_ = true;
  loop_.unwatch(socket_);
  take_last_words();
  events_.on_gone(std::move(why));
}

}  // namespace sickbay::slurm
