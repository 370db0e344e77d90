// SPDX-License-Identifier: Apache-2.0
// Effects of faults on the network, the processes and the daemons of a machine.  Those on its file systems
// stand in fault_mounts.cc.
#include "lab/fault_effects.h"

#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lab/cgroups.h"
#include "lab/cleanup.h"
#include "lab/clock.h"
#include "lab/daemons.h"
#include "lab/fault_mounts.h"
#include "lab/power.h"

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Argv = std::vector<std::string>;

constexpr milliseconds kLimit{20'000};

Status in_network(const Layout& l, const std::string& machine, Argv argv) {
  auto holder = holder_of(l, machine);
  if (!holder) return tl::unexpected(holder.error());
  lab::Command c;
  c.argv = std::move(argv);
  c.inside = holder->pid;
  c.spaces = CLONE_NEWNET;
  return run_well(c, kLimit);
}

// --- packets ---------------------------------------------------------------------------------------------

struct FilterRule {
  std::string machine;
  Argv match;
};

// Rules always stand where packets arrive: dropped in OUTPUT, the sender's kernel would know at once, and TCP
// would wait instead of retransmitting; a lossy wire looks different.
std::vector<FilterRule> filter_rules(const Target& t) {
  std::vector<FilterRule> rules;
  const FaultSpec& s = t.fault.spec;
  if (s.kind == FaultKind::loss) {
    const auto share = parse_percent(s.value);
    const Argv dice = {"-m",     "statistic",     "--mode",
                       "random", "--probability", fmt::format("{:.6f}", share.value_or(0) / 100)};
    if (s.direction != Direction::received) {
      std::vector<Machine> all = t.layout.machines();
      all.push_back(t.layout.controller());
      for (const Machine& m : all)
        if (m.name != s.node) {
          rules.push_back({m.name, {"-s", t.machine.address}});
          rules.back().match.insert(rules.back().match.end(), dice.begin(), dice.end());
        }
    }
    if (s.direction != Direction::sent) {
      rules.push_back({s.node, {"!", "-i", "lo"}});
      rules.back().match.insert(rules.back().match.end(), dice.begin(), dice.end());
    }
    return rules;
  }
  const auto other = t.layout.machine(s.value);
  if (!other) return rules;
  rules.push_back({other->name, {"-s", t.machine.address}});
  if (s.kind == FaultKind::partition) rules.push_back({s.node, {"-s", other->address}});
  return rules;
}

Argv iptables(const char* action, const FilterRule& rule, const std::string& id) {
  Argv argv = {"iptables", "-w", "10", action, "INPUT"};
  argv.insert(argv.end(), rule.match.begin(), rule.match.end());
  for (const std::string& word : {std::string("-m"), std::string("comment"), std::string("--comment"),
                                  "sickbay-" + id, std::string("-j"), std::string("DROP")})
    argv.push_back(word);
  return argv;
}

Status check_filter(const Target& t) {
  if (auto found = find_program("iptables"); !found)
    return fail(std::move(found.error()).remedied_by("apt-get install iptables"));
  const FaultSpec& s = t.fault.spec;
  if (s.row().value == ValueKind::machine) {
    if (auto other = t.layout.machine(s.value); !other) return tl::unexpected(other.error());
    if (s.value == s.node)
      return fail(ErrorCode::usage, fmt::format("{} cannot be cut off from itself", s.node));
  }
  return {};
}
Status inject_filter(Target& t) {
  for (const FilterRule& rule : filter_rules(t))
    if (auto done = in_network(t.layout, rule.machine, iptables("-A", rule, t.fault.id)); !done)
      return fail(
          std::move(done.error())
              .remedied_by("the kernel needs nf_tables (or ip_tables) with the matches 'statistic' and "
                           "'comment': modprobe xt_statistic xt_comment"));
  return {};
}
Status heal_filter(Target& t) {
  // -C tells whether the rule is there: heal may come after half an inject, or twice.
  for (const FilterRule& rule : filter_rules(t))
    while (in_network(t.layout, rule.machine, iptables("-C", rule, t.fault.id)))
      if (auto done = in_network(t.layout, rule.machine, iptables("-D", rule, t.fault.id)); !done)
        return done;
  return {};
}

Status link_down(Target& t) { return set_link(t.layout, t.machine.name, "down"); }
Status link_up(Target& t) { return set_link(t.layout, t.machine.name, "up"); }

// --- the whole node --------------------------------------------------------------------------------------

Status inject_crash(Target& t) { return power_off(t.layout, t.machine.name); }
Status heal_crash(Target& t) { return power_on(t.layout, t.machine.name, false); }

Status check_service(const Target& t) {
  auto row = find_daemon(t.fault.spec.value);
  if (!row) return tl::unexpected(row.error());
  const Process p = daemon_process(t.layout, t.fault.spec.value, t.machine.name);
  if (!runs_on(**row, t.machine.name) || p.pid == 0 || !alive(p))
    return fail(
        Error(ErrorCode::conflict, fmt::format("{} does not run on {}", t.fault.spec.value, t.machine.name))
            .remedied_by("'sickbay lab status' shows what runs where"));
  return {};
}
Status inject_service(Target& t) { return kill_daemon(t.layout, t.fault.spec.value, t.machine.name); }
Status heal_service(Target& t) {
  if (auto done = start_daemon(t.layout, t.fault.spec.value, t.machine.name); !done) return done;
  return await_daemon(t.layout, t.fault.spec.value, t.machine.name, kLimit);
}

// --- processors and memory -------------------------------------------------------------------------------

// The process that the node knows by this pid.
Result<Process> process_on(const Target& t, int pid) {
  if (auto found = process_by_inner_pid(t.holder, pid)) return *found;
  return fail(Error(ErrorCode::not_found, fmt::format("{} has no process {}", t.machine.name, pid))
                  .remedied_by(fmt::format("give a pid as 'sickbay lab exec --node {} -- ps ax' shows it",
                                           t.machine.name)));
}

Status check_cpu(const Target& t) {
  if (t.fault.spec.pid != 0)
    if (auto p = process_on(t, t.fault.spec.pid); !p) return tl::unexpected(p.error());
  return check_controller(Controller::cpu);
}
Status inject_cpu(Target& t) {
  const auto share = parse_percent(t.fault.spec.value);
  if (t.fault.spec.pid == 0) {
    auto group = machine_cgroup(t.layout, t.machine, Controller::cpu);
    if (!group) return tl::unexpected(group.error());
    return limit_cpu(*group, share.value_or(100));
  }
  auto process = process_on(t, t.fault.spec.pid);
  if (!process) return tl::unexpected(process.error());
  auto group = process_cgroup(t.layout, t.machine, *process, Controller::cpu);
  if (!group) return tl::unexpected(group.error());
  t.fault.notes["cgroup"] = group->path;
  t.fault.notes["cgroup_version"] = std::string(1, group->v2 ? '2' : '1');  // "1": GCC 12 warns (-Wrestrict)
  return limit_cpu(*group, share.value_or(100));
}
Status heal_cpu(Target& t) {
  if (const auto note = t.fault.notes.find("cgroup"); note != t.fault.notes.end())
    return fs::exists(note->second) ? limit_cpu({note->second, t.fault.notes["cgroup_version"] == "2"}, 0)
                                    : Status{};
  if (t.fault.spec.pid != 0) return {};  // it was never struck
  auto group = machine_cgroup(t.layout, t.machine, Controller::cpu);
  if (!group) return tl::unexpected(group.error());
  return limit_cpu(*group, 0);
}

Status inject_rank_kill(Target& t) {
  // Only with --pid; otherwise the watcher does it.
  auto process = process_on(t, t.fault.spec.pid);
  if (!process) return tl::unexpected(process.error());
  send_signal(*process, parse_signal(t.fault.spec.value).value_or(SIGBUS));
  return {};
}
Status inject_bitflip(Target&) { return {}; }
Status check_bitflip(const Target& t) {
  if (t.fault.spec.pid == 0) return {};
  auto process = process_on(t, t.fault.spec.pid);
  if (!process) return tl::unexpected(process.error());
  t.fault.notes["host_pid"] = std::to_string(process->pid);
  return {};
}
Status nothing_to_heal(Target&) { return {}; }

constexpr std::int64_t kHogLeaves = 128LL << 20;

Status check_memory(const Target&) { return check_controller(Controller::memory); }
Status inject_memory(Target& t) {
  const std::int64_t bytes = parse_size(t.fault.spec.value).value_or(512LL << 20);
  auto group = machine_cgroup(t.layout, t.machine, Controller::memory);
  if (!group) return tl::unexpected(group.error());
  if (auto done = limit_memory(*group, kHogLeaves); !done) return done;
  const std::string full = t.layout.path("nodes/" + t.machine.name + "/hog-" + t.fault.id);
  // Not in the node's group: the OOM killer shall find the jobs, as on a node where a daemon of the system
  // grew, and an oom_score_adj below 0 needs a right that root may lack in a container.
  auto started = start_on_machine(t, "hog", false, [bytes, full] {
    void* memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    std::memset(memory, 0x5a, static_cast<std::size_t>(bytes));
    std::ofstream(full) << "full";
    for (;;) ::pause();
  });
  if (!started) return started;
  const bool held = wait_until(kLimit, [&] { return fs::exists(full) || !alive(t.fault.processes["hog"]); });
  const bool good = held && fs::exists(full);
  ::unlink(full.c_str());
  if (!good)
    return fail(Error(ErrorCode::os, fmt::format("the hog could not get {} of memory", t.fault.spec.value))
                    .remedied_by("choose a smaller size; it must be free on this machine"));
  return {};
}
Status heal_memory(Target& t) {
  auto group = machine_cgroup(t.layout, t.machine, Controller::memory);
  if (!group) return tl::unexpected(group.error());
  return limit_memory(*group, 0);
}

Status inject_zombies(Target& t) {
  const int count = std::stoi(t.fault.spec.value);
  return start_on_machine(t, "parent", true, [count]() -> int {
    for (int i = 0; i < count; ++i)
      if (::fork() == 0) ::_exit(0);
    for (;;) ::pause();
  });
}

Status check_slow_disk(const Target&) { return check_controller(Controller::blkio); }
Status inject_slow_disk(Target& t) {
  auto group = machine_cgroup(t.layout, t.machine, Controller::blkio);
  if (!group) return tl::unexpected(group.error());
  return limit_disk(*group, t.layout.dir(), parse_size(t.fault.spec.value).value_or(1 << 20));
}
Status heal_slow_disk(Target& t) {
  auto group = machine_cgroup(t.layout, t.machine, Controller::blkio);
  if (!group) return tl::unexpected(group.error());
  return limit_disk(*group, t.layout.dir(), 0);
}

// --- the clock -------------------------------------------------------------------------------------------
Status restart_with_clock(Target& t) {
  for (const DaemonRow& row : daemon_table()) {
    if (!runs_on(row, t.machine.name)) continue;
    if (const Process p = daemon_process(t.layout, row.name, t.machine.name); p.pid == 0 || !alive(p))
      continue;
    if (auto done = kill_daemon(t.layout, row.name, t.machine.name); !done) return done;
    if (auto done = start_daemon(t.layout, row.name, t.machine.name); !done) return done;
    if (auto done = await_daemon(t.layout, row.name, t.machine.name, kLimit); !done) return done;
  }
  return {};
}
Status check_clock(const Target&) { return check_clock_library(); }
Status inject_clock(Target& t) {
  std::string shift = t.fault.spec.value;
  if (shift[0] == '+') shift.erase(0, 1);
  if (shift.back() == 's') shift.pop_back();
  const auto library = place_clock_library(t.layout);
  if (!library) return tl::unexpected(library.error());
  if (auto done = write_text(t.layout.path("nodes/" + t.machine.name + "/environment"),
                             fmt::format("LD_PRELOAD={}\nSICKBAY_CLOCK_SHIFT={}\n", *library, shift));
      !done)
    return done;
  return restart_with_clock(t);
}
Status heal_clock(Target& t) {
  if (::unlink(t.layout.path("nodes/" + t.machine.name + "/environment").c_str()) != 0) return {};
  return restart_with_clock(t);
}

constexpr auto kEffects = std::to_array<EffectRow>({
    {FaultKind::crash, nullptr, inject_crash, heal_crash},
    {FaultKind::network_down, nullptr, link_down, link_up},
    {FaultKind::loss, check_filter, inject_filter, heal_filter},
    {FaultKind::cpu, check_cpu, inject_cpu, heal_cpu},
    {FaultKind::rank_kill, nullptr, inject_rank_kill, nothing_to_heal},
    {FaultKind::disk_full, check_path, inject_disk_full, heal_disk_full},
    {FaultKind::memory_hog, check_memory, inject_memory, heal_memory},
    {FaultKind::partition, check_filter, inject_filter, heal_filter},
    {FaultKind::one_way, check_filter, inject_filter, heal_filter},
    {FaultKind::slow_disk, check_slow_disk, inject_slow_disk, heal_slow_disk},
    {FaultKind::read_only, check_path, inject_read_only, heal_read_only},
    {FaultKind::clock, check_clock, inject_clock, heal_clock},
    {FaultKind::bitflip, check_bitflip, inject_bitflip, nothing_to_heal},
    {FaultKind::kill_service, check_service, inject_service, heal_service},
    {FaultKind::unmount, check_mounted, inject_unmount, heal_unmount},
    {FaultKind::zombies, nullptr, inject_zombies, nothing_to_heal},
    {FaultKind::storage_away, nullptr, inject_unmount, heal_unmount},
});

constexpr bool rows_follow_enum() {
  for (std::size_t i = 0; i < kEffects.size(); ++i)
    if (static_cast<std::size_t>(kEffects[i].kind) != i) return false;
  return true;
}
static_assert(rows_follow_enum(), "one row per FaultKind, in its order");

}  // namespace

