// SPDX-License-Identifier: Apache-2.0
// What is a black hole and what is not: one story each.
#include <gtest/gtest.h>

#include "engine/blackhole/blackhole_test_parts.h"

namespace sickbay::blackhole {
namespace {

// Each job that would start goes to n1 and dies there, every second one finds another node.
int eaten_until_found(World& world, std::uint32_t users, int most = 60) {
  for (int i = 0; i < most; ++i) {
    const std::uint32_t uid = 1 + static_cast<std::uint32_t>(i) % users;
    world.dies(uid, program_of(uid), "n1");
    if (world.black("n1")) return i + 1;
    world.ok(uid, program_of(uid), "n" + std::to_string(2 + i % 8));
    if (world.black("n1")) return i + 1;
  }
  return most + 1;
}

TEST(BlackHole, IsFoundBeforeItHasEatenTenJobs) {
  for (const std::uint32_t users : {3U, 4U, 5U, 8U}) {
    World world = healthy_day(users);
    EXPECT_LT(eaten_until_found(world, users), 10) << users << " users";
  }
}

TEST(BlackHole, OfTwoUsersIsFoundWhenBothPassElsewhereMeanwhile) {
  World world = healthy_day(2);
  EXPECT_LE(eaten_until_found(world, 2), 12);
}

TEST(BlackHole, SaysWhatSpeaksAgainstIt) {
  World world = healthy_day(4);
  eaten_until_found(world, 4);
  ASSERT_TRUE(world.black("n1"));
  const Json view = node_view(world.state, "n1");
  EXPECT_EQ(view["users"].as_int(), 4);
  EXPECT_EQ(static_cast<std::size_t>(view["failed"].as_int()), view["jobs"].size());
  EXPECT_GE(view["odds_milli"].as_int(), 11512);  // ln(100 000)
  const std::string& text = view["sentence"].as_string();
  EXPECT_NE(text.find("of 4 users failed within 5 s of their start on n1 since "), std::string::npos) << text;
  EXPECT_NE(text.find("of the same kinds "), std::string::npos) << text;
  EXPECT_TRUE(node_view(world.state, "n2").is_null());
}

// A wide job may have been killed by any of its nodes: how long it lived is no measure for the others.
TEST(BlackHole, AWideJobDoesNotSayHowLongOthersLive) {
  World world = healthy_day(4);
  world.dies(1, program_of(1), "n1");
  world.run(1, program_of(1), {"n1", "n11", "n12", "n13", "n14", "n15", "n16", "n17", "n18"}, true,
            std::chrono::seconds(170));
  eaten_until_found(world, 4);
  ASSERT_TRUE(world.black("n1"));
  EXPECT_EQ(node_view(world.state, "n1")["longest"].as_int(), 5);
}

// None of these is one, however long it goes on.
struct Innocent {
  const char* what;
  void (*story)(World&);
};
void one_user_floods(World& w) {
  for (int i = 0; i < 500; ++i) w.dies(1, program_of(1), "n1");
}
void one_user_floods_and_passes_elsewhere(World& w) {
  for (int i = 0; i < 200; ++i) {
    w.dies(1, program_of(1), "n1");
    w.ok(1, program_of(1), "n2");
  }
}
void one_user_floods_with_many_names(World& w) {
  for (int i = 0; i < 500; ++i) w.dies(1, std::string("v") + static_cast<char>('a' + i % 26), "n1");
}
void one_floods_where_others_pass(World& w) {
  for (int i = 0; i < 200; ++i) {
    w.dies(1, program_of(1), "n1");
    if (i % 5 == 0) w.ok(2 + static_cast<std::uint32_t>(i) % 3, program_of(2), "n1");
  }
}
void a_program_breaks_everywhere(World& w) {
  for (int i = 0; i < 200; ++i)
    w.dies(1 + static_cast<std::uint32_t>(i) % 4, "shared", "n" + std::to_string(1 + i % 8));
}
void a_program_breaks_and_the_first_free_node_gets_all(World& w) {
  for (int i = 0; i < 40; ++i) {
    w.dies(1 + static_cast<std::uint32_t>(i) % 4, "shared", "n1");
    w.ok(5, program_of(5), "n2");  // others' programs are well
  }
}
void all_breaks_everywhere(World& w) {
  for (int i = 0; i < 200; ++i) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 5;
    w.dies(uid, program_of(uid), "n" + std::to_string(1 + i % 8));
  }
}
void all_breaks_and_the_first_free_node_gets_all(World& w) {
  for (int i = 0; i < 100; ++i) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 5;
    w.dies(uid, program_of(uid), "n1");
  }
}
void node_of_one_user(World& w) {
  for (int i = 0; i < 100; ++i) w.dies(9, "lonely", "n1");
}
void partition_that_nobody_leaves(World& w) {
  for (int i = 0; i < 100; ++i) {
    w.dies(20 + static_cast<std::uint32_t>(i) % 3, "special", "n1");
    w.ok(5, program_of(5), "n2");
  }
}
void jobs_that_fail_anyway(World& w) {
  // Three users whose jobs fail half of the time, on any node; those on n1 happen to.
  for (int i = 0; i < 20; ++i)
    for (std::uint32_t uid = 11; uid <= 13; ++uid)
      w.run(uid, program_of(uid), {"n" + std::to_string(2 + i % 8)}, i % 2 == 0);
  for (int i = 0; i < 3; ++i)
    for (std::uint32_t uid = 11; uid <= 13; ++uid) w.dies(uid, program_of(uid), "n1");
}
void wide_jobs(World& w) {
  std::vector<std::string> nodes;
  for (int i = 1; i <= 9; ++i) nodes.push_back("n" + std::to_string(i));
  for (int i = 0; i < 50; ++i)
    w.run(1 + static_cast<std::uint32_t>(i) % 5, program_of(1 + static_cast<std::uint32_t>(i) % 5), nodes,
          true);
}
void failures_that_come_late(World& w) {
  for (int i = 0; i < 60; ++i) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 5;
    w.run(uid, program_of(uid), {"n1"}, true, std::chrono::seconds(181));
    w.ok(uid, program_of(uid), "n2");
  }
}
constexpr Innocent kInnocents[] = {
    {"one user floods a node", one_user_floods},
    {"and passes elsewhere all the while", one_user_floods_and_passes_elsewhere},
    {"under many names", one_user_floods_with_many_names},
    {"where others pass", one_floods_where_others_pass},

    {"a program breaks everywhere", a_program_breaks_everywhere},
    {"and one node gets all of it", a_program_breaks_and_the_first_free_node_gets_all},
    {"all breaks everywhere", all_breaks_everywhere},
    {"and one node gets all of it", all_breaks_and_the_first_free_node_gets_all},

    {"a node that runs one user's jobs only", node_of_one_user},
    {"jobs that run nowhere else", partition_that_nobody_leaves},
    {"jobs that fail anyway", jobs_that_fail_anyway},
    {"jobs of more nodes than can be told apart", wide_jobs},
    {"jobs that had lived before they failed", failures_that_come_late},
};
TEST(BlackHole, IsNot) {
  for (const Innocent& innocent : kInnocents) {
    World world = healthy_day(5);
    innocent.story(world);
    EXPECT_TRUE(world.alarms.empty()) << innocent.what << ": " << world.alarms.front().first;
  }
}

