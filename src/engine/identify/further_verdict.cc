// SPDX-License-Identifier: Apache-2.0
// What further runs come to, in a verdict: the finding of engine/further, its words, and the shares of all
// hypotheses for who wants to see them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hostlist.h"
#include "engine/identify/advice.h"
#include "engine/identify/failure_words.h"
#include "engine/identify/further.h"
#include "engine/identify/rerun.h"
#include "engine/identify/verdict.h"
#include "engine/identify/verdict_text.h"

namespace sickbay::identify {
namespace {

using further::Answer;
using further::Posterior;

constexpr std::size_t kMostGroups = 8;  // of nodes that a verdict lists
// From this share on the confidence is high.
constexpr double kHigh = 0.99;

// Four digits: more would say more than is known, and differ between machines.
double rounded(double share) { return std::round(share * 1e4) / 1e4; }
std::string percent(double share) {
  return share > 0.9995 ? "over 99.9 %" : fmt::format("{:.1f} %", share * 100);
}

// Nodes with the same share, the likeliest first.
struct Group {
  std::vector<std::string> nodes;
  double share = 0;  // of each
};
// By the rounded share, as it is shown: suspects of the same runs differ by rounding errors only.
std::vector<Group> groups_of(const Suspicion& s, const Posterior& now) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < now.nodes.size(); ++i) {
    const double share = rounded(now.nodes[i]);
    auto it = std::ranges::find(groups, share, &Group::share);
    if (it == groups.end()) it = groups.insert(groups.end(), {{}, share});
    it->nodes.push_back(s.names[i]);
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &Group::share);
  return groups;
}

std::string name_of(const Suspicion& s, int suspect) { return s.names[static_cast<std::size_t>(suspect)]; }
std::string name_of(const Suspicion& s, const further::Pair& ends) {
  return name_of(s, ends.first) + " - " + name_of(s, ends.second);
}

std::string group_text(const Group& g) {
  return fmt::format("{} {}{}", compress_hostlist(g.nodes), percent(g.share),
                     g.nodes.size() > 1 ? " each" : "");
}

// "the program 64.0 %, n[1-2] 15.0 % each, the link n1 - n2 4.0 %"
std::string shares_text(const Suspicion& s, const Posterior& now) {
  constexpr double kWorthALine = 0.01;
  std::string text = "the program " + percent(now.program);
  std::size_t told = 0;
  for (const Group& g : groups_of(s, now))
    if (g.share >= kWorthALine && told++ < kMostGroups) text += ", " + group_text(g);
  double other_links = now.links;
  for (const further::Link& link : now.top_links)
    if (link.share >= kWorthALine) {
      text += fmt::format(", the link {} {}", name_of(s, link.ends), percent(link.share));
      other_links -= link.share;
    }
  if (other_links >= kWorthALine) text += fmt::format(", their links together {}", percent(other_links));
  return text;
}

// Whoever has the largest share.
std::string leader_text(const Suspicion& s, const Posterior& now) {
  const std::vector<Group> groups = groups_of(s, now);
  const double node = groups.empty() ? 0 : groups.front().share;
  const double link = now.top_links.empty() ? 0 : now.top_links.front().share;
  if (now.program >= node && now.program >= link) return "the program " + percent(now.program);
  if (node >= link) return group_text(groups.front());
  return fmt::format("the link {} {}", name_of(s, now.top_links.front().ends), percent(link));
}

std::vector<std::string> names_in(const Suspicion& s, const std::vector<int>& in) {
  std::vector<std::string> names;
  for (const int i : in) names.push_back(name_of(s, i));
  return names;
}

Json next_json(const Suspicion& s, const further::NextRun& next) {
  const std::vector<std::string> in = names_in(s, next.in);
  return Json::object({{"with", compress_hostlist(in)},
                       {"without", compress_hostlist(hosts_without(s.names, in))},
                       {"fails", rounded(next.fails)},
                       {"if_failed", leader_text(s, next.if_failed)},
                       {"if_ok", leader_text(s, next.if_ok)}});
}

