// SPDX-License-Identifier: Apache-2.0
// From a job that asks for it to a node that is set DOWN: groups, polls, reports, the question, over a
// simulated cluster.
#include "service/swim_groups.h"

#include <gmock/gmock.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;

class SwimGroupsTest : public ApiTest {
 protected:
  SwimGroupsTest() { serve(); }
  void serve() {
    daemon_->api.serve_agents(daemon_->agents);
    daemon_->agents.watch_each_other(6831, [this](std::size_t count) {
      std::string bytes;
      while (bytes.size() < count) bytes += static_cast<char>(++random_);
      return bytes;
    });
    daemon_->effects.set_ask_node(
        [this](const std::string& node, const std::string& control, Done<Json> done) {
          daemon_->agents.addresses().ask_node(
              node, control,
              [this](const std::string& address, std::uint16_t port, Done<bool> said) {
                asked_.push_back(address + ":" + std::to_string(port));
                loop_.post([said, answers = !deaf_.contains(address)] { said(answers); });
              },
              std::move(done));
        });
    pass(1s);
  }
  JobId job(const std::string& nodes) {
    Submission s;
    s.owner = {"alice", 60001, 60001};
    s.script = "#!/bin/sh\n#SIM run=1h\n";
    s.script_name = "job.sh";
    s.sbatch_options = {"-N" + nodes, "--no-kill"};
    const auto made = cluster_.sbatch(s);
    pass(5s);
    return made->job_id;
  }
  std::shared_ptr<Answer> detect(JobId id, const std::string& how, const std::string& user = "alice") {
    auto answer = ask(user, "POST", "/v1/jobs/" + std::to_string(id) + "/detect",
                      Json::object({{"detect", how}}).dump());
    pass(5s);
    return answer;
  }
  std::shared_ptr<Answer> poll(int node, std::int64_t version = 0) {
    return ask("root@10.0.0." + std::to_string(node), "GET",
               "/v1/agent/tasks?node=n" + std::to_string(node) + "&after=0&swim=" + std::to_string(version));
  }
  std::shared_ptr<Answer> tell(int by, std::int64_t group, const std::string& about,
                               std::vector<std::string> seen_by, bool silent = true) {
    return ask(
        "root@10.0.0." + std::to_string(by), "POST", "/v1/agent/silent",
        Json::object(
            {{"node", "n" + std::to_string(by)},
             {"group", group},
             {"items",
              Json::array({Json::object(
                  {{"node", about}, {"silent", silent}, {"seen_by", seen_by}, {"silent_ms", 2400}})})}})
            .dump());
  }
  // All six agents poll; those of a group are answered when there is one.
  std::int64_t group_of_all(JobId id) {
    for (int node = 1; node <= 6; ++node) polls_.push_back(poll(node));
    detect(id, "fast");
    for (const auto& answer : polls_)
      if (answer->answered && body_of(answer)["swim"]["groups"].size() > 0)
        return body_of(answer)["swim"]["groups"].items()[0]["group"].as_int();
    return -1;
  }
  bool is_down(const std::string& node) { return cluster_.node(node)->state == "DOWN"; }

  std::vector<std::shared_ptr<Answer>> polls_;
  std::vector<std::string> asked_;
  std::set<std::string> deaf_;
  int random_ = 0;
};

TEST_F(SwimGroupsTest, TheNodesOfAJobBecomeAGroupAndEndWithIt) {
  const JobId id = job("4");
  ASSERT_NE(group_of_all(id), -1);
  const Json swim = body_of(polls_[0])["swim"];
  EXPECT_EQ(swim["port"].as_int(), 6831);
  const Json& group = swim["groups"].items()[0];
  EXPECT_EQ(group["job"].as_int(), id);
  EXPECT_EQ(group["key"].as_string().size(), 64u);
  ASSERT_EQ(group["members"].size(), 4u);
  EXPECT_EQ(group["members"].items()[2]["address"].as_string(), "10.0.0.3");
  EXPECT_FALSE(polls_[5]->answered) << "n6 is not of the job";
  EXPECT_EQ(journal_text().find(group["key"].as_string()), std::string::npos) << "keys are never kept";

  auto next = poll(1, swim["version"].as_int());
  EXPECT_FALSE(next->answered) << "it has what there is";
  cluster_.scancel(id);
  pass(10s);
  ASSERT_TRUE(next->answered);
  EXPECT_EQ(body_of(next)["swim"]["groups"].size(), 0u);
}

TEST_F(SwimGroupsTest, WhoMayAskAndForWhat) {
  const JobId id = job("2");
  EXPECT_EQ(detect(id, "fast", "bob")->response.status, 403);
  EXPECT_EQ(detect(id, "faster")->response.status, 400);
  EXPECT_EQ(detect(9999, "fast")->response.status, 404);
  EXPECT_EQ(detect(id, "fast", "ops")->response.status, 200);
  EXPECT_EQ(detect(id, "slurm")->response.status, 200);
}

