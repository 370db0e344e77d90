// SPDX-License-Identifier: Apache-2.0
// Bringing a lab up and down.
#include "lab/lab.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pwd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "base/json.h"
#include "lab/cgroups.h"
#include "lab/child.h"
#include "lab/cleanup.h"
#include "lab/daemons.h"
#include "lab/faults.h"
#include "lab/machines.h"
#include "lab/power.h"
#include "lab/shown.h"
#include "lab/slurm_conf.h"
#include "lab/slurm_version.h"

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kDaemonLimit{30'000};
constexpr milliseconds kNodesLimit{40'000};

constexpr auto kPrograms =
    std::to_array<const char*>({"ip", "munged", "mariadbd", "mariadb-install-db", "slurmdbd", "slurmctld",
                                "slurmd", "sacctmgr", "sinfo"});

Status check_programs() {
  for (const char* name : kPrograms)
    if (auto found = find_program(name); !found)
      return fail(
          std::move(found.error())
              .because("the lab runs a real Slurm")
              .remedied_by("apt-get install slurmctld slurmd slurmdbd slurm-client munge mariadb-server "
                           "iproute2 iptables (not slurm-wlm-emulator)"));
  return {};
}

Result<int> slurm_version() {
  Command c;
  c.argv = {"slurmctld", "-V"};
  auto outcome = run_to_end(c, milliseconds{10'000});
  if (!outcome) return tl::unexpected(outcome.error());
  return parse_slurm_version(outcome->output);
}

Result<uid_t> uid_of(const std::string& user) {
  if (user == "root") return 0;
  if (const passwd* p = ::getpwnam(user.c_str())) return p->pw_uid;
  return 64030;  // what passwd_file gives to slurm where the host has none
}

Status own(const std::string& path, uid_t uid, gid_t gid) {
  if (::chown(path.c_str(), uid, gid) != 0) return fail(os_error("could not give away " + path));
  return {};
}

// What sickbayd and the agents need to know of a lab: its munged, and where they meet.
Status write_sickbay_files(const Layout& l) {
  const Json munge = Json::object({{"socket", l.path("run/munge.sock")}});
  if (auto done = make_folder(l.path("root/etc/sickbay")); !done) return done;
  // (Users of a lab are its own: no service account of the host is in it.)
  const Json daemon =
      Json::object({{"munge", munge},
                    {"verify", Json::object({{"user", "root"}})},
                    {"agent", Json::object({{"listen", fmt::format("0.0.0.0:{}", l.agent_port())}})}});
  if (auto done = write_text(l.path("root/etc/sickbay/sickbay.json"), daemon.pretty() + "\n"); !done)
    return done;
  // On login hosts commands learn the rest from Slurm.
  for (const Machine& m : l.logins()) {
    const std::string folder = l.agent_root(m.name) + "/etc/sickbay";
    if (auto done = make_folder(folder); !done) return done;
    if (auto done = write_text(folder + "/sickbay.json", daemon.pretty() + "\n"); !done) return done;
  }
  for (const Machine& m : l.machines()) {
    if (auto done = make_folder(l.agent_root(m.name) + "/etc/sickbay"); !done) return done;
    const Json agent = Json::object(
        {{"munge", munge},
         {"controller", Json::object({{"host", l.controller().address}, {"port", l.agent_port()}})},
         {"node", Json::object({{"name", m.name}})}});
    if (auto done = write_text(l.agent_root(m.name) + "/etc/sickbay/agent.json", agent.pretty() + "\n");
        !done)
      return done;
  }
  return {};
}

// Folders and files, before anything runs.
Status write_files(const Layout& l, const SlurmRelease& slurm) {
  struct FolderRow {
    const char* name;
    unsigned mode;
  };
  for (const FolderRow& row : {FolderRow{"etc", 0755},
                               {"home", 0755},
                               {"run", 0755},
                               {"log", 0755},
                               {"db", 0700},
                               {"state", 0755},
                               {"state/slurmctld", 0700},
                               {"nodes", 0755},
                               {"faults", 0755},
                               {"root", 0755},
                               {"home/root", 0700}})
    if (auto done = make_folder(l.path(row.name), row.mode); !done) return done;
  for (const User& u : lab_users()) {
    const std::string home = l.path("home/" + u.name);
    if (auto done = make_folder(home, 0755); !done) return done;
    if (auto done = own(home, u.id, u.id); !done) return done;
  }
  std::array<char, 128> key{};
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
    return fail(os_error("getrandom"));
  auto passwd = read_text("/etc/passwd"), group = read_text("/etc/group");
  if (!passwd) return tl::unexpected(passwd.error());
  if (!group) return tl::unexpected(group.error());
  const bool confine = slurm_can_confine_memory();
  struct FileRow {
    const char* name;
    std::string text;
    unsigned mode;
  };
  for (const FileRow& row :
       {FileRow{"etc/munge.key", std::string(key.data(), key.size()), 0400},
        {"etc/slurm.conf", slurm_conf(l, confine), 0644},
        {"etc/slurmdbd.conf", slurmdbd_conf(l), 0600},
        {"etc/cgroup.conf", std::string(confine ? slurm.cgroup_memory : slurm.cgroup_none), 0644},
        {"etc/hosts", hosts_file(l), 0644},
        {"etc/passwd", passwd_file(l, *passwd), 0644},
        {"etc/group", group_file(*group), 0644},
        {"etc/task_prolog", task_prolog(l), 0755},
        {"etc/reboot", reboot_program(l), 0755}})
    if (auto done = write_text(l.path(row.name), row.text, row.mode); !done) return done;
  if (auto done = write_sickbay_files(l); !done) return done;
  auto uid = uid_of(l.wishes.slurm_user);
  if (!uid) return tl::unexpected(uid.error());
  for (const char* path : {"state", "state/slurmctld", "log", "etc/slurmdbd.conf"})
    if (auto done = own(l.path(path), *uid, static_cast<gid_t>(-1)); !done) return done;
  return {};
}

Status start_and_wait(const Layout& l, std::string_view daemon, const std::string& machine) {
  if (auto done = start_daemon(l, daemon, machine); !done) return done;
  return await_daemon(l, daemon, machine, kDaemonLimit);
}

// All nodes idle, or why not.
Status await_nodes(const Layout& l) {
  const std::size_t all = l.machines().size();
  std::string seen;
  const bool good = wait_until(kNodesLimit, [&] {
    auto text = ask_slurm(l, {"sinfo", "-a", "-h", "-N", "-o", "%n %T"});
    if (!text) return false;
    seen = *text;
    std::size_t idle = 0;
    std::vector<std::string> names;  // n1 stands in two partitions
    std::istringstream lines(seen);
    for (std::string name, state; lines >> name >> state;)
      if (state == "idle" && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name), ++idle;
    return idle == all;
  });
  if (good) return {};
  std::string cause = "sinfo says:\n" + seen;
  for (const Machine& m : l.machines())
    if (const Process p = daemon_process(l, "slurmd", m.name); !alive(p))
      cause += fmt::format("slurmd on {} ended; its last lines were:\n{}", m.name,
                           daemon_tail(l, "slurmd", m.name));
  return fail(Error(ErrorCode::timed_out, "not all nodes became idle").because(cause));
}

Status build(const Layout& l, int slurm, const CleanupList& list, const Progress& tell) {
  if (auto done = write_files(l, slurm_release(slurm)); !done) return done;
  tell(fmt::format("starting {} machines", l.hosts().size() + 1));
  if (auto done = start_machine(l, l.controller(), list); !done) return done;

  // The database takes longest: a child makes it while the rest starts.
  auto ctl = holder_of(l, "ctl");
  if (!ctl) return tl::unexpected(ctl.error());
  const std::string verdict = l.path("state/database");
  auto installing = start_background(
      "lab-database", 0, [&](const Process& p) { return list.add_process(p, "database"); },
      [&] {
        Status done = install_database(l);
        if (done) done = start_and_wait(l, "mariadbd", "ctl");
        (void)write_text(verdict, done ? "good" : done.error().message("lab"));
        return done ? 0 : 1;
      });
  if (!installing) return tl::unexpected(installing.error());

  for (const Machine& m : l.hosts())
    if (auto done = start_machine(l, m, list); !done) return done;
  if (auto done = join_network(l); !done) return done;
  for (const Machine& m : l.hosts())
    if (auto done = start_daemon(l, "munged", m.name); !done) return done;
  if (auto done = start_and_wait(l, "munged", "ctl"); !done) return done;

  tell("starting the database");
  if (!wait_gone(*installing, milliseconds{90'000}))
    return fail(ErrorCode::timed_out, "the database was not ready in time");
  auto said = read_text(verdict);
  if (!said || *said != "good")
    return fail(Error(ErrorCode::os, "the database did not start").because(said ? *said : ""));

  tell("starting Slurm " + slurm_version_text(slurm));
  if (auto done = start_and_wait(l, "slurmdbd", "ctl"); !done) return done;
  if (auto done = add_accounts(l); !done)
    return fail(std::move(done.error()).because(daemon_tail(l, "slurmdbd", "ctl")));
  if (auto done = start_and_wait(l, "slurmctld", "ctl"); !done) return done;
  for (const Machine& m : l.hosts())
    if (auto done = await_daemon(l, "munged", m.name, kDaemonLimit); !done) return done;
  for (const Machine& m : l.machines())
    if (auto done = start_daemon(l, "slurmd", m.name); !done) return done;
  if (auto done = await_nodes(l); !done) return done;
  if (auto done = start_reboots(l, list); !done) return done;
  if (!l.wishes.sickbayd) return {};
  if (own_program("sickbayd").empty()) {
    tell("sickbayd is not installed beside this program; the lab runs without it");
    return {};
  }
  tell("starting sickbayd");
  if (auto done = start_and_wait(l, "sickbayd", "ctl"); !done) return done;
  if (!l.wishes.agents) return {};
  if (own_program("sickbay-agent").empty()) {
    tell("sickbay-agent is not installed beside this program; the lab runs without it");
    return {};
  }
  for (const Machine& m : l.machines())
    if (auto done = start_daemon(l, "sickbay-agent", m.name); !done) return done;
  for (const Machine& m : l.machines())
    if (auto done = await_daemon(l, "sickbay-agent", m.name, kDaemonLimit); !done) return done;
  return {};
}

}  // namespace

Status need_root(const std::string& doing) {
  if (::geteuid() == 0) return {};
  return fail(
      Error(ErrorCode::not_root, doing + " needs root")
          .because("the lab makes network, mount and pid namespaces and starts slurmd")
          .remedied_by("run it with sudo; without root, 'make demo' in a checkout shows the simulator"));
}

Result<LabLock> LabLock::take(const std::string& folder) {
  const int fd = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail(os_error("could not open " + folder + "/lock"));
  LabLock lock(fd);
  if (!wait_until(milliseconds{60'000}, [&] { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }))
    return fail(Error(ErrorCode::busy, "another command is changing the lab in " + folder));
  return lock;
}

LabLock::~LabLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Layout> bring_up(const Wishes& wishes, const Progress& tell) {
  if (auto root = need_root("starting a lab"); !root) return tl::unexpected(root.error());
  ::umask(022);  // the lab's users and slurmd read what is made here
  Wishes all = wishes;
  for (std::string& folder : own_folders()) all.shown.push_back(std::move(folder));
  auto l = plan_layout(std::move(all));
  if (!l) return l;
  if (auto good = check_shown(l->wishes.shown); !good) return tl::unexpected(good.error());
  if (auto found = check_programs(); !found) return tl::unexpected(found.error());
  auto slurm = slurm_version();
  if (!slurm) return tl::unexpected(slurm.error());

  const std::string standard = default_folder(l->wishes.name);
  const auto taken = [&](const std::string& path) {
    return fail(
        Error(ErrorCode::already_exists, fmt::format("lab '{}' is there already ({})", l->wishes.name, path))
            .remedied_by("sickbay lab down " + l->wishes.name));
  };
  std::error_code ignored;
  if (fs::symlink_status(standard, ignored).type() != fs::file_type::not_found) return taken(standard);
  if (::mkdir(l->dir().c_str(), 0755) != 0) {
    if (errno == EEXIST) return taken(l->dir());
    return fail(os_error("could not make the folder " + l->dir()));
  }
  const CleanupList list(l->dir());
  auto prepared = list.add({CleanupItem::Kind::folder, l->dir(), {}});
  if (!prepared) return tl::unexpected(prepared.error());
  auto lock = LabLock::take(l->dir());
  if (!lock) return tl::unexpected(lock.error());
  auto done = write_text(l->path("lab.conf"), print_layout(*l));
  if (done && l->dir() != standard) {
    // The name is found again by this link, wherever the folder is.
    done = list.add({CleanupItem::Kind::link, standard, {}});
    if (done && ::symlink(l->dir().c_str(), standard.c_str()) != 0)
      done = fail(os_error("could not make " + standard));
  }
  if (done) done = build(*l, *slurm, list, tell);
  if (done) return l;
  tell("that failed; taking it down again");
  Error error = std::move(done.error());
  if (auto undone = list.undo(); !undone) error.cause += "\nand then: " + undone.error().line();
  return fail(std::move(error));
}

Status take_down(const std::string& name, const std::string& folder) {
  if (auto root = need_root("taking a lab down"); !root) return root;
  std::string dir = folder.empty() ? default_folder(name) : folder;
  std::error_code failed;
  if (fs::is_symlink(dir, failed)) {
    const std::string link = dir;
    dir = fs::read_symlink(link, failed).string();
    if (!fs::exists(dir, failed)) {  // a crash between the folder's end and the link's
      fs::remove(link, failed);
      return {};
    }
  }
  if (!fs::exists(dir, failed)) return {};
  const CleanupList list(dir);
  if (!fs::exists(list.path(), failed)) {
    // `up` died between making the folder and its first line, or the folder is not a lab at all.
    if (::rmdir(dir.c_str()) == 0 || errno == ENOENT) return {};
    return fail(Error(ErrorCode::conflict, dir + " is not the folder of a lab")
                    .because("it has no cleanup list")
                    .remedied_by("look at what it holds, and remove it by hand when it is not needed"));
  }
  auto lock = LabLock::take(dir);
  if (!lock) return tl::unexpected(lock.error());
  return list.undo();
}

Result<LabState> look_at(const std::string& name, const std::string& folder) {
  auto l = load_layout(name, folder);
  if (!l) return tl::unexpected(l.error());
  LabState state{*l, holder_of(*l, "ctl").has_value(), {}, {}, {}};
  std::vector<std::string> machines = {"ctl"};
  for (const Machine& m : l->hosts()) machines.push_back(m.name);
  for (const std::string& machine : machines)
    for (const DaemonRow& row : daemon_table())
      if (const Process p = daemon_process(*l, row.name, machine); p.pid != 0)
        state.services.push_back({machine, std::string(row.name), alive(p)});
  if (auto text = ask_slurm(*l, {"sinfo", "-a", "-h", "-N", "-o", "%n %T"})) {
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);)
      if (std::find(state.nodes.begin(), state.nodes.end(), line) == state.nodes.end())
        state.nodes.push_back(line);
  }
  state.faults = active_faults(*l);
  return state;
}

}  // namespace sickbay::lab