std::string next_text(const Suspicion& s, const further::NextRun& next) {
  const std::vector<std::string> in = names_in(s, next.in), out = hosts_without(s.names, in);
  std::string where =
      in.empty() ? "without any of " + compress_hostlist(out) : "with " + compress_hostlist(in);
  if (!in.empty() && !out.empty()) where += " and without " + compress_hostlist(out);
  return fmt::format("one more run {} is expected to fail with {}: then {}, else {}", where,
                     percent(next.fails), leader_text(s, next.if_failed), leader_text(s, next.if_ok));
}

// The run that is under way, or the one that would be chosen now.
further::NextRun next_of(const Known& known, const Case& c, const Suspicion& s) {
  const Run& last = c.programs.back();
  const auto numbers_in = [&](const std::vector<std::string>& names) {
    std::vector<int> in;
    for (std::size_t i = 0; i < s.names.size(); ++i)
      if (has_host(names, s.names[i])) in.push_back(static_cast<int>(i));
    return in;
  };
  // Of the run that is under way the nodes are known by what it keeps away from.
  if (is_chosen_run(c, last.id.n) && !ended(last.outcome))
    return next_on(s.record, known.policy.prior, numbers_in(hosts_without(s.names, last.excluded)));
  if (c.further->rotate) return next_on(s.record, known.policy.prior, {});
  return next_nodes(s.record, known.policy.prior, room_for(known, c));
}

Json posterior_json(const Suspicion& s, const Posterior& now) {
  Json nodes = Json::array(), links = Json::array();
  for (const Group& g : groups_of(s, now))
    if (nodes.size() < kMostGroups)
      nodes.push(Json::object({{"nodes", compress_hostlist(g.nodes)}, {"share", g.share}}));
  for (const further::Link& link : now.top_links)
    links.push(Json::object({{"a", name_of(s, link.ends.first)},
                             {"b", name_of(s, link.ends.second)},
                             {"share", rounded(link.share)}}));
  return Json::object({{"runs", s.record.trials.size()},
                       {"failures", failures_with(s.record, {})},
                       {"program", rounded(now.program)},
                       {"nodes", std::move(nodes)},
                       {"all_links", rounded(now.links)},
                       {"links", std::move(links)}});
}

