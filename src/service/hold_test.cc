// SPDX-License-Identifier: Apache-2.0
// What follows from committed events waits where somebody holds it (Controller::hold_by).
#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using HoldTest = ApiTest;

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

}  // namespace
}  // namespace sickbay
