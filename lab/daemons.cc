// SPDX-License-Identifier: Apache-2.0
// The table of the lab's daemons and what each needs.
#include "lab/daemons.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lab/clock.h"
#include "lab/machines.h"

namespace sickbay::lab {
namespace {

using std::chrono::milliseconds;
using Argv = std::vector<std::string>;

std::string pid_file(const Layout& l, std::string_view daemon, const std::string& machine) {
  return l.path(fmt::format("nodes/{}/{}.pid", machine, daemon));
}

bool unix_socket_answers(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) return false;
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool good = fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  if (fd >= 0) ::close(fd);
  return good;
}

bool port_answers(const Layout& l, const std::string& machine, int port) {
  auto holder = holder_of(l, machine);
  auto m = l.machine(machine);
  if (!holder || !m) return false;
  return run_within(holder->pid, CLONE_NEWNET,
                    [&]() -> Status {
                      sockaddr_in at{};
                      at.sin_family = AF_INET;
                      at.sin_port = htons(static_cast<std::uint16_t>(port));
                      ::inet_pton(AF_INET, m->address.c_str(), &at.sin_addr);
                      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                      if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0)
                        return fail(os_error("connect"));
                      return {};
                    })
      .has_value();
}

Argv munged_argv(const Layout& l, const std::string&) {
  return {"munged",
          "--foreground",
          "--force",
          "--key-file=" + l.path("etc/munge.key"),
          "--socket=" + l.path("run/munge.sock"),
          "--pid-file=" + l.path("run/munged.pid"),
          "--seed-file=" + l.path("run/munged.seed"),
          "--num-threads=2"};
}
bool munged_ready(const Layout& l, const std::string& m) {
  return unix_socket_answers(l.path("nodes/" + m + "/run/munge.sock"));
}

// Small, and on a tmpfs: what the lab accounts for need not outlive the machine.  Snapshot isolation is on
// since MariaDB 11.6, and slurmdbd would end where two writes meet (loose: older ones do not know it).
Argv mariadbd_argv(const Layout& l, const std::string&) {
  return {"mariadbd",
          "--no-defaults",
          "--user=root",
          "--datadir=" + l.path("db/data"),
          "--tmpdir=" + l.path("db"),
          "--socket=" + l.path("run/mariadb.sock"),
          "--pid-file=" + l.path("run/mariadb.pid"),
          "--skip-networking",
          "--skip-name-resolve",
          "--skip-log-bin",
          "--performance-schema=OFF",
          "--innodb-buffer-pool-size=32M",
          "--innodb-log-file-size=16M",
          "--innodb-lock-wait-timeout=900",
          "--innodb-flush-log-at-trx-commit=2",
          "--loose-innodb-snapshot-isolation=OFF",
          "--max-allowed-packet=16M"};
}
bool mariadbd_ready(const Layout& l, const std::string& m) {
  return unix_socket_answers(l.path("nodes/" + m + "/run/mariadb.sock"));
}

Argv slurmdbd_argv(const Layout&, const std::string&) { return {"slurmdbd", "-D"}; }
bool slurmdbd_ready(const Layout& l, const std::string& m) { return port_answers(l, m, l.first_port + 2); }

Argv slurmctld_argv(const Layout&, const std::string&) { return {"slurmctld", "-D"}; }
bool slurmctld_ready(const Layout& l, const std::string& m) { return port_answers(l, m, l.first_port); }

// A node that has booted in the lab is told so, in place of the host's boot.  (slurmd -b would be its own
// start, and be forgotten at the next.)
Argv slurmd_argv(const Layout& l, const std::string& m) {
  const auto booted = booted_at(l, m);
  if (!booted) return {"slurmd", "-D"};
  return {"env", "LD_PRELOAD=" + clock_library(l), fmt::format("SICKBAY_BOOTED_AT={}", *booted), "slurmd",
          "-D"};
}
bool slurmd_ready(const Layout& l, const std::string& m) { return port_answers(l, m, l.first_port + 1); }

