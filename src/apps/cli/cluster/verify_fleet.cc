// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/verify_fleet.h"

#include <fmt/format.h>

#include <array>

#include "apps/cli/answer.h"
#include "apps/cli/follow.h"
#include "base/hostlist.h"
#include "base/text_table.h"
#include "model/event_kinds.h"

namespace sickbay::cli {
namespace {

constexpr int kRoundFailed = 1;  // "the answer is no"

// What each standing means to whoever reads it (engine/patrol, Standing).
struct RoundRow {
  std::string_view standing, colour, meaning;
};
constexpr auto kRoundStandings = std::to_array<RoundRow>({
    {"ready", kGood, "is taken"},
    {"running", kGood, "under verification"},
    {"done", kGood, "verified"},
    {"given_up", kUnclear, "given up"},
    {"out", kUnclear, "not in service"},
    {"fresh", kFaint, "verified lately"},
    {"claimed", kUnclear, "another part of Sickbay is at work on it"},
    {"busy", kFaint, "a job has it"},
    {"wanted", kFaint, "users' jobs go first"},
    {"later", kFaint, "nodes under suspicion go first"},
    {"breaker", kUnclear, "the breaker leaves no room now"},
    {"budget", kFaint, "behind the budget"},
});

std::string standings_text(const Json& standings, const TextPage& page) {
  TextTable table({{"NODES", TextTable::Column::Align::left, true},
                   {"COUNT", TextTable::Column::Align::right},
                   {"STANDING"},
                   {"WHY", TextTable::Column::Align::left, true}});
  for (const RoundRow& row : kRoundStandings)
    for (const Json& group : standings.items()) {
      if (group["standing"].as_string() != row.standing) continue;
      const auto nodes = expand_hostlist(group["nodes"].as_string());
      table.add({safe(group["nodes"]), nodes ? std::to_string(nodes->size()) : "",
                 TextTable::Cell(std::string(row.meaning), row.colour), safe(group["why"])});
    }
  return table.empty() ? "" : table.text({.width = page.width, .colours = page.colours});
}

bool has_failed(const Json& round) { return !round["results"]["failed"].as_string().empty(); }

// The round that is open or was last; null where there was none.
Result<Json> current_round(ApiClient& api) {
  auto shown = api.get("/v1/patrol");
  if (!shown) return fail(shown.error());
  return (*shown)["round"];
}

Result<int> show(const VerifyFleetOptions& o, const Json& round) {
  if (o.json)
    print_json(Json::object({{"round", round}}));
  else if (round.is_null())
    print("No round of verification was asked for yet.\n");
  else
    print(fleet_round_text(round, page_of_stdout()));
  return has_failed(round) ? kRoundFailed : 0;
}

Result<int> wait_for(ApiClient& api, const VerifyFleetOptions& o, const std::string& name) {
  const auto followed = follow_events({.subject = name}, [&](const Event& event) {
    if (event.kind == kVerified)
      for (const Json& r : event.body["results"].items())
        if (!o.json && r["result"].as_string() != "ok")
          fmt::print(stderr, "sickbay: {}{}{}: {}: {}\n", safe(r["node"]),
                     r["peer"].as_string().empty() ? "" : " - ", safe(r["peer"]), safe(r["result"]),
                     safe(r["reason"]));
    return event.kind != kPatrolClosed;
  });
  if (!followed) return fail(followed.error());
  auto round = current_round(api);
  if (!round) return fail(round.error());
  return show(o, *round);
}

Result<int> stop(ApiClient& api, const VerifyFleetOptions& o) {
  auto stopped = api.post("/v1/patrol/stop", Json::object(), new_idempotency_key());
  if (!stopped) return fail(stopped.error());
  const std::string& name = (*stopped)["round"].as_string();
  if (o.wait && !name.empty()) return wait_for(api, o, name);
  if (o.json)
    print_json(*stopped);
  else
    print(name.empty() ? "No round is open.\n"
                       : fmt::format("Round {} ends; what runs is cancelled.\n", name));
  return 0;
}

}  // namespace

std::string fleet_plan_text(const Json& plan, const TextPage& page) {
  std::size_t taken = 0;
  for (const Json& group : plan["standings"].items())
    if (group["standing"].as_string() == "ready")
      if (const auto nodes = expand_hostlist(group["nodes"].as_string())) taken += nodes->size();
  return standings_text(plan["standings"], page) +
         fmt::format("{}{} node{} would be taken now, of a budget of {}; more as these are done.\n",
                     plan["standings"].size() == 0 ? "" : "\n", taken, taken == 1 ? "" : "s",
                     plan["budget"].as_int());
}

std::string fleet_round_text(const Json& round, const TextPage& page) {
  std::string text =
      fmt::format("Round {} of {}{}: {}; {} of at most {} nodes, {:.1f} node-hours.\n", safe(round["round"]),
                  safe(round["by"]), since_text(round["asked_at"], page.now),
                  round["open"].as_bool() ? "open" : "over, " + safe(round["why"]), round["spent"].as_int(),
                  round["budget"].as_int(), static_cast<double>(round["node_seconds"].as_int()) / 3600);
  for (const std::string_view result : {"ok", "slow", "failed"})
    if (const std::string nodes = safe(round["results"][result]); !nodes.empty())
      text += paragraph(fmt::format("  {:<7}", result), nodes, page);
  for (const Json& run : round["runs"].items()) {
    for (const Json& found : run["found"].items())
      text += paragraph("  ",
                        fmt::format("{}: {}{}{} is {}: {}", safe(run["run"]), safe(found["node"]),
                                    found["peer"].as_string().empty() ? "" : " - ", safe(found["peer"]),
                                    safe(found["result"]), safe(found["reason"])),
                        page);
    if (const std::string why = safe(run["ended_because"]); !why.empty())
      text += paragraph(
          "  ", fmt::format("{} on {} was ended: {}", safe(run["run"]), safe(run["nodes"]), why), page);
    else if (const std::string said = safe(run["said_nothing_because"]); !said.empty())
      text += paragraph(
          "  ", fmt::format("{} on {} said nothing: {}", safe(run["run"]), safe(run["nodes"]), said), page);
  }
  if (const std::string standings = standings_text(round["standings"], page); !standings.empty())
    text += "\n" + standings;
  return text;
}

Result<int> run_verify_fleet(const VerifyFleetOptions& o) {
  if (auto names = expand_hostlist(o.nodes); !names) return fail(names.error());
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  if (o.stop) return stop(*api, o);
  if (o.show || o.wait) {
    auto round = current_round(*api);
    if (!round) return fail(round.error());
    if (o.show && !o.wait) return show(o, *round);
    // Who waits without naming nodes joins the round that is open.
    if ((*round)["open"].as_bool() && o.nodes.empty())
      return wait_for(*api, o, (*round)["round"].as_string());
  }
  Json body = Json::object({{"nodes", o.nodes}});
  if (o.budget > 0) body.set("budget", o.budget);
  if (o.dry_run) body.set("dry_run", true);
  auto asked = api->post("/v1/patrol", body, new_idempotency_key());
  if (!asked) return fail(asked.error());
  if (o.dry_run) {
    if (o.json)
      print_json(*asked);
    else
      print(fleet_plan_text(*asked, page_of_stdout()));
    return 0;
  }
  const std::string& name = (*asked)["round"].as_string();
  if (o.wait) return wait_for(*api, o, name);
  if (o.json)
    print_json(*asked);
  else
    print(fmt::format(
        "Round {} begins: at most {} nodes. 'sickbay verify --fleet --show' tells how it stands.\n", name,
        (*asked)["budget"].as_int()));
  return 0;
}

}  // namespace sickbay::cli
