// SPDX-License-Identifier: Apache-2.0
// What follows from committed events waits where somebody holds it (Controller::hold_by).
#include "model/verbs.h"
#include "service/api_test_parts.h"
#include "service/ledger.h"

namespace sickbay {
namespace {

class HoldTest : public ApiTest {
 protected:
  // sickbayd ends, and its journal has a drain that was intended and not done.
  void leave_a_drain_under_way() {
    stop();
    std::vector<Event> left{Ledger::intent({"node:n1.d1",
                                            "node:n1",
                                            std::string(verb::kDrain),
                                            Json::object({{"node", "n1"}, {"reason", "sickbay:f1 disk"}}),
                                            {}})};
    left.front().at = std::max(journal_.last_stamp(), loop_.now());
    ASSERT_TRUE(journal_.append(left));
  }
};

Event some_event(int n) { return new_event("c9", "lab_fault", Json::object({{"n", n}})); }

TEST_F(HoldTest, WhatIsCommittedIsToldOfWhenItIsLetGo) {
  std::vector<std::pair<std::int64_t, std::function<void()>>> held;
  std::vector<int> told;
  controller_->hold_by(
      [&](std::int64_t seq, std::function<void()> then) { held.emplace_back(seq, std::move(then)); });
  controller_->on_committed([&](const Event& e) {
    if (e.kind == "lab_fault") told.push_back(static_cast<int>(e.body["n"].as_int()));
  });
  std::vector<int> kept;
  for (int n : {1, 2}) {
    controller_->take({some_event(n)}, [&kept, n](Status is) {
      if (is) kept.push_back(n);
    });
    pass(std::chrono::seconds(1));
  }
  ASSERT_GE(held.size(), 2U);
  EXPECT_TRUE(kept.empty());
  EXPECT_TRUE(told.empty());
  // They are in the journal all the same, in the order in which they are held.
  EXPECT_EQ(held.back().first, journal_.last_seq());
  for (std::size_t i = 1; i < held.size(); ++i) EXPECT_GE(held[i].first, held[i - 1].first);
  for (const auto& [seq, then] : held) then();
  EXPECT_EQ(kept, (std::vector<int>{1, 2}));
  EXPECT_EQ(told, (std::vector<int>{1, 2}));
}

// What is read is not held; what changes something is answered when it counts.
TEST_F(HoldTest, AnswersWaitAndReadsDoNot) {
  std::vector<std::function<void()>> held;
  controller_->hold_by([&](std::int64_t, std::function<void()> then) { held.push_back(std::move(then)); });
  const auto read = ask("alice", "GET", "/v1/cases");
  EXPECT_EQ(read->response.status, 200);
  const auto posted = ask("ops", "POST", "/v1/undo-drains", "{}", "k1");
  EXPECT_FALSE(posted->answered);
  for (const auto& then : held) then();
  pass(std::chrono::milliseconds(50));
  EXPECT_TRUE(posted->answered);
  EXPECT_EQ(posted->response.status, 200) << posted->response.body;
}

// An intent that the other sickbayd may not have is no reason to act: that one would intend it anew.
TEST_F(HoldTest, WhatASickbaydBeforeHadUnderWayIsDoneWhenItCounts) {
  ASSERT_NO_FATAL_FAILURE(leave_a_drain_under_way());
  start();
  std::vector<std::function<void()>> held;
  controller_->hold_by([&](std::int64_t, std::function<void()> then) { held.push_back(std::move(then)); });
  pass(std::chrono::seconds(10));
  EXPECT_EQ(cluster_.node("n1")->reason, "");
  for (const auto& then : std::exchange(held, {})) then();
  pass(std::chrono::seconds(1));
  EXPECT_EQ(cluster_.node("n1")->reason, "sickbay:f1 disk");
}

// When the lease runs out nothing is begun any more: neither what was begun before, and is tried again.
TEST_F(HoldTest, ATryThatIsMadeAgainWaitsToo) {
  ASSERT_NO_FATAL_FAILURE(leave_a_drain_under_way());
  cluster_.fail_calls("drain", sim::SimCallFault::lost_request);
  start();
  bool has_lease = true;
  std::vector<std::function<void()>> held;
  controller_->hold_by([&](std::int64_t, std::function<void()> then) {
    if (has_lease) return then();
    held.push_back(std::move(then));
  });
  pass(std::chrono::seconds(10));  // the call is under way, and its answer will not come
  has_lease = false;
  pass(std::chrono::seconds(60));
  const auto drains = [this] {
    std::size_t calls = 0;
    for (const CallCount& count : cluster_.calls())
      if (count.call == "drain") calls = count.count;
    return calls;
  };
  EXPECT_EQ(drains(), 1U);
  has_lease = true;
  for (const auto& then : std::exchange(held, {})) then();
  pass(std::chrono::seconds(1));
  EXPECT_EQ(drains(), 2U);
}

}  // namespace
}  // namespace sickbay