Argv sickbayd_argv(const Layout&, const std::string&) { return {own_program("sickbayd")}; }
bool sickbayd_ready(const Layout& l, const std::string&) {
  return unix_socket_answers(l.path("root/run/sickbay/sickbayd.sock"));
}

// Each node's agent has a tree of its own; the pid is the agent's, for env becomes it.
Argv agent_argv(const Layout& l, const std::string& m) {
  return {"env", "SICKBAY_ROOT=" + l.agent_root(m), own_program("sickbay-agent")};
}
bool agent_ready(const Layout& l, const std::string& m) {
  return ::access((l.agent_root(m) + "/var/lib/sickbay-agent").c_str(), F_OK) == 0;
}

constexpr auto kDaemons = std::to_array<DaemonRow>({
    {"munged", Place::everywhere, munged_argv, munged_ready},
    {"mariadbd", Place::controller, mariadbd_argv, mariadbd_ready},
    {"slurmdbd", Place::controller, slurmdbd_argv, slurmdbd_ready},
    {"slurmctld", Place::controller, slurmctld_argv, slurmctld_ready},
    {"slurmd", Place::nodes, slurmd_argv, slurmd_ready},
    {"sickbayd", Place::controller, sickbayd_argv, sickbayd_ready},
    {"sickbay-agent", Place::nodes, agent_argv, agent_ready},
});

std::string last_lines(const std::string& path, int lines) {
  std::ifstream in(path);
  std::deque<std::string> kept;
  for (std::string line; std::getline(in, line);) {
    kept.push_back(line);
    if (kept.size() > static_cast<std::size_t>(lines)) kept.pop_front();
  }
  std::string text;
  for (const std::string& line : kept) text += line + "\n";
  return text;
}

Command in_ctl(const Layout& l, const Process& holder, Argv argv) {
  Command c;
  c.argv = std::move(argv);
  c.env = machine_environment(l, "ctl");
  c.inside = holder.pid;
  return c;
}

}  // namespace

std::span<const DaemonRow> daemon_table() { return kDaemons; }

Result<const DaemonRow*> find_daemon(std::string_view name) {
  std::vector<std::string_view> names;
  for (const DaemonRow& row : kDaemons) {
    if (row.name == name) return &row;
    names.push_back(row.name);
  }
  return fail(Error(ErrorCode::not_found, fmt::format("the lab has no service '{}'", name))
                  .remedied_by(fmt::format("choose one of: {}", fmt::join(names, ", "))));
}

bool runs_on(const DaemonRow& row, const std::string& machine) {
  if (machine.starts_with("login")) return row.place == Place::everywhere;
  return row.place == Place::everywhere || (machine == "ctl") == (row.place == Place::controller);
}

std::string daemon_log(const Layout& l, std::string_view daemon, const std::string& machine) {
  return l.path(fmt::format("log/{}-{}.out", daemon, machine));
}

std::string daemon_tail(const Layout& l, std::string_view daemon, const std::string& machine, int lines) {
  // Slurm's daemons write the same to their log and to stderr.
  return last_lines(daemon_log(l, daemon, machine), lines);
}

Process daemon_process(const Layout& l, std::string_view daemon, const std::string& machine) {
  Process p;
  if (auto text = read_text(pid_file(l, daemon, machine))) std::istringstream(*text) >> p.pid >> p.start;
  return p;
}

Status start_daemon(const Layout& l, std::string_view daemon, const std::string& machine) {
  auto row = find_daemon(daemon);
  if (!row) return tl::unexpected(row.error());
  if (!runs_on(**row, machine))
    return fail(Error(ErrorCode::not_found, fmt::format("{} does not run on {}", daemon, machine)));
  auto holder = holder_of(l, machine);
  if (!holder) return tl::unexpected(holder.error());
  if (const Process p = daemon_process(l, daemon, machine); p.pid != 0 && alive(p)) return {};
  Command c;
  c.argv = (*row)->argv(l, machine);
  c.env = machine_environment(l, machine);
  c.inside = holder->pid;
  c.log = daemon_log(l, daemon, machine);
  auto process = start_process(c);
  if (!process) return fail(std::move(process.error()).in(fmt::format("starting {} on {}", daemon, machine)));
  return write_text(pid_file(l, daemon, machine), fmt::format("{} {}\n", process->pid, process->start));
}

