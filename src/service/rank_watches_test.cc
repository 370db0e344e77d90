// SPDX-License-Identifier: Apache-2.0
// From a job that asks for it to one that is ended since it hangs: polls, reports, judgement, journal, over a
// simulated cluster.
#include "service/rank_watches.h"

#include <gmock/gmock.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class RankWatchesTest : public ApiTest {
 protected:
  RankWatchesTest() { serve(); }
  void serve() {
    daemon_->api.serve_agents(daemon_->agents);
    daemon_->agents.watch_ranks({});
    pass(1s);
  }
  // A job of alice on two nodes, with a case that says `hang`.
  JobId job(const std::string& hang) {
    Json body = *Json::parse(submission());
    if (!hang.empty()) body.set("options", Json::object({{"hang", hang}}));
    const auto opened = ask("alice", "POST", "/v1/cases", body.dump());
    EXPECT_EQ(opened->response.status, 201) << opened->response.body;
    case_ = body_of(opened)["case"].as_string();
    Submission s;
    s.owner = {"alice", 60001, 60001};
    s.script = "#!/bin/sh\n#SIM run=1h\n";
    s.script_name = "job.sh";
    s.sbatch_options = {"-N2"};
    const auto made = cluster_.sbatch(s);
    (void)ask("alice", "POST", "/v1/cases/" + case_ + "/job",
              Json::object({{"job_id", made->job_id}}).dump());
    pass(5s);
    return made->job_id;
  }
  std::shared_ptr<Answer> poll(int node, const std::string& ranks) {
    return ask("root@10.0.0." + std::to_string(node), "GET",
               "/v1/agent/tasks?node=n" + std::to_string(node) + "&after=0" + ranks);
  }
  std::shared_ptr<Answer> tell(int node, JobId id, Standing standing, const std::string& path, Micros held) {
    RankReport report;
    RankGroup group{"step 0", 2, standing, path.substr(0, path.find(' ')), path, {}, held};
    group.ranks.add(static_cast<TaskId>(node - 1));
    report.groups.push_back(group);
    report.network_rate = report.unsent_bytes = 0;
    return ask("root@10.0.0." + std::to_string(node), "POST", "/v1/agent/ranks",
               Json::object({{"node", "n" + std::to_string(node)}, {"job", id}, {"report", to_json(report)}})
                   .dump());
  }
  void deadlock(JobId id, Micros held) {
    (void)tell(1, id, Standing::waits, "MPI_Recv < main", held);
    (void)tell(2, id, Standing::waits, "MPI_Barrier < main", held);
    pass(1s);
  }
  int count(const std::string& kind) {
    int n = 0;
    (void)journal_.read(0, [&](const Event& event) {
      n += event.kind == kind;
      return true;
    });
    return n;
  }
  Json shown() { return body_of(ask("alice", "GET", "/v1/cases/" + case_)); }
  std::string case_;
};

TEST_F(RankWatchesTest, AgentsAreToldOfTheJobsOnTheirNodes) {
  auto early = poll(1, "&ranks=0"), old = poll(2, ""), elsewhere = poll(6, "&ranks=0");
  EXPECT_FALSE(early->answered);
  const JobId id = job("notify");
  ASSERT_TRUE(early->answered);
  const Json ranks = body_of(early)["ranks"];
  ASSERT_EQ(ranks["jobs"].size(), 1u) << ranks.dump();
  EXPECT_EQ(ranks["jobs"].items()[0]["job"].as_int(), id);
  EXPECT_EQ(ranks["jobs"].items()[0]["uid"].as_int(), 60001);
  EXPECT_GE(ranks["jobs"].items()[0]["pause_ms"].as_int(), 1000);
  EXPECT_FALSE(old->answered) << "an agent that cannot is told of none";
  EXPECT_FALSE(elsewhere->answered) << "n6 is not of the job";
  auto next = poll(1, "&ranks=" + std::to_string(ranks["version"].as_int()));
  EXPECT_FALSE(next->answered) << "it has what there is";
  cluster_.scancel(id);
  pass(10s);
  ASSERT_TRUE(next->answered);
  EXPECT_EQ(body_of(next)["ranks"]["jobs"].size(), 0u);
  EXPECT_EQ(tell(1, id, Standing::waits, "MPI_Recv < main", 9s)->response.status, 404);
  EXPECT_EQ(poll(1, "&ranks=x")->response.status, 400);
}

