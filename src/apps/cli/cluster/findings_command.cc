// SPDX-License-Identifier: Apache-2.0
// sickbay findings: what stands over the fleet of what the agents found.
#include <CLI/CLI.hpp>

#include "apps/cli/answer.h"
#include "apps/cli/cluster/cluster_text.h"
#include "apps/cli/cluster/faults_text.h"
#include "apps/cli/cluster/findings_text.h"
#include "apps/cli/commands.h"
#include "base/hostlist.h"

namespace sickbay::cli {
namespace {

struct FindingsOptions {
  std::string hostlist;
  bool oldest = false, by_rule = false, by_node = false, history = false, json = false;
};

Result<int> run_history(const FindingsOptions& o, const std::vector<std::string>& wanted) {
  auto api = connect_to_sickbayd();
  auto list = api ? api->get("/v1/faults") : Result<Json>(fail(api.error()));
  if (!list) return fail(list.error());
  const FaultsBy by = o.by_rule ? FaultsBy::rule : o.by_node ? FaultsBy::node : FaultsBy::all;
  const Json rows = counted_faults((*list)["items"], wanted, by);
  if (o.json)
    print_json(Json::object({{"items", rows}, {"next", Json()}}));
  else
    print(faults_text(rows, by, page_of_stdout()));
  return 0;
}

Result<int> run_findings(const FindingsOptions& o) {
  auto wanted = expand_hostlist(o.hostlist);
  if (!wanted) return fail(wanted.error());
  if (o.history) return run_history(o, *wanted);
  auto api = connect_to_sickbayd();
  auto list = api ? api->get("/v1/nodes") : Result<Json>(fail(api.error()));
  auto items = list ? chosen_nodes(*list, *wanted) : list;
  if (!items) return fail(items.error());
  const FindingsOrder order = o.by_rule  ? FindingsOrder::by_rule
                              : o.oldest ? FindingsOrder::oldest
                                         : FindingsOrder::newest;
  const Json findings = standing_findings(*items, order);
  if (o.json)
    print_json(Json::object({{"items", findings}, {"next", Json()}}));
  else
    print(findings_text(findings, order, page_of_stdout()));
  return 0;
}

}  // namespace

void add_findings_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("findings", "list what stands of what the agents on nodes found");
  auto o = std::make_shared<FindingsOptions>();
  c->add_option("HOSTLIST", o->hostlist, "only on these nodes, as n[1-3]");
  CLI::Option* oldest = c->add_flag("--oldest", o->oldest, "the oldest first; else the newest");
  CLI::Option* by_rule =
      c->add_flag("--by-rule", o->by_rule, "a line for each rule, that of most nodes first")
          ->excludes(oldest);
  CLI::Option* history = c->add_flag("--history", o->history,
                                     "faults and repairs by month, node and rule, also those that are over")
                             ->excludes(oldest);
  c->add_flag("--by-node", o->by_node, "with --history: a line for each node and month")
      ->needs(history)
      ->excludes(by_rule);
  c->add_flag("--json", o->json, "print the list as JSON");
  c->footer(
      "A fault stands until its agent says that it is gone; what could not be told, while it is so.  A node "
      "is "
      "odd where it lacks what\nits likes have (a disk, a mount, an InfiniBand adapter).\n"
      "'sickbay nodes NODE' tells all of one node.\n"
      "With --history a fault counts once, in the month in which it began (UTC), from its first finding "
      "until it was "
      "gone;\nrepairs are those that agents made: done, in vain, or unknown.\n");
  c->callback([o, &ending] { ending = {run_findings(*o), o->json}; });
}

}  // namespace sickbay::cli
