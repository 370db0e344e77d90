// SPDX-License-Identifier: Apache-2.0
// Fleets of nodes with one thing or another about them, and what is told of it.
#include "engine/fleet/fleet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cluster/cluster_test_parts.h"
#include "engine/fleet/classes.h"
#include "engine/fleet/facts.h"
#include "model/event_kinds.h"
#include "model/ids.h"

namespace sickbay::fleet {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Facts = std::map<std::string, std::string>;

const Facts kUsual = {{"arch", "x86_64"},        {"cpu", "Chip 6248"},   {"cores", "40"},
                      {"memory_mib", "191800"},  {"kernel", "6.1.0-28"}, {"mount:/home", "nfs4"},
                      {"mount:/scratch", "xfs"}, {"link:eth0", "25000"}, {"version:slurmd", "22.05.8"},
                      {"version:agent", "1.0"}};

Facts with(Facts facts, const std::string& name, const std::string& value) {
  facts[name] = value;
  return facts;
}
Facts without(Facts facts, const std::string& name) {
  facts.erase(name);
  return facts;
}

struct Scene {
  State state;
  Policy policy;
  cluster::View view;
  TimePoint now = cluster::kStart;
  std::vector<Event> log;
  TimePoint wake = kNever;

  void take(Event event) {
    event.at = now;
    (void)apply(state, view, event);
    log.push_back(std::move(event));
  }
  void tell(const std::string& node, const Facts& facts) {
    Json json = Json::object();
    for (const auto& [name, value] : facts) json.set(name, value);
    take(new_event(node_subject(node), kFactsSeen, Json::object({{"facts", std::move(json)}})));
  }
  void fill(int from, int to, const Facts& facts) {
    for (int i = from; i <= to; ++i) tell(fmt::format("n{}", i), facts);
  }
  /// What is new: one line for each record.
  std::vector<std::string> look() {
    Decision d = decide(state, policy, now);
    wake = d.wake_at;
    std::vector<std::string> lines;
    for (Event& record : d.records) {
      const bool over = record.body["over"].as_bool();
      lines.push_back(over ? "over: " + record.body["key"].as_string()
                           : record.body["severity"].as_string() + ": " + record.body["text"].as_string());
      take(std::move(record));
    }
    return lines;
  }
  std::vector<std::string> look_after(std::chrono::seconds time) {
    now += time;
    return look();
  }
};

// What others of the class have: the number says it, also where it is the only one of a node.
TEST(Fleet, WhatFellOffTheBus) {
  Facts usual = kUsual;
  for (const auto& [name, value] :
       Facts{{"gpus", "8"}, {"infiniband", "1"}, {"disks", "2"}, {"memory_modules", "16"}})
    usual[name] = value;
  const struct {
    const char *fact, *value, *told;
  } rows[] = {
      {"gpus", "7", "warn: n3 has GPUs 7, where 9 others have 8"},
      {"gpus", "0", "warn: n3 has no GPUs, where 9 others have 8"},
      {"infiniband", "0", "warn: n3 has no InfiniBand adapters, where 9 others have 1"},
      {"disks", "1", "warn: n3 has disks 1, where 9 others have 2"},
      {"disks", "3", "info: n3 has disks 3, where 9 others have 2"},
      {"memory_modules", "15", "warn: n3 has memory modules 15, where 9 others have 16"},
  };
  for (const auto& row : rows) {
    Scene s;
    s.fill(1, 10, usual);
    s.tell("n3", with(usual, row.fact, row.value));
    EXPECT_THAT(s.look_after(301s), ElementsAre(row.told)) << row.fact << " " << row.value;
    s.tell("n3", usual);
    EXPECT_EQ(s.look_after(301s).size(), 1u) << "and its end";
    // A site that wants it: such a node is drained.
    Scene strict;
    strict.policy.drains = {row.fact};
    strict.fill(1, 10, usual);
    strict.tell("n3", with(usual, row.fact, row.value));
    EXPECT_EQ(strict.look_after(301s).at(0).starts_with("drain: "),
              std::string(row.told).starts_with("warn"));
  }
}

TEST(Fleet, TheOddOneOut) {
  const struct {
    const char* what;
    Facts odd;
    const char* told;  ///< "": nothing
  } rows[] = {
      {"as the others", kUsual, ""},
      {"a mount is missing", without(kUsual, "mount:/home"),
       "warn: n3 lacks /home (nfs4), which 9 others mount"},
      {"another file system", with(kUsual, "mount:/scratch", "tmpfs"),
       "warn: n3 mounts /scratch as tmpfs and not xfs, which 9 others mount"},
      // Not alarming as a missing one is.
      {"a mount that only it has", with(kUsual, "mount:/mnt", "ext4"),
       "info: n3 mounts /mnt (ext4), which 9 others do not"},

      {"less memory", with(kUsual, "memory_mib", "175400"),
       "warn: n3 has memory 175400 MiB, where 9 others have 191800 MiB"},
      {"more memory", with(kUsual, "memory_mib", "383000"),
       "info: n3 has memory 383000 MiB, where 9 others have 191800 MiB"},
      {"the firmware's share", with(kUsual, "memory_mib", "191650"), ""},
      {"fewer processors", with(kUsual, "cores", "20"), "warn: n3 has processors 20, where 9 others have 40"},
      {"another processor is another machine", with(kUsual, "cpu", "Chip 4110"), ""},
      {"so are other features", with(kUsual, "features", "gpu"), ""},

      {"a slow link", with(kUsual, "link:eth0", "1000"),
       "warn: n3 has eth0 1000 Mbit/s, where 9 others have 25000 Mbit/s"},
      {"no link", without(kUsual, "link:eth0"), "warn: n3 has no eth0, where 9 others have 25000 Mbit/s"},
      {"another kernel from the beginning", with(kUsual, "kernel", "6.1.0-9"),
       "warn: n3 has kernel 6.1.0-9, where 9 others have 6.1.0-28"},
      {"another slurmd", with(kUsual, "version:slurmd", "21.08.1"),
       "warn: n3 has slurmd 21.08.1, where 9 others have 22.05.8"},
      {"a fact that nobody knows", with(kUsual, "bios", "1.2"), ""},
      {"and does not tell it", without(kUsual, "version:agent"), ""},
  };
  for (const auto& row : rows) {
    Scene s;
    s.fill(1, 10, kUsual);
    s.tell("n3", row.odd);
    if (row.what == std::string("another kernel from the beginning") ||
        row.what == std::string("another slurmd")) {  // no rollout: it was never otherwise
      s = Scene();
      s.fill(1, 2, kUsual);
      s.tell("n3", row.odd);
      s.fill(4, 10, kUsual);
    }
    (void)s.look();
    const std::vector<std::string> told = s.look_after(10min);
    if (row.told[0] == '\0')
      EXPECT_THAT(told, IsEmpty()) << row.what;
    else
      EXPECT_THAT(told, ElementsAre(row.told)) << row.what;
    EXPECT_THAT(s.look_after(1h), IsEmpty()) << row.what << ": told once";
  }
}

TEST(Fleet, ClassesOfFewSayNothing) {
  for (int size = 1; size <= 5; ++size) {
    Scene s;
    s.fill(1, size, kUsual);
    s.tell("n1", without(kUsual, "mount:/home"));
    const auto told = s.look_after(10min);
    EXPECT_EQ(told.size(), size >= 4 ? 1U : 0U) << size << " nodes";
  }
}

TEST(Fleet, HalfIsNotOdd) {
  Scene s;
  s.fill(1, 6, kUsual);
  s.fill(7, 10, without(kUsual, "mount:/home"));
  EXPECT_THAT(s.look_after(10min), IsEmpty()) << "six of ten are not two thirds";
}

TEST(Fleet, ManyInTheSameWayAreOneFinding) {
  Scene s;
  s.fill(1, 200, kUsual);
  s.fill(161, 200, without(kUsual, "mount:/home"));  // a rack lost its storage
  EXPECT_THAT(s.look_after(10min),
              ElementsAre("warn: n[161-172] and 28 more lack /home (nfs4), which 160 others mount"));
  s.fill(161, 170, kUsual);
  EXPECT_THAT(s.look_after(10min),
              ElementsAre("warn: n[171-182] and 18 more lack /home (nfs4), which 170 others mount"));
  s.fill(171, 200, kUsual);
  const auto over = s.look_after(10min);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_THAT(over[0], ::testing::StartsWith("over: odd "));
  EXPECT_THAT(s.look_after(10min), IsEmpty());
}

TEST(Fleet, ANodeThatBootsIsWaitedFor) {
  Scene s;
  s.fill(1, 10, kUsual);
  (void)s.look_after(10min);
  s.tell("n3", without(kUsual, "mount:/home"));
  EXPECT_THAT(s.look(), IsEmpty());
  EXPECT_EQ(s.wake, s.now + 5min) << "asks to be asked again";
  s.now += 2min;
  s.tell("n3", kUsual);
  EXPECT_THAT(s.look_after(10min), IsEmpty());
}

TEST(Fleet, AnUpgradeIsOneEvent) {
  Scene s;
  constexpr int kNodes = 500;
  s.fill(1, kNodes, kUsual);
  EXPECT_THAT(s.look_after(10min), IsEmpty());
  std::vector<std::string> all;
  const Facts next = with(with(kUsual, "kernel", "6.1.0-29"), "version:slurmd", "23.02.1");
  for (int i = 1; i <= kNodes - 2; ++i) {
    s.tell(fmt::format("n{}", i), next);
    s.now += 2min;
    for (std::string& line : s.look()) all.push_back(std::move(line));
  }
  EXPECT_THAT(all, ElementsAre("info: kernel goes from 6.1.0-28 to 6.1.0-29, beginning with n1",
                               "info: version:slurmd goes from 22.05.8 to 23.02.1, beginning with n1"));
  // When nothing has moved for a day, it is over, and who stayed behind is odd.
  EXPECT_THAT(s.look_after(12h), IsEmpty());
  EXPECT_THAT(s.look_after(13h),
              ElementsAre("over: rollout kernel 6.1.0-29", "over: rollout version:slurmd 23.02.1",
                          "warn: n[499-500] have kernel 6.1.0-28, where 498 others have 6.1.0-29",
                          "warn: n[499-500] have slurmd 22.05.8, where 498 others have 23.02.1"));
}

TEST(Fleet, AnUpgradeThatNobodyFollowsIsOdd) {
  Scene s;
  s.fill(1, 10, kUsual);
  s.tell("n3", with(kUsual, "kernel", "6.1.0-29"));
  EXPECT_THAT(s.look_after(10min),
              ElementsAre("info: kernel goes from 6.1.0-28 to 6.1.0-29, beginning with n3"));
  EXPECT_THAT(s.look_after(25h), ElementsAre("over: rollout kernel 6.1.0-29",
                                             "warn: n3 has kernel 6.1.0-29, where 9 others have 6.1.0-28"));
}

TEST(Fleet, ARolloutHidesNoLostMount) {
  Scene s;
  s.fill(1, 20, kUsual);
  const Facts next = with(kUsual, "kernel", "6.1.0-29");
  s.fill(1, 10, next);
  s.tell("n4", without(next, "mount:/home"));
  EXPECT_THAT(s.look_after(10min), ::testing::Contains("warn: n4 lacks /home (nfs4), which 19 others mount"));
}

TEST(Fleet, Clocks) {
  const struct {
    int ahead_ms;
    const char* told;
  } rows[] = {
      {300, ""},
      {-900, ""},
      {300'000, "warn: the clock of n3 is 300.0 s ahead of those of 9 others"},
      {-2000, "warn: the clock of n3 is 2.0 s behind those of 9 others"},
  };
  for (const auto& row : rows) {
    Scene s;
    s.fill(1, 10, with(kUsual, "clock_ahead_ms", "0"));
    s.tell("n3", with(kUsual, "clock_ahead_ms", std::to_string(row.ahead_ms)));
    const auto told = s.look_after(10min);
    if (row.told[0] == '\0')
      EXPECT_THAT(told, IsEmpty()) << row.ahead_ms;
    else
      EXPECT_THAT(told, ElementsAre(row.told)) << row.ahead_ms;
  }
}

TEST(Fleet, ClassesAreFound) {
  Scene s;
  s.fill(1, 40, kUsual);
  s.fill(41, 50, with(kUsual, "memory_mib", "383000"));  // bought so: ten that agree are no accident
  s.tell("n7", with(kUsual, "memory_mib", "175400"));
  s.fill(51, 56, with(kUsual, "cpu", "Chip 9654"));
  const auto classes = find_classes(s.state);
  std::vector<std::string> named;
  for (const Class& each : classes) named.push_back(fmt::format("{}: {}", each.members.size(), each.name));
  EXPECT_THAT(named, ElementsAre("40: x86_64 Chip 6248, 40 processors, 191800 MiB",
                                 "10: x86_64 Chip 6248, 40 processors, 383000 MiB",
                                 "6: x86_64 Chip 9654, 40 processors, 191800 MiB"));
  EXPECT_THAT(s.look_after(10min),
              ElementsAre("warn: n7 has memory 175400 MiB, where 39 others have 191800 MiB"));
}

TEST(Fleet, ASiteMayDrainByAFact) {
  Scene s;
  s.policy.drains = {"mount:/home", "link:*"};
  s.fill(1, 10, kUsual);
  s.tell("n2", without(kUsual, "mount:/home"));
  s.tell("n3", with(kUsual, "link:eth0", "1000"));
  s.tell("n4", without(kUsual, "mount:/scratch"));
  s.tell("n5", with(kUsual, "link:eth0", "100000"));
  const auto told = s.look_after(10min);
  EXPECT_THAT(told, ::testing::UnorderedElementsAre(
                        ::testing::StartsWith("drain: n2"), ::testing::StartsWith("drain: n3"),
                        ::testing::StartsWith("warn: n4"), ::testing::StartsWith("info: n5")));
}

TEST(Fleet, GoneNodesAreForgottenAndOffIsOff) {
  Scene s;
  s.fill(1, 10, kUsual);
  s.tell("n3", without(kUsual, "mount:/home"));
  EXPECT_EQ(s.look_after(10min).size(), 1U);
  s.view.changes = {{"n3", std::nullopt, true}};
  s.take(new_event("cluster", kNodesSeen, Json::object({})));
  EXPECT_EQ(s.look().size(), 1U) << "over";
  s.view.changes.clear();
  s.tell("n4", without(kUsual, "mount:/home"));
  s.policy.on = false;
  EXPECT_THAT(s.look_after(10min), IsEmpty());
}

// What was told is a sentence with figures in it: who comes later must not read those of last year.
TEST(Fleet, WhatIsUsualIsToldAnewWhenItIsAnother) {
  Scene s;
  s.fill(1, 10, kUsual);
  s.tell("n3", without(kUsual, "mount:/home"));
  EXPECT_THAT(s.look_after(10min), ElementsAre("warn: n3 lacks /home (nfs4), which 9 others mount"));
  s.fill(11, 11, kUsual);
  EXPECT_THAT(s.look_after(10min), IsEmpty()) << "one more is the same sentence";
  s.fill(12, 30, kUsual);
  EXPECT_THAT(s.look_after(10min), ElementsAre("warn: n3 lacks /home (nfs4), which 29 others mount"));
  for (int i = 1; i <= 30; ++i)
    if (i != 3) s.tell(fmt::format("n{}", i), with(kUsual, "mount:/home", "lustre"));
  EXPECT_THAT(s.look_after(10min), ElementsAre("warn: n3 lacks /home (lustre), which 29 others mount"));
}

// Nodes that live for years tell of ten thousand versions and of mounts that came and went.
TEST(Fleet, WordsThatNobodyUsesAnyMoreAreForgotten) {
  Scene s;
  s.fill(1, 10, kUsual);
  (void)s.look_after(10min);
  for (int i = 0; i < 20'000; ++i) {
    s.now += 1h;
    s.tell("n1",
           with(with(kUsual, "version:agent", fmt::format("1.{}", i)), fmt::format("mount:/m{}", i), "xfs"));
  }
  EXPECT_LT(s.state.words.size(), 5000U);
  EXPECT_LT(s.state.nodes.at("n1").facts.size(), 50U);
  s.tell("n2", without(kUsual, "mount:/home"));
  s.tell("n1", kUsual);
  EXPECT_THAT(s.look_after(25h), ::testing::Contains("warn: n2 lacks /home (nfs4), which 9 others mount"))
      << "the words that are left mean what they meant";
  State again;
  for (const Event& event : s.log) (void)apply(again, s.view, event);
  EXPECT_EQ(canonical_text(again), canonical_text(s.state));
}

TEST(Fleet, AReplayGivesTheSameState) {
  Scene s;
  s.fill(1, 10, kUsual);
  s.tell("n3", without(kUsual, "mount:/home"));
  s.tell("n4", with(kUsual, "kernel", "6.1.0-29"));
  (void)s.look_after(10min);
  (void)s.look_after(25h);
  State again;
  for (const Event& event : s.log) (void)apply(again, s.view, event);
  EXPECT_EQ(canonical_text(again), canonical_text(s.state));
  auto shown = views(again);
  ASSERT_EQ(shown["n3"].size(), 1U);
  EXPECT_EQ(shown["n3"].items()[0]["text"].as_string(), "n3 lacks /home (nfs4), which 9 others mount");
  EXPECT_FALSE(shown.contains("n1"));
}

TEST(Facts, Patterns) {
  EXPECT_TRUE(fits("mount:/home", "mount:/home"));
  EXPECT_FALSE(fits("mount:/home", "mount:/home2"));
  EXPECT_TRUE(fits("mount:*", "mount:/home2"));
  EXPECT_TRUE(fits("*", "kernel"));
  EXPECT_FALSE(fits("", "kernel"));
}

}  // namespace
}  // namespace sickbay::fleet