// A flood does not hide the hole that eats it, either: the others' jobs still tell.
TEST(BlackHole, IsFoundUnderAFlood) {
  World world = healthy_day(5);
  int of_others = 0;
  for (int i = 0; i < 400 && !world.black("n1"); ++i) {
    world.dies(1, program_of(1), "n1");
    if (i % 10 != 0) continue;
    const auto uid = 2 + static_cast<std::uint32_t>(of_others++) % 4;
    world.dies(uid, program_of(uid), "n1");
    world.ok(uid, program_of(uid), "n2");
  }
  EXPECT_TRUE(world.black("n1"));
  EXPECT_LT(of_others, 10);
}

TEST(BlackHole, ThatKillsOnlySomeIsFoundLater) {
  World world = healthy_day(5);
  int jobs = 0;
  for (int i = 0; i < 100 && !world.black("n1"); ++i, ++jobs) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 5;
    world.run(uid, program_of(uid), {"n1"}, i % 10 < 7);
    world.ok(uid, program_of(uid), "n" + std::to_string(2 + i % 8));
  }
  EXPECT_TRUE(world.black("n1"));
  EXPECT_LT(jobs, 40);
}

TEST(BlackHole, AnotherNodeOfItsJobsIsNotCharged) {
  World world = healthy_day(4);
  eaten_until_found(world, 4);
  ASSERT_TRUE(world.black("n1"));
  for (int i = 0; i < 40; ++i) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 4;
    world.run(uid, program_of(uid), {"n1", "n2"}, true);
    world.ok(uid, program_of(uid), "n3");
  }
  EXPECT_EQ(world.alarms.size(), 1U);
}

// Until a person or a boot has mended it.
TEST(BlackHole, IsOverWhenJobsPassOnIt) {
  World world = healthy_day(4);
  eaten_until_found(world, 4);
  ASSERT_TRUE(world.black("n1"));
  world.ok(1, program_of(1), "n1");
  world.ok(1, program_of(1), "n1");
  world.dies(2, program_of(2), "n1");
  world.ok(1, program_of(1), "n1");
  world.ok(2, program_of(2), "n1");
  EXPECT_TRUE(world.black("n1"));
  world.ok(1, program_of(1), "n1");
  EXPECT_FALSE(world.black("n1"));
  ASSERT_EQ(world.overs.size(), 1U);
  // And it is found again, if it is one again.
  EXPECT_LT(eaten_until_found(world, 4), 10);
}

TEST(BlackHole, IsOverWhenItsNodeHasBooted) {
  World world = healthy_day(4);
  eaten_until_found(world, 4);
  const auto see_boot = [&](TimePoint boot) {
    cluster::Node node;
    node.boot = boot;
    world.view.nodes["n1"] = node;
    world.view.changes = {{"n1", node, false}};
    world.take(new_event("cluster", kNodesSeen, Json::object()));
  };
  see_boot(world.now - std::chrono::hours(1));
  EXPECT_TRUE(world.black("n1"));
  world.now += std::chrono::minutes(5);
  see_boot(world.now - std::chrono::minutes(1));
  EXPECT_FALSE(world.black("n1"));
}

