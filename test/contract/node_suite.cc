// SPDX-License-Identifier: Apache-2.0
// The contract of ports/resource_manager.h, what it says of nodes: lost, drained, rebooted, on every cluster,
// real or simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/contract/contract_parts.h"

namespace sickbay::contract {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST_F(Contract, ACrashedNodeGoesDownAndComesBack) {
  const std::string victim = cluster->nodes()[3];
  const JobHandle job = submitted(verification({cluster->nodes()[2], victim}, kRunsUntilKilled));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  ASSERT_TRUE(refresh({}, true));

  crashed.push_back(victim);
  cluster->crash_node(victim);
  NodeInfo down;
  const auto until_node = [&](bool wanted_down) {
    return until([&] {
      const auto look = refresh({}, true);
      if (look)
        for (const NodeInfo& node : look->nodes)
          if (node.name == victim) down = node;
      const auto state = parse_node_state(down.state, down.flags);
      return state && (wanted_down ? state->base == NodeBase::down : usable(*state));
    });
  };
  ASSERT_TRUE(until_node(true)) << down.state;
  EXPECT_THAT(down.reason, HasSubstr("ot responding"));
  ASSERT_TRUE(until_over(job)) << last.state;
  EXPECT_EQ(last.state, "NODE_FAIL");
  EXPECT_THAT(*expand_hostlist(last.nodes), testing::Contains(victim));
  EXPECT_EQ(last.restart_cnt, 0u) << "--no-requeue";

  cluster->heal_node(victim);
  crashed.clear();
  ASSERT_TRUE(until_node(false)) << down.state;
}

// What peers and a question by TCP found out, Slurm takes from us before its own time-out (SlurmdTimeout).
TEST_F(Contract, ALostNodeIsSetDownAtOnceAndComesBackByItself) {
  const std::string victim = cluster->nodes()[3];
  const JobHandle job = submitted(verification({cluster->nodes()[2], victim}, kRunsUntilKilled));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  const auto set_down = [&](const std::string& name) {
    return ask<bool>([&](auto done) { manager().set_down(name, "Not responding", std::move(done)); });
  };
  const auto nobody = set_down("no-such-node");
  ASSERT_FALSE(nobody);
  EXPECT_TRUE(nobody.error().code == ErrorCode::not_found ||
              nobody.error().code == ErrorCode::refused_by_slurm)
      << nobody.error().line();

  crashed.push_back(victim);
  cluster->crash_node(victim);
  NodeInfo seen;
  const auto look = [&] {
    const auto answer = refresh({}, true);
    if (answer)
      for (const NodeInfo& node : answer->nodes)
        if (node.name == victim) seen = node;
    return parse_node_state(seen.state, seen.flags);
  };
  // (An answer that the node gave before it crashed, and that comes late, makes slurmctld take it back once:
  // then it is complained of again, and set DOWN again.)
  bool down = false;
  for (int turn = 0; turn < 2 && !down; ++turn) {
    const auto set = set_down(victim);
    ASSERT_TRUE(set) << set.error().line();
    EXPECT_TRUE(*set);
    const auto state = look();
    down = state && state->base == NodeBase::down;
  }
  ASSERT_TRUE(down) << "the next look shows it: " << seen.state;
  EXPECT_THAT(seen.reason, HasSubstr("ot responding"));
  auto again = set_down(victim);
  if (again && *again) again = set_down(victim);
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_FALSE(*again) << "it was DOWN";
  ASSERT_TRUE(until_over(job)) << last.state;
  EXPECT_EQ(last.state, "NODE_FAIL");

  // With Slurm's own reason ReturnToService=1 takes it back as soon as it answers.
  cluster->heal_node(victim);
  crashed.clear();
  const auto is_back = [&] {
    const auto now = look();
    return now && usable(*now);
  };
  ASSERT_TRUE(until(is_back, std::chrono::seconds(180))) << seen.to_json().dump();
}

TEST_F(Contract, DrainsAreOursOrNotTouched) {
  const std::string node = cluster->nodes()[1];
  const auto drain = [&](const char* reason) {
    return ask<bool>([&](auto done) { manager().drain(node, reason, std::move(done)); });
  };
  const auto undrain = [&](const char* prefix) {
    return ask<bool>([&](auto done) { manager().undrain(node, prefix, std::move(done)); });
  };
  const auto first = drain("sickbay:f1 R3: bus errors");
  ASSERT_TRUE(first) << first.error().line();
  EXPECT_TRUE(*first);
  const auto look = refresh({}, true);
  ASSERT_TRUE(look);
  for (const NodeInfo& info : look->nodes)
    if (info.name == node) {
      EXPECT_THAT(info.flags, testing::Contains("DRAIN"));
      EXPECT_THAT(info.reason, HasSubstr("sickbay:f1 R3: bus errors"));
    }
  const auto again = drain("sickbay:f1 R3: bus errors");
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_FALSE(*again);
  const auto foreign = undrain("disk exchange");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::conflict) << foreign.error().line();
  const auto lifted = undrain("sickbay:f1 ");
  ASSERT_TRUE(lifted) << lifted.error().line();
  EXPECT_TRUE(*lifted);
  const auto nothing = undrain("sickbay:f1 ");
  ASSERT_TRUE(nothing) << nothing.error().line();
  EXPECT_FALSE(*nothing);

