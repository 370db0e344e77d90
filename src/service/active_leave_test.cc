// SPDX-License-Identifier: Apache-2.0
// Leave for active checks, from an agent's poll to its answer and to what people are shown.
#include "service/active_leave.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;

class ActiveLeaveTest : public ApiTest {
 protected:
  ActiveLeaveTest() { serve(1); }
  void serve(int at_once) {
    daemon_->api.serve_agents(daemon_->agents);
    daemon_->agents.bound_active(at_once);
    pass(1s);
  }
  void serve_anew(int at_once) {
    stop();
    start();
    serve(at_once);
  }
  std::shared_ptr<Answer> poll(int node, const std::string& word, std::int64_t after = 0) {
    return ask(fmt::format("root@10.0.0.{}", node), "GET",
               fmt::format("/v1/agent/tasks?node=n{}&after={}{}", node, after,
                           word.empty() ? "" : "&active=" + word));
  }
  void hello(int node) {
    EXPECT_EQ(ask(fmt::format("root@10.0.0.{}", node), "POST", "/v1/agent/hello",
                  fmt::format(R"({{"node": "n{}", "boot_id": "b", "version": "1", "digests": {{}}}})", node))
                  ->response.status,
              200);
  }
  Json view(int node) {
    const Json list = body_of(ask("root", "GET", "/v1/nodes"));
    for (const Json& one : list["items"].items())
      if (one["name"].as_string() == fmt::format("n{}", node)) return one["agent"]["active"];
    return Json();
  }
};

TEST_F(ActiveLeaveTest, AnAgentThatWaitsIsToldAsSoonAsItIsItsTurn) {
  const auto first = poll(1, "waits");
  ASSERT_TRUE(first->answered) << "nobody else has it";
  const Json told = body_of(first)["active"];
  EXPECT_EQ(told["at_once"].as_int(), 1);
  EXPECT_EQ(told["holding"].as_int(), 1);
  EXPECT_EQ(told["leave_us"].as_int(), Micros(ActiveTurns::kLease).count());
  auto holder = poll(1, "holds");
  const auto second = poll(2, "waits"), third = poll(3, "none");
  EXPECT_FALSE(holder->answered) << "nothing is news to it";
  EXPECT_FALSE(second->answered);
  pass(29s);
  EXPECT_FALSE(second->answered);
  EXPECT_EQ(view(1)["state"].as_string(), "holds");
  EXPECT_EQ(view(2)["state"].as_string(), "waits");
  EXPECT_EQ(view(2)["waiting"].as_int(), 1);
  EXPECT_TRUE(view(3).is_null());
  const Json counts = body_of(ask("root", "GET", "/v1/status"))["agents"]["active"];
  EXPECT_EQ(counts.dump(), R"({"at_once":1,"holding":1,"waiting":1})");
  // It gives it back: the other one hears of it at once.
  const auto again = poll(2, "waits");
  EXPECT_EQ(body_of(second)["active"]["leave_us"].as_int(), 0);
  (void)poll(1, "none");
  ASSERT_TRUE(again->answered);
  EXPECT_GT(body_of(again)["active"]["leave_us"].as_int(), 0);
  EXPECT_TRUE(view(1).is_null());
}

TEST_F(ActiveLeaveTest, OneThatHasGoneAwayKeepsNobodyWaitingForLong) {
  (void)poll(1, "waits");
  auto waits = poll(2, "waits");
  for (int i = 0; i < 12 && body_of(waits)["active"]["leave_us"].as_int() == 0; ++i) {
    pass(30s);
    if (!waits->answered || body_of(waits)["active"]["leave_us"].as_int() == 0) waits = poll(2, "waits");
  }
  EXPECT_GT(body_of(waits)["active"]["leave_us"].as_int(), 0);
}

TEST_F(ActiveLeaveTest, AfterARestartNobodyGetsItUntilItsHolderIsHeard) {
  for (const int node : {1, 2, 3}) hello(node);
  EXPECT_GT(body_of(poll(1, "waits"))["active"]["leave_us"].as_int(), 0);
  serve_anew(1);
  const auto waits = poll(2, "waits");
  EXPECT_FALSE(waits->answered) << "n1 may use it";
  (void)poll(3, "");  // an older agent: it has none
  EXPECT_FALSE(waits->answered);
  (void)poll(1, "holds");
  EXPECT_FALSE(waits->answered) << "and it does";
  (void)poll(1, "none");
  ASSERT_TRUE(waits->answered);
  EXPECT_GT(body_of(waits)["active"]["leave_us"].as_int(), 0);
}

TEST_F(ActiveLeaveTest, AfterARestartThatItsHolderDidNotSurviveOthersWaitForALease) {
  for (const int node : {1, 2}) hello(node);
  (void)poll(1, "waits");
  serve_anew(1);
  auto waits = poll(2, "waits");
  std::chrono::seconds passed = 0s;
  for (; passed < 10min && body_of(waits)["active"]["leave_us"].as_int() == 0; passed += 31s) {
    pass(31s);
    if (body_of(waits)["active"]["leave_us"].as_int() == 0) waits = poll(2, "waits");
  }
  EXPECT_GE(passed, ActiveTurns::kLease - 62s);
  EXPECT_LE(passed, ActiveTurns::kLease + 62s);
}

TEST_F(ActiveLeaveTest, AnAgentOfAnOlderVersionIsToldNothing) {
  const auto old = poll(1, "");
  pass(31s);
  EXPECT_FALSE(body_of(old).has("active"));
  EXPECT_TRUE(poll(2, "waits")->answered) << "it does not count";
  EXPECT_EQ(poll(1, "what")->response.status, 400);
}

TEST_F(ActiveLeaveTest, WithoutABoundAgentsAreToldSo) {
  serve_anew(0);
  const auto polled = poll(1, "waits");
  pass(31s);
  EXPECT_EQ(body_of(polled)["active"].dump(), R"({"at_once":0,"holding":0,"waiting":0})");
}

TEST_F(ActiveLeaveTest, WhoWaitsForTheAnswerHasLeaveAtOnceAndAScriptDoesNot) {
  (void)poll(3, "waits");
  (void)poll(3, "holds");
  const auto order = [&](int node, const char* mode, bool attended) {
    return body_of(ask("root", "POST", fmt::format("/v1/nodes/n{}/diagnose", node),
                       Json::object({{"mode", mode}, {"attended", attended}}).dump(),
                       fmt::format("key{}{}{}", node, mode, attended)))["task"]
        .as_int();
  };
  const auto given = [&](int node, std::int64_t task) {
    const Json answer = body_of(poll(node, "none", task - 1));
    EXPECT_EQ(answer["items"].size(), 1u) << answer.dump();
    return answer;
  };
  const Json watched = given(1, order(1, "deep", true));
  EXPECT_TRUE(watched["items"].items().at(0)["leave"].as_bool());
  EXPECT_GT(watched["active"]["leave_us"].as_int(), 0) << "over the bound, for he looks on";
  const Json script = given(2, order(2, "deep", false));
  EXPECT_FALSE(script["items"].items().at(0).has("leave"));
  EXPECT_EQ(script["active"]["leave_us"].as_int(), 0);
  EXPECT_FALSE(given(4, order(4, "quick", true))["items"].items().at(0).has("leave"))
      << "the quick mode needs none";
}

}  // namespace
}  // namespace sickbay
