// SPDX-License-Identifier: Apache-2.0
// The command line of faults: fault, heal, run-script and truth.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "lab/command_parts.h"
#include "lab/fault_script.h"
#include "lab/faults.h"
#include "lab/truth.h"

namespace sickbay::lab {
namespace {

std::string list_of_kinds() {
  std::string text = "\nFaults:\n";
  for (const FaultRow& row : fault_table()) {
    std::string shape(row.name);
    if (row.value != ValueKind::none)
      shape += row.standard.empty() ? "=..." : fmt::format("[={}]", row.standard);
    text += fmt::format("  {:<22} {}\n", shape, row.effect);
  }
  return text;
}

void add_fault(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("fault", "break a node: sickbay lab fault n3 loss=5%");
  c->footer(list_of_kinds());
  struct Request {
    std::string node, kind;
    std::map<std::string, std::string> options;
  };
  auto which = std::make_shared<Which>();
  auto request = std::make_shared<Request>();
  add_which(*c, which, false);
  c->add_option("NODE", request->node, "n1, n2, ... or ctl")->required();
  c->add_option("KIND", request->kind, "KIND or KIND=VALUE, see below")->required();
  c->add_option("--probability", request->options["probability"],
                "strike only at job steps that start on the node, each with this probability");
  c->add_option("--for", request->options["for"], "heal by itself after this time (40s, 2m)");
  c->add_option("--pid", request->options["pid"], "one process, by its pid on the node");
  c->add_option("--direction", request->options["direction"], "of loss: sent (standard), received or both");
  c->callback([which, request, &exit_code] {
    exit_code = with_lab(*which, [&](const Layout& layout) -> Status {
      auto spec = parse_fault(request->node, request->kind);
      if (!spec) return tl::unexpected(spec.error());
      for (const auto& [name, value] : request->options)
        if (!value.empty())
          if (auto set = set_fault_option(*spec, name, value); !set) return set;
      auto id = inject_fault(layout, *spec);
      if (!id) return tl::unexpected(id.error());
      fmt::print("{} {} {}\n", *id, spec->node, spec->text());
      return {};
    });
  });
}

void add_heal(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("heal", "heal a node: sickbay lab heal n3 [KIND], or --all");
  auto which = std::make_shared<Which>();
  auto wish = std::make_shared<HealWish>();
  auto all = std::make_shared<bool>(false);
  add_which(*c, which, false);
  c->add_option("NODE", wish->node, "n1, n2, ... or ctl");
  c->add_option("KIND", wish->kind, "only this fault (KIND or KIND=VALUE)");
  c->add_flag("--all", *all, "every fault of the lab");
  c->callback([which, wish, all, &exit_code] {
    exit_code = with_lab(*which, [&](const Layout& layout) -> Status {
      if (*all != wish->node.empty())
        return fail(Error(ErrorCode::usage, *all ? "--all and a node were given" : "no node was given")
                        .remedied_by("sickbay lab heal NODE [KIND], or sickbay lab heal --all"));
      auto healed = heal_faults(layout, *wish);
      if (!healed) return tl::unexpected(healed.error());
      for (const std::string& id : *healed) fmt::print("healed {}\n", id);
      return {};
    });
  });
}

void add_run_script(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("run-script", "run a file of timed faults: at 40s n2 crash");
  auto which = std::make_shared<Which>();
  auto file = std::make_shared<std::string>();
  add_which(*c, which, false);
  c->add_option("FILE", *file,
                "lines: at TIME NODE KIND[=VALUE] [OPTION=VALUE]..., at TIME NODE|all heal [KIND]")
      ->required();
  c->callback([which, file, &exit_code] {
    exit_code = with_lab(*which, [&](const Layout& layout) -> Status {
      auto text = read_text(*file);
      if (!text) return tl::unexpected(text.error());
      auto script = parse_fault_script(*text, *file);
      if (!script) return tl::unexpected(script.error());
      return run_fault_script(layout, *script, *file, [](const std::string& what) {
        fmt::print("{}\n", what);
        std::fflush(stdout);
      });
    });
  });
}

void add_truth(CLI::App& lab, int& exit_code) {
  CLI::App* c = lab.add_subcommand("truth", "print what was really broken, and when");
  auto which = std::make_shared<Which>();
  auto json = std::make_shared<bool>(false);
  add_which(*c, which, true);
  c->add_flag("--json", *json, "one journal event per line");
  c->callback([which, json, &exit_code] {
    exit_code = with_lab(*which, [&](const Layout& layout) -> Status {
      auto events = read_truth(layout);
      if (!events) return tl::unexpected(events.error());
      for (const Event& e : *events) {
        if (*json) {
          fmt::print("{}\n", e.text());
          continue;
        }
        const std::string& text = e.body["text"].as_string();
        fmt::print("{} {:<8} {:<10} {:<4} {}{}\n", format_time(e.at), e.subject, e.kind,
                   e.body["fault"].as_string(), text,
                   e.body.has("step") ? "step " + e.body["step"].as_string() : "");
      }
      return {};
    });
  });
}

}  // namespace

void add_fault_commands(CLI::App& lab, int& exit_code) {
  add_fault(lab, exit_code);
  add_heal(lab, exit_code);
  add_run_script(lab, exit_code);
  add_truth(lab, exit_code);
}

}  // namespace sickbay::lab
