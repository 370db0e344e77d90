// SPDX-License-Identifier: Apache-2.0
// Under suspicion: a node on which whatever starts fails, while nothing runs elsewhere that could tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/blackhole/blackhole_test_parts.h"

namespace sickbay::blackhole {
namespace {

// One after the other they go to n1, which is free again at once.
int eaten_until_suspected(World& world, std::uint32_t users, int most = 60) {
  for (int i = 0; i < most; ++i) {
    const std::uint32_t uid = 1 + static_cast<std::uint32_t>(i) % users;
    world.dies(uid, program_of(uid), "n1");
    if (!world.suspicions.empty()) return i + 1;
  }
  return most + 1;
}

TEST(Suspicion, ComesBeforeTenJobsAreEaten) {
  for (const std::uint32_t users : {3U, 4U, 5U, 8U}) {
    World world = healthy_day(users);
    EXPECT_LT(eaten_until_suspected(world, users), 10) << users << " users";
    EXPECT_TRUE(world.alarms.empty());
    EXPECT_EQ(world.suspicions.front().first, "n1");
  }
}

TEST(Suspicion, IsToldAgainWhenTwiceAsManyAreEaten) {
  World world = healthy_day(4);
  const int first = eaten_until_suspected(world, 4);
  for (int i = first; i < 8 * first; ++i) {
    const std::uint32_t uid = 1 + static_cast<std::uint32_t>(i) % 4;
    world.dies(uid, program_of(uid), "n1");
  }
  EXPECT_EQ(world.suspicions.size(), 4U) << "1, 2, 4 and 8 times as many";
  const std::string text = suspicion_view(world.state, "n1")["sentence"].as_string();
  EXPECT_NE(text.find("of 4 users failed within 5 s of their start on n1 since "), std::string::npos) << text;
  EXPECT_NE(text.find("; no other job has begun on other nodes since"), std::string::npos) << text;
  EXPECT_TRUE(suspicion_view(world.state, "n2").is_null());
  EXPECT_TRUE(node_view(world.state, "n1").is_null()) << "it is no black hole";
}

// What an operator loses by waiting: each second a job.  So Slurm is looked at more often, and younger jobs
// elsewhere count.
TEST(Suspicion, WhileItEatsYoungerJobsAreToldOf) {
  World world = healthy_day(3);
  const auto run = [&](std::uint32_t uid, bool failed, int lived) {
    world.run(uid, program_of(uid), {"n1"}, failed, std::chrono::seconds(lived), std::chrono::seconds(lived));
  };
  run(1, true, 1);
  run(1, true, 1);
  run(1, true, 1);
  EXPECT_FALSE(is_eating(world.state, world.now)) << "one user's";
  EXPECT_FALSE(wants_lives(world.state, world.now));
  run(2, true, 1);
  EXPECT_TRUE(is_eating(world.state, world.now));
  EXPECT_EQ(wants_lives(world.state, world.now), std::chrono::seconds(5));
  EXPECT_FALSE(is_eating(world.state, world.now + std::chrono::seconds(61))) << "it has eaten";
  EXPECT_EQ(wants_lives(world.state, world.now + std::chrono::seconds(61)), kLives);
  run(3, false, 1);
  EXPECT_FALSE(is_eating(world.state, world.now)) << "one got through";
  run(2, true, 3);
  EXPECT_FALSE(is_eating(world.state, world.now)) << "one in a row";
  run(3, true, 3);
  EXPECT_TRUE(is_eating(world.state, world.now));
  EXPECT_EQ(wants_lives(world.state, world.now), kLives) << "three seconds are not at once";
}

// That is what the experiment is for: as long as V has the node, jobs run elsewhere.
TEST(Suspicion, AFewJobsElsewhereConvict) {
  World world = healthy_day(3);
  for (int i = 0; i < 12; ++i) {
    const std::uint32_t uid = 1 + static_cast<std::uint32_t>(i) % 3;
    world.dies(uid, program_of(uid), "n1");
  }
  ASSERT_FALSE(world.suspicions.empty());
  int passed = 0;
  for (; passed < 20 && !world.black("n1"); ++passed) {
    const std::uint32_t uid = 1 + static_cast<std::uint32_t>(passed) % 3;
    world.ok(uid, program_of(uid), "n2");
  }
  EXPECT_LE(passed, 4);
  EXPECT_TRUE(world.black("n1"));
  EXPECT_TRUE(suspicion_view(world.state, "n1").is_null());
}

// V needs less than jobs do: that it fails on the node, too, is worth some of them, and that it does not is
// worth nothing.
TEST(Suspicion, WhereVFailsTooFewerJobsConvict) {
  const auto passed_until_black = [](const std::string& result, const std::string& fault, bool before) {
    World world = healthy_day(3, 2);  // little is known of these programs
    const TimePoint start = world.now;
    for (int i = 0; i < 6; ++i) {
      const std::uint32_t uid = 1 + static_cast<std::uint32_t>(i) % 3;
      world.dies(uid, program_of(uid), "n1");
    }
    Event said = new_event(
        "p1", kVerified,
        Json::object(
            {{"run", "p1.v1"},
             {"began", to_micros(before ? start - std::chrono::minutes(1) : world.now)},
             {"results", Json::array({Json::object(
                             {{"node", "n1"}, {"peer", ""}, {"result", result}, {"fault", fault}})})}}));
    world.take(std::move(said));
    EXPECT_TRUE(world.alarms.empty()) << "something may be away everywhere";
    int passed = 0;
    for (; passed < 40 && !world.black("n1"); ++passed) {
      const std::uint32_t uid = 1 + static_cast<std::uint32_t>(passed) % 3;
      world.ok(uid, program_of(uid), "n2");
    }
    return passed;
  };
  const int alone = passed_until_black("unknown", "", false);
  EXPECT_LT(passed_until_black("failed", "disk", false), alone) << alone;
  EXPECT_EQ(passed_until_black("ok", "", false), alone);
  EXPECT_EQ(passed_until_black("failed", "space", false), alone) << "a user's doing";
  EXPECT_EQ(passed_until_black("failed", "disk", true), alone) << "of before";
}

// And where they fail there, too, it was not the node.
TEST(Suspicion, JobsThatFailElsewhereTooAcquit) {
  World world = healthy_day(3);
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t uid = 1 + static_cast<std::uint32_t>(i) % 3;
    world.dies(uid, program_of(uid), i < 12 ? "n1" : "n" + std::to_string(2 + i % 6));
  }
  EXPECT_TRUE(world.alarms.empty());
  ASSERT_FALSE(world.suspicions.empty());
  for (const auto& [node, at] : world.suspicions) EXPECT_EQ(node, "n1") << "nobody else is suspected";
  const std::string text = suspicion_view(world.state, "n1")["sentence"].as_string();
  EXPECT_NE(text.find("passed on other nodes, and "), std::string::npos) << text;
}

struct Unsuspected {
  const char* what;
  void (*story)(World&);
};
void one_user(World& w) {
  for (int i = 0; i < 300; ++i) w.dies(1, program_of(1), "n1");
}
void one_user_of_many_programs(World& w) {
  for (int i = 0; i < 300; ++i) w.dies(1, std::string("v") + static_cast<char>('a' + i % 26), "n1");
}
void two_users_once_each(World& w) {
  w.dies(1, program_of(1), "n1");
  w.dies(2, program_of(2), "n1");
}
void everywhere(World& w) {
  for (int i = 0; i < 200; ++i) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 5;
    w.dies(uid, program_of(uid), "n" + std::to_string(1 + i % 8));
  }
}
void half_of_them_pass(World& w) {
  for (int i = 0; i < 200; ++i) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 5;
    w.run(uid, program_of(uid), {"n1"}, i % 2 == 0);
  }
}
void a_program_that_all_run(World& w) {
  for (int i = 0; i < 200; ++i) w.dies(1 + static_cast<std::uint32_t>(i) % 5, "shared", "n1");
}
void programs_that_always_fail(World& w) {
  for (int i = 0; i < 20; ++i)
    for (std::uint32_t uid = 11; uid <= 14; ++uid)
      w.run(uid, program_of(uid), {"n" + std::to_string(2 + i % 8)}, true);
  for (int i = 0; i < 40; ++i) {
    const auto uid = 11 + static_cast<std::uint32_t>(i) % 4;
    w.dies(uid, program_of(uid), "n1");
  }
}
void over_a_week(World& w) {
  for (int i = 0; i < 60; ++i) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 5;
    w.run(uid, program_of(uid), {"n1"}, true, std::chrono::seconds(5), std::chrono::hours(25));
  }
}
constexpr Unsuspected kUnsuspected[] = {
    {"one user's", one_user},
    {"one user's, under many names", one_user_of_many_programs},
    {"two failures", two_users_once_each},
    {"all fails everywhere", everywhere},
    {"half of them pass there", half_of_them_pass},
    {"one program that all run", a_program_that_all_run},
    {"programs that fail anywhere", programs_that_always_fail},
    {"a failure a day", over_a_week},
};
TEST(Suspicion, IsNot) {
  for (const Unsuspected& row : kUnsuspected) {
    World world = healthy_day(5);
    row.story(world);
    EXPECT_TRUE(world.suspicions.empty()) << row.what << ": " << world.suspicions.front().first;
    EXPECT_TRUE(world.alarms.empty()) << row.what;
  }
}

