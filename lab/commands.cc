// SPDX-License-Identifier: Apache-2.0
// The command line of the lab: options, their help, and what each prints.
//
// One scheme everywhere: up, down, status, env and truth take the lab's NAME as their only positional; where
// the positionals are something else (exec, fault, heal, run-script), -l/--lab names the lab.  Both work in
// all.
#include "lab/commands.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "lab/command_parts.h"
#include "lab/lab.h"
#include "lab/machines.h"
#include "lab/other_release.h"

namespace sickbay::lab {

int complain(const Error& error) {
  fmt::print(stderr, "{}\n", error.message("sickbay lab"));
  return error_row(error.code).exit_code;
}

void add_which(CLI::App& command, const std::shared_ptr<Which>& which, bool positional) {
  command.add_option(positional ? "NAME,-l,--lab" : "-l,--lab", which->name, "name of the lab")
      ->capture_default_str();
  command.add_option("--dir", which->folder, "the lab's folder (default /var/tmp/sickbay-lab-NAME)");
}

int with_lab(const Which& which, const std::function<Status(const Layout&)>& work) {
  auto layout = load_layout(which.name, which.folder);
  if (!layout) return complain(layout.error());
  // (Who is not root can do nothing there anyway.)
  if (::geteuid() == 0)
    if (auto there = go_to_release(layout->wishes.release); !there) return complain(there.error());
  auto done = work(*layout);
  return done ? 0 : complain(done.error());
}

namespace {

void add_up(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("up", "start a lab: a real Slurm cluster on this machine");
  auto wishes = std::make_shared<Wishes>();
  c->add_option("NAME,-l,--lab", wishes->name, "name of the lab")->capture_default_str();
  c->add_option("--nodes", wishes->nodes, "nodes of the partition main")->capture_default_str();
  c->add_option("--spares", wishes->spares, "more nodes, in the hidden partition spare")
      ->capture_default_str();
  c->add_option("--logins", wishes->logins, "login hosts login1, ..., with Slurm's commands and no daemons")
      ->capture_default_str();
  c->add_option("--dir", wishes->folder, "folder for its state (default /var/tmp/sickbay-lab-NAME)");
  c->add_option(
       "--show", wishes->shown,
       "a folder of this host that all machines see at its path, read-only where it lies in /tmp or where "
       "others may not enter (repeatable; the folders of this program are seen anyway)")
      ->allow_extra_args(false);
  c->add_option("--slurm-user", wishes->slurm_user, "who slurmctld runs as: root or slurm")
      ->capture_default_str();
  c->add_option(
      "--slurm", wishes->release,
      "another Slurm than this machine's: a release that tools/slurm-release has made (24.11, 26.05), "
      "or the folder it made");
  c->add_option("--cpus", wishes->cpus, "CPUs per node, as Slurm is told")->capture_default_str();
  c->add_flag("--sickbayd,!--no-sickbayd", wishes->sickbayd, "start this cluster's sickbayd too (default)");
  c->add_flag("--agents,!--no-agents", wishes->agents,
              "start an agent on each node, with sickbayd (default)");
  c->callback([wishes, &exit_code] {
    const auto begin = std::chrono::steady_clock::now();
    if (!wishes->release.empty()) {
      auto there = find_release(wishes->release);
      if (there) wishes->release = *there;
      auto gone = there ? go_to_release(*there) : Status(tl::unexpected(there.error()));
      if (!gone) {
        exit_code = complain(gone.error());
        return;
      }
    }
    auto layout = bring_up(*wishes, [](const std::string& what) { fmt::print(stderr, "lab: {}\n", what); });
    if (!layout) {
      exit_code = complain(layout.error());
      return;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    fmt::print("lab '{}' is up after {:.1f} s: {} nodes, {} spares, in {}\n", layout->wishes.name, seconds,
               layout->wishes.nodes, layout->wishes.spares, layout->dir());
    fmt::print("try: sickbay lab exec {}--user alice -- srun -N2 hostname\n",
               layout->wishes.name == "lab" ? "" : "-l " + layout->wishes.name + " ");
  });
}

void add_down(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("down", "end a lab and remove all that it made");
  auto which = std::make_shared<Which>();
  add_which(*c, which, true);
  c->callback([which, &exit_code] {
    if (auto done = take_down(which->name, which->folder); !done) exit_code = complain(done.error());
  });
}

Json to_json(const LabState& state) {
  const Layout& l = state.layout;
  Json services = Json::array(), nodes = Json::array(), faults = Json::array();
  for (const ServiceState& s : state.services)
    services.push(Json::object({{"machine", s.machine}, {"service", s.service}, {"alive", s.alive}}));
  for (const std::string& node : state.nodes) {
    const std::size_t space = node.find(' ');
    nodes.push(Json::object({{"node", node.substr(0, space)}, {"state", node.substr(space + 1)}}));
  }
  for (const ActiveFault& f : state.faults)
    faults.push(Json::object({{"fault", f.id},
                              {"node", f.spec.node},
                              {"kind", f.spec.row().name},
                              {"value", f.spec.value},
                              {"text", f.spec.text()},
                              {"waiting", !f.fired}}));
  return Json::object({{"name", l.wishes.name},
                       {"folder", l.dir()},
                       {"running", state.running},
                       {"nodes_wanted", l.wishes.nodes},
                       {"spares", l.wishes.spares},
                       {"services", services},
                       {"nodes", nodes},
                       {"faults", faults}});
}

void print_state(const LabState& state) {
  fmt::print("lab {} in {}: {}\n", state.layout.wishes.name, state.layout.dir(),
             state.running ? "running" : "not running (sickbay lab down removes what is left)");
  for (const ServiceState& s : state.services)  // on nodes, only what is missing
    if (s.machine == "ctl" || !s.alive)
      fmt::print("  {:<4} {:<10} {}\n", s.machine, s.service, s.alive ? "alive" : "dead");
  for (const std::string& node : state.nodes) fmt::print("  {}\n", node);
  for (const ActiveFault& fault : state.faults) fmt::print("  fault {}\n", fault.line());
}

void add_status(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("status", "show a lab: services, nodes, active faults");
  auto which = std::make_shared<Which>();
  auto json = std::make_shared<bool>(false);
  add_which(*c, which, true);
  c->add_flag("--json", *json, "as JSON");
  c->callback([which, json, &exit_code] {
    bool running = false;
    const int failed = with_lab(*which, [&](const Layout&) -> Status {
      auto state = look_at(which->name, which->folder);
      if (!state) return tl::unexpected(state.error());
      if (*json)
        fmt::print("{}\n", to_json(*state).pretty());
      else
        print_state(*state);
      running = state->running;
      return {};
    });
    exit_code = failed != 0 ? failed : running ? 0 : 1;
  });
}

void add_exec(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("exec", "run a command in a lab: sickbay lab exec [-l NAME] -- CMD...");
  struct Request {
    std::string machine = "ctl", user;
    std::vector<std::string> argv;
  };
  auto which = std::make_shared<Which>();
  auto request = std::make_shared<Request>();
  add_which(*c, which, false);
  c->add_option("--user", request->user, "as this user (alice, bob, or any of the host); default root");
  c->add_option("--node", request->machine, "on this machine: ctl, n1, login1, ...")->capture_default_str();
  c->add_option("CMD", request->argv, "the command and its arguments")->required();
  c->positionals_at_end();
  c->callback([which, request, &exit_code] {
    int code = 0;
    const int failed = with_lab(*which, [&](const Layout& layout) -> Status {
      auto ended = execute(layout, request->machine, request->user, request->argv);
      if (!ended) return tl::unexpected(ended.error());
      code = *ended;
      return {};
    });
    exit_code = failed != 0 ? failed : code;
  });
}

void add_env(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("env", "print the variables of a lab's environment, for a shell to eval");
  auto which = std::make_shared<Which>();
  add_which(*c, which, true);
  c->callback([which, &exit_code] {
    exit_code = with_lab(*which, [](const Layout& layout) -> Status {
      for (const std::string& pair : machine_environment(layout, "ctl"))
        if (pair.rfind("PATH=", 0) != 0) fmt::print("export {}\n", pair);
      return {};
    });
  });
}

}  // namespace

void add_lab_commands(CLI::App& app, int& exit_code) {
  CLI::App* lab = app.add_subcommand("lab", "a real Slurm cluster on this machine, with fault injection");
  lab->require_subcommand(1);
  add_up(*lab, exit_code);
  add_down(*lab, exit_code);
  add_status(*lab, exit_code);
  add_exec(*lab, exit_code);
  add_env(*lab, exit_code);
  add_fault_commands(*lab, exit_code);
}

}  // namespace sickbay::lab
