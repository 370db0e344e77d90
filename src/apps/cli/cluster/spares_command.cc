// SPDX-License-Identifier: Apache-2.0
// sickbay spares: nodes that are held back for running jobs that lose one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "apps/cli/answer.h"
#include "apps/cli/cluster/cluster_text.h"
#include "apps/cli/commands.h"
#include "base/text.h"

namespace sickbay::cli {
namespace {

struct SparesOptions {
  std::string partition, count;
  bool json = false;
};

// "3", or "conf": as nonstop.conf has it, which is null to the API.
Result<Json> parse_count(const std::string& word) {
  if (word == "conf") return Json();
  std::int64_t count = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (failed != std::errc() || end != word.data() + word.size() || count < 0)
    return fail(Error(ErrorCode::usage, quote_for_message(word) + " is no number of nodes")
                    .remedied_by("say how many, 0 for none, or 'conf' for what nonstop.conf says"));
  return Json(count);
}

Result<int> set_spares(const SparesOptions& o) {
  auto count = parse_count(o.count);
  if (!count) return fail(std::move(count.error()));
  auto api = connect_to_sickbayd();
  auto done =
      api ? api->post("/v1/spares", Json::object({{"partition", o.partition}, {"count", std::move(*count)}}),
                      new_idempotency_key())
          : Result<Json>(fail(api.error()));
  if (!done) return fail(done.error());
  if (o.json)
    print_json(*done);
  else
    print("It is set; the reservation follows ('sickbay spares' shows it).\n");
  return 0;
}

Result<int> run_spares(const SparesOptions& o) {
  if (!o.count.empty()) return set_spares(o);
  auto api = connect_to_sickbayd();
  auto list = api ? api->get("/v1/spares") : Result<Json>(fail(api.error()));
  if (!list) return fail(list.error());
  if (!o.partition.empty()) {
    Json chosen = Json::array();
    for (const Json& pool : (*list)["items"].items())
      if (pool["partition"].as_string() == o.partition) chosen.push(pool);
    if (chosen.size() == 0)
      return fail(
          Error(ErrorCode::not_found, "there is no pool of " + quote_for_message(o.partition))
              .remedied_by("'sickbay spares' lists them; 'sickbay spares PARTITION COUNT' makes one"));
    list->set("items", std::move(chosen));
  }
  if (o.json)
    print_json(*list);
  else
    print(spares_text(*list, page_of_stdout()));
  return 0;
}

}  // namespace

void add_spares_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand(
      "spares", "show and set the nodes held back for running jobs that lose one (hot spares)");
  auto o = std::make_shared<SparesOptions>();
  auto* partition =
      c->add_option("PARTITION", o->partition, "only this pool; '*' is that of the whole cluster");
  c->add_option("COUNT", o->count, "so many nodes from now on; 'conf': as nonstop.conf has it")
      ->needs(partition);
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "Everybody may look; operators may set. A pool is the reservation HOT_SPARE_<partition> of Slurm.\n"
      "Idle nodes fill it; a spare that joins a job, or is down or drained, is made up for by another.\n"
      "More spares than nodes are idle are taken as nodes come free; fewer are given back at once.\n");
  c->callback([o, &ending] { ending = {run_spares(*o), o->json}; });
}

}  // namespace sickbay::cli
