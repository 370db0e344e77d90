// SPDX-License-Identifier: Apache-2.0
// apply(): what outcomes of jobs, boots and our own words change.  Whole numbers only, so that a journal
// gives the same state on every machine; what is weighed in fractions is decide()'s.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "engine/blackhole/blackhole.h"
#include "engine/blackhole/summary.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/verify_report.h"

namespace sickbay::blackhole {
namespace {

// A node whose last failure is older begins anew: what broke it then has been mended, or was no fault of it.
constexpr std::chrono::hours kSeriesEnds{24};
// Passes of one user that count when failures and passes are held against each other.
constexpr int kMostOfUser = 3;
// Users of one node that are remembered; more than that cannot fail on it without its being noticed.
constexpr std::size_t kMostUsersOfNode = 64;
// Nodes that are weighed after one event.  Where more are under suspicion at once the fault is not theirs.
constexpr std::size_t kMostJudged = 64;
constexpr std::size_t kMostJudgedForOne = 8;  // of these where it is one user's

int fairly(const std::map<std::uint32_t, int>& by_user) {
  int sum = 0;
  for (const auto& [uid, count] : by_user) sum += std::min(count, kMostOfUser);
  return sum;
}

void add(std::map<std::uint32_t, int>& by_user, std::uint32_t uid) {
  if (by_user.size() < kMostUsersOfNode || by_user.contains(uid)) ++by_user[uid];
}

// Of the job's kind; null where there is no room for another kind.
TimePoint* first_failure(Series& series, const JobOutcome& job) {
  const Kind kind{job.uid, job.program};
  if (const auto known = series.kinds.find(kind); known != series.kinds.end()) return &known->second;
  if (series.kinds.size() >= kMostKindsOfNode) return nullptr;
  return &series.kinds.emplace(kind, kNever).first->second;
}

void end_series(Series& series, TimePoint clean) {
  series = {};
  series.clean = clean;
}

// Whether another of the job's nodes is known to kill jobs: then that one did it.
bool is_explained(const State& state, const JobOutcome& job, const std::string& node) {
  return std::ranges::any_of(job.nodes, [&](const std::string& other) {
    const auto it = state.nodes.find(other);
    return other != node && it != state.nodes.end() && it->second.black;
  });
}

void take_failure(State& state, const std::string& name, const JobOutcome& job, TimePoint at) {
  // Of a wide job any node may have been it.
  if (job.nodes.size() > kNarrow || is_explained(state, job, name)) return;
  Node& node = state.nodes[name];
  Series& series = node.series;
  // It started before the node was mended, or before the series that has ended.
  if (job.start <= series.clean) return;
  if (series.open() && series.last + kSeriesEnds < at) end_series(series, series.last);
  series.start = series.open() ? std::min(series.start, job.start) : job.start;
  series.last = at;
  series.longest = std::max(series.longest, job.lived);
  ++series.in_row;
  if (TimePoint* first = first_failure(series, job)) *first = std::min(*first, job.start);
  add(series.failed, job.uid);
  // A black hole is taken back only by passes after its last failure.
  series.passed_since.clear();
}

void take_pass(State& state, const std::string& name, const JobOutcome& job, TimePoint at) {
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end() || !it->second.series.open()) return;
  Series& series = it->second.series;
  if (job.start < series.start) return;  // it was there before, which says nothing of what starts now
  (void)first_failure(series, job);      // (Its kind is one of this node's now.)
  add(series.passed, job.uid);
  series.in_row = 0;
  add(series.passed_since, job.uid);
  // A node on which as much passes as fails kills nothing.  (One that was called a black hole is taken back
  // in the journal's hearing: decide.cc.)
  const int passed = fairly(series.passed);
  if (!it->second.black && passed >= kMostOfUser && passed >= fairly(series.failed)) end_series(series, at);
}

// One user never convicts a node: it is weighed for him only where his jobs die there one after the other,
// for that is worth an experiment.
bool may_convict(const Node& node) {
  return node.series.open() && (node.black || node.series.failed.size() > 1 || node.series.is_of_one_user());
}

// First all outcomes go into the state, then the nodes are found about which that may have changed the
// judgement: those where something failed, and those on which the same kinds had failed before.
void take_outcomes(State& state, const Event& event, std::vector<std::string>& touched) {
  std::set<Kind> kinds;
  std::vector<JobOutcome> jobs;
  for (const Json& item : event.body["outcomes"].items()) jobs.push_back(JobOutcome::from_json(item));
  // In the order of their starts: what passed on a node before it began to kill is no word for it.
  std::ranges::stable_sort(jobs, {}, &JobOutcome::start);
  for (const JobOutcome& job : jobs) {
    // A run may be told again: to live, and then to have ended; or after a restart, all over.
    const auto before = state.recent.take(event.at, job);
    kinds.insert({job.uid, job.program});
    if (before && (before->ended || (!job.ended && before->passed_early()))) continue;
    for (const std::string& name : job.nodes) {
      if (job.failed_early())
        take_failure(state, name, job, event.at), touched.push_back(name);
      else if (job.passed_early() && !(before && before->passed_early()))
        take_pass(state, name, job, event.at);
    }
  }
  // What a kind does elsewhere speaks of the nodes on which it failed, too.
  for (const auto& [name, node] : state.nodes) {
    if (!may_convict(node)) continue;
    const auto& here = node.series.kinds;
    if (std::ranges::any_of(kinds, [&here](const Kind& kind) { return here.contains(kind); }))
      touched.push_back(name);
  }
  std::erase_if(touched, [&](const std::string& name) {
    const auto it = state.nodes.find(name);
    return it == state.nodes.end() || !may_convict(it->second);
  });
  // First those of several users, so that no user's failures on many nodes take their place.
  std::stable_partition(touched.begin(), touched.end(), [&](const std::string& name) {
    return !state.nodes.at(name).series.is_of_one_user();
  });
  std::vector<std::string> once;
  std::size_t of_one_user = 0;
  for (std::string& name : touched) {
    if (once.size() == kMostJudged) break;
    if (std::ranges::find(once, name) != once.end()) continue;
    if (state.nodes.at(name).series.is_of_one_user() && ++of_one_user > kMostJudgedForOne) break;
    once.push_back(std::move(name));
  }
  touched = std::move(once);
}

// V's word on a node that is weighed.  That it passes there says nothing, for V needs less than jobs do.
void take_verified(State& state, const Event& event, std::vector<std::string>& touched) {
  for (const Json& said : event.body["results"].items()) {
    const std::string& result = said["result"].as_string();
    const auto it = state.nodes.find(said["node"].as_string());
    if (it == state.nodes.end() || !may_convict(it->second) || !said["peer"].as_string().empty() ||
        result == "unknown" || from_micros(event.body["began"].as_int()) < it->second.series.start)
      continue;
    it->second.series.verification_failed =
        result == "failed" && verify_fault_from(said["fault"].as_string()) != VerifyFault::space;
    touched.push_back(it->first);
  }
}

// Who says that it is mended knows more: what was weighed is not weighed again.
void mend(State& state, const std::string& name, TimePoint at) {
  Node node;
  node.series.clean = at;
  state.nodes[name] = std::move(node);
}

// It was booted anew: what was weighed is of another boot.
void take_boots(State& state, const cluster::View& view, std::vector<std::string>& touched) {
  for (const cluster::View::Change& change : view.changes) {
    const auto it = state.nodes.find(change.name);
    if (it == state.nodes.end()) continue;
    const cluster::Node* now = view.node(change.name);
    if (now == nullptr) {
      state.nodes.erase(it);
    } else if (Node& node = it->second; booted_since(now->boot, std::max(node.black_at, node.series.last))) {
      if (node.black)
        node.booted = true, touched.push_back(change.name);  // people heard of it, and hear that it is over
      else
        end_series(node.series, now->boot);
    }
  }
}

}  // namespace

