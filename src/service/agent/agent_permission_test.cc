// SPDX-License-Identifier: Apache-2.0
// What the agent does not do unasked: repairs without the permission of all who have a word in it, and stress
// beside a job.
#include <fmt/format.h>

#include "service/agent/agent_test_parts.h"

namespace sickbay::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A specification whose repair asks for nothing, or for a permission of its own name.
std::string mending(const std::string& name, const std::string& initial) {
  return fmt::format(R"({{"specification": "mend", "version": 1, "description": "d",
    "components": {{"disk": {{"description": "d"}}}},
    "characteristics": {{"mode": {{"type": "string", "description": "d"}}, "{0}": {{"type": "bool", "description": "d"}},
      "full": {{"type": "bool", "description": "d"}}, "clean": {{"type": "bool", "description": "d"}}}},
    "predicates": {{"any": {{"when": "mode != \"\"", "description": "d"}},
      "filled": {{"when": "full AND {0}", "description": "d"}}, "dirty": {{"when": "NOT clean", "description": "d"}}}},
    "operations": {{"look": {{"kind": "collect", "run": "look", "outputs": ["full"], "description": "d"}},
      "tidy": {{"kind": "repair", "run": "tidy", "components": ["disk"], "outputs": ["clean"], "description": "Tidy"}},
      "out": {{"kind": "critical", "run": "builtin:drain", "description": "d"}}}},
    "productions": {{"p0": {{"if": "any", "then": "look", "description": "d"}},
      "p1": {{"if": "filled", "then": "tidy", "description": "d"}}, "p2": {{"if": "dirty", "then": "out", "description": "d"}}}},
    "periods": {{"always": {{"description": "d", "every": "60s", "initial": {{{1}}}}}}}}})",
                     name, initial);
}

class Permission : public AgentTest {
 protected:
  Permission() {
    operations_.answers["look"].result = OperationEnd::Result::ok;
    operations_.answers["look"].outputs = Json::object({{"full", true}});
    operations_.answers["tidy"].result = OperationEnd::Result::ok;
    operations_.answers["tidy"].outputs = Json::object({{"clean", true}});
  }
};

TEST_F(Permission, ARepairNeedsItByItsKindWhateverTheSpecificationNamesIt) {
  use_rules(mending("may_mend", R"("mode": "quick", "may_mend": true)"));
  start(false);
  agent_->start();
  pass(minutes(3));
  EXPECT_EQ(operations_.count("tidy"), 0) << "the site has not permitted it";
  ASSERT_THAT(sickbayd_.told, ElementsAre("p1 unknown none")) << "a person sees it, and nothing is drained";
  EXPECT_THAT(sickbayd_.items[0]["text"].as_string(),
              HasSubstr("repair not permitted: repair.allowed is false in this node's configuration"));
  sickbayd_.order(7, "quick");
  pass(seconds(1));
  ASSERT_EQ(sickbayd_.results.size(), 1u) << "the run does not hang";
  EXPECT_TRUE(sickbayd_.results[0]["whole"].as_bool());
  start(true);
  agent_->start();
  pass(minutes(2));
  EXPECT_GE(operations_.count("tidy"), 1);
}

TEST_F(Permission, ARequestWithoutRepairRepairsNothingWhateverTheSpecificationNamesIt) {
  use_rules(mending("may_mend", R"("mode": "quick", "may_mend": true)"));
  start(true);
  agent_->start();
  pass(seconds(3));
  operations_.ran.clear();  // what the timetable did, which may repair here
  sickbayd_.order(7, "quick", false);
  pass(Micros(1000));
  EXPECT_EQ(operations_.count("tidy"), 0);
  ASSERT_EQ(sickbayd_.results.size(), 1u);
  EXPECT_THAT(sickbayd_.results[0].dump(), HasSubstr("the request did not ask for repairs"));
}

// site x period x what wants the run: the strictest wins.
TEST_F(Permission, TheStrictestOfSitePeriodAndRequestWins) {
  enum class Asks { timetable, once, request, request_with_repair };
  const auto name_of = [](Asks asks) {
    return asks == Asks::timetable ? "timetable"
           : asks == Asks::once    ? "--once"
           : asks == Asks::request ? "diagnose"
                                   : "diagnose --repair";
  };
  std::int64_t task = 0;
  for (const bool site : {false, true})
    for (const char* period : {"", "false", "true"})
      for (const Asks asks : {Asks::timetable, Asks::once, Asks::request, Asks::request_with_repair}) {
        SCOPED_TRACE(fmt::format("site {}, period '{}', {}", site, period, name_of(asks)));
        const std::string word = *period == 0 ? "" : fmt::format(R"(, "repair": {})", period);
        std::string text = mending("other", R"("mode": "quick", "other": true)" + word);
        text.insert(text.find("\"full\""), R"("repair": {"type": "bool", "description": "d"}, )");
        use_rules(text);
        operations_.ran.clear();
        start(site, asks != Asks::once);
        if (asks == Asks::once) {
          agent_->once(seconds(50), [] {});
          pass(seconds(1));
        } else {
          agent_->start();
          pass(seconds(3));
          operations_.ran.clear();
          if (asks != Asks::timetable) sickbayd_.order(++task, "quick", asks == Asks::request_with_repair);
          pass(asks == Asks::timetable ? Micros(seconds(60)) : Micros(1000));
        }
        const bool wanted = site && std::string(period) != "false" && asks != Asks::request;
        EXPECT_EQ(operations_.count("tidy") > 0, wanted);
        EXPECT_GT(operations_.count("look"), 0) << "it examined";
      }
}

}  // namespace
}  // namespace sickbay::agent