TEST_F(RankWatchesTest, WhoSaysNothingIsNotLookedAtUnlessTheSiteWantsIt) {
  auto early = poll(1, "&ranks=0");
  (void)job("");
  EXPECT_FALSE(early->answered);
  config_.identify.hang = HangMode::notify;
  stop();
  start();
  serve();
  early = poll(1, "&ranks=0");
  (void)job("off");
  EXPECT_FALSE(early->answered);
}

TEST_F(RankWatchesTest, AHangIsToldOnceAndTheJobLivesOn) {
  const JobId id = job("notify");
  deadlock(id, 3s);
  EXPECT_EQ(count("hang_seen"), 0) << "not long enough";
  EXPECT_EQ(shown()["ranks"]["word"].as_string(), "suspicion");
  deadlock(id, 6s);
  deadlock(id, 9s);
  EXPECT_EQ(count("hang_seen"), 1);
  const Json run = shown()["runs"].items()[0];
  EXPECT_EQ(run["hang"]["why"].as_string(), "deadlock");
  EXPECT_EQ(run["hang"]["groups"].size(), 2u);
  EXPECT_EQ(run["outcome"].as_string(), "running");
  EXPECT_THAT(body_of(ask("alice", "GET", "/v1/cases"))["items"].items()[0]["hang"].as_string(),
              HasSubstr("rank 0 in MPI_Recv"));
  // After a restart it is not told again.
  stop();
  start();
  serve();
  deadlock(id, 60s);
  EXPECT_EQ(count("hang_seen"), 1);
  // It goes on after all.
  (void)tell(1, id, Standing::moves, "main", 0s);
  pass(1s);
  EXPECT_EQ(count("hang_over"), 1);
  EXPECT_GT(shown()["runs"].items()[0]["hang_over_at"].as_int(), 0);
  EXPECT_FALSE(body_of(ask("alice", "GET", "/v1/cases"))["items"].items()[0].has("hang"));
  // Who went on once after so long needs more patience.
  deadlock(id, 90s);
  EXPECT_EQ(count("hang_seen"), 1);
  deadlock(id, 181s);
  EXPECT_EQ(count("hang_seen"), 2);
}

TEST_F(RankWatchesTest, WithCancelItIsEndedAndThatIsAFailure) {
  const JobId id = job("cancel");
  deadlock(id, 9s);
  pass(10s);
  const Json view = shown();
  const Json run = view["runs"].items()[0];
  EXPECT_EQ(run["state"].as_string(), "CANCELLED");
  EXPECT_EQ(run["outcome"].as_string(), "failed");
  EXPECT_EQ(run["symptom"].as_string(), "stall");
  EXPECT_NE(view["state"].as_string(), "closed") << "the experiment goes on as for any failure";
  EXPECT_THAT(journal_text(), HasSubstr("its ranks do not go on"));
}

TEST_F(RankWatchesTest, WhatIsNoReportIsRefused) {
  const JobId id = job("notify");
  const auto post = [&](const Json& body) {
    Json whole = body;
    whole.set("node", "n1");
    return ask("root@10.0.0.1", "POST", "/v1/agent/ranks", whole.dump())->response.status;
  };
  EXPECT_EQ(post(Json::object({{"job", id}})), 400);
  EXPECT_EQ(post(Json::object({{"job", id + 1}, {"report", to_json(RankReport())}})), 404);
  EXPECT_EQ(post(Json::object({{"job", "x"}, {"report", to_json(RankReport())}})), 404);
  EXPECT_EQ(post(Json::object({{"job", id}, {"report", to_json(RankReport())}})), 200);
  EXPECT_EQ(tell(6, id, Standing::waits, "MPI_Recv < main", 9s)->response.status, 404);
}

}  // namespace
}  // namespace sickbay
