// SPDX-License-Identifier: Apache-2.0
// From a drain to what the agent of that node is told, over a simulated cluster.
#include "service/leaving_news.h"

#include <gmock/gmock.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;

class LeavingNewsTest : public ApiTest {
 protected:
  LeavingNewsTest() { serve(); }
  void serve() {
    daemon_->api.serve_agents(daemon_->agents);
    daemon_->agents.tell_leaving();
    pass(1s);
  }
  void restart_sickbayd() {
    stop();
    start();
    serve();
  }
  std::shared_ptr<Answer> poll(int node, const std::string& leaving) {
    return ask("root@10.0.0." + std::to_string(node), "GET",
               "/v1/agent/tasks?node=n" + std::to_string(node) + "&after=0" + leaving);
  }
  std::shared_ptr<Answer> poll(int node, std::int64_t since) {
    return poll(node, "&leaving=" + std::to_string(since));
  }
  // What the agent of a node that has `since` is told within a minute or two; -1: nothing.
  std::int64_t told(int node, std::int64_t since) {
    for (int i = 0; i < 4; ++i) {
      const auto answer = poll(node, since);
      pass(31s);
      EXPECT_TRUE(answer->answered);
      const Json leaving = body_of(answer)["leaving"];
      if (leaving.is_object()) return leaving["since"].as_int(0);
    }
    return -1;
  }
};

TEST_F(LeavingNewsTest, AnAgentIsToldOfAnOperatorsDrainAndOfItsEnd) {
  EXPECT_EQ(told(3, 0), -1) << "no node is leaving";
  const std::int64_t before = to_micros(loop_.now());
  cluster_.set_drain("n3", "fan");
  const std::int64_t since = told(3, 0);
  EXPECT_GE(since, before);
  EXPECT_LE(since, to_micros(loop_.now()));
  EXPECT_EQ(told(3, since), -1) << "it has it";
  EXPECT_EQ(told(4, 0), -1) << "another node";
  cluster_.set_drain("n3", "fan and disk");
  EXPECT_EQ(told(3, since), -1) << "another reason is no other drain";
  cluster_.heal("n3");
  EXPECT_EQ(told(3, since), 0);
  EXPECT_EQ(told(3, 0), -1);
  cluster_.set_drain("n3", "fan");
  EXPECT_GT(told(3, 0), since) << "drained again";
}

TEST_F(LeavingNewsTest, AnAgentThatWaitsIsToldAsSoonAsItIsSeen) {
  const auto waits = poll(3, 0), other = poll(4, 0);
  pass(1s);
  EXPECT_FALSE(waits->answered);
  cluster_.set_drain("n3", "fan");
  for (int i = 0; i < 29 && !waits->answered; ++i) {
    daemon_->controller.watch().with_nodes(0s, [](Status) {});
    pass(1s);
  }
  ASSERT_TRUE(waits->answered);
  EXPECT_GT(body_of(waits)["leaving"]["since"].as_int(), 0);
  EXPECT_FALSE(other->answered);
}

TEST_F(LeavingNewsTest, OurOwnDrainCountsLikewise) {
  bool drained = false;
  cluster_.drain("n3", "sickbay: c17 memory", [&](Result<bool> done) { drained = done.value(); });
  pass(2s);
  ASSERT_TRUE(drained);
  EXPECT_GT(told(3, 0), 0);
}

TEST_F(LeavingNewsTest, OneThatIsFailingIsLeavingToo) {
  bool failing = false;
  cluster_.fail_node("n3", "sickbay: c17 memory", [&](Result<bool> done) { failing = done.value(); });
  pass(2s);
  ASSERT_TRUE(failing);
  const std::int64_t since = told(3, 0);
  EXPECT_GT(since, 0);
  cluster_.set_drain("n3", "fan");
  EXPECT_EQ(told(3, since), -1) << "drained besides: it has been leaving since then";
}

TEST_F(LeavingNewsTest, TwoNodesThatAreDrainedAtOnceAreLeavingSinceThen) {
  cluster_.set_drain("n3", "fan");
  cluster_.set_drain("n4", "fan");
  EXPECT_GT(told(3, 0), 0);
  EXPECT_GT(told(4, 0), 0);
}

TEST_F(LeavingNewsTest, AfterARestartTheAgentsWordHolds) {
  cluster_.set_drain("n3", "fan");
  const std::int64_t since = told(3, 0);
  restart_sickbayd();
  EXPECT_EQ(told(3, since), -1) << "the same drain is told once";
  EXPECT_EQ(told(3, 0), since) << "and the agent may be started anew after that";
  // Both at once: nobody knows any more, and it begins anew.
  restart_sickbayd();
  const std::int64_t anew = told(3, 0);
  EXPECT_GT(anew, since);
  EXPECT_EQ(told(3, anew), -1);
  // What an agent says is believed of the time before only.
  restart_sickbayd();
  const std::int64_t ours = told(3, to_micros(loop_.now()) + 3'600'000'000);
  EXPECT_GT(ours, anew);
  EXPECT_LE(ours, to_micros(loop_.now()));
}

TEST_F(LeavingNewsTest, ADrainThatWasLiftedMeanwhileIsToldAsLifted) {
  cluster_.set_drain("n3", "fan");
  const std::int64_t since = told(3, 0);
  stop();
  cluster_.heal("n3");
  start();
  serve();
  EXPECT_EQ(told(3, since), 0);
}

TEST_F(LeavingNewsTest, AnAgentOfAnOlderVersionIsToldOfNone) {
  cluster_.set_drain("n3", "fan");
  for (int i = 0; i < 4; ++i) {
    const auto answer = poll(3, "");
    pass(31s);
    EXPECT_FALSE(body_of(answer).has("leaving"));
  }
  EXPECT_EQ(poll(3, "&leaving=x")->response.status, 400);
}

}  // namespace
}  // namespace sickbay
