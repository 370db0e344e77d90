// SPDX-License-Identifier: Apache-2.0
// sickbay undo-drains: puts back what Sickbay took out, when a rule turns out to be wrong.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "base/hostlist.h"

namespace sickbay::cli {
namespace {

struct UndoDrainsOptions {
  std::string hostlist, rule;
  bool json = false, everywhere = false;
};

Result<int> run_undo_drains(const UndoDrainsOptions& o) {
  if (auto names = expand_hostlist(o.hostlist); !names) return fail(names.error());
  auto api = connect_to_sickbayd();
  auto done =
      api ? api->post("/v1/undo-drains",
                      Json::object({{"nodes", o.hostlist}, {"rule", o.rule}, {"everywhere", o.everywhere}}),
                      new_idempotency_key())
          : Result<Json>(fail(api.error()));
  if (!done) return fail(done.error());
  if (o.json) {
    print_json(*done);
    return 0;
  }
  const auto nodes = (*done)["nodes"].as_strings();
  if (nodes.empty())
    print("No reason of Sickbay's stands against any node that was meant.\n");
  else
    print(fmt::format(
        "Reasons dropped on {}; our drains there are being lifted ('sickbay nodes' shows it).\n"
        "The rules behind them only observe {} for a while: 'drain.undo_rest' of the configuration.\n",
        compress_hostlist(nodes), (*done)["rest"].as_string() == "nodes" ? "there" : "in the whole cluster"));
  return 0;
}

}  // namespace

void add_undo_drains_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("undo-drains", "lift the drains of Sickbay, and let the rules behind them rest");
  auto o = std::make_shared<UndoDrainsOptions>();
  c->add_option("HOSTLIST", o->hostlist, "only on these nodes, as n[1-3]; all where it is left out");
  c->add_option("--rule", o->rule,
                "only what this rule did, as memory/bank_lost; 'verdict' for verdicts of cases")
      ->type_name("RULE");
  c->add_flag("--everywhere", o->everywhere,
              "the rules rest on all nodes, not on those of HOSTLIST alone; so they do without HOSTLIST");
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "For operators. Drains of other people are never touched.\n"
      "A rule that was undone may say what it sees, and drains nothing, until 'drain.undo_rest' has "
      "passed.\n");
  c->callback([o, &ending] { ending = {run_undo_drains(*o), o->json}; });
}

}  // namespace sickbay::cli