TEST(Suspicion, AReplayAndASummaryKeepIt) {
  World world = healthy_day(4);
  eaten_until_suspected(world, 4);
  world.take(new_event("jobs", kJobsKept, summary(world.state, world.now)));
  world.dies(1, program_of(1), "n1");
  EXPECT_EQ(world.suspicions.size(), 1U) << "not told anew";
  World again;
  for (const Event& event : world.journal) apply(again.state, again.view, event);
  EXPECT_EQ(canonical_text(again.state), canonical_text(world.state));
  EXPECT_NE(canonical_text(world.state).find(" suspected="), std::string::npos);
}

// A node that was mended begins anew: the next suspicion is news.
TEST(Suspicion, OfTheNextSeriesIsToldAgain) {
  World world = healthy_day(4);
  eaten_until_suspected(world, 4);
  for (std::uint32_t uid = 1; uid <= 4; ++uid)
    for (int i = 0; i < 3; ++i) world.ok(uid, program_of(uid), "n1");
  EXPECT_TRUE(suspicion_view(world.state, "n1").is_null());
  world.suspicions.clear();
  EXPECT_LT(eaten_until_suspected(world, 4), 20);
}

// --- one user's jobs

// Turn by turn one of user 1's jobs dies on n1, and `passes` of them pass elsewhere.
int eaten_for_one(World& world, int passes, int most = 40) {
  for (int i = 0; i < most; ++i) {
    world.dies(1, program_of(1), "n1");
    for (int k = 0; k < passes; ++k) world.ok(1, program_of(1), "n" + std::to_string(2 + (i + k) % 8));
    if (!world.suspicions.empty()) return i + 1;
  }
  return most + 1;
}

