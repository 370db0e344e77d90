// SPDX-License-Identifier: Apache-2.0
// decide(): when the journal is to hear of a node, and in which words.
#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "engine/blackhole/blackhole.h"
#include "model/ids.h"

namespace sickbay::blackhole {
namespace {

// Jobs that must have passed since the last failure before a black hole is taken back: of more than one user,
// or many of one.
constexpr int kPasses = 3, kPassesOfOne = 10;

std::string why_over(const Node& node) {
  if (node.booted) return "it has booted since";
  int passed = 0;
  for (const auto& [uid, count] : node.series.passed_since) passed += count;
  const std::size_t users = node.series.passed_since.size();
  // One user may get through where others die: his jobs may not need what the node lacks.
  if (passed < (users > 1 ? kPasses : kPassesOfOne)) return {};
  return fmt::format("{} jobs of {} have passed on it since the last failure", passed,
                     counted(users, "user"));
}

}  // namespace

Decision decide(const State& state, const std::string& name) {
  Decision decision;
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return decision;
  const Node& node = it->second;
  // Told already: only its end is news.
  if (node.black) {
    if (std::string why = why_over(node); !why.empty())
      decision.records.push_back(
          new_event(node_subject(name), kBlackHoleOver, Json::object({{"why", std::move(why)}})));
    return decision;
  }
  // (One voice gives half at most: no need to weigh what one user says.)
  if (node.series.failed.size() < 2) return decision;
  const Evidence evidence = judge(state.recent, name, node.series);
  if (!evidence.convicts()) return decision;
  Json body = evidence.to_json();
  body.set("sentence", sentence(name, evidence));
  decision.records.push_back(new_event(node_subject(name), kBlackHole, std::move(body)));
  return decision;
}

bool wants_lives(const State& state) {
  for (const auto& [name, node] : state.nodes)
    if (!node.black && node.series.open() && node.series.failed.size() > 1) return true;
  return false;
}

std::string sentence(const std::string& node, const Evidence& e) {
  std::string text = fmt::format("{} of {} failed within {} s of their start on {} since {}",
                                 counted(e.jobs, "job"), counted(e.users, "user"),
                                 std::max<std::int64_t>(1, e.longest.count()), node, format_clock(e.since));
  if (e.passed > 0) text += fmt::format(" ({} passed there)", e.passed);
  text +=
      fmt::format("; of the same kinds {} passed on other nodes ({} of them begun after the first failure)",
                  counted(e.kind_passed, "job"), e.since_passed);
  if (e.kind_failed > 0) text += fmt::format(", and {} failed there", e.kind_failed);
  return text;
}

Json node_view(const State& state, const std::string& name) {
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end() || !it->second.black) return {};
  const Node& node = it->second;
  Json view = node.told.to_json();
  view.set("at", to_micros(node.black_at));
  view.set("sentence", sentence(name, node.told));
  return view;
}

}  // namespace sickbay::blackhole