const EffectRow& effect_row(FaultKind kind) { return kEffects[static_cast<std::size_t>(kind)]; }

Result<Target> target_of(const Layout& l, ActiveFault& fault) {
  auto machine = l.machine(fault.spec.node);
  if (!machine) return tl::unexpected(machine.error());
  auto holder = holder_of(l, fault.spec.node);
  if (!holder) return tl::unexpected(holder.error());
  return Target{l, *machine, *holder, fault};
}

Status start_on_machine(Target& t, const std::string& name, bool groups, const std::function<int()>& work) {
  auto started = start_background(
      "lab-" + name + "-" + t.fault.id, 0,
      [&](const Process& p) -> Status {
        t.fault.processes[name] = p;
        if (auto kept = CleanupList(t.layout.dir()).add_process(p, name + "-" + t.fault.id); !kept)
          return kept;
        return save_active(t.layout, t.fault);
      },
      [&] {
        if (!enter_spaces(t.holder.pid, 0, groups)) return 1;
        const pid_t inner = ::fork();  // the pid namespace holds for children only
        if (inner == 0) {
          ::prctl(PR_SET_PDEATHSIG, SIGKILL);
          ::_exit(work());
        }
        // Ended by SIGTERM, it buries its child first: an orphan would be left to the host's process 1.
        static pid_t the_inner;
        the_inner = inner;
        ::signal(SIGTERM, [](int) { ::kill(the_inner, SIGKILL); });
        int state = 0;
        while (::waitpid(inner, &state, 0) < 0 && errno == EINTR) {
        }
        return 0;
      });
  if (!started) return tl::unexpected(started.error());
  return {};
}

}  // namespace sickbay::lab
