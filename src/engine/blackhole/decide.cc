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

// What a node that eats jobs has had at least, one after the other, and how long ago the last one.
constexpr int kEaten = 2;
constexpr std::chrono::seconds kMoment{60};

// It may be told yet that it is one.  (One voice gives half at most: no need to weigh what one user says.)
bool may_be_one(const Node& node) {
  return !node.black && node.series.open() && node.series.failed.size() > 1;
}

// It may be told yet that one user's jobs die there.
bool may_be_for_one(const Node& node) {
  return !node.black && node.series.open() && node.series.is_of_one_user();
}

bool eats(const Node& node, TimePoint now) {
  return may_be_one(node) && node.series.in_row >= kEaten && now - node.series.last <= kMoment;
}

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

std::string what_failed(const std::string& node, const Evidence& e) {
  std::string text = fmt::format("{} of {} failed within {} s of their start on {} since {}",
                                 counted(e.jobs, "job"), counted(e.users, "user"),
                                 std::max<std::int64_t>(1, e.longest.count()), node, format_clock(e.since));
  if (e.passed > 0) text += fmt::format(" ({} passed there)", e.passed);
  return text;
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
  const bool for_one = may_be_for_one(node);
  if (!may_be_one(node) && !for_one) return decision;
  const Evidence evidence = judge(state.recent, name, node.series);
  const bool convicts = evidence.convicts();
  // Suspicion is told again when it has eaten twice as many: the experiment was too short, or there was none.
  // (That it was one user's says nothing any more once others' jobs die, too.)
  const bool told =
      node.series.failures() < 2 * node.series.suspected_after && (!node.series.suspected_for_one || for_one);
  if (!convicts && (told || !evidence.suspects() || (evidence.users < 2 && !for_one))) return decision;
  Json body = evidence.to_json();
  body.set("sentence", convicts ? sentence(name, evidence) : suspicion(name, evidence));
  decision.records.push_back(
      new_event(node_subject(name), convicts ? kBlackHole : kBlackHoleSuspected, std::move(body)));
  // Whose they are: nobody gets more than his share of what is done for one user (engine/patrol).
  if (!convicts && for_one) decision.records.back().body.set("uid", node.series.failed.begin()->first);
  return decision;
}

bool is_eating(const State& state, TimePoint now) {
  return std::ranges::any_of(state.nodes, [&](const auto& entry) { return eats(entry.second, now); });
}

std::optional<std::chrono::seconds> wants_lives(const State& state, TimePoint now) {
  std::optional<std::chrono::seconds> from;
  for (const auto& [name, node] : state.nodes) {
    // (One user's broken program is daily business, and to tell of running jobs costs an event for each: so
    // only while his jobs die there.)
    const bool eats_of_one = may_be_for_one(node) && now - node.series.last <= kMoment;
    if (!may_be_one(node) && !eats_of_one) continue;
    // Younger ones are told of only where it matters just now: each takes the place of an older one
    // (recent.h).
    from = std::min(from.value_or(kLives),
                    eats_of_one || eats(node, now) ? outlives(node.series.longest) : kLives);
  }
  return from;
}

std::string sentence(const std::string& node, const Evidence& e) {
  std::string text = what_failed(node, e);
  text +=
      fmt::format("; of the same kinds {} passed on other nodes ({} of them begun after the first failure)",
                  counted(e.kind_passed, "job"), e.since_passed);
  if (e.kind_failed > 0) text += fmt::format(", and {} failed there", e.kind_failed);
  if (e.verification_failed) text += "; verification fails on it, too";
  return text;
}

std::string suspicion(const std::string& node, const Evidence& e) {
  if (e.users == 1)
    return what_failed(node, e) +
           fmt::format("; of the same kinds {} that began since then passed on other nodes, and {} failed",
                       counted(e.since_passed, "job"), e.since_failed);
  if (e.all_passed + e.all_failed == 0)
    return what_failed(node, e) +
           "; no other job has begun on other nodes since, so nobody knows whether it is this node alone";
  return what_failed(node, e) +
         fmt::format("; of other jobs that began since then {} passed on other nodes, and {} failed",
                     e.all_passed, e.all_failed);
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

Json suspicion_view(const State& state, const std::string& name) {
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end() || it->second.black || it->second.series.suspected == kNoTime) return {};
  const Series& series = it->second.series;
  // What one user's jobs do blackens no node.
  if (series.suspected_for_one) return {};
  return Json::object({{"sentence", suspicion(name, judge(state.recent, name, series))},
                       {"at", to_micros(series.suspected)}});
}

}  // namespace sickbay::blackhole
