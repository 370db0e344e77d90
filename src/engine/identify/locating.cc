// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/locating.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/apply.h"
#include "engine/identify/look.h"
#include "engine/identify/verification.h"

namespace sickbay::identify {
namespace {

using Step = further::Located::Stage;

bool all_results_are(const Run& v, std::string_view word) {
  return std::ranges::all_of(v.results, [&](const NodeResult& r) { return r.result == word; });
}

// It ran to its own end with a code that is none of success, and named nobody.
bool failed_unnamed(const Run& v) {
  return v.outcome == Outcome::failed && v.output_read && v.job.exit_code != 0 && v.job.exit_signal == 0 &&
         !v.results.empty() && all_results_are(v, "unknown");
}

further::Said said_by(const Run& v) {
  if (failed_unnamed(v)) return further::Said::failed;
  const bool passed = v.outcome == Outcome::ok && !v.results.empty() && all_results_are(v, "ok");
  return passed ? further::Said::passed : further::Said::unknown;
}

bool names_somebody(const Run& v) {
  return std::ranges::any_of(v.results,
                             [](const NodeResult& r) { return r.result == "failed" || r.result == "slow"; });
}

Json result_json(const std::string& node, const std::string& peer, std::string_view result,
                 const std::string& reason) {
  return Json::object({{"node", node}, {"peer", peer}, {"result", result}, {"reason", reason}});
}

// What the search says of each node that it speaks of.
Json results_of(const Locating& search) {
  const auto name = [&](int i) { return search.nodes[static_cast<std::size_t>(i)]; };
  std::vector<std::string> passed;
  for (const Run* v : search.tests)
    if (said_by(*v) == further::Said::passed) passed.insert(passed.end(), v->nodes.begin(), v->nodes.end());
  Json results = Json::array();
  for (const std::string& node : sorted_hosts(std::move(passed)))
    results.push(result_json(node, "", "ok", ""));
  const std::string tries =
      fmt::format("{} verifications on parts of {}", search.tests.size(), compress_hostlist(search.nodes));
  const std::vector<int>& found = search.found.nodes;
  if (search.found.stage == Step::link)
    results.push(result_json(name(found[0]), name(found[1]), "failed",
                             "the verification fails on both together, and passes on each alone: " + tries));
  else
    results.push(
        result_json(name(found[0]), "", "failed",
                    fmt::format("the verification fails there alone, twice{}: {}",
                                search.found.others_bad ? "" : ", and passes on the others", tries)));
  return results;
}

}  // namespace

// The state of a search is not kept: it is made anew from the verifications of the case, in their order.
// The first that failed without a name gives the nodes, those after it are the answers.
std::optional<Locating> locating(const Case& c, int n) {
  const Run* p = c.program(n);
  if (p == nullptr || p->outcome != Outcome::failed) return std::nullopt;
  Locating search;
  std::vector<further::Test> tests;
  for (const Run& v : c.verifications) {
    // (Of an attempt before it, on other nodes.)
    if (v.checks != n || v.wanted_at < p->wanted_at) continue;
    // A V that names nodes by itself needs no search.
    if (names_somebody(v)) return std::nullopt;
    if (search.nodes.empty()) {
      // It begins where V fails on all that it was asked about.
      if (failed_unnamed(v) && v.nodes.size() > 1) search.nodes = sorted_hosts(v.nodes);
      continue;
    }
    if (!ended(v.outcome) || is_unread(v)) {
      search.under_way = &v;
      continue;
    }
    further::Test test;
    test.said = said_by(v);
    for (std::size_t i = 0; i < search.nodes.size(); ++i)
      if (std::ranges::find(v.nodes, search.nodes[i]) != v.nodes.end())
        test.nodes.push_back(static_cast<int>(i));
    search.tests.push_back(&v);
    tests.push_back(std::move(test));
  }
  if (search.nodes.empty()) return std::nullopt;
  std::vector<int> all(search.nodes.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  search.found = further::locate(all, tests);
  return search;
}

bool is_locating(const Known& known, const Case& c, int n) {
  if (time_is_over(known, c)) return false;
  const auto search = locating(c, n);
  return search && (search->under_way != nullptr || search->found.stage != Step::unknown);
}

// One step: follow the verification that is under way, ask for the next part, or write the answer down.
bool Look::locate_by_halves(int n) {
  if (time_is_over()) return false;
  const auto search = locating(c_, n);
  if (!search) return false;
  if (search->under_way != nullptr) {
    follow(*search->under_way);
    if (!ended(search->under_way->outcome)) give_up_waiting(*search->under_way, c_.program(n));
    return true;
  }
  if (search->found.stage == Step::unknown) return false;
  if (new_verification_) return true;
  new_verification_ = true;
  const int next = static_cast<int>(c_.verifications.size()) + 1;
  if (search->found.stage == Step::asks) {
    std::vector<std::string> nodes;
    for (const int i : search->found.nodes) nodes.push_back(search->nodes[static_cast<std::size_t>(i)]);
    submit_verification(n, next, 1, nodes);
    return true;
  }
  const RunId id{c_.no, RunKind::verification, next};
  record(kLocated, Json::object({{"run", id.text()},
                                 {"checks", n},
                                 // The words of others go by when V began, and by which run: those of the
                                 // last test stand for the search.
                                 {"from", search->tests.back()->id.text()},
                                 {"began", to_micros(search->tests.back()->job.start)},
                                 {"results", results_of(*search)}}));
  return true;
}

void on_located(State& s, Case& c, const Event& e) {
  const auto id = parse_run_id(e.body["run"].as_string());
  if (!id || id->kind != RunKind::verification) return;
  Run& run = put_run(c, *id);
  run.checks = static_cast<int>(e.body["checks"].as_int());
  run.wanted_at = e.at;
  run.output_read = true;
  run.job.start = from_micros(e.body["began"].as_int());
  // One where V has passed nowhere says nothing to others: V itself may be broken.
  const bool passes = std::ranges::any_of(e.body["results"].items(),
                                          [](const Json& r) { return r["result"].as_string() == "ok"; });
  for (const Json& r : e.body["results"].items()) {
    NodeResult result{r["node"].as_string(),
                      r["peer"].as_string(),
                      r["result"].as_string(),
                      r["reason"].as_string(),
                      "",
                      e.body["from"].as_string()};
    run.nodes = hosts_in_either(run.nodes, std::vector<std::string>{result.node});
    // Other cases keep their re-runs away from it, as from one that V names by itself.
    if (passes && result.result == "failed" && result.peer.empty()) {
      NodeRecord& node = s.records[result.node];
      node.failed_at = e.at;
      node.failed_case = c.no;
    }
    run.results.push_back(std::move(result));
  }
  finish(run, Outcome::ok, e.at);
}

}  // namespace sickbay::identify
