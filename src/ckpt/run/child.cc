// SPDX-License-Identifier: Apache-2.0
#include "ckpt/run/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "base/words.h"

namespace sickbay::ckpt {
namespace {

struct SignalRow {
  int number;
  const char* name;
};
// A program can be asked by one of these.
constexpr auto kAskSignals = std::to_array<SignalRow>(
    {{SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGHUP, "HUP"}, {SIGURG, "URG"}, {SIGWINCH, "WINCH"}});
// Passed on.  What a signal means that is not here is its own process's matter (SIGSEGV) or not to be caught.
constexpr auto kPassedOn = std::to_array<int>({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                                               SIGURG, SIGWINCH, SIGTSTP, SIGCONT, SIGXCPU, SIGPWR});

sigset_t taken_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kPassedOn) ::sigaddset(&set, signal);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

// A mask of /proc/PID/status, by the name of its line.
std::uint64_t mask_of(std::string_view status, std::string_view name) {
  while (const auto line = next_line(status)) {
    if (!line->starts_with(name) || line->substr(name.size()).substr(0, 1) != ":") continue;
    return static_cast<std::uint64_t>(to_integer(trimmed(line->substr(name.size() + 1)), 16).value_or(0));
  }
  return 0;
}

std::string read_proc(const std::string& path) {
  std::string text(8192, '\0');
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ::ssize_t got = fd < 0 ? -1 : ::read(fd, text.data(), text.size());
  if (fd >= 0) ::close(fd);
  text.resize(static_cast<std::size_t>(std::max<::ssize_t>(got, 0)));
  return text;
}

}  // namespace

Result<int> parse_ask_signal(const std::string& name) {
  const std::string_view bare = equal_ignoring_case(name.substr(0, 3), "SIG")
                                    ? std::string_view(name).substr(3)
                                    : std::string_view(name);
  for (const SignalRow& row : kAskSignals)
    if (equal_ignoring_case(bare, row.name)) return row.number;
  return fail(
      Error(ErrorCode::usage, fmt::format("a program is not asked by the signal {}", quote_for_message(name)))
          .remedied_by("take USR1, USR2, HUP, URG or WINCH, or --ask-file"));
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

Result<std::unique_ptr<Child>> Child::start(const std::vector<std::string>& words,
                                            const std::vector<std::string>& more, int wish) {
  std::vector<char*> argv, envp;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  // Of two of one name in an environment programs take one or the other: the old one is left out.
  const auto is_replaced = [&](std::string_view variable) {
    return std::ranges::any_of(
        more, [&](const std::string& one) { return variable.starts_with(one.substr(0, one.find('=') + 1)); });
  };
  for (char** one = environ; *one != nullptr; ++one)
    if (!is_replaced(*one)) envp.push_back(*one);
  for (const std::string& one : more) envp.push_back(const_cast<char*>(one.c_str()));
  envp.push_back(nullptr);

  // The program begins with the signals as they were here.
  // Blocked before the program is started: its SIGCHLD waits until the thread is there to take it. The
  // program itself gets the mask from before, else it would never see a SIGTERM.
  const sigset_t taken = taken_signals();
  sigset_t before;
  ::signal(SIGCHLD, SIG_DFL);  // (ignored, nobody would hear of an end)
  ::pthread_sigmask(SIG_BLOCK, &taken, &before);
  ::posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  ::posix_spawnattr_setsigmask(&how, &before);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
  ::pid_t pid = -1;
  const int wrong = ::posix_spawnp(&pid, argv[0], nullptr, &how, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&how);
  if (wrong != 0) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const ErrorCode code = wrong == ENOENT   ? ErrorCode::not_found
                           : wrong == EACCES ? ErrorCode::denied
                                             : ErrorCode::internal;
    return fail(Error(code, fmt::format("cannot run {}: {}", quote_for_message(words[0]), ::strerror(wrong)))
                    .remedied_by("see whether it is there on this node, and its permissions"));
  }
  return std::unique_ptr<Child>(new Child(pid, wish, before));
}

Child::Child(::pid_t pid, int wish, const ::sigset_t& before)
    : pid_(pid), wish_(wish), before_(before), signals_([this] { take_signals(); }) {}

Child::~Child() {
  {
    const std::lock_guard hold(mutex_);
    leaving_ = true;
  }
  // Wakes the thread, which sits in sigwaitinfo().
  ::pthread_kill(signals_.native_handle(), SIGCHLD);
  signals_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Child::take_signals() {
  const sigset_t taken = taken_signals();
  for (;;) {
    {
      // (Its end may have come before this thread; and one signal may stand for several.)
      const std::lock_guard hold(mutex_);
      if (leaving_) return;
      if (!ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) {
        ended_ = true;
        changed_.notify_all();
      }
    }
    siginfo_t info;
    const int signal = ::sigwaitinfo(&taken, &info);
    if (signal < 0 || signal == SIGCHLD) continue;
    const std::lock_guard hold(mutex_);
    if (signal == wish_) {
      ++wishes_;
      changed_.notify_all();
    } else if (ended_) {
      // The program is gone, and what is left (a last save) is ended at once, with the program's code.
      if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGHUP)
        ::_exit(code_of_status());
    } else if (info.si_code <= 0) {
      // By kill() and its like: for this process alone, and so passed on.
      ::kill(pid_, signal);
    } else if (signal == SIGTSTP) {
      // What the kernel sends, a terminal's ^C and ^Z, it sends to the program, too.
      ::kill(::getpid(), SIGSTOP);
    }
  }
}

bool Child::ended() {
  const std::lock_guard hold(mutex_);
  return ended_;
}

int Child::code() {
  const std::lock_guard hold(mutex_);
  return code_of_status();
}
int Child::code_of_status() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::int64_t Child::wishes() {
  const std::lock_guard hold(mutex_);
  return wishes_;
}

void Child::pause(Micros length) {
  std::unique_lock hold(mutex_);
  changed_.wait_for(hold, length, [this, ended = ended_, wishes = wishes_] {
    return ended_ != ended || wishes_ != wishes;
  });
}

void Child::wait() {
  std::unique_lock hold(mutex_);
  changed_.wait(hold, [this] { return ended_; });
}

bool Child::is_ready_for(int signal) {
  const std::lock_guard hold(mutex_);
  // (Under the lock: after waitpid() the number may be another process's. Likewise in send().)
  if (ended_) return false;
  const std::string status = read_proc(fmt::format("/proc/{}/status", pid_));
  // A blocked or ignored signal ends no program, either; whether it is heard shows by the done file.
  const std::uint64_t any = mask_of(status, "SigCgt") | mask_of(status, "SigBlk") | mask_of(status, "SigIgn");
  return (any >> (signal - 1) & 1) != 0;
}

void Child::send(int signal) {
  const std::lock_guard hold(mutex_);
  if (!ended_) ::kill(pid_, signal);
}

}  // namespace sickbay::ckpt
