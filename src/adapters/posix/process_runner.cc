// SPDX-License-Identifier: Apache-2.0
// Runs programs with fork and exec and follows them by pipes and a pidfd on the loop.
//
// Everything that may allocate or lock (group lists, argument vectors, limits) is made before fork(); the
// child makes system calls only: whatever thread held a lock of the name service or of malloc holds it in the
// child for ever.  So the user's groups are asked for before, on another thread (host_groups.h), and it is
// the loop's that forks.  The loop waits for nothing: a step that fails before exec comes back through a
// close-on-exec pipe as {step, errno}, so that a working folder on a server that hangs holds up its own
// program and no other.  The time limit kills the whole group with SIGKILL: whoever is past it gets no time
// for a SIGTERM handler.  When the program itself has ended, what it left in its group is killed too.
#include "adapters/posix/process_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "adapters/posix/strays.h"
#include "base/resource_limits.h"
#include "ports/lifetime.h"

namespace sickbay {
namespace {

enum class Step : int { group, descriptors, limits, identity, folder, exec };
struct StepRow {
  Step step;
  std::string_view words;
  ErrorCode code;
};
constexpr auto kSteps = std::to_array<StepRow>({
    {Step::group, "start a process group for", ErrorCode::os},
    {Step::descriptors, "set up the descriptors of", ErrorCode::os},
    {Step::limits, "set the limits of", ErrorCode::os},
    {Step::identity, "become the user of", ErrorCode::denied},
    {Step::folder, "enter the folder of", ErrorCode::denied},
    {Step::exec, "run", ErrorCode::missing_program},
});

struct Failure {
  int step;
  int error;
};

// Where the program may lie, in order.  The child tries them one by one, so that it is found with the rights
// of the user it runs as.  Relative parts of a PATH are left out: what runs does not depend on the folder.
std::vector<std::string> candidates(const ProcessSpec& spec) {
  const std::string& name = spec.argv.front();
  if (name.find('/') != std::string::npos) return {name};
  std::string_view path = "/usr/bin:/bin";
  for (const std::string& entry : spec.environment)
    if (entry.starts_with("PATH=")) path = std::string_view(entry).substr(5);
  std::vector<std::string> list;
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    if (path.front() == '/') list.push_back(std::string(path.substr(0, colon)) + "/" + name);
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return list;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Descriptors that are closed together unless they are handed on.
class Fds {
 public:
  Fds() = default;
  Fds(const Fds&) = delete;
  Fds& operator=(const Fds&) = delete;
  ~Fds() {
    for (int fd : fds_) ::close(fd);
  }
  int keep(int fd) {
    if (fd >= 0) fds_.push_back(fd);
    return fd;
  }
  /// A copy of `fd` at `lowest` or above, out of the way of the numbers that the child gives out.
  int keep_above(int fd, int lowest) {
    if (fd < 0) return -1;
    const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    const int wrong = errno;
    ::close(fd);
    errno = wrong;
    return keep(high);
  }
  int hand_on(int fd) {
    std::erase(fds_, fd);
    return fd;
  }

 private:
  std::vector<int> fds_;
};

constexpr int kFirstHigh = 200;  // a program's own descriptors lie below

// A readable descriptor with `bytes` in it, or -1 and errno.
int memory_file(const std::string& bytes) {
  // A file in memory and not a pipe: a program that reads its input late, or never, cannot hold us in a
  // write.
  const int fd = ::memfd_create("sickbay", MFD_CLOEXEC);
  if (fd < 0) return -1;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int wrong = errno;
      ::close(fd);
      errno = wrong;
      return -1;
    }
    at += static_cast<std::size_t>(n);
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

// All that the child needs, in a form that needs no allocation.
struct Plan {
  std::vector<std::string> programs;
  std::vector<char*> argv, environment;
  std::vector<gid_t> groups;
  std::vector<std::pair<int, rlimit>> limits;
  std::vector<std::pair<int, int>> places;  // descriptor here -> number there, ascending there
  int report = -1;
  pid_t parent = ::getpid();
};

// Else it runs as we do.
bool becomes_another(const ProcessSpec& spec) {
  return spec.as_user && (::geteuid() == 0 || ::geteuid() != spec.as_user->uid);
}

// Between fork and exec: system calls only.
[[noreturn]] void become(const ProcessSpec& spec, const Plan& plan) {
  int report = plan.report;
  auto stop = [&report](Step step) {
    const Failure failure{static_cast<int>(step), errno};
    (void)!::write(report, &failure, sizeof failure);
    ::_exit(127);
  };
  if (::setpgid(0, 0) != 0) stop(Step::group);
  // What we ignore or catch must be as usual for the program: ignored signals outlive exec.
  for (int s = 1; s < NSIG; ++s)
    if (s != SIGKILL && s != SIGSTOP) ::signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  // Everything else is closed now and not at exec: a child that hangs in the next steps must not hold the
  // journal's lock or a client's connection after we have gone.
  int next = 0;
  auto close_range = [&](unsigned from, unsigned to) {
    if (from <= to && ::syscall(SYS_close_range, from, to, 0U) != 0) stop(Step::descriptors);
  };
  // In ascending order, so that each gap between two numbers is closed once; all sources lie above
  // kFirstHigh, so no dup2 overwrites one that is still needed.
  for (const auto& [fd, place] : plan.places) {
    if (::dup2(fd, place) < 0) stop(Step::descriptors);
    if (place > next) close_range(static_cast<unsigned>(next), static_cast<unsigned>(place - 1));
    next = place + 1;
  }
  // The report pipe comes behind the program's own descriptors, and alone closes with exec: that is how the
  // parent sees that exec went well.
  if (::dup3(report, next, O_CLOEXEC) < 0) stop(Step::descriptors);
  report = next;
  close_range(static_cast<unsigned>(next + 1), ~0U);

  for (const auto& [resource, limit] : plan.limits)
    if (::setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) stop(Step::limits);
  if (becomes_another(spec)) {
    const auto& user = *spec.as_user;
    // Groups, then gid, then uid: after setresuid() the right to the others is gone.
    if (::setgroups(plan.groups.size(), plan.groups.data()) != 0) stop(Step::identity);
    if (::setresgid(user.gid, user.gid, user.gid) != 0) stop(Step::identity);
    if (::setresuid(user.uid, user.uid, user.uid) != 0) stop(Step::identity);
  }
  // After the change of identity, which would clear it.  Nobody bounds or reads what outlives us (the thread
  // of the loop, in truth: it is what forked).
  if (spec.kill_strays) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) ::_exit(127);  // it died before
  }
  if (spec.umask) ::umask(*spec.umask);
  if (::chdir(spec.folder.empty() ? "/" : spec.folder.c_str()) != 0) stop(Step::folder);
  // As the shell does: a candidate that may not be run is worth more in the message than one that is absent.
  int worst = ENOENT;
  for (const std::string& program : plan.programs) {
    ::execve(program.c_str(), plan.argv.data(), plan.environment.data());
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
  }
  errno = worst;
  stop(Step::exec);
  ::_exit(127);
}

enum Pipe { out_pipe, err_pipe, report_pipe, pipe_count };

struct Process {
  pid_t pid = -1;
  int pidfd = -1;
  std::array<int, pipe_count> pipes{-1, -1, -1};  // our ends
  std::array<std::string, pipe_count> text;
  std::array<std::size_t, pipe_count> limit{};
  bool timed_out = false, ended_early = false, truncated = false, stop_on_flood = false, flooded = false;
  int strays = 0;
  Micros cpu{0};
  std::string family;                 // of kill_strays; "": not asked for
  std::string program, folder, user;  // for messages
  Loop::TimerId timer = 0, giving_up = 0;
  Done<ProcessOutcome> done;
};

class PosixRunner : public ProcessRunner {
 public:
  PosixRunner(Loop& loop, bool adopt_orphans, HostGroups::LookUp groups_of)
      : loop_(loop), adopts_(adopt_orphans && adopt_strays()), groups_(loop, std::move(groups_of)) {}
  ~PosixRunner() override {
    for (auto& [pid, p] : running_) {
      ::kill(-pid, SIGKILL);
      release(*p);
      ::waitpid(pid, nullptr, WNOHANG);  // one that is stuck in the kernel is left to init
      end_strays(*p);
    }
  }

