// SPDX-License-Identifier: Apache-2.0
// Holders, mounts and the network of a lab's machines.
#include "lab/machines.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lab/cgroups.h"
#include "lab/shown.h"
#include "model/leaving.h"

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kProgramLimit{20'000};

std::string holder_file(const Layout& l, const std::string& machine) {
  return l.path("nodes/" + machine + "/holder");
}

// Process 1 of a machine: it inherits orphans and buries them, until it is killed.
int hold() {
  if (::chdir("/") != 0) return 1;
  for (int s = 1; s < 32; ++s) ::signal(s, SIG_IGN);  // nothing inside may end it
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    ::sigwaitinfo(&child, nullptr);
  }
}

Status bind_over(const std::string& from, const std::string& over) {
  if (::mount(from.c_str(), over.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return fail(os_error(fmt::format("could not bind {} to {}", from, over)));
  return {};
}

// A node's own /tmp, and with it the lab and the programs where all users find them, also in /tmp and /root.
Status bind_tmp(const Layout& l, const std::string& own) {
  auto shown = Shown::hold(l);
  if (!shown) return tl::unexpected(shown.error());
  if (auto done = bind_over(own, "/tmp"); !done) return done;
  return shown->show();
}

Status make_mounts(const Layout& l, const Machine& m, const std::string& memory) {
  if (::mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return fail(os_error("could not detach the mounts"));
  if (::sethostname(m.name.c_str(), m.name.size()) != 0) return fail(os_error("could not set the host name"));
  const std::string own = l.path("nodes/" + m.name + "/");
  // First, since the rest is mounted in what this may bind anew.
  if (auto done = bind_tmp(l, own + "tmp"); !done) return done;
  if (m.name == "ctl" &&
      ::mount("lab-db", l.path("db").c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") != 0)
    return fail(os_error("could not mount a tmpfs on " + l.path("db")));
  for (const char* file : {"hosts", "passwd", "group"})
    if (auto done = bind_over(l.path("etc/") + file, std::string("/etc/") + file); !done) return done;
  if (auto done = bind_over(own + "run", l.path("run")); !done) return done;
  // The shared storage: the same folder everywhere, and a mount point, so that it can go away.
  if (auto done = bind_over(l.path("home"), l.path("home")); !done) return done;
  if (!memory.empty())
    if (auto done = bind_over(memory, "/sys/fs/cgroup/memory"); !done) return done;
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return fail(os_error("could not mount /proc"));
  return bind_over(own + "boot_id", "/proc/sys/kernel/random/boot_id");
}

// Runs `ip -batch -` in a machine's network namespace.
Status ip_batch(const Process& holder, const std::string& lines) {
  Command c;
  c.argv = {"ip", "-batch", "-"};
  c.input = lines;
  c.inside = holder.pid;
  c.spaces = CLONE_NEWNET;
  return run_well(c, kProgramLimit);
}

}  // namespace

Status renew_boot_id(const Layout& l, const std::string& machine) {
  auto id = read_text("/proc/sys/kernel/random/uuid");
  if (!id) return tl::unexpected(id.error());
  // Written in place: the file is bind-mounted, and a rename would leave the mount on the old one.
  std::ofstream out(l.path("nodes/" + machine + "/boot_id"), std::ios::trunc);
  out << *id;
  out.close();
  if (!out) return fail(os_error("could not write the boot id of " + machine));
  return {};
}

Status start_machine(const Layout& l, const Machine& m, const CleanupList& list) {
  const std::string own = "nodes/" + m.name;
  for (const char* part : {"", "/spool", "/run", "/empty", "/tmp"})
    if (auto made = make_folder(l.path(own + part), std::string(part) == "/tmp" ? 01777 : 0755); !made)
      return made;
  if (auto done = renew_boot_id(l, m.name); !done) return done;
  auto holder = start_background(
      "lab-" + m.name, kAllSpaces,
      [&](const Process& p) -> Status {
        if (auto kept = list.add_process(p, "holder-" + m.name); !kept) return kept;
        return write_text(holder_file(l, m.name), fmt::format("{} {}\n", p.pid, p.start));
      },
      hold);
  if (!holder) return tl::unexpected(holder.error());
  std::string memory;
  if (m.name != "ctl" && !m.login && slurm_can_confine_memory()) {
    auto group = make_memory_group(l, m);
    if (!group) return tl::unexpected(group.error());
    memory = *group;
  }
  auto mounted = run_within(holder->pid, kAllSpaces, [&] { return make_mounts(l, m, memory); });
  if (!mounted) return fail(std::move(mounted.error()).in("setting up " + m.name));
  return {};
}

Status join_network(const Layout& l) {
  auto ctl = holder_of(l, "ctl");
  if (!ctl) return tl::unexpected(ctl.error());
  std::string lines =
      fmt::format("link set lo up\nlink add {0} type bridge\naddr add {1}/24 dev {0}\nlink set {0} up\n",
                  l.bridge, l.controller().address);
  std::vector<std::pair<Machine, Process>> nodes;
  for (const Machine& m : l.hosts()) {
    auto holder = holder_of(l, m.name);
    if (!holder) return tl::unexpected(holder.error());
    nodes.emplace_back(m, *holder);
    lines += fmt::format("link add v-{0} type veth peer name eth0 netns {1}\nlink set v-{0} master {2} up\n",
                         m.name, holder->pid, l.bridge);
  }
  if (auto done = ip_batch(*ctl, lines); !done) return done;
  for (const auto& [m, holder] : nodes)
    if (auto done = ip_batch(
            holder, fmt::format("link set lo up\naddr add {}/24 dev eth0\nlink set eth0 up\n", m.address));
        !done)
      return done;
  return {};
}

Result<Process> holder_of(const Layout& l, const std::string& machine) {
  if (auto known = l.machine(machine); !known) return tl::unexpected(known.error());
  Process p;
  if (auto text = read_text(holder_file(l, machine))) std::istringstream(*text) >> p.pid >> p.start;
  if (p.pid == 0 || !alive(p))
    return fail(
        Error(ErrorCode::conflict, fmt::format("'{}' of lab '{}' is not running", machine, l.wishes.name))
            .because("its holder process is gone (a reboot, or somebody killed it)")
            .remedied_by(fmt::format("sickbay lab down {0}; sickbay lab up {0}", l.wishes.name)));
  return p;
}

std::vector<std::string> machine_environment(const Layout& l, const std::string& machine) {
  const auto known = l.machine(machine);
  const std::string root = known && known->login ? l.agent_root(machine) : l.path("root");
  std::vector<std::string> env = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
      "SLURM_CONF=" + l.path("etc/slurm.conf"), "SICKBAY_ROOT=" + root, "SICKBAY_LAB=" + l.wishes.name,
      // All nodes share a kernel; without these MPICH's UCX talks by shared
      // memory and no fault of the network is ever felt.
      "UCX_TLS=tcp,self", "UCX_NET_DEVICES=eth0", "MYSQL_UNIX_PORT=" + l.path("run/mariadb.sock"),
      // Each agent has a tree of its own, and jobs take this along to whatever node they run on (%N).
      "SICKBAY_LEAVING_FILE=" + l.agent_root("%N") + kLeavingFile};
  if (auto more = read_text(l.path("nodes/" + machine + "/environment"))) {
    std::istringstream lines(*more);
    for (std::string line; std::getline(lines, line);) env.push_back(line);
  }
  return env;
}

}  // namespace sickbay::lab