// An array of a thousand tasks is one user's: nobody else's jobs need die before somebody looks.
TEST(SuspicionForOne, WhatPassesElsewhereMeanwhileIsWorthAnExperiment) {
  for (const int passes : {1, 2, 3}) {
    World world = healthy_day(3);
    EXPECT_LT(eaten_for_one(world, passes), 10) << passes << " pass elsewhere for each that dies";
    EXPECT_EQ(world.suspicions.front().first, "n1");
  }
}

TEST(SuspicionForOne, BlackensNobodyHoweverManyDie) {
  World world = healthy_day(3);
  const int first = eaten_for_one(world, 1);
  for (int i = first; i < 200; ++i) {
    world.dies(1, program_of(1), "n1");
    world.ok(1, program_of(1), "n2");
  }
  EXPECT_TRUE(world.alarms.empty());
  EXPECT_TRUE(suspicion_view(world.state, "n1").is_null()) << "nobody is told of it";
  // Told again when twice as many have died.
  EXPECT_EQ(world.suspicions.size(), 1 + static_cast<std::size_t>(std::log2(200 / first)));
  const auto told = std::ranges::find(world.journal, kBlackHoleSuspected, &Event::kind);
  ASSERT_NE(told, world.journal.end());
  EXPECT_EQ(told->body["uid"].as_int(), 1);
  EXPECT_NE(told->body["sentence"].as_string().find("jobs of 1 user failed within 5 s"), std::string::npos);
  EXPECT_NE(
      told->body["sentence"].as_string().find(" that began since then passed on other nodes, and 0 failed"),
      std::string::npos)
      << told->body["sentence"].as_string();
}