// detect.default: fast.
TEST_F(SwimGroupsTest, WhereTheSiteWantsItForAllOnlyWhoSaidSlurmIsLeftOut) {
  config_.detect.fast = true;
  for (int node = 1; node <= 6; ++node) polls_.push_back(poll(node));
  daemon_->controller.watch().plan();  // (as at a start)
  const JobId all = job("4"), one = job("1");
  pass(10s);
  ASSERT_TRUE(polls_[0]->answered);
  const Json groups = body_of(polls_[0])["swim"]["groups"];
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups.items()[0]["job"].as_int(), all);
  EXPECT_EQ(groups.items()[0]["members"].size(), 4u);
  EXPECT_FALSE(polls_[4]->answered) << "job " << one << " has one node";

  auto next = poll(1, body_of(polls_[0])["swim"]["version"].as_int());
  EXPECT_EQ(detect(all, "slurm")->response.status, 200);
  ASSERT_TRUE(next->answered);
  EXPECT_EQ(body_of(next)["swim"]["groups"].size(), 0u);
  next = poll(1, body_of(next)["swim"]["version"].as_int());
  EXPECT_EQ(detect(all, "fast")->response.status, 200);
  ASSERT_TRUE(next->answered);
  cluster_.scancel(all);
  next = poll(1, body_of(next)["swim"]["version"].as_int());
  pass(20s);
  ASSERT_TRUE(next->answered);
  EXPECT_EQ(body_of(next)["swim"]["groups"].size(), 0u) << "it has ended";
}

TEST_F(SwimGroupsTest, AnAgentThatKnowsNoGroupsIsNoMember) {
  const JobId id = job("2");
  (void)ask("root@10.0.0.1", "GET", "/v1/agent/tasks?node=n1&after=0");
  auto other = poll(2);
  detect(id, "fast");
  EXPECT_FALSE(other->answered) << "one alone is no group";
}

TEST_F(SwimGroupsTest, ANodeThatNobodyReachesIsSetDown) {
  const std::int64_t group = group_of_all(job("4"));
  deaf_ = {"10.0.0.3"};
  EXPECT_EQ(tell(1, group, "n3", {"n2"})->response.status, 200);
  pass(3s);
  EXPECT_EQ(asked_.size(), 2u);
  EXPECT_TRUE(is_down("n3"));
  EXPECT_EQ(cluster_.node("n3")->reason, "Not responding");
  tell(2, group, "n3", {"n1"});
  pass(3s);
  EXPECT_EQ(asked_.size(), 2u) << "once";
}

TEST_F(SwimGroupsTest, ANodeThatAnswersSickbaydStaysUp) {
  const std::int64_t group = group_of_all(job("4"));
  tell(1, group, "n3", {"n2"});
  pass(3s);
  EXPECT_EQ(asked_.size(), 2u);
  EXPECT_FALSE(is_down("n3"));
}

TEST_F(SwimGroupsTest, ANodeWhoseAgentSpeaksStaysUp) {
  const std::int64_t group = group_of_all(job("4"));
  deaf_ = {"10.0.0.3"};
  tell(1, group, "n3", {});
  poll(3, 1);
  tell(2, group, "n3", {});
  pass(3s);
  EXPECT_TRUE(asked_.empty()) << "of two complaints one was answered";
  EXPECT_FALSE(is_down("n3"));
}

TEST_F(SwimGroupsTest, ReportsOfStrangersAreRefused) {
  const std::int64_t group = group_of_all(job("4"));
  EXPECT_EQ(tell(6, group, "n3", {"n2"})->response.status, 404);
  EXPECT_EQ(tell(1, group + 1, "n3", {"n2"})->response.status, 404);
  EXPECT_EQ(tell(1, group, "n6", {"n2"})->response.status, 400);
  EXPECT_EQ(tell(1, group, "n1", {"n2"})->response.status, 400);
  EXPECT_EQ(ask("alice", "POST", "/v1/agent/silent", "{}")->response.status, 403);
  deaf_ = {"10.0.0.3"};
  EXPECT_EQ(tell(1, group, "n3", {"n6", "n77"})->response.status, 200);
  pass(3s);
  EXPECT_TRUE(asked_.empty()) << "witnesses from outside do not count";
}

TEST_F(SwimGroupsTest, ARestartMakesNewGroups) {
  const std::int64_t group = group_of_all(job("4"));
  const std::int64_t version = body_of(polls_[0])["swim"]["version"].as_int();
  restart();
  serve();
  polls_.clear();
  auto first = poll(1, version);
  ASSERT_TRUE(first->answered) << "what it has is of the sickbayd before";
  EXPECT_EQ(body_of(first)["swim"]["groups"].size(), 0u);
  for (int node = 1; node <= 6; ++node) polls_.push_back(poll(node));
  pass(5s);
  ASSERT_TRUE(polls_[0]->answered);
  EXPECT_NE(body_of(polls_[0])["swim"]["groups"].items().at(0)["group"].as_int(), group);
}

}  // namespace
}  // namespace sickbay
