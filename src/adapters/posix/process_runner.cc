// SPDX-License-Identifier: Apache-2.0
// Follows programs by pipes and a pidfd on the loop, from their start (process_start.h) to their end.
//
// The loop waits for nothing: the user's groups are asked for beforehand, on another thread (host_groups.h);
// a child that borrows our memory is made on another thread, too; and a step that fails before exec comes
// back through a pipe, so that a working folder on a server that hangs holds up its own program and no other.
// The time limit kills the whole group with SIGKILL: whoever is past it gets no time for a SIGTERM handler.
// When the program itself has ended, what it left in its group is killed too.
#include "adapters/posix/process_runner.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <set>
#include <utility>

#include "adapters/posix/blocking_work.h"
#include "adapters/posix/process_start.h"
#include "adapters/posix/strays.h"
#include "ports/lifetime.h"

namespace sickbay {
namespace {

struct Process {
  std::shared_ptr<ProcessStart> start;
  Descriptor pidfd;                                        // none: it is not begun yet, or over
  std::array<Descriptor, ProcessStart::pipe_count> pipes;  // our ends
  std::array<std::string, ProcessStart::pipe_count> text;
  std::array<std::size_t, ProcessStart::pipe_count> limit{};
  bool timed_out = false, ended_early = false, truncated = false, stop_on_flood = false, flooded = false;
  int strays = 0;
  Micros cpu{0};
  std::string family;  // of kill_strays; "": not asked for
  Loop::TimerId timer = 0, giving_up = 0;
  Done<ProcessOutcome> done;
};

class PosixRunner : public ProcessRunner {
 public:
  PosixRunner(Loop& loop, bool adopt_orphans, HostGroups::LookUp groups_of)
      : loop_(loop),
        adopts_(adopt_orphans && adopt_strays()),
        groups_(loop, std::move(groups_of)),
        starters_(loop, BlockingWork::on_a_thread, kStartsAtOnce) {}
  ~PosixRunner() override {
    for (const auto& p : running_) {
      p->start->abandon();
      release(*p);
      // (One that is stuck in the kernel is left to init.)
      if (const pid_t pid = p->start->pid(); pid > 0) ::waitpid(pid, nullptr, WNOHANG);
      p->start.reset();
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

  void go(ProcessSpec spec, std::vector<gid_t> groups, const std::shared_ptr<Process>& process) {
    process->limit = {spec.output_limit, spec.output_limit, ProcessStart::kReport};
    const auto time_limit = spec.time_limit;
    const auto early_end = spec.early_end;
    auto start = ProcessStart::of(std::move(spec), std::move(groups));
    if (!start) return fail_later(process, std::move(start.error()));
    process->start = std::move(*start);
    running_.insert(process);
    process->timer = loop_.at(loop_.now() + time_limit, [this, process] {
      process->timed_out = true;
      kill_now(process);
    });
    if (early_end)
      early_end->on_ask(lifetime_.guard([this, weak = std::weak_ptr<Process>(process)] {
        const auto asked = weak.lock();
        // (One that has been killed for its time has its own reason.)
        if (!asked || !running_.contains(asked) || asked->timed_out) return;
        asked->ended_early = true;
        kill_now(asked);
      }));
    // (Where all threads of ours hang, somebody else's need not wait.)
    if (!process->start->may_borrow_memory() || starting_ == kStartsAtOnce)
      return begun(process, process->start->begin(false));
    ++starting_;
    starters_.run<Status>([start = process->start] { return start->begin(true); },
                          [this, process](const Status& status) {
                            --starting_;
                            // (Nobody waits any more for one that could not even be killed in its start.)
                            if (running_.contains(process)) begun(process, status);
                          });
  }

  void begun(const std::shared_ptr<Process>& process, const Status& status) {
    if (!status) return fail_later(process, status.error());
    process->pidfd = process->start->take_pidfd();
    for (const auto pipe : {ProcessStart::out_pipe, ProcessStart::err_pipe, ProcessStart::report_pipe}) {
      process->pipes[pipe] = process->start->take_pipe(pipe);
      loop_.watch(process->pipes[pipe].get(), [this, process, pipe] { read_pipe(*process, pipe); });
    }
    loop_.watch(process->pidfd.get(), [this, process] { reap(process); });
  }

  // Later and not from inside: a caller's `done` must not run before run() has returned.
  void fail_later(const std::shared_ptr<Process>& process, Error error) {
    release(*process);
    running_.erase(process);
    loop_.post(lifetime_.guard(
        [process, error = std::move(error)]() mutable { process->done(fail(std::move(error))); }));
  }

  // SIGKILL does not end a process that waits in the kernel for a server that is gone.
  static constexpr std::chrono::seconds kGivingUp{10};
  static constexpr std::size_t kStartsAtOnce = 4;  // on threads; the others are forked

  // Takes what is there; false when the pipe has ended.  Bounded, so that a program which writes faster than
  // we read does not keep the loop.
  static bool drain(Process& p, int i, int blocks) {
    char block[65536];
    while (blocks-- > 0) {
      const ssize_t n = ::read(p.pipes[i].get(), block, sizeof block);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return true;
      if (n <= 0) return false;
      const std::size_t room = p.limit[i] - std::min(p.limit[i], p.text[i].size());
      const std::size_t take = std::min(room, static_cast<std::size_t>(n));
      // What is over the limit is read and dropped: a full pipe would hold the program for ever.
      p.text[i].append(block, take);
      if (take == static_cast<std::size_t>(n)) continue;
      p.truncated = true;
      if (i != ProcessStart::out_pipe || !p.stop_on_flood || p.flooded) continue;
      p.flooded = true;
      p.start->kill();
    }
    return true;
  }

  void read_pipe(Process& p, int i) {
    if (!drain(p, i, 16)) close(p.pipes[i]);
  }

  void close(Descriptor& watched) {
    if (!watched) return;
    loop_.unwatch(watched.get());
    watched.reset();
  }

  void kill_now(const std::shared_ptr<Process>& p) {
    loop_.cancel(std::exchange(p->timer, 0));
    p->start->kill();
    p->giving_up = loop_.at(loop_.now() + kGivingUp, [this, p] {
      p->giving_up = 0;
      siginfo_t none{};
      answer(p, none);
    });
  }

  void reap(const std::shared_ptr<Process>& p) {
    siginfo_t info{};
    const pid_t pid = p->start->pid();
    // Looked at and not yet collected: as long as it is a zombie its number cannot become another group's.
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
      return;
    // The group of one that has ended: what it left behind there goes now.
    ::kill(-pid, SIGKILL);
    rusage used{};
    while (::wait4(pid, nullptr, 0, &used) < 0 && errno == EINTR) {
    }
    p->start->collected();
    p->cpu = Micros((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                    used.ru_stime.tv_usec);
    running_.erase(p);
    end_strays(*p);
    answer(p, info);
  }

  void end_strays(Process& p) {
    if (adopts_) p.strays = kill_strays(p.family);
  }

  // `info` without a pid: it could not be killed, and nobody waits for it any more.
  void answer(const std::shared_ptr<Process>& p, const siginfo_t& info) {
    // All that the program itself wrote is in the pipes now.  Whoever has left its group may hold them open
    // for ever: nobody waits for that either.
    for (int i = 0; i < ProcessStart::pipe_count; ++i)
      if (p->pipes[i]) drain(*p, i, 64);
    release(*p);
    running_.erase(p);
    const auto done = std::move(p->done);
    // A whole report means that exec was never reached; less than one is none.
    if (!p->timed_out && !p->ended_early)
      if (auto failure = p->start->failure(p->text[ProcessStart::report_pipe]))
        return done(fail(std::move(*failure)));
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
    outcome.out = std::move(p->text[ProcessStart::out_pipe]);
    outcome.err = std::move(p->text[ProcessStart::err_pipe]);
    done(std::move(outcome));
  }

  void release(Process& p) {
    for (Loop::TimerId* timer : {&p.timer, &p.giving_up}) loop_.cancel(std::exchange(*timer, 0));
    for (Descriptor& pipe : p.pipes) close(pipe);
    close(p.pidfd);
  }

  Loop& loop_;
  const bool adopts_;
  HostGroups groups_;
  BlockingWork starters_;
  std::size_t starting_ = 0;  // on threads
  std::set<std::shared_ptr<Process>> running_;
  Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<ProcessRunner> make_process_runner(Loop& loop, bool adopt_orphans,
                                                   HostGroups::LookUp groups_of) {
  return std::make_unique<PosixRunner>(loop, adopt_orphans, std::move(groups_of));
}

}  // namespace sickbay