Status await_daemon(const Layout& l, std::string_view daemon, const std::string& machine,
                    milliseconds limit) {
  auto row = find_daemon(daemon);
  if (!row) return tl::unexpected(row.error());
  const Process p = daemon_process(l, daemon, machine);
  bool ended = false;
  const bool good = wait_until(limit, [&] { return (*row)->ready(l, machine) || (ended = !alive(p)); });
  if (good && !ended) return {};
  const std::string tail = daemon_tail(l, daemon, machine);
  return fail(
      Error(ended ? ErrorCode::os : ErrorCode::timed_out,
            fmt::format("{} on {} {}", daemon, machine,
                        ended ? "ended at once" : fmt::format("does not answer after {} ms", limit.count())))
          .because("its last lines were:\n" + tail));
}

Status kill_daemon(const Layout& l, std::string_view daemon, const std::string& machine) {
  auto row = find_daemon(daemon);
  if (!row) return tl::unexpected(row.error());
  const Process p = daemon_process(l, daemon, machine);
  if (p.pid == 0 || !alive(p))
    return fail(Error(ErrorCode::conflict, fmt::format("{} does not run on {}", daemon, machine)));
  if (!end_process(p, milliseconds{0}))
    return fail(ErrorCode::timed_out, fmt::format("{} on {} survived SIGKILL", daemon, machine));
  return {};
}

Status install_database(const Layout& l) {
  auto ctl = holder_of(l, "ctl");
  if (!ctl) return tl::unexpected(ctl.error());
  auto done =
      run_well(in_ctl(l, *ctl,
                      {"mariadb-install-db", "--no-defaults", "--user=root", "--datadir=" + l.path("db/data"),
                       "--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=normal"}),
               milliseconds{60'000});
  if (!done) return done;
  // slurmdbd's database, empty (a folder is one).  slurmdbd would make it when a first connection is refused,
  // but after that libmariadb 3.4.10 (Debian sid) believes no answer: "execeeds maxmimum allowed number of
  // columns (=0)".
  return run_well(in_ctl(l, *ctl, {"mkdir", "-m", "700", l.path("db/data/slurm_acct_db")}),
                  milliseconds{10'000});
}

Status add_accounts(const Layout& l) {
  auto ctl = holder_of(l, "ctl");
  if (!ctl) return tl::unexpected(ctl.error());
  std::vector<Argv> steps = {
      {"sacctmgr", "-i", "-Q", "add", "cluster", l.wishes.name},
      {"sacctmgr", "-i", "-Q", "add", "account", "lab", "Description=lab", "Organization=lab"}};
  std::string users = "root";
  for (const User& u : lab_users()) users += "," + u.name;
  steps.push_back({"sacctmgr", "-i", "-Q", "add", "user", users, "Account=lab"});
  for (Argv& step : steps)
    if (auto done = run_well(in_ctl(l, *ctl, step), milliseconds{20'000}); !done) return done;
  return {};
}

std::string own_program(const std::string& name) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::string path = (self.parent_path() / name).string();
  return ::access(path.c_str(), X_OK) == 0 ? path : "";
}

Result<std::string> ask_slurm(const Layout& l, Argv argv) {
  auto ctl = holder_of(l, "ctl");
  if (!ctl) return tl::unexpected(ctl.error());
  const std::string name = argv[0];
  auto outcome = run_to_end(in_ctl(l, *ctl, std::move(argv)), milliseconds{20'000});
  if (!outcome) return tl::unexpected(outcome.error());
  if (outcome->code != 0)
    return fail(Error(ErrorCode::refused_by_slurm, fmt::format("{} ended with code {}", name, outcome->code))
                    .because(outcome->output));
  return outcome->output;
}

}  // namespace sickbay::lab
