// SPDX-License-Identifier: Apache-2.0
// sickbay diagnose: has a node examine itself now, and prints what came of it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/cli/answer.h"
#include "apps/cli/cluster/diagnosis_text.h"
#include "apps/cli/commands.h"
#include "base/text_table.h"
#include "model/diagnosis_mode.h"

namespace sickbay::cli {
namespace {

struct DiagnoseOptions {
  std::string node, mode = "quick";
  bool explain = false, repair = false, detach = false, json = false;
};

Result<int> run_diagnose(const DiagnoseOptions& o) {
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto ordered = api->post("/v1/nodes/" + percent_encoded(o.node) + "/diagnose",
                           Json::object({{"mode", o.mode}, {"repair", o.repair}, {"attended", !o.detach}}),
                           new_idempotency_key());
  if (!ordered) return fail(ordered.error());
  if (o.detach) {
    if (o.json)
      print_json(*ordered);
    else
      print(fmt::format("Task {} is ordered; 'sickbay journal --subject node:{}' tells its end.\n",
                        (*ordered)["task"].as_int(), for_terminal(o.node)));
    return 0;
  }
  const std::string target = fmt::format("/v1/tasks/{}", (*ordered)["task"].as_int());
  for (bool told = false;;) {
    auto task = api->get(target);
    if (!task) return fail(task.error());
    if ((*task)["state"].as_string() != "over") {
      if (!std::exchange(told, true) && (*task)["state"].as_string() == "waiting")
        warn(Error(ErrorCode::daemon_away, fmt::format("no agent on {} has taken the diagnosis yet", o.node))
                 .because((*task)["agent"]["present"].as_bool() ? "it was there a moment ago"
                                                                : "none has been heard of lately")
                 .remedied_by("start it there (systemctl start sickbay-agent), or end this with Ctrl-C"));
      continue;  // each answer takes 30 s
    }
    if (o.json)
      print_json(*task);
    else
      print(diagnosis_text(*task, o.explain, page_of_stdout()));
    return diagnosis_exit_code(*task);
  }
}

}  // namespace

void add_diagnose_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("diagnose", "have a node examine itself now (for operators)");
  auto o = std::make_shared<DiagnoseOptions>();
  c->add_option("NODE", o->node, "Slurm's name of the node")->required();
  c->add_option(
       "-m,--mode", o->mode,
       "how deep: quick reads; deep adds memory and disk tests; extended adds stress, for idle nodes")
      ->check(CLI::IsMember(std::vector<std::string>(kDiagnosisModes.begin(), kDiagnosisModes.end())))
      ->capture_default_str();
  c->add_flag("--repair", o->repair,
              "let it repair what the rules, their periods and the node's configuration allow");
  c->add_flag("--detach", o->detach,
              "do not wait: print its number and end; else the diagnosis ends when this command does");
  c->add_flag("--explain", o->explain, "say why each production fired or did not");
  c->add_flag("--json", o->json, "print the task as JSON (doc/formats/api.md)");
  c->footer(
      "What is examined stands in the rules on the node.\n"
      "Active checks of a deep or extended diagnosis begin at once, and count among those that may run at "
      "the "
      "same time (diagnose.active_at_once of sickbayd). With --detach they wait for their turn.\n"
      "Exit codes:\n"
      "  0   nothing found\n"
      "  10  a fault\n"
      "  11  no fault, but something could not be told\n"
      "  13  the diagnosis did not come to its end\n");
  c->callback([o, &ending] { ending = {run_diagnose(*o), o->json}; });
}

}  // namespace sickbay::cli