TEST(BlackHole, IsOverWhenAPersonHasUndoneIt) {
  for (const char* rule : {"", "black_hole", "memory/p2"}) {
    World world = healthy_day(4);
    eaten_until_found(world, 4);
    ASSERT_TRUE(world.black("n1"));
    const Json others = Json::object({{"nodes", "n[2-9]"}, {"rule", rule}});
    world.take(new_event("cluster", kUndoDrains, others));
    EXPECT_TRUE(world.black("n1"));
    world.take(new_event("cluster", kUndoDrains, Json::object({{"nodes", "n1"}, {"rule", rule}})));
    EXPECT_EQ(world.black("n1"), std::string_view(rule) == "memory/p2") << rule;
  }
}

// A sickbayd that starts anew is told of what has just ended once more.
TEST(BlackHole, WhatIsToldTwiceCountsOnce) {
  World world = healthy_day(2);
  const JobOutcome failed = world.run(1, program_of(1), {"n1"}, true);
  for (int i = 0; i < 20; ++i) world.tell(failed);
  EXPECT_EQ(world.state.nodes.at("n1").series.failed.at(1), 1);
  JobOutcome passed = world.run(2, program_of(2), {"n1"}, false, kEarly);
  passed.ended = false;
  for (int i = 0; i < 20; ++i) world.tell(passed);
  EXPECT_EQ(world.state.nodes.at("n1").series.passed.at(2), 1);
}

TEST(BlackHole, StaysOneWhereASingleUserGetsThroughAFewTimes) {
  World world = healthy_day(4);
  eaten_until_found(world, 4);
  for (int i = 0; i < 9; ++i) world.ok(1, program_of(1), "n1");
  EXPECT_TRUE(world.black("n1"));
  world.ok(1, program_of(1), "n1");
  EXPECT_FALSE(world.black("n1"));
}

TEST(BlackHole, AReplayGivesTheSameState) {
  World world = healthy_day(6);
  eaten_until_found(world, 6);
  one_floods_where_others_pass(world);
  World again;
  for (const Event& event : world.journal) apply(again.state, again.view, event);
  EXPECT_EQ(canonical_text(again.state), canonical_text(world.state));
  EXPECT_NE(canonical_text(world.state).find("black=true"), std::string::npos);
}

State replayed(const std::vector<Event>& journal, bool with_jobs_before, TimePoint kept) {
  World again;
  for (const Event& event : journal)
    if (with_jobs_before || event.subject != "jobs" || event.at >= kept)
      apply(again.state, again.view, event);
  return std::move(again.state);
}

// The events of jobs before a summary can go: a replay gives the same with them and without.
TEST(BlackHole, ASummaryStandsForAllThatJobsCameToBefore) {
  World world = healthy_day(6);
  eaten_until_found(world, 6);
  ASSERT_TRUE(world.black("n1"));
  world.dies(2, program_of(2), "n5");  // under suspicion, no more
  world.dies(3, program_of(3), "n5");
  const std::string before = canonical_text(world.state);
  const TimePoint kept = world.now;
  world.take(new_event("jobs", kJobsKept, summary(world.state, world.now)));
  EXPECT_EQ(canonical_text(world.state).size(), before.size() + std::string("outcomes kept at ").size() +
                                                    std::to_string(to_micros(kept)).size() + 1)
      << "all of it was fresh";
  // It goes on where it stood.
  for (int i = 0; i < 9; ++i) {
    const auto uid = 1 + static_cast<std::uint32_t>(i) % 6;
    world.dies(uid, program_of(uid), "n5");
    world.ok(uid, program_of(uid), "n7");
  }
  EXPECT_TRUE(world.black("n5"));
  for (std::uint32_t uid = 1; uid <= 3; ++uid) world.ok(uid, program_of(uid), "n1");
  EXPECT_FALSE(world.black("n1"));
  const std::string now = canonical_text(world.state);
  EXPECT_EQ(canonical_text(replayed(world.journal, true, kept)), now);
  EXPECT_EQ(canonical_text(replayed(world.journal, false, kept)), now);
}

TEST(BlackHole, ASummaryLeavesOutWhatIsOld) {
  World world = healthy_day(3);
  world.now += kFresh + std::chrono::hours(1);
  world.ok(2, program_of(2), "n4");
  world.take(new_event("jobs", kJobsKept, summary(world.state, world.now)));
  EXPECT_EQ(world.state.recent.kinds(), 1U);
  EXPECT_EQ(world.state.recent.of({2, program_of(2)}).size(), 1U);
  EXPECT_EQ(world.state.recent.all().size(), 1U);
  EXPECT_EQ(canonical_text(replayed(world.journal, false, world.now - std::chrono::seconds(30))),
            canonical_text(world.state));
}

}  // namespace
}  // namespace sickbay::blackhole
