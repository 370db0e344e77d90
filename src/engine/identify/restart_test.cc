// SPDX-License-Identifier: Apache-2.0
// What is kept of a run that Slurm started again (decisions.md 29).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/identify/case_view.h"
#include "engine/identify/identify.h"
#include "engine/identify/provisional.h"

namespace sickbay::identify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RestartTest : public testing::Test {
 protected:
  RestartTest() {
    nodes_are(false, "n[1-4]");
    event("c1", kCaseOpened, Json::object({{"work_dir", "/home/alice"}}));
    event("c1", kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
  }
  void event(const std::string& subject, std::string_view kind, Json body) {
    Event e;
    e.at = now;
    e.subject = subject;
    e.kind = kind;
    e.body = std::move(body);
    cluster::apply(cluster, e);
    apply(state, cluster.view, e);
  }
  void nodes_are(bool down, const std::string& nodes) {
    event("cluster", kNodesSeen,
          Json::object(
              {{"groups", Json::array({Json::object({{"nodes", nodes},
                                                     {"state", down ? "DOWN" : "IDLE"},
                                                     {"usable", !down},
                                                     {"down", down},
                                                     {"partitions", std::vector<std::string>{"main"}}})})}}));
  }
  void job_is(const std::string& job_state, std::uint32_t restart, const std::string& nodes) {
    JobInfo job;
    job.job_id = 100;
    job.state = job_state;
    job.restart_cnt = restart;
    job.nodes = nodes;
    event("c1", kJobSeen, Json::object({{"run", "c1.r1"}, {"job", job.to_json()}}));
  }
  const identify::Run& r1() { return state.cases.at(1).programs.at(0); }

  cluster::Cluster cluster;
  State state;
  TimePoint now = from_unix_seconds(1'800'000'000);
};

TEST_F(RestartTest, TheNodeThatWasLostIsKeptInWhateverOrderItIsSeen) {
  for (const bool node_first : {true, false}) {
    state = {};
    cluster = {};
    nodes_are(false, "n[1-4]");
    event("c1", kCaseOpened, Json::object({{"work_dir", "/home/alice"}}));
    event("c1", kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
    job_is("RUNNING", 0, "n[1-2]");
    if (node_first) nodes_are(true, "n2");
    job_is("PENDING", 1, "");
    if (!node_first) nodes_are(true, "n[2-3]");
    job_is("RUNNING", 1, "n[1,4]");
    job_is("COMPLETED", 1, "n[1,4]");
    EXPECT_EQ(r1().outcome, Outcome::ok);
    EXPECT_THAT(r1().down_nodes, IsEmpty());
    EXPECT_THAT(r1().nodes, ElementsAre("n1", "n4"));
    ASSERT_THAT(r1().earlier, SizeIs(1));
    EXPECT_EQ(r1().earlier[0].restart_cnt, 0U);
    EXPECT_EQ(r1().earlier[0].state, "RUNNING");
    EXPECT_THAT(r1().earlier[0].nodes, ElementsAre("n1", "n2"));
    EXPECT_THAT(r1().earlier[0].down_nodes, ElementsAre("n2")) << node_first;
    EXPECT_THAT(case_view(state.cases.at(1)).dump(),
                HasSubstr("went down during c1.r1 before its restart 1"));
  }
}

// Found in the demo: a job that asked for its nodes by name waited for the lost one, and nobody said why.
TEST_F(RestartTest, ItsOwnerIsToldWhyItWaitsAgain) {
  job_is("RUNNING", 0, "n[1-2]");
  nodes_are(true, "n2");
  job_is("PENDING", 1, "");
  const Policy policy;
  EXPECT_THAT(under_way({cluster.view, state, policy, now}, state.cases.at(1)),
              testing::Contains("c1.r1 lost n2, and Slurm put it back into the queue"));
}

TEST_F(RestartTest, ANodeThatGoesDownLongAfterwardsWasNotLostToIt) {
  job_is("RUNNING", 0, "n[1-2]");
  job_is("PENDING", 1, "");
  now += std::chrono::minutes(11);
  nodes_are(true, "n2");
  EXPECT_THAT(r1().earlier.at(0).down_nodes, IsEmpty());
}

TEST_F(RestartTest, AJobThatRequeuesItselfForEverFillsNoMemory) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    job_is("RUNNING", i, "n1");
    job_is("PENDING", i + 1, "");
  }
  ASSERT_THAT(r1().earlier, SizeIs(16));
  EXPECT_EQ(r1().earlier.front().restart_cnt, 0U) << "the first is kept";
  EXPECT_EQ(r1().earlier.back().restart_cnt, 99U);
}

}  // namespace
}  // namespace sickbay::identify
