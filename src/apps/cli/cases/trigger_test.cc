// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/trigger.h"

#include <gmock/gmock.h>

namespace sickbay::cli {
namespace {

Json view_of(const std::string& state, const std::string& outcome, const std::string& symptom = "",
             const std::string& down = "") {
  return Json::object({{"case", "c17"},
                       {"state", state},
                       {"runs", Json::array({Json::object({{"run", "c17.r1"},
                                                           {"job_id", 4711},
                                                           {"outcome", outcome},
                                                           {"symptom", symptom},
                                                           {"state", "FAILED"},
                                                           {"exit_code", 3},
                                                           {"nodes", "n[1-2]"},
                                                           {"down_nodes", down}})})}});
}

TEST(Trigger, ComesWhenItsEventDoes) {
  using enum Triggered;
  const struct {
    const char *outcome, *symptom, *down;
    Triggered finish, fail, timeout, node_fail;
  } rows[] = {
      {"pending", "", "", waits, waits, waits, waits},
      {"running", "", "", waits, waits, waits, waits},
      {"running", "", "n2", waits, waits, waits, came},
      {"checking", "", "", waits, waits, waits, waits},
      {"no_failure", "", "", waits, waits, waits, waits},  // preempted: it may come back

      {"ok", "", "", came, missed, missed, missed},
      {"ok", "", "n2", came, missed, missed, came},
      {"cancelled", "", "", came, missed, missed, missed},
      {"failed", "abnormal_exit", "", came, came, missed, missed},
      {"failed", "stall", "", came, came, came, missed},
      {"failed", "wrong_result", "", came, came, missed, missed},
      {"failed", "node_dead", "", came, came, missed, came},
      {"failed", "node_dead", "n1", came, came, missed, came},
      {"out_of_memory", "", "", came, came, missed, missed},
      {"deadline", "", "", came, came, missed, missed},
      {"lost", "", "", came, came, missed, missed},
      {"not_started", "", "", came, came, missed, missed},
  };
  for (const auto& row : rows) {
    const Json view = view_of("investigating", row.outcome, row.symptom, row.down);
    const std::string what = std::string(row.outcome) + " " + row.symptom + " " + row.down;
    EXPECT_EQ(triggered(view, "c17.r1", TriggerEvent::finish), row.finish) << what;
    EXPECT_EQ(triggered(view, "c17.r1", TriggerEvent::fail), row.fail) << what;
    EXPECT_EQ(triggered(view, "c17.r1", TriggerEvent::timeout), row.timeout) << what;
    EXPECT_EQ(triggered(view, "c17.r1", TriggerEvent::node_fail), row.node_fail) << what;
  }
}

TEST(Trigger, DoesNotWaitForWhatCannotCome) {
  EXPECT_EQ(triggered(view_of("investigating", "ok"), "c17.r2", TriggerEvent::finish), Triggered::waits);
  EXPECT_EQ(triggered(view_of("closed", "ok"), "c17.r2", TriggerEvent::finish), Triggered::missed);
  EXPECT_EQ(triggered(view_of("closed", "no_failure"), "c17.r1", TriggerEvent::finish), Triggered::missed);
}

TEST(Trigger, TellsTheCommandOfIt) {
  EXPECT_THAT(trigger_environment(view_of("closed", "failed", "stall"), "c17.r1", "timeout"),
              ::testing::ElementsAre("SICKBAY_CASE=c17", "SICKBAY_JOB=4711", "SICKBAY_RUN=c17.r1",
                                     "SICKBAY_EVENT=timeout", "SICKBAY_OUTCOME=failed",
                                     "SICKBAY_SYMPTOM=stall", "SICKBAY_STATE=FAILED", "SICKBAY_EXIT_CODE=3",
                                     "SICKBAY_NODES=n[1-2]", "SICKBAY_DOWN_NODES="));
}

}  // namespace
}  // namespace sickbay::cli