TEST(SuspicionForOne, NoneWhereItMayBeTheProgram) {
  struct Row {
    const char* what;
    int passes, failures;  // elsewhere, for each that dies here
    bool passes_here;
  };
  for (const Row& row :
       {Row{"nothing runs elsewhere", 0, 0, false}, Row{"it fails elsewhere, too", 1, 1, false},
        Row{"it passes here, too", 1, 0, true}}) {
    World world = healthy_day(3);
    for (int i = 0; i < 60; ++i) {
      world.dies(1, program_of(1), "n1");
      if (row.passes_here) world.ok(1, program_of(1), "n1");
      for (int k = 0; k < row.passes; ++k) world.ok(1, program_of(1), "n" + std::to_string(2 + i % 8));
      for (int k = 0; k < row.failures; ++k)
        world.dies(1, program_of(1), "n" + std::to_string(2 + (i + 3) % 8));
    }
    EXPECT_TRUE(world.suspicions.empty()) << row.what;
  }
}

// As soon as others' jobs die, too, it is everybody's: that is told at once, however many his were.
TEST(SuspicionForOne, ASecondUserIsNews) {
  World world = healthy_day(4);
  for (int i = 0; i < 100; ++i) {
    world.dies(1, program_of(1), "n1");
    world.ok(1, program_of(1), "n2");
  }
  const std::size_t before = world.suspicions.size();
  int more = 0;
  for (; more < 20 && world.suspicions.size() == before && world.alarms.empty(); ++more)
    world.dies(2 + static_cast<std::uint32_t>(more) % 2, program_of(2 + static_cast<std::uint32_t>(more) % 2),
               "n1");
  EXPECT_LT(more, 10);
  if (world.alarms.empty()) {
    EXPECT_FALSE(world.journal.back().body.has("uid"));
    EXPECT_FALSE(suspicion_view(world.state, "n1").is_null());
  }
}

// One user's failures on more nodes than are weighed after one event, and a node that eats everybody's among
// them.
TEST(SuspicionForOne, AFloodHidesNoOtherNode) {
  World world = healthy_day(4);
  const auto flood = [&](bool with_hole) {
    Json outcomes = Json::array();
    const auto add = [&](std::uint32_t uid, const std::string& node, bool failed) {
      JobOutcome outcome;
      outcome.job = ++world.last_job;
      outcome.start = world.now;
      outcome.uid = uid;
      outcome.program = program_of(uid);
      outcome.nodes = {node};
      outcome.lived = std::chrono::seconds(5);
      outcome.failed = failed;
      outcomes.push(outcome.to_json());
    };
    for (int node = 0; node < 200; ++node) add(9, "a" + std::to_string(node), true);
    for (int i = 0; with_hole && i < 3; ++i) add(1 + static_cast<std::uint32_t>(i), "z1", true);
    for (std::uint32_t uid = 1; with_hole && uid < 4; ++uid) add(uid, "n" + std::to_string(2 + uid), false);
    world.now += std::chrono::seconds(20);
    world.take(new_event("jobs", kJobsEnded, Json::object({{"outcomes", std::move(outcomes)}})));
  };
  for (int i = 0; i < 6; ++i) flood(false);
  int more = 0;
  for (; more < 40 && world.alarms.empty(); ++more) flood(true);
  EXPECT_TRUE(world.black("z1"));
  EXPECT_LE(more, 10) << "floods, each with one job of three users";
}

}  // namespace
}  // namespace sickbay::blackhole
