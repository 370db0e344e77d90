// SPDX-License-Identifier: Apache-2.0
#include "lab/power.h"

#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <thread>

#include "lab/child.h"
#include "lab/clock.h"
#include "lab/daemons.h"
#include "lab/lab.h"
#include "lab/machines.h"

namespace sickbay::lab {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPowerLimit{20'000};
// Quick for a machine, but two boots are never so near that Slurm's boot times could be of one.
constexpr std::chrono::seconds kBoot{6};
// How much of it was before slurmd starts and after the kernel did: a node registers again when a drain is
// lifted, its boot time may be a second later then (whole seconds, of two clocks), and one that seems later
// than the answer before is "unexpectedly rebooted" to slurmctld.
constexpr std::chrono::seconds kStartup{3};

std::string request_file(const Layout& l, const std::string& machine) {
  return l.path("nodes/" + machine + "/reboot");
}

Status reboot(const Layout& l, const std::string& machine) {
  const auto locked = [&l](auto&& work) -> Status {
    auto lock = LabLock::take(l.dir());
    if (!lock) return tl::unexpected(lock.error());
    return work();
  };
  if (auto done = locked([&] { return power_off(l, machine); }); !done) return done;
  std::this_thread::sleep_for(kBoot);  // while others may break or heal what they like
  return locked([&] { return power_on(l, machine, true); });
}

// Machines boot side by side, each in a process of its own that ends with this one.  Who is asked to boot
// while he boots does so again afterwards.
class Reboots {
 public:
  explicit Reboots(const Layout& l) : l_(l) {}
  void begin(const std::string& machine) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (const auto before = booting_.find(machine); before != booting_.end())
      ::waitpid(before->second, nullptr, 0);  // (of one that is gone it says so at once)
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid > 0) {
      booting_[machine] = pid;
      return;
    }
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
    }
    // (Where there is no process to be had it is done here.)
    if (auto done = reboot(l_, machine); !done)
      std::ofstream(l_.path("log/reboots.out"), std::ios::app) << done.error().message("reboot") << "\n";
    if (pid == 0) ::_exit(0);
  }

 private:
  const Layout& l_;
  std::map<std::string, pid_t> booting_;
};

// Waits for requests until it is ended.
int serve_reboots(const Layout& l) {
  Reboots reboots(l);
  const int watch = ::inotify_init1(IN_CLOEXEC);
  for (const Machine& m : l.machines())
    if (watch < 0 || ::inotify_add_watch(watch, l.path("nodes/" + m.name).c_str(), IN_CLOSE_WRITE) < 0)
      return 1;
  alignas(inotify_event) std::array<char, 4096> changes{};
  for (;;) {
    // (One may have come before the watch was there: look first.)
    for (const Machine& m : l.machines())
      if (::unlink(request_file(l, m.name).c_str()) == 0) reboots.begin(m.name);
    if (::read(watch, changes.data(), changes.size()) <= 0 && errno != EINTR) return 1;
  }
}

}  // namespace

Status set_link(const Layout& l, const std::string& machine, const char* state) {
  auto holder = holder_of(l, machine);
  if (!holder) return tl::unexpected(holder.error());
  Command c;
  // ctl's own address is on the bridge; a node's is on eth0.
  c.argv = {"ip", "link", "set", machine == "ctl" ? l.bridge : "eth0", state};
  c.inside = holder->pid;
  c.spaces = CLONE_NEWNET;
  return run_well(c, kPowerLimit);
}

Status power_off(const Layout& l, const std::string& machine) {
  auto holder = holder_of(l, machine);
  if (!holder) return tl::unexpected(holder.error());
  if (auto done = set_link(l, machine, "down"); !done) return done;
  const bool empty = wait_until(kPowerLimit, [&] {
    bool any = false;
    for (const Process& p : processes_of(*holder)) {
      if (const auto stat = read_stat(p.pid); stat && stat->state == 'Z') continue;
      send_signal(p, SIGKILL), any = true;
    }
    return !any;
  });
  if (!empty) return fail(ErrorCode::timed_out, "some processes survived SIGKILL");
  return {};
}

Status power_on(const Layout& l, const std::string& machine, bool as_booted) {
  if (auto done = renew_boot_id(l, machine); !done) return done;
  if (auto done = set_link(l, machine, "up"); !done) return done;
  if (as_booted) {
    if (auto placed = place_clock_library(l); !placed) return tl::unexpected(placed.error());
    if (auto done = note_boot(l, machine, kStartup); !done) return done;
  }
  Status done;
  for (const DaemonRow& row : daemon_table()) {
    if (!runs_on(row, machine) || daemon_process(l, row.name, machine).pid == 0)
      continue;  // this lab has none
    done = start_daemon(l, row.name, machine);
    if (done) done = await_daemon(l, row.name, machine, kPowerLimit);
    if (!done) break;
  }
  return done;
}

std::string reboot_program(const Layout& l) {
  return "#!/bin/sh\n"
         "# Slurm's RebootProgram, run by the slurmd of a node: the lab reboots it from outside.\n"
         "echo >\"" +
         l.path("nodes") + "/$(hostname)/reboot\"\n";
}

Status start_reboots(const Layout& l, const CleanupList& list) {
  auto started = start_background(
      "lab-reboots", 0, [&](const Process& p) { return list.add_process(p, "reboots"); },
      [&] { return serve_reboots(l); });
  if (!started) return tl::unexpected(started.error());
  return {};
}

}  // namespace sickbay::lab
