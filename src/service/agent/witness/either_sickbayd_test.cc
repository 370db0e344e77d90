// SPDX-License-Identifier: Apache-2.0
#include "service/agent/witness/either_sickbayd.h"

#include <gtest/gtest.h>

#include <vector>

namespace sickbay::agent {
namespace {

struct Played final : HttpClient {
  int asked = 0;
  Result<Json> answer = Json::object();
  std::vector<Done<Json>> held;
  bool hold = false;
  void ask(HttpQuestion, Done<Json> done) override {
    ++asked;
    if (hold) return held.push_back(std::move(done));
    done(answer);
  }
};

struct Two : testing::Test {
  Played first, second;
  EitherSickbayd either{first, second};
  Result<Json> got = fail(ErrorCode::internal, "");
  void ask() {
    either.ask({}, [this](Result<Json> answer) { got = std::move(answer); });
  }
};

TEST_F(Two, GoesOnWithWhoAnswers) {
  ask();
  ask();
  EXPECT_TRUE(got);
  EXPECT_EQ(first.asked, 2);
  EXPECT_EQ(second.asked, 0);
}

TEST_F(Two, TheNextQuestionGoesToTheOther) {
  for (const ErrorCode code : {ErrorCode::daemon_away, ErrorCode::timed_out, ErrorCode::busy}) {
    first.answer = fail(code, "no");
    const int before = second.asked;
    ask();
    EXPECT_FALSE(got) << "what failed has failed";
    ask();
    EXPECT_TRUE(got);
    EXPECT_EQ(second.asked, before + 1);
    second.answer = fail(code, "no");
    ask();
    second.answer = Json::object();
  }
}

TEST_F(Two, WhatSickbaydRefusesIsItsAnswer) {
  first.answer = fail(ErrorCode::denied, "no");
  ask();
  ask();
  EXPECT_EQ(first.asked, 2);
}

TEST_F(Two, TwoFailuresOfTheSameOneTurnOnce) {
  first.hold = true;
  ask();
  ask();
  for (const auto& done : first.held) done(fail(ErrorCode::daemon_away, "away"));
  ask();
  EXPECT_EQ(second.asked, 1);
}

}  // namespace
}  // namespace sickbay::agent