std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event) {
  std::vector<std::string> touched;
  if (event.kind == kJobsEnded) {
    take_outcomes(state, event, touched);
  } else if (event.kind == kVerified) {
    take_verified(state, event, touched);
  } else if (event.kind == kJobsKept) {
    // The summary is the whole state: events of jobs before it may be gone (doc/design/blackhole.md).
    state = state_from(event);
  } else if (event.kind == kNodesSeen) {
    take_boots(state, view, touched);
  } else if (event.kind == kBlackHole) {
    Node& node = state.nodes[std::string(node_of_subject(event.subject))];
    node.black = true;
    node.booted = false;
    node.black_at = event.at;
    node.told = Evidence::from_json(event.body);
    // The jobs that must pass to take it back are counted from now on.
    node.series.passed_since.clear();
  } else if (event.kind == kBlackHoleSuspected) {
    Series& series = state.nodes[std::string(node_of_subject(event.subject))].series;
    if (series.suspected == kNoTime) series.suspected = event.at;
    series.suspected_after = series.failures();
    series.suspected_for_one = event.body.has("uid");
  } else if (event.kind == kBlackHoleOver) {
    mend(state, std::string(node_of_subject(event.subject)), event.at);
  } else if (event.kind == kUndoDrains) {
    const std::string& rule = event.body["rule"].as_string();
    if (!rule.empty() && rule != kBlackHole) return touched;
    const auto said = expand_hostlist(event.body["nodes"].as_string());
    const std::vector<std::string> meant = sorted_hosts(said.value_or(std::vector<std::string>()));
    for (auto& [name, node] : state.nodes)
      if (node.black && (meant.empty() || has_host(meant, name))) mend(state, name, event.at);
  }
  return touched;
}

std::string canonical_text(const State& state) {
  std::string text = state.recent.canonical_text();
  if (state.kept_at != kNoTime) text += fmt::format("outcomes kept at {}\n", to_micros(state.kept_at));
  for (const auto& [name, node] : state.nodes) {
    const Series& s = node.series;
    text +=
        fmt::format("blackhole {} start={} clean={} last={} black={}@{} booted={}", name, to_micros(s.start),
                    to_micros(s.clean), to_micros(s.last), node.black, to_micros(node.black_at), node.booted);
    if (node.black) text += fmt::format(" told={}", node.told.to_json().dump());
    for (const auto& [kind, first] : s.kinds)
      text += fmt::format(" {}:{}@{}", kind.uid, kind.program, to_micros(first));
    const auto list = [&](const char* what, const std::map<std::uint32_t, int>& by_user) {
      for (const auto& [uid, count] : by_user) text += fmt::format(" {}:{}={}", what, uid, count);
    };
    list("failed", s.failed);
    list("passed", s.passed);
    list("since", s.passed_since);
    if (s.open()) text += fmt::format(" longest={} in_row={}", s.longest.count(), s.in_row);
    if (s.verification_failed) text += " verification=failed";
    if (s.suspected != kNoTime)
      text += fmt::format(" suspected={} after={}{}", to_micros(s.suspected), s.suspected_after,
                          s.suspected_for_one ? " for one" : "");
    text += "\n";
  }
  return text;
}

}  // namespace sickbay::blackhole