void put_answer(const Case& c, const Suspicion& s, const Posterior& now, const further::Finding& found,
                Verdict& v) {
  const std::string by = c.programs.back().id.text();
  const std::string sure = percent(found.share);
  const auto counted = [&](std::initializer_list<int> nodes) {
    const auto has_all = [&](const further::Trial& t) {
      return std::ranges::all_of(nodes, [&](int n) { return std::ranges::binary_search(t.nodes, n); });
    };
    return fmt::format("{} of {} runs", failures_with(s.record, nodes),
                       std::ranges::count_if(s.record.trials, has_all));
  };
  switch (found.answer) {
    case Answer::program:
      v.cause = Cause::sometimes_program;
      v.rule = "F1";
      v.sentence =
          c.programs.front().hangs_at_its_end()
              ? fmt::format(
                    "The program or its MPI library is the cause: {} now and then ({}), whichever nodes "
                    "it runs on.",
                    words_of_hang_at_its_end(c.programs.front()), counted({}))
              : fmt::format(
                    "The program or its input is the cause: it fails now and then ({}), whichever "
                    "nodes it runs on.",
                    counted({}));
      if (const std::string path = output_to_look_at(c.programs.front()); !path.empty())
        v.next.push_back("look at the last output lines above and at " + path);
      v.next.push_back(
          "what differs from run to run is a race, memory that was never set, or a time-out in it");
      return;
    case Answer::node: {
      const std::string name = name_of(s, found.first);
      v.cause = Cause::sometimes_node;
      v.rule = "F2";
      v.nodes = {name};
      v.sentence =
          fmt::format("Node {} is the cause, not the program: it fails in {} with {}, and not without it.",
                      name, counted({found.first}), name);
      // Drains nobody: the posterior is no test of the node (what V finds beside it drains as ever).
      v.faulty->push_back({name, "", by, "runs with it fail", fmt::format("posterior {}", sure), false});
      v.next = {"submit again with --exclude=" + name, "operators: sickbay nodes " + name};
      return;
    }
    case Answer::link: {
      const std::string a = name_of(s, found.first), b = name_of(s, found.second);
      v.cause = Cause::sometimes_node;
      v.rule = "F3";
      v.sentence = fmt::format(
          "The network between {} and {} is the cause: it fails in {} with both, and not with one of them.",
          a, b, counted({found.first, found.second}));
      v.faulty->push_back({a, b, by, "runs with both fail", fmt::format("posterior {}", sure), false});
      v.next = {fmt::format("submit again with --exclude={} or --exclude={}", a, b),
                fmt::format("operators: look at the network between {} and {}", a, b)};
      return;
    }
    case Answer::system:
      v.cause = Cause::sometimes_node;
      v.rule = "F4";
      v.sentence = fmt::format("A node of {} or a link between them is the cause, and it is not known which.",
                               compress_hostlist(s.names));
      v.next = {"submit again with --exclude=" + compress_hostlist(s.names),
                "operators: sickbay nodes " + compress_hostlist(s.names)};
      return;
    case Answer::open:
      break;
  }
  v.cause = Cause::non_deterministic;
  v.rule = kRuleFurther;
  v.sentence = fmt::format("Not decided yet: {} so far failed; {}.", counted({}), shares_text(s, now));
}

}  // namespace

// Asked after each run.  While more runs may come only a name that is sure is final; with the last one
// (`over` says why) the most that can be said is.
Verdict further_verdict(const Known& known, const Case& c, const std::string& over) {
  const Suspicion s = suspicion_of(known, c);
  const Posterior now = posterior(s.record, known.policy.prior);
  const further::Finding found = over.empty()
                                     ? finding(s.record, now, known.policy.prior, known.policy.certainty)
                                     : last_word(s.record, now, known.policy.prior, known.policy.certainty);
  Verdict v;
  v.at = known.now;
  v.final = !over.empty() || found.answer != Answer::open;
  v.faulty.emplace();
  put_answer(c, s, now, found, v);
  v.confidence = found.answer == Answer::open     ? Confidence::low
                 : found.answer == Answer::system ? Confidence::medium
                 : found.share >= kHigh           ? Confidence::high
                                                  : Confidence::medium;
  // What a library does to correct programs is no proof against this one (verdict.cc has the same).
  if (v.cause == Cause::sometimes_program && c.programs.front().hangs_at_its_end())
    v.confidence = std::min(v.confidence, Confidence::medium);
  v.further = posterior_json(s, now);
  v.why.push_back(fmt::format("after {} runs, {} of which failed: {}", s.record.trials.size(),
                              failures_with(s.record, {}), shares_text(s, now)));
  add_run_lines(c, v.why);
  if (found.answer == Answer::open) {
    const further::NextRun next = next_of(known, c, s);
    v.further.set("next", next_json(s, next));
    v.missing.push_back(next_text(s, next));
    // There will be no further run, and nothing is sure: the shares are the answer.
    if (!over.empty()) {
      v.cause = Cause::inconclusive;
      v.rule = "F5";
      v.sentence = fmt::format("Not decided: {}; {}.", over, shares_text(s, now));
      if (!no_more_runs(c) && c.programs.size() < kMostProgramRuns)
        v.next.push_back("sickbay requeue " + c.name() + " goes on with further runs");
    }
  }
  // What V found by itself stands beside it.
  for (Faulty& f : faulty_of(known, c, v)) v.faulty->push_back(std::move(f));
  return v;
}

}  // namespace sickbay::identify
