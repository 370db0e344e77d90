// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/node_reboot.h"

#include <gmock/gmock.h>

namespace sickbay::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TimePoint kBoot = from_unix_seconds(1'800'000'000);
const RebootOrder kOrder{"n3", kBoot, "sickbay:f9 node/stuck: it hangs", "sickbay:"};

TEST(NodeReboot, WhatMustHold) {
  const struct {
    const char* why;
    std::string state;
    std::vector<std::string> flags;
    std::string reason;
    std::chrono::seconds boot;
    std::string expected;
  } rows[] = {
      {"ours and idle", "IDLE", {"DRAIN"}, "sickbay:f9 x", std::chrono::seconds(0), "yes"},
      {"boot times jitter", "IDLE", {"DRAIN"}, "sickbay:f9 x", std::chrono::seconds(2), "yes"},
      {"booted since", "IDLE", {"DRAIN"}, "sickbay:f9 x", std::chrono::seconds(60), "no"},
      {"booted since, and put back", "ALLOCATED", {}, "", std::chrono::seconds(60), "no"},
      {"asked for", "IDLE", {"DRAIN", "REBOOT_REQUESTED"}, "sickbay:f9 x", std::chrono::seconds(0), "no"},
      {"under way", "DOWN", {"DRAIN", "REBOOT_ISSUED"}, "sickbay:f9 x", std::chrono::seconds(0), "no"},
      {"a stranger's drain", "IDLE", {"DRAIN"}, "fan", std::chrono::seconds(0), "conflict"},
      {"no drain", "IDLE", {}, "", std::chrono::seconds(0), "conflict"},
      {"a job", "MIXED", {"DRAIN"}, "sickbay:f9 x", std::chrono::seconds(0), "busy"},
      {"a job's end", "IDLE", {"DRAIN", "COMPLETING"}, "sickbay:f9 x", std::chrono::seconds(0), "busy"},
      {"down", "DOWN", {"DRAIN"}, "sickbay:f9 x", std::chrono::seconds(0), "busy"},
      {"silent", "IDLE", {"DRAIN", "NOT_RESPONDING"}, "sickbay:f9 x", std::chrono::seconds(0), "busy"},
  };
  for (const auto& row : rows) {
    NodeInfo node;
    node.name = "n3";
    node.state = row.state;
    node.flags = row.flags;
    node.reason = row.reason;
    node.boot_time = kBoot + row.boot;
    const auto needed = needs_reboot(node, kOrder);
    EXPECT_EQ(needed ? (*needed ? "yes" : "no") : error_row(needed.error().code).name, row.expected)
        << row.why;
  }
}

TEST(NodeReboot, TheCommandKeepsDrainAndReason) {
  const ProcessSpec spec = reboot_command(kOrder, "/usr/bin/scontrol", "/etc/slurm/slurm.conf");
  EXPECT_THAT(spec.argv,
              ElementsAre("/usr/bin/scontrol", "reboot", "reason=sickbay:f9 node/stuck: it hangs", "n3"));
  EXPECT_THAT(spec.environment, ::testing::Contains("SLURM_CONF=/etc/slurm/slurm.conf"));
}

TEST(NodeReboot, WithoutAProgramItIsRefusedWithARemedy) {
  ProcessOutcome outcome;
  outcome.exit_code = 1;
  outcome.err =
      "scontrol: error: RebootProgram isn't defined\nscontrol_reboot_nodes error: Unspecified error\n";
  const Error refused = reboot_error(outcome);
  EXPECT_EQ(refused.code, ErrorCode::refused_by_slurm);
  EXPECT_THAT(refused.what, HasSubstr("RebootProgram isn't defined"));
  EXPECT_THAT(refused.remedy_text, HasSubstr("slurm.conf"));
  outcome.err = "scontrol_reboot_nodes error: Unable to contact slurm controller (connect failure)\n";
  EXPECT_EQ(reboot_error(outcome).code, ErrorCode::slurm_away);
}

}  // namespace
}  // namespace sickbay::slurm
