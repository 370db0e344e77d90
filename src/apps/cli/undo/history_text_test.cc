// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/undo/history_text.h"

#include <gmock/gmock.h>

namespace sickbay::cli {
namespace {

using ::testing::HasSubstr;

Json op(const char* name, const char* under, const char* what, Json more = Json::object()) {
  Json json = Json::object({{"op", name}, {"under", under}, {"what", what}, {"at", 0}, {"restart", 0}});
  for (const auto& [key, value] : more.members()) json.set(key, value);
  return json;
}

Json tree() {
  const Json one = Json::object({{"checkpoint", Json::object({{"checkpoint", 1}})}});
  const Json two = Json::object({{"checkpoint", Json::object({{"checkpoint", 2}})}});
  Json first = Json::array(
      {op("17.1", "", "submitted", Json::object({{"text", "job.sh"}, {"by", "alice"}})),
       op("17.2", "17.1", "checkpoint", one), op("17.3", "17.2", "checkpoint", two),
       op("17.4", "17.3", "ended", Json::object({{"state", "FAILED"}, {"exit_code", 1}})),
       op("17.5", "17.2", "rewound", Json::object({{"by", "alice"}, {"did", "rewind"}, {"checkpoint", 1}}))});
  Json second =
      Json::array({op("31.1", "17.5", "submitted", Json::object({{"text", "job.sh"}, {"by", "alice"}}))});
  const Json failure = Json::object({{"op", "17.4"},
                                     {"state", "FAILED"},
                                     {"checkpoint", 1},
                                     {"gone_on", true},
                                     {"recomputed_us", 20'000'000},
                                     {"without_us", 120'000'000}});
  const Json account = Json::object({{"checkpoints", 2},
                                     {"failures", Json::array({failure})},
                                     {"recomputed_us", 20'000'000},
                                     {"saved_us", 100'000'000}});
  return Json::object(
      {{"parts", Json::array({Json::object({{"job", 17}, {"operations", first}, {"account", account}}),
                              Json::object({{"job", 31}, {"operations", second}})})},
       {"position", Json::object({{"op", "17.5"}, {"checkpoint", 1}, {"replays", Json::array({31})}})}});
}

TEST(HistoryText, DrawsBranchesAndReplays) {
  const std::string text = history_text(tree(), {});
  EXPECT_THAT(text, HasSubstr("17.1 - submitted job.sh by alice\n17.2 - checkpoint 1\n"));
  EXPECT_THAT(text, HasSubstr("|-- 17.3 - checkpoint 2\n|   17.4 - ended FAILED, exit code 1\n"));
  EXPECT_THAT(text, HasSubstr("`-- 17.5 - rewound to checkpoint 1 by alice\n    31.1 - submitted job.sh"));
  EXPECT_THAT(text, HasSubstr("Replayed as job 31"));
  EXPECT_THAT(text, HasSubstr("computed again from checkpoint 1;"));
}

TEST(HistoryText, ListsCheckpointsNewestFirst) {
  const std::string text = checkpoints_text(tree(), {});
  EXPECT_LT(text.find("checkpoint 2"), text.find("checkpoint 1"));
  EXPECT_EQ(checkpoints_text(Json::object(), {}), "No checkpoint was told of.\n");
}

TEST(HistoryText, ActsSayHowTheyAreUndone) {
  const Json act = Json::object({{"act", "node:n3.d1"},
                                 {"verb", "drain"},
                                 {"nodes", "n3"},
                                 {"by", "sickbay"},
                                 {"undo", "here"},
                                 {"said", "the drain is lifted"}});
  EXPECT_THAT(acts_text(Json::object({{"items", Json::array({act})}}), {}),
              HasSubstr("node:n3.d1 - drain n3 by sickbay: can be undone: the drain is lifted"));
}

}  // namespace
}  // namespace sickbay::cli
