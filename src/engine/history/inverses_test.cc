// SPDX-License-Identifier: Apache-2.0
// Every act of Sickbay has a row that says how it is undone, or why it is not.
#include "engine/history/inverses.h"

#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "engine/history/history_world.h"

namespace sickbay::history {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

// The truth is model/verbs.h: all its constants.
std::set<std::string> all_verbs() {
  std::ifstream file(SB_SOURCE "/src/model/verbs.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::regex constant(R"(string_view\s+k\w+\s*=\s*"([a-z_]+)\")");
  std::set<std::string> verbs;
  for (std::sregex_iterator it(all.begin(), all.end(), constant), end; it != end; ++it)
    verbs.insert((*it)[1]);
  return verbs;
}

TEST(Inverses, EveryVerbHasARow) {
  const std::set<std::string> verbs = all_verbs();
  ASSERT_GT(verbs.size(), 20U);
  for (const std::string& verb : verbs) EXPECT_NE(inverse_row(verb), nullptr) << verb;
  std::set<std::string_view> seen;
  for (const InverseRow& row : inverse_rows()) {
    EXPECT_TRUE(seen.insert(row.act).second) << row.act << " twice";
    EXPECT_THAT(row.said, Not(IsEmpty())) << row.act << ": what undo says of it";
  }
}

TEST(Inverses, TheWholeTable) {
  std::string text;
  for (const InverseRow& row : inverse_rows())
    text += std::string(row.act) + " " + std::string(to_string(row.undo)) + "\n";
  EXPECT_EQ(
      text,
      "submit_program elsewhere\nsubmit_verification elsewhere\nrelease elsewhere\ncancel none\n"
      "read_output look\nfind_dependents look\nprepare_rerun elsewhere\nclean_folder none\n"
      "drain here\nundrain none\nreboot none\ndiagnose look\nask_node look\nset_down none\n"
      "restart_component none\ncheck_component look\nrequeue_job none\nbegin_now none\n"
      "allocate_donor none\ngive_donor none\ncancel_donor none\ndrop_nodes none\n"
      "set_time_limit elsewhere\nfail_node elsewhere\nunfail_node elsewhere\nset_spare_pool elsewhere\n"
      "notify none\n"
      "spares_asked here\nundo_drains none\npatrol_asked here\nrecovery_opened here\ndetect_asked here\n");
}

TEST(Inverses, WhatStoodBeforeAnOperatorsWordIsKnown) {
  World w;
  const auto spares = [&](Json count) {
    w.say("spares", kSparesAsked,
          Json::object({{"partition", "batch"}, {"count", std::move(count)}, {"by", "ops"}}));
  };
  spares(2);
  EXPECT_TRUE(act_named(w.state, "spares:batch")->before.is_null()) << "as nonstop.conf has it";
  spares(5);
  EXPECT_EQ(act_named(w.state, "spares:batch")->before.as_int(), 2);
  EXPECT_EQ(act_named(w.state, "spares:batch")->now.as_int(), 5);
  w.say("job:17", kDetectAsked, Json::object({{"detect", "fast"}, {"by", "alice"}}));
  EXPECT_NE(act_named(w.state, "job:17.detect"), nullptr);
  EXPECT_EQ(act_named(w.state, "job:18.detect"), nullptr);
}

TEST(Inverses, OfANodeTheLastActsAreKept) {
  World w;
  for (int i = 1; i <= 20; ++i) {
    const std::string key = "node:n1.d" + std::to_string(i);
    const Json args = Json::object({{"node", "n1"}});
    w.say("node:n1", kIntent, Json::object({{"key", key}, {"verb", "drain"}, {"args", args}}));
    w.say("node:n1", kDone, Json::object({{"key", key}, {"verb", "drain"}}));
  }
  EXPECT_EQ(acts_view(w.state).size(), kMostActs);
  EXPECT_EQ(act_named(w.state, "node:n1.d12"), nullptr);
  EXPECT_NE(act_named(w.state, "node:n1.d20"), nullptr);
}

}  // namespace
}  // namespace sickbay::history
