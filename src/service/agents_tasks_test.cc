// SPDX-License-Identifier: Apache-2.0
// What agents are ordered: tasks, examinations and acts, who is answered, and what a restart does to them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "service/agents_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

TEST_F(AgentsTest, ATaskWaitsForItsAgentAndAnswersWhoOrderedIt) {
  EXPECT_EQ(ask(person("alice"), "POST", "/v1/nodes/n3/diagnose", Json::object())->response.status, 403);
  EXPECT_EQ(ask(person("alice"), "GET", "/v1/tasks/1")->response.status, 403);
  const auto poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  EXPECT_FALSE(poll->answered) << "nothing to do yet";
  ASSERT_EQ(order("n3"), 1);
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["items"].dump(), R"([{"task":1,"kind":"diagnose","mode":"deep","repair":false}])");
  EXPECT_EQ(poll->json()["next"].as_int(), 1);
  EXPECT_EQ(poll->json()["slurm"]["state"].as_string(), "IDLE");
  const auto waiting = ask(person("ops"), "GET", "/v1/tasks/1");
  EXPECT_FALSE(waiting->answered);
  EXPECT_EQ(ask(agent_at("10.0.0.4"), "POST", "/v1/agent/results", results("n4", 1, Json::array()))
                ->response.status,
            404)
      << "not its task";
  EXPECT_EQ(
      ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results("n3", 1, Json::array({finding(1)})))
          ->response.status,
      200);
  ASSERT_TRUE(waiting->answered);
  EXPECT_EQ(waiting->json()["state"].as_string(), "over");
  EXPECT_EQ(waiting->json()["outcome"].as_string(), "fault");
  EXPECT_EQ(waiting->json()["result"]["runs"].items().at(0)["values"].dump(), R"({"x":1})");
  // Said twice, ended once.
  EXPECT_EQ(ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results("n3", 1, Json::array()))
                ->response.status,
            200);
  EXPECT_EQ(std::ranges::count(journal_.events(), std::string("diagnosed"), &Event::kind), 1);
}

TEST_F(AgentsTest, PollsEndAndTasksOutliveARestart) {
  auto poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  pass(AgentTasks::kLongPoll);
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["items"].size(), 0u);
  const std::int64_t task = order("n3", "key1");
  EXPECT_EQ(order("n3", "key1"), task) << "the same key";
  start();
  EXPECT_EQ(order("n3", "key1"), task) << "the same key after a restart";
  poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  ASSERT_TRUE(poll->answered) << "at once";
  EXPECT_EQ(poll->json()["items"].size(), 1u);
  // A connection that died takes no task with it.
  auto dead = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=1");
  dead->open = false;
  EXPECT_EQ(order("n3"), task + 1);
  EXPECT_FALSE(dead->answered);
  poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=1");
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["items"].items().at(0)["task"].as_int(), task + 1);
}

TEST_F(AgentsTest, AnOrderEndsWithItsAsker) {
  const auto order_attended = [&](const std::string& node, bool attended) {
    return ask(person("root"), "POST", "/v1/nodes/" + node + "/diagnose",
               Json::object({{"mode", "deep"}, {"attended", attended}}))
        ->json()["task"]
        .as_int();
  };
  const auto outcome = [&](std::int64_t task) {
    return ask(person("root"), "GET", fmt::format("/v1/tasks/{}", task))->json()["outcome"].as_string();
  };
  const auto show = [&](std::int64_t task) {
    return ask(person("root"), "GET", fmt::format("/v1/tasks/{}", task));
  };
  // Nobody has taken it, and he who asked gives up.
  const std::int64_t first = order_attended("n3", true);
  auto waits = show(first);
  pass(seconds(25));
  EXPECT_FALSE(waits->answered) << "he is there, so it waits";
  waits->open = false;
  pass(AgentTasks::kAskerAway + seconds(10));
  auto poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  EXPECT_FALSE(poll->answered) << "twelve minutes later nobody wants it run";
  EXPECT_EQ(outcome(first), "abandoned");
  // One that is under way is left.
  const std::int64_t second = order_attended("n3", true);
  ASSERT_TRUE(poll->answered);
  waits = show(second);
  poll = ask(agent_at("10.0.0.3"), "GET", fmt::format("/v1/agent/tasks?node=n3&after={}", second));
  waits->open = false;
  pass(AgentTasks::kAskerAway + seconds(10));
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["ended"].dump(), fmt::format("[{}]", second));
  EXPECT_EQ(poll->json()["items"].size(), 0u);
  // One that is let go stays, for as long as orders do.
  const std::int64_t third = order_attended("n4", false);
  pass(minutes(10));
  poll = ask(agent_at("10.0.0.4"), "GET", "/v1/agent/tasks?node=n4&after=0");
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["items"].items().at(0)["task"].as_int(), third);
}

TEST_F(AgentsTest, TwoQuickOrdersAreOneTask) {
  // Both come before Slurm's nodes are known, so that neither is durable when the other arrives.
  start();
  std::vector<std::shared_ptr<AgentAnswer>> answers;
  for (int i = 0; i < 2; ++i)
    answers.push_back(send(person("root"), "POST", "/v1/nodes/n3/diagnose", Json::object(), "key1"));
  pass(seconds(1));
  for (const auto& answer : answers) {
    EXPECT_EQ(answer->response.status, 201) << answer->response.body;
    EXPECT_EQ(answer->json()["task"].as_int(), 1);
  }
  EXPECT_EQ(std::ranges::count(journal_.events(), std::string("diagnose_wanted"), &Event::kind), 1);
}