  ASSERT_TRUE(drain("disk exchange on Monday"));
  const auto over = drain("sickbay:f2 R1: slow");
  ASSERT_FALSE(over) << "a foreign reason was replaced";
  EXPECT_EQ(over.error().code, ErrorCode::conflict) << over.error().line();
  ASSERT_TRUE(undrain("disk exchange"));
}

TEST_F(Contract, ADrainedNodeIsRebootedOnceAndStaysDrained) {
  const std::string node = cluster->nodes()[1];
  NodeInfo now;  // as the looks so far have shown it
  const auto look = [&] {
    const auto seen = refresh({}, true);
    if (seen)
      for (const NodeInfo& info : seen->nodes)
        if (info.name == node) now = info;
    return seen.has_value();
  };
  const auto reboot = [&](TimePoint boot) {
    return ask<bool>([&](auto done) {
      manager().reboot({node, boot, "sickbay:f1 R3: a hung device", "sickbay:"}, std::move(done));
    });
  };
  const auto drain = [&](const char* reason) {
    return ask<bool>([&](auto done) { manager().drain(node, reason, std::move(done)); });
  };
  const auto undrain = [&](const char* prefix) {
    return ask<bool>([&](auto done) { manager().undrain(node, prefix, std::move(done)); });
  };
  // (A test before may have lifted a drain: then slurmctld has no boot time for a moment.)
  ASSERT_TRUE(until([&] { return look() && now.boot_time != kNoTime; }, std::chrono::seconds(180)));
  const TimePoint boot = now.boot_time;

  for (const char* foreign : {"", "disk exchange on Monday"}) {
    if (*foreign) {
      ASSERT_TRUE(drain(foreign));
    }
    const auto refused = reboot(boot);
    ASSERT_FALSE(refused) << "a node that we did not drain is rebooted";
    EXPECT_EQ(refused.error().code, ErrorCode::conflict) << refused.error().line();
    if (*foreign) {
      ASSERT_TRUE(undrain(foreign));
    }
  }

  ASSERT_TRUE(drain("sickbay:f1 R3: a hung device"));
  for (int round = 1; round <= 2; ++round) {  // (a second one is where Slurm would drop our reason)
    // (After each lifting of a drain slurmctld has no boot time, and holds the node for silent until it hears
    // of it.)
    const auto is_known = [&] {
      if (!look()) return false;
      const auto state = parse_node_state(now.state, now.flags);
      return now.boot_time != kNoTime && state && is_idle(*state);
    };
    ASSERT_TRUE(until(is_known, std::chrono::seconds(180))) << now.to_json().dump();
    const TimePoint before = now.boot_time;
    // (24.11 takes a boot in the very second of the request for its answer, and waits for the true one for
    // ever.)
    ASSERT_TRUE(until([&] { return cluster->loop().now() >= before + std::chrono::seconds(1); }));
    const auto asked = reboot(before);
    ASSERT_TRUE(asked) << asked.error().line();
    EXPECT_TRUE(*asked);
    const auto while_under_way = reboot(before);
    ASSERT_TRUE(while_under_way) << while_under_way.error().line();
    EXPECT_FALSE(*while_under_way);
    const auto is_back = [&] {
      if (!look()) return false;
      const auto state = parse_node_state(now.state, now.flags);
      return booted_since(now.boot_time, before) && state && is_idle(*state);
    };
    ASSERT_TRUE(until(is_back, std::chrono::seconds(180))) << now.to_json().dump();
    EXPECT_THAT(now.flags, testing::Contains("DRAIN"));
    EXPECT_THAT(now.reason, testing::StartsWith("sickbay:f1 R3: a hung device"));
    const auto again = reboot(before);
    ASSERT_TRUE(again) << again.error().line();
    EXPECT_FALSE(*again) << "it has booted since";
  }
  const auto lifted = undrain("sickbay:f1 ");
  ASSERT_TRUE(lifted) << lifted.error().line();
  EXPECT_TRUE(*lifted);
}

TEST_F(Contract, SaysWhoSlurmIs) {
  const auto uid = ask<std::uint32_t>([&](auto done) { manager().slurm_user(std::move(done)); });
  ASSERT_TRUE(uid) << uid.error().line();
  EXPECT_EQ(*uid, 0u) << "both clusters run as root";
}

}  // namespace
}  // namespace sickbay::contract
