// SPDX-License-Identifier: Apache-2.0
#include "engine/blackhole/summary.h"

namespace sickbay::blackhole {
namespace {

Json counts_json(const std::map<std::uint32_t, int>& by_user) {
  Json json = Json::array();
  for (const auto& [uid, count] : by_user) json.push(Json::array({uid, count}));
  return json;
}

std::map<std::uint32_t, int> counts_from(const Json& json) {
  std::map<std::uint32_t, int> by_user;
  for (const Json& entry : json.items())
    if (entry.size() == 2)
      by_user[static_cast<std::uint32_t>(entry.items()[0].as_int())] =
          static_cast<int>(entry.items()[1].as_int());
  return by_user;
}

Json series_json(const Series& series) {
  Json kinds = Json::array();
  for (const auto& [kind, first] : series.kinds) {
    Json one = Json::object({{"uid", kind.uid}, {"program", kind.program}});
    if (first != kNever) one.set("first", to_micros(first));  // (Some job of that kind has failed here.)
    kinds.push(std::move(one));
  }
  return Json::object({{"start", to_micros(series.start)},
                       {"clean", to_micros(series.clean)},
                       {"last", to_micros(series.last)},
                       {"suspected", to_micros(series.suspected)},
                       {"suspected_after", series.suspected_after},
                       {"suspected_for_one", series.suspected_for_one},
                       {"in_row", series.in_row},
                       {"longest", static_cast<std::int64_t>(series.longest.count())},
                       {"verification_failed", series.verification_failed},
                       {"kinds", std::move(kinds)},
                       {"failed", counts_json(series.failed)},
                       {"passed", counts_json(series.passed)},
                       {"passed_since", counts_json(series.passed_since)}});
}

Series series_from(const Json& json) {
  Series series;
  series.start = from_micros(json["start"].as_int());
  series.clean = from_micros(json["clean"].as_int());
  series.last = from_micros(json["last"].as_int());
  // (Summaries of older versions lack these: 0.)
  series.suspected = from_micros(json["suspected"].as_int());
  series.in_row = json["in_row"].as_int();
  series.suspected_after = json["suspected_after"].as_int();
  series.suspected_for_one = json["suspected_for_one"].as_bool();
  series.longest = std::chrono::seconds(json["longest"].as_int());
  series.verification_failed = json["verification_failed"].as_bool();
  for (const Json& kind : json["kinds"].items())
    series.kinds.emplace(Kind{static_cast<std::uint32_t>(kind["uid"].as_int()), kind["program"].as_string()},
                         kind.has("first") ? from_micros(kind["first"].as_int()) : kNever);
  series.failed = counts_from(json["failed"]);
  series.passed = counts_from(json["passed"]);
  series.passed_since = counts_from(json["passed_since"]);
  return series;
}

}  // namespace

Json summary(const State& state, TimePoint now) {
  Json nodes = Json::array();
  for (const auto& [name, node] : state.nodes) {
    Json one = Json::object({{"node", name}, {"series", series_json(node.series)}});
    if (node.black || node.booted || node.black_at != kNoTime)
      one.set("black", node.black)
          .set("booted", node.booted)
          .set("black_at", to_micros(node.black_at))
          .set("told", node.told.to_json());
    nodes.push(std::move(one));
  }
  Json body = state.recent.to_json(now);
  body.set("nodes", std::move(nodes));
  return body;
}

State state_from(const Event& event) {
  State state;
  state.kept_at = event.at;
  state.recent = Recent::from_json(event.body);
  for (const Json& one : event.body["nodes"].items()) {
    Node& node = state.nodes[one["node"].as_string()];
    node.series = series_from(one["series"]);
    if (!one.has("told")) continue;
    node.black = one["black"].as_bool();
    node.booted = one["booted"].as_bool();
    node.black_at = from_micros(one["black_at"].as_int());
    node.told = Evidence::from_json(one["told"]);
  }
  return state;
}

}  // namespace sickbay::blackhole
