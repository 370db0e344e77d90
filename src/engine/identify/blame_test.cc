// SPDX-License-Identifier: Apache-2.0
// The index of blamed nodes equals a walk over all cases, whatever happens to them.
#include "engine/identify/blame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/ids.h"

namespace sickbay::identify {
namespace {

constexpr int kCases = 12, kNodes = 8;

// What the index stands for.
std::map<std::string, std::set<std::int64_t>> walk(const State& state) {
  std::map<std::string, std::set<std::int64_t>> blamed;
  for (const auto& [no, subject] : state.cases)
    if (subject.verdict) {
      if (subject.verdict->cause == Cause::node)
        for (const std::string& node : subject.verdict->nodes) blamed[node].insert(no);
      if (subject.verdict->faulty)
        for (const Faulty& f : *subject.verdict->faulty)
          if (f.peer.empty()) blamed[f.node].insert(no);
    }
  return blamed;
}

// Random lives of cases, in which each kind of event comes at every time: verdicts that replace each other,
// also after the close, and archived cases that are opened anew under their number.
class Lives {
 public:
  explicit Lives(unsigned seed) : random_(seed) {}

  Event next() {
    Event event;
    event.subject = case_name(1 + pick(kCases));
    switch (pick(8)) {
      case 0:
      case 1:
        event.kind = kCaseOpened;
        break;
      case 2:
        event.kind = kCaseClosed;
        break;
      case 3:
        event.kind = kArchived;
        break;
      default:
        event.kind = kVerdict;
        event.body = verdict().to_json();
    }
    event.at = from_unix_seconds(1'800'000'000 + ++seconds_);
    return event;
  }

 private:
  int pick(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  Verdict verdict() {
    Verdict v;
    v.cause = pick(3) == 0 ? Cause::program : Cause::node;
    v.final = pick(2) == 0;
    for (int n = pick(4); n > 0; --n) v.nodes.push_back("n" + std::to_string(pick(kNodes)));  // also twice
    if (pick(2) == 0) return v;  // of a version with one answer
    v.faulty.emplace();
    for (int n = pick(3); n > 0; --n)
      v.faulty->push_back(
          {"n" + std::to_string(pick(kNodes)), pick(3) == 0 ? "n9" : "", "c1.v1", "slow", "", false});
    return v;
  }
  std::mt19937 random_;
  std::int64_t seconds_ = 0;
};

TEST(Blame, IsWhatAWalkOverAllCasesFinds) {
  std::size_t archived = 0, most = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Lives lives(seed);
    State state;
    std::vector<Event> journal;
    for (int i = 0; i < 500; ++i) {
      const Event event = lives.next();
      const std::size_t cases = state.cases.size();
      journal.push_back(event);
      apply(state, {}, event);
      archived += state.cases.size() < cases;
      most = std::max(most, state.blamed.size());
      ASSERT_EQ(state.blamed, walk(state)) << "seed " << seed << ": " << event.text();
    }
    State again;
    for (const Event& event : journal) apply(again, {}, event);
    EXPECT_EQ(again.blamed, state.blamed) << "a replay gives the same";
    for (int n = 0; n < kNodes; ++n) {
      const std::string node = "n" + std::to_string(n);
      EXPECT_EQ(blamers(state, node), walk(state)[node]);
    }
  }
  EXPECT_GT(archived, 100u) << "cases went";
  EXPECT_EQ(most, std::size_t{kNodes}) << "every node was blamed at a time";
}

}  // namespace
}  // namespace sickbay::identify
