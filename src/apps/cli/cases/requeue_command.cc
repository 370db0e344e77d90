// SPDX-License-Identifier: Apache-2.0
// sickbay requeue (myrequeue): runs a program again whose failure does not repeat, until it is known why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/cli/answer.h"
#include "apps/cli/cases/case_text.h"
#include "apps/cli/commands.h"
#include "apps/cli/follow.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

struct RequeueOptions {
  std::string target;
  int times = 0;  // 0: as many as the site allows
  double node_hours = 0;
  bool rotate = false, json = false;
};

Result<int> run_requeue(const RequeueOptions& o) {
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto view = fetch_case(*api, o.target);
  if (!view) return fail(view.error());
  const std::string& name = (*view)["case"].as_string();
  Json body = Json::object({{"rotate", o.rotate}});
  if (o.times > 0) body.set("runs", o.times);
  if (o.node_hours > 0) body.set("node_hours", o.node_hours);
  auto answer = api->post("/v1/cases/" + name + "/requeue", body, new_idempotency_key());
  if (!answer) return fail(answer.error());
  if (o.json)
    print_json(*answer);
  else
    print(
        fmt::format("case {}: the program runs again, at most {} times and for {} node-hours; sickbay why {} "
                    "--wait tells what comes of it\n",
                    name, (*answer)["runs"].as_int(), (*answer)["node_hours"].as_double(), name));
  return 0;
}

}  // namespace

void add_requeue_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("requeue", "run a program again whose failure does not repeat, to know why");
  auto o = std::make_shared<RequeueOptions>();
  c->add_option("TARGET", o->target, "a case (c17), one of its runs (c17.r2), or a job id")->required();
  c->add_option("--times", o->times, "runs at most (default and bound: identify.further_runs)")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  c->add_option("--node-hours", o->node_hours,
                "node-hours that they may take (default and bound: identify.further_node_hours)")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  c->add_flag("--rotate", o->rotate, "each run on nodes that no run had before, not on chosen ones");
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "For a case that ended as non-deterministic or inconclusive, within 24 h of its end: so long what was\n"
      "submitted is kept.  One run after the other, each on the nodes that are expected to tell most: some\n"
      "of the first run's, and not the others.  What is known then, in percent, and what one more run could\n"
      "change, shows 'sickbay why'.  It ends when the program (exit code 16 of 'sickbay why'), a node or a\n"
      "link (17) is known to be the cause, or when the runs or node-hours are used up.\n"
      "'sickbay submit --until-verdict' asks for it beforehand.\n");
  c->callback([o, &ending] { ending = {run_requeue(*o), o->json}; });
}

}  // namespace sickbay::cli