  void run(ProcessSpec spec, Done<ProcessOutcome> done) override {
    auto process = std::make_shared<Process>();
    process->done = std::move(done);
    process->stop_on_flood = spec.stop_on_flood;
    if (spec.kill_strays && adopts_) {
      static std::atomic<std::uint64_t> families = 0;  // of the process: runners must not take each other's
      process->family = fmt::format("{}{}-{}", kFamilyVariable, ::getpid(), ++families);
      spec.environment.push_back(process->family);
    }
    if (!becomes_another(spec)) return go(spec, {}, process);
    const ProcessSpec::Credentials user = *spec.as_user;
    groups_.ask(user.user, user.gid,
                lifetime_.guard([this, spec = std::move(spec), process](Result<HostGroups::Groups> groups) {
                  if (groups) return go(spec, std::move(*groups), process);
                  process->done(fail(
                      std::move(groups.error()).in(fmt::format("becoming the user of '{}'", name_of(spec)))));
                }));
  }

 private:
  static std::string name_of(const ProcessSpec& spec) { return spec.argv.empty() ? "" : spec.argv.front(); }

  void go(const ProcessSpec& spec, std::vector<gid_t> groups, const std::shared_ptr<Process>& process) {
    if (auto started = start(spec, std::move(groups), *process); !started) {
      // Later and not from inside: a caller's `done` must not run before run() has returned.
      loop_.post(lifetime_.guard([process, error = started.error()] { process->done(fail(error)); }));
      return;
    }
    running_[process->pid] = process;
    for (int i = 0; i < pipe_count; ++i)
      loop_.watch(process->pipes[i], [this, process, i] { read_pipe(*process, i); });
    loop_.watch(process->pidfd, [this, process] { reap(process); });
    process->timer = loop_.at(loop_.now() + spec.time_limit, [this, process] {
      process->timed_out = true;
      kill_now(process);
    });
    if (spec.early_end)
      spec.early_end->on_ask(lifetime_.guard([this, weak = std::weak_ptr<Process>(process)] {
        const auto asked = weak.lock();
        // (One that has been killed for its time has its own reason.)
        if (!asked || !running_.contains(asked->pid) || asked->timed_out) return;
        asked->ended_early = true;
        kill_now(asked);
      }));
  }