TEST_F(AgentsTest, AnOrderThatTheJournalHasAlreadyIsNotRepeated) {
  pass(seconds(1));
  bool answered = false;
  daemon_->agents->tasks().order(
      "n3", Json::object(), "root", [](std::vector<Event>&, const Json&) { return false; },
      [&](Result<Json>) { answered = true; });
  pass(seconds(1));
  EXPECT_FALSE(answered) << "the book answers";
  EXPECT_EQ(std::ranges::count(journal_.events(), std::string("diagnose_wanted"), &Event::kind), 0);
}

TEST_F(AgentsTest, SaysWhatCannotBeDiagnosed) {
  const auto no_node =
      ask(person("root"), "POST", "/v1/nodes/n33/diagnose", Json::object({{"mode", "quick"}}));
  EXPECT_EQ(no_node->response.status, 404);
  EXPECT_THAT(no_node->response.body, HasSubstr("did you mean n3?"));
  EXPECT_EQ(ask(person("root"), "POST", "/v1/nodes/n3/diagnose", Json::object({{"mode", "rough"}}))
                ->response.status,
            400);
  EXPECT_EQ(ask(person("root"), "GET", "/v1/tasks/99")->response.status, 404);
  EXPECT_EQ(ask(person("root"), "GET", "/v1/tasks/x")->response.status, 400);
}

TEST_F(AgentsTest, AnExaminationIsAnsweredOrExpires) {
  std::vector<std::string> answers;
  const auto listen = [&](Result<Json> r) { answers.push_back(r ? r->dump() : r.error().what); };
  daemon_->agents->tasks().examine("n3", "deep", listen);
  daemon_->agents->tasks().examine("n4", "deep", listen);
  pass(milliseconds(100));
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results("n3", 1, Json::array()));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], R"({"passed":true,"whole":true,"faults":0,"unknown":0})");
  daemon_->agents->tasks().examine("n5", "quick", listen);
  pass(milliseconds(100));
  ask(agent_at("10.0.0.5"), "POST", "/v1/agent/results",
      results("n5", 3, Json::array({finding(1).set("action", "notify"), finding(2), finding(3)})));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(
      answers[1],
      R"({"passed":false,"whole":true,"faults":3,"unknown":0,"drains":2,"sick":"node/p2: a bank is lost"})");
  answers.pop_back();
  pass(AgentTasks::kLife + minutes(2));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_THAT(answers[1], HasSubstr("no agent on n4"));
}

TEST_F(AgentsTest, AnActIsOrderedOncePerKeyAndAnswered) {
  const Json order = Json::object({{"act", "restart"}, {"components", Json::array({"slurmd"})}});
  std::vector<std::string> answers;
  const auto listen = [&](Result<Json> r) { answers.push_back(r ? r->dump() : r.error().line()); };
  const auto act = [&](const char* node, const char* key) {
    daemon_->agents->tasks().act(node, key, order, listen);
    pass(milliseconds(100));
  };
  act("n3", "r1.s1");
  act("n3", "r1.s1");  // the same command, met again
  const auto poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  ASSERT_EQ(poll->json()["items"].size(), 1u) << poll->response.body;
  const Json task = poll->json()["items"].items()[0];
  EXPECT_EQ(task["kind"].as_string(), "component");
  EXPECT_EQ(task["order"].dump(), order.dump());
  const Json said = Json::object({{"restarted", true}, {"cured", true}});
  const auto results_of = [&](const Json& of, bool whole) {
    Json body = Json::object({{"node", "n3"}, {"task", of["task"]}, {"whole", whole}});
    return whole ? body.set("answer", said)
                 : body.set("error", Json::object({{"what", "not permitted"}, {"cause", "repair.allowed"}}));
  };
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results_of(task, true));
  ASSERT_EQ(answers.size(), 2u) << "both who wait";
  EXPECT_EQ(answers[0], said.dump());
  EXPECT_EQ(answers[1], said.dump());
  // Said again by the agent, and asked again after a start of sickbayd: it is done already.
  EXPECT_EQ(ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results_of(task, false))->response.status,
            200);
  start();
  act("n3", "r1.s1");
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[2], said.dump());
  // What the agent refuses.
  act("n3", "r1.s2");
  const Json second =
      ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=1")->json()["items"].items()[0];
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results_of(second, false));
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_THAT(answers[3], HasSubstr("not permitted"));
  // Nobody takes it; no such node.
  act("n4", "r1.s3");
  pass(AgentTasks::kActLife + minutes(2));
  ASSERT_EQ(answers.size(), 5u);
  EXPECT_THAT(answers[4], HasSubstr("no agent on n4"));
  act("n33", "r1.s4");
  ASSERT_EQ(answers.size(), 6u);
  EXPECT_THAT(answers[5], HasSubstr("no node 'n33'"));
}

}  // namespace
}  // namespace sickbay
