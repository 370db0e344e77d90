// SPDX-License-Identifier: Apache-2.0
// sickbay takeover: which of two sickbayds acts, said by an operator on its host.
#include <CLI/CLI.hpp>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"

namespace sickbay::cli {
namespace {

struct TakeoverOptions {
  bool hand_over = false, force = false, json = false;
};

Result<int> run_takeover(const TakeoverOptions& o) {
  auto api = connect_to_sickbayd();
  auto done = api ? api->post(o.hand_over ? "/v1/standby/hand-over" : "/v1/standby/take-over",
                              o.hand_over ? Json::object() : Json::object({{"force", o.force}}),
                              new_idempotency_key())
                  : Result<Json>(fail(api.error()));
  if (!done) return fail(done.error());
  if (o.json)
    print_json(*done);
  else
    print(o.hand_over
              ? "It stops when the standby has all it has; that one begins when the lease has run out: "
                "'sickbay status' there shows it.\n"
              : "It begins when the lease of the other has run out: 'sickbay status' shows it.\n");
  return 0;
}

}  // namespace

void add_takeover_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("takeover", "of two sickbayds, say which one acts");
  auto o = std::make_shared<TakeoverOptions>();
  CLI::Option* hand_over =
      c->add_flag("--hand-over", o->hand_over, "on the active one: it stops, and lets the other go first");
  c->add_flag(
       "--force", o->force,
       "on the standby: it begins although the other alone has what was acknowledged last, which is lost")
      ->excludes(hand_over);
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "For root, on the host of that sickbayd. A standby takes over by itself when the active one is gone "
      "and "
      "it has all that was acknowledged; nothing overrules the lease of one that is not gone.\n");
  c->callback([o, &ending] { ending = {run_takeover(*o), o->json}; });
}

}  // namespace sickbay::cli