  // SIGKILL does not end a process that waits in the kernel for a server that is gone.
  static constexpr std::chrono::seconds kGivingUp{10};

  static Result<std::vector<std::pair<int, rlimit>>> limits_of(const ProcessSpec& spec) {
    std::vector<std::pair<int, rlimit>> limits;
    for (const auto& [name, value] : spec.limits) {
      const auto row = std::find_if(kResourceLimits.begin(), kResourceLimits.end(),
                                    [&n = name](const ResourceLimit& r) { return r.name == n; });
      if (row == kResourceLimits.end())
        return fail(ErrorCode::bad_input, fmt::format("no resource limit '{}'", name));
      rlimit limit{};
      if (::getrlimit(static_cast<__rlimit_resource>(row->resource), &limit) != 0)
        return fail(ErrorCode::os, fmt::format("cannot read the limit {}: {}", name, std::strerror(errno)));
      // The soft limit alone, and never above the hard one, which stays the user's.
      limit.rlim_cur = std::min(value < 0 ? RLIM_INFINITY : static_cast<rlim_t>(value), limit.rlim_max);
      limits.emplace_back(row->resource, limit);
    }
    return limits;
  }

  static Status start(const ProcessSpec& spec, std::vector<gid_t> groups, Process& process) {
    if (spec.argv.empty()) return fail(ErrorCode::internal, "a process needs a program");
    process.program = spec.argv.front();
    process.folder = spec.folder;
    process.limit = {spec.output_limit, spec.output_limit, sizeof(Failure)};
    Plan plan;
    plan.programs = candidates(spec);
    plan.argv = pointers(spec.argv);
    plan.environment = pointers(spec.environment);
    auto limits = limits_of(spec);
    if (!limits) return fail(limits.error());
    plan.limits = std::move(*limits);
    if (spec.as_user) {
      process.user = spec.as_user->user;
      plan.groups = std::move(groups);
    }

    auto broken = [&](std::string_view doing) {
      return fail(ErrorCode::os,
                  fmt::format("cannot {} '{}': {}", doing, process.program, std::strerror(errno)));
    };
    Fds fds;  // what is still in it at the end is closed
    std::array<int, pipe_count> ours{};
    for (int i = 0; i < pipe_count; ++i) {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) return broken("make a pipe for");
      ours[i] = fds.keep(ends[0]);
      const int theirs = fds.keep_above(ends[1], kFirstHigh);
      if (theirs < 0) return broken("make a pipe for");
      if (i == report_pipe)
        plan.report = theirs;
      else
        plan.places.emplace_back(theirs, i + 1);
      ::fcntl(ours[i], F_SETFL, O_NONBLOCK);
    }
    auto give = [&](int number, const std::string& bytes) {
      const int file = fds.keep_above(memory_file(bytes), kFirstHigh);
      if (file >= 0) plan.places.emplace_back(file, number);
      return file >= 0;
    };
    if (!give(0, spec.input)) return broken("make the input of");
    for (const auto& [number, bytes] : spec.extra_fds) {
      if (number < 3 || number >= kFirstHigh)
        return fail(ErrorCode::internal, fmt::format("no program gets a descriptor {}", number));
      if (!give(number, bytes)) return broken("make the input of");
    }
    std::sort(plan.places.begin(), plan.places.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });

    const pid_t pid = ::fork();
    if (pid == 0) become(spec, plan);
    if (pid < 0) return broken("start");
    ::setpgid(pid, pid);  // both sides do it: whoever comes first
    process.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    // Nobody would hear of its end (the kernel is older than 5.3, or descriptors have run out): so it is not
    // left running.
    if (process.pidfd < 0) {
      const auto failed = broken("follow");
      ::kill(pid, SIGKILL);
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      return failed;
    }
    process.pid = pid;
    for (int i = 0; i < pipe_count; ++i) process.pipes[i] = fds.hand_on(ours[i]);
    return {};
  }

  // Takes what is there; false when the pipe has ended.  Bounded, so that a program which writes faster than
  // we read does not keep the loop.
  static bool drain(Process& p, int i, int blocks) {
    char block[65536];
    while (blocks-- > 0) {
      const ssize_t n = ::read(p.pipes[i], block, sizeof block);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return true;
      if (n <= 0) return false;
      const std::size_t room = p.limit[i] - std::min(p.limit[i], p.text[i].size());
      const std::size_t take = std::min(room, static_cast<std::size_t>(n));
      // What is over the limit is read and dropped: a full pipe would hold the program for ever.
      p.text[i].append(block, take);
      if (take == static_cast<std::size_t>(n)) continue;
      p.truncated = true;
      if (i != out_pipe || !p.stop_on_flood || p.flooded) continue;
      p.flooded = true;
      ::kill(-p.pid, SIGKILL);
    }
    return true;
  }

  void read_pipe(Process& p, int i) {
    if (!drain(p, i, 16)) close_pipe(p, i);
  }

  void close_pipe(Process& p, int i) {
    loop_.unwatch(p.pipes[i]);
    ::close(p.pipes[i]);
    p.pipes[i] = -1;
  }

  void kill_now(const std::shared_ptr<Process>& p) {
    loop_.cancel(std::exchange(p->timer, 0));
    ::kill(-p->pid, SIGKILL);
    ::kill(p->pid, SIGKILL);  // it may not have its group yet
    p->giving_up = loop_.at(loop_.now() + kGivingUp, [this, p] {
      p->giving_up = 0;
      siginfo_t none{};
      answer(p, none);
    });
  }

  void reap(const std::shared_ptr<Process>& p) {
    siginfo_t info{};
    // Looked at and not yet collected: as long as it is a zombie its number cannot become another group's.
    if (::waitid(P_PID, static_cast<id_t>(p->pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
      return;
    // The group of one that has ended: what it left behind there goes now.
    ::kill(-p->pid, SIGKILL);
    rusage used{};
    while (::wait4(p->pid, nullptr, 0, &used) < 0 && errno == EINTR) {
    }
    p->cpu = Micros((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                    used.ru_stime.tv_usec);
    running_.erase(p->pid);
    end_strays(*p);
    answer(p, info);
  }

  void end_strays(Process& p) {
    if (!adopts_) return;
    std::vector<pid_t> ours;
    for (const auto& [pid, process] : running_) ours.push_back(pid);
    p.strays = kill_strays(p.family, ours);
  }

  // `info` without a pid: it could not be killed, and nobody waits for it any more.
  void answer(const std::shared_ptr<Process>& p, const siginfo_t& info) {
    // All that the program itself wrote is in the pipes now.  Whoever has left its group may hold them open
    // for ever: nobody waits for that either.
    for (int i = 0; i < pipe_count; ++i)
      if (p->pipes[i] >= 0) drain(*p, i, 64);
    release(*p);
    running_.erase(p->pid);
    const auto done = std::move(p->done);
    Failure failure{};
    // A whole report means that exec was never reached; less than one is none.
    if (p->text[report_pipe].size() == sizeof failure && !p->timed_out && !p->ended_early) {
      std::memcpy(&failure, p->text[report_pipe].data(), sizeof failure);
      done(fail(error_of(*p, failure)));
      return;
    }
    ProcessOutcome outcome;
    outcome.timed_out = p->timed_out;
    outcome.ended_early = p->ended_early;
    outcome.truncated = p->truncated;
    outcome.flooded = p->flooded;
    outcome.strays = p->strays;
    outcome.cpu = p->cpu;
    const bool exited = info.si_pid != 0 && info.si_code == CLD_EXITED;
    outcome.exit_code = exited ? info.si_status : -1;
    outcome.signal = exited ? 0 : info.si_pid != 0 ? info.si_status : SIGKILL;
    outcome.out = std::move(p->text[out_pipe]);
    outcome.err = std::move(p->text[err_pipe]);
    done(std::move(outcome));
  }

  static Error error_of(const Process& p, const Failure& failure) {
    const StepRow& row = kSteps[static_cast<std::size_t>(failure.step)];
    std::string object = "'" + p.program + "'";
    if (row.step == Step::folder) object += " (" + p.folder + ")";
    if (row.step == Step::identity) object += " (" + p.user + ")";
    Error error(row.code, fmt::format("cannot {} {}: {}", row.words, object, std::strerror(failure.error)));
    // Too long a command line is no fault of the program.
    if (failure.error == E2BIG || failure.error == ENOMEM) error.code = ErrorCode::os;
    if (row.step == Step::exec && failure.error == ENOENT && p.program.find('/') == std::string::npos)
      error.cause = "it is not on the PATH of its environment";
    return error;
  }

  void release(Process& p) {
    for (Loop::TimerId* timer : {&p.timer, &p.giving_up}) loop_.cancel(std::exchange(*timer, 0));
    for (int* fd : {&p.pipes[0], &p.pipes[1], &p.pipes[2], &p.pidfd})
      if (*fd >= 0) {
        loop_.unwatch(*fd);
        ::close(*fd);
        *fd = -1;
      }
  }

  Loop& loop_;
  const bool adopts_;
  HostGroups groups_;
  std::map<pid_t, std::shared_ptr<Process>> running_;
  Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<ProcessRunner> make_process_runner(Loop& loop, bool adopt_orphans,
                                                   HostGroups::LookUp groups_of) {
  return std::make_unique<PosixRunner>(loop, adopt_orphans, std::move(groups_of));
}

}  // namespace sickbay
