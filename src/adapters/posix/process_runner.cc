// SPDX-License-Identifier: Apache-2.0
// Runs programs with fork and exec and follows them by pipes and a pidfd on the loop.
//
// Everything that may allocate or lock (group lists, argument vectors, limits) is made before fork(); the
// child makes system calls only.  A step that fails before exec comes back through a close-on-exec pipe as
// {step, errno}.  The whole group is killed when the time is up, and again when the program itself has
// ended, so that nothing that it left behind holds our pipes open.
#include "adapters/posix/process_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

namespace sickbay {
namespace {

struct LimitRow {
  std::string_view name;
  int resource;
};
constexpr auto kLimits = std::to_array<LimitRow>({
    {"CPU", RLIMIT_CPU},
    {"FSIZE", RLIMIT_FSIZE},
    {"DATA", RLIMIT_DATA},
    {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},
    {"RSS", RLIMIT_RSS},
    {"NPROC", RLIMIT_NPROC},
    {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK},
    {"AS", RLIMIT_AS},
});

enum class Step : int { none, group, descriptors, limits, identity, folder, exec };
constexpr std::array<std::string_view, 7> kStepWords{"",
                                                     "start a process group for",
                                                     "set up the descriptors of",
                                                     "set the limits of",
                                                     "become the user of",
                                                     "enter the folder of",
                                                     "run"};

struct Failure {
  int step;
  int error;
};

std::string find_program(const ProcessSpec& spec) {
  const std::string& name = spec.argv.front();
  if (name.find('/') != std::string::npos) return name;
  std::string_view path = "/usr/bin:/bin";
  for (const std::string& entry : spec.environment)
    if (entry.starts_with("PATH=")) path = std::string_view(entry).substr(5);
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    std::string candidate = std::string(path.substr(0, colon)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return "";
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// A readable descriptor with `bytes` in it.
int memory_file(const std::string& bytes) {
  const int fd = ::memfd_create("sickbay", MFD_CLOEXEC);
  if (fd < 0) return -1;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      ::close(fd);
      return -1;
    }
    at += static_cast<std::size_t>(n);
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

struct Process {
  pid_t pid = -1;
  int pidfd = -1;
  int pipes[2] = {-1, -1};  // our ends of stdout and stderr
  bool exited = false, timed_out = false, truncated = false;
  int status = 0;
  std::string text[2];
  std::size_t limit = 0;
  Loop::TimerId timer = 0;
  Done<ProcessOutcome> done;
};

class PosixRunner : public ProcessRunner {
 public:
  explicit PosixRunner(Loop& loop) : loop_(loop) {}
  ~PosixRunner() override {
    for (auto& [pid, p] : running_) {
      loop_.cancel(p->timer);
      kill_group(*p);
      release(*p);
      while (!p->exited && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  void run(ProcessSpec spec, Done<ProcessOutcome> done) override {
    auto process = std::make_shared<Process>();
    process->limit = spec.output_limit;
    process->done = std::move(done);
    if (auto started = start(spec, *process); !started) {
      loop_.post([process, error = started.error()]() mutable { process->done(fail(std::move(error))); });
      return;
    }
    running_[process->pid] = process;
    for (int i = 0; i < 2; ++i) loop_.watch(process->pipes[i], [this, process, i] { read_pipe(process, i); });
    loop_.watch(process->pidfd, [this, process] { reap(process); });
    process->timer = loop_.at(loop_.now() + spec.time_limit, [this, process] {
      process->timer = 0;
      process->timed_out = true;
      kill_group(*process);
    });
  }

 private:
  Status start(const ProcessSpec& spec, Process& process) {
    if (spec.argv.empty()) return fail(ErrorCode::internal, "a process needs a program");
    const std::string program = find_program(spec);
    if (program.empty())
      return fail(ErrorCode::missing_program, fmt::format("'{}' is not on the PATH", spec.argv.front()));

    std::vector<gid_t> groups;
    if (spec.as_user) {
      int count = 64;
      groups.resize(64);
      if (::getgrouplist(spec.as_user->user.c_str(), spec.as_user->gid, groups.data(), &count) < 0) {
        groups.resize(static_cast<std::size_t>(count));
        ::getgrouplist(spec.as_user->user.c_str(), spec.as_user->gid, groups.data(), &count);
      }
      groups.resize(static_cast<std::size_t>(std::max(count, 0)));
    }
    std::vector<std::pair<int, rlimit>> limits;
    for (const auto& [name, value] : spec.limits)
      for (const LimitRow& row : kLimits) {
        rlimit now{};
        if (row.name != name || ::getrlimit(static_cast<__rlimit_resource>(row.resource), &now) != 0)
          continue;
        const rlim_t wanted = value < 0 ? RLIM_INFINITY : static_cast<rlim_t>(value);
        now.rlim_cur = std::min(wanted, now.rlim_max);
        limits.emplace_back(row.resource, now);
      }
    const std::vector<char*> argv = pointers(spec.argv), environment = pointers(spec.environment);

    // The child's descriptors by the number they get there; made at high numbers so that none is in the way.
    std::vector<std::pair<int, int>> places;
    std::vector<int> opened;
    auto close_all = [&] {
      for (int fd : opened) ::close(fd);
    };
    auto add = [&](int fd, int place) {
      if (fd < 0) return false;
      const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, 200);
      ::close(fd);
      if (high < 0) return false;
      opened.push_back(high);
      places.emplace_back(high, place);
      return true;
    };
    int out[2], err[2], report[2];
    if (::pipe2(out, O_CLOEXEC) != 0)
      return fail(ErrorCode::os, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    if (::pipe2(err, O_CLOEXEC) != 0) {
      ::close(out[0]), ::close(out[1]);
      return fail(ErrorCode::os, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    if (::pipe2(report, O_CLOEXEC) != 0) {
      for (int fd : {out[0], out[1], err[0], err[1]}) ::close(fd);
      return fail(ErrorCode::os, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    opened.insert(opened.end(), {out[0], err[0], report[0]});
    bool good = add(memory_file(spec.input), 0);
    good = add(out[1], 1) && good;
    good = add(err[1], 2) && good;
    for (const auto& [number, bytes] : spec.extra_fds)
      good = good && number >= 3 && number < 200 && add(memory_file(bytes), number);
    const int report_high = ::fcntl(report[1], F_DUPFD_CLOEXEC, 300);
    ::close(report[1]);
    if (!good || report_high < 0) {
      const int wrong = errno;
      close_all();
      if (report_high >= 0) ::close(report_high);
      return fail(ErrorCode::os, fmt::format("cannot set up '{}': {}", program, std::strerror(wrong)));
    }

    const pid_t pid = ::fork();
    if (pid == 0) {
      child(spec, program, argv, environment, groups, limits, places, report_high);
    }
    const int fork_error = errno;
    ::close(report_high);
    if (pid < 0) {
      close_all();
      return fail(ErrorCode::os, fmt::format("cannot start '{}': {}", program, std::strerror(fork_error)));
    }
    ::setpgid(pid, pid);  // both sides do it: whoever comes first
    Failure failure{0, 0};
    ssize_t n;
    while ((n = ::read(report[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
    }
    for (std::size_t i = 2; i < opened.size(); ++i)
      ::close(opened[i]);  // all but our ends of the output pipes
    if (n == sizeof failure) {
      ::close(out[0]), ::close(err[0]);
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      ErrorCode code = ErrorCode::os;
      const Step step = static_cast<Step>(failure.step);
      if (step == Step::exec) code = ErrorCode::missing_program;
      if (step == Step::identity || step == Step::folder) code = ErrorCode::denied;
      std::string object = "'" + program + "'";
      if (step == Step::folder) object += " (" + spec.folder + ")";
      if (step == Step::identity && spec.as_user) object += " (" + spec.as_user->user + ")";
      return fail(code, fmt::format("cannot {} {}: {}", kStepWords[static_cast<std::size_t>(failure.step)],
                                    object, std::strerror(failure.error)));
    }
    process.pid = pid;
    process.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    process.pipes[0] = out[0];
    process.pipes[1] = err[0];
    for (int fd : process.pipes) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    if (process.pidfd < 0) {
      const int wrong = errno;
      ::kill(-pid, SIGKILL);
      ::close(out[0]), ::close(err[0]);
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      return fail(ErrorCode::os, fmt::format("cannot follow '{}': {}", program, std::strerror(wrong)));
    }
    return {};
  }

  // Between fork and exec: system calls only.
  [[noreturn]] static void child(const ProcessSpec& spec, const std::string& program,
                                 const std::vector<char*>& argv, const std::vector<char*>& environment,
                                 const std::vector<gid_t>& groups,
                                 const std::vector<std::pair<int, rlimit>>& limits,
                                 const std::vector<std::pair<int, int>>& places, int report) {
    auto stop = [report](Step step) {
      const Failure failure{static_cast<int>(step), errno};
      (void)!::write(report, &failure, sizeof failure);
      ::_exit(127);
    };
    if (::setpgid(0, 0) != 0) stop(Step::group);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int s = 1; s < NSIG; ++s)
      if (s != SIGKILL && s != SIGSTOP) ::signal(s, SIG_DFL);
    int highest = 2;
    for (const auto& [fd, place] : places) {
      if (::dup2(fd, place) < 0) stop(Step::descriptors);
      highest = std::max(highest, place);
    }
    // Nothing else of ours reaches the program; those from 3 up that are not placed are closed on exec.
    ::syscall(SYS_close_range, static_cast<unsigned>(highest + 1), ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    for (const auto& [resource, limit] : limits)
      if (::setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) stop(Step::limits);
    if (spec.as_user) {
      const bool already = ::geteuid() != 0 && ::geteuid() == spec.as_user->uid;
      if (!already) {
        if (::setgroups(groups.size(), groups.data()) != 0) stop(Step::identity);
        if (::setresgid(spec.as_user->gid, spec.as_user->gid, spec.as_user->gid) != 0) stop(Step::identity);
        if (::setresuid(spec.as_user->uid, spec.as_user->uid, spec.as_user->uid) != 0) stop(Step::identity);
      }
    }
    if (spec.umask) ::umask(*spec.umask);
    if (::chdir(spec.folder.empty() ? "/" : spec.folder.c_str()) != 0) stop(Step::folder);
    ::execve(program.c_str(), argv.data(), environment.data());
    stop(Step::exec);
    ::_exit(127);
  }

  void read_pipe(const std::shared_ptr<Process>& p, int i) {
    char block[65536];
    for (;;) {
      const ssize_t n = ::read(p->pipes[i], block, sizeof block);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) break;
      const std::size_t room = p->limit - std::min(p->limit, p->text[i].size());
      const std::size_t take = std::min(room, static_cast<std::size_t>(n));
      p->text[i].append(block, take);
      if (take < static_cast<std::size_t>(n)) p->truncated = true;
    }
    loop_.unwatch(p->pipes[i]);
    ::close(p->pipes[i]);
    p->pipes[i] = -1;
    finish_if_over(p);
  }

  void reap(const std::shared_ptr<Process>& p) {
    pid_t r;
    while ((r = ::waitpid(p->pid, &p->status, WNOHANG)) < 0 && errno == EINTR) {
    }
    if (r == 0) return;
    p->exited = true;
    loop_.unwatch(p->pidfd);
    ::close(p->pidfd);
    p->pidfd = -1;
    ::kill(-p->pid, SIGKILL);  // what it left behind
    finish_if_over(p);
  }

  void finish_if_over(const std::shared_ptr<Process>& p) {
    if (!p->exited || p->pipes[0] >= 0 || p->pipes[1] >= 0) return;
    loop_.cancel(p->timer);
    running_.erase(p->pid);
    ProcessOutcome outcome;
    outcome.timed_out = p->timed_out;
    outcome.truncated = p->truncated;
    outcome.signal = WIFSIGNALED(p->status) ? WTERMSIG(p->status) : 0;
    outcome.exit_code = WIFEXITED(p->status) ? WEXITSTATUS(p->status) : -1;
    outcome.out = std::move(p->text[0]);
    outcome.err = std::move(p->text[1]);
    p->done(std::move(outcome));
  }

  static void kill_group(const Process& p) {
    if (!p.exited) ::kill(-p.pid, SIGKILL);
  }
  void release(Process& p) {
    for (int* fd : {&p.pipes[0], &p.pipes[1], &p.pidfd})
      if (*fd >= 0) {
        loop_.unwatch(*fd);
        ::close(*fd);
        *fd = -1;
      }
  }

  Loop& loop_;
  std::map<pid_t, std::shared_ptr<Process>> running_;
};

}  // namespace

std::unique_ptr<ProcessRunner> make_process_runner(Loop& loop) { return std::make_unique<PosixRunner>(loop); }

}  // namespace sickbay
