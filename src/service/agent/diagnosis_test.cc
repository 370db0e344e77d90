// SPDX-License-Identifier: Apache-2.0
// The second gate: what the engine has admitted is asked for once more when it is to start.
#include "service/agent/diagnosis.h"

#include "service/agent/agent_test_parts.h"

namespace sickbay::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// `look` holds the disk for ten seconds; `mend` and `burn` wait for it.
constexpr const char* kWaiting = R"({"specification": "s", "version": 1, "description": "d",
  "components": {"disk": {"description": "d"}},
  "characteristics": {"go": {"type": "bool", "description": "d"}, "mended": {"type": "bool", "description": "d"}, "slow": {"type": "bool", "description": "d"}},
  "predicates": {"any": {"when": "go", "description": "d"}},
  "operations": {"look": {"kind": "collect", "run": "x", "components": ["disk"], "description": "d"},
    "burn": {"kind": "test", "run": "x", "components": ["disk"], "needs_idle": true, "outputs": ["slow"], "description": "d"},
    "mend": {"kind": "repair", "run": "x", "outputs": ["mended"], "description": "d"}},
  "productions": {"p0": {"if": "any", "then": "look", "description": "d"}, "p1": {"if": "any", "then": "burn", "description": "d"},
    "p2": {"if": "any", "then": "mend", "description": "d"}}})";

class DiagnosisTest : public AgentTest {
 protected:
  DiagnosisTest() {
    use_rules(kWaiting);
    for (const char* operation : {"look", "burn", "mend"})
      operations_.answers[operation].result = OperationEnd::Result::ok;
    operations_.takes["look"] = seconds(10);
    began_.initial = {{"go", true}};
    began_.permits = {{true, ""}, {true, ""}, {true, ""}};
    hooks_.found = [this](const diagnose::Finding& f) { found_.push_back(f.rule + ": " + f.text); };
    hooks_.over = [this](const diagnose::Run&, Micros) { over_ = true; };
  }
  // What was started, in its order, of a run in which `permits` change after five seconds.
  std::vector<std::string> started(diagnose::Permits before, diagnose::Permits after) {
    auto now = std::make_shared<diagnose::Permits>(std::move(before));
    hooks_.permits = [now] { return *now; };
    const auto diagnosis = std::make_shared<Diagnosis>(loop_, operations_, rules_[0], hooks_);
    diagnosis->start(began_);
    pass(seconds(5));
    *now = std::move(after);
    pass(minutes(1));
    EXPECT_TRUE(over_) << "it hangs";
    left_out_ = diagnosis->left_out();
    return operations_.ran;
  }
  const diagnose::Permits all_{{true, ""}, {true, ""}, {true, ""}},
      none_{{false, "no more"}, {false, "a job has come"}, {true, ""}},
      no_leave_{{true, ""}, {true, ""}, {false, "too many others do"}};
  diagnose::RunStarted began_;
  Diagnosis::Hooks hooks_;
  std::vector<std::string> found_;
  std::string left_out_;
  bool over_ = false;
};

TEST_F(DiagnosisTest, StartsWhatIsPermittedAllTheTime) {
  EXPECT_THAT(started(all_, all_), ElementsAre("look", "burn", "mend"));
  EXPECT_EQ(left_out_, "");
}

TEST_F(DiagnosisTest, RefusesWhatIsPermittedNoMoreWhenItIsToStart) {
  EXPECT_THAT(started(all_, none_), ElementsAre("look"));
  EXPECT_THAT(found_, ElementsAre("p1: burn was not run: stress of the node not permitted: a job has come",
                                  "p2: mend was not run: repair not permitted: no more"));
  EXPECT_EQ(left_out_, "not run: stress of the node not permitted: a job has come");
}

TEST_F(DiagnosisTest, RefusesAnActiveCheckWhoseLeaveIsOver) {
  EXPECT_THAT(started(all_, no_leave_), ElementsAre("look", "mend"));
  EXPECT_EQ(left_out_, "not run: active check not permitted: too many others do");
}

TEST_F(DiagnosisTest, WithoutAWordOfItsOwnerItStartsNeither) {
  const auto diagnosis = std::make_shared<Diagnosis>(loop_, operations_, rules_[0], hooks_);
  diagnosis->start(began_);
  pass(minutes(1));
  EXPECT_TRUE(over_);
  EXPECT_THAT(operations_.ran, ElementsAre("look"));
}

TEST_F(DiagnosisTest, WhoHasLeftRepairsNoMore) {
  hooks_.permits = [this] { return all_; };
  const auto diagnosis = std::make_shared<Diagnosis>(loop_, operations_, rules_[0], hooks_);
  diagnosis->start(began_);
  diagnosis->leave();
  pass(minutes(1));
  EXPECT_THAT(operations_.ran, ElementsAre("look"));
  EXPECT_THAT(found_, IsEmpty());
}

}  // namespace
}  // namespace sickbay::agent
