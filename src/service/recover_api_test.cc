// SPDX-License-Identifier: Apache-2.0
// Recoveries of jobs over the API, on the simulated cluster n[1-6].
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class RecoverApi : public ApiTest {
 protected:
  RecoverApi() { pass(seconds(5)); }

  JobId sbatch(std::vector<std::string> options, const std::string& does = "run=10m") {
    Submission s;
    s.script = "#!/bin/sh\n#SIM " + does + "\n";
    s.script_name = "job.sh";
    s.work_dir = "/home/alice";
    s.owner = {"alice", 60001, 60001};
    s.sbatch_options = std::move(options);
    const auto job = cluster_.sbatch(s);
    pass(seconds(5));
    return job ? job->job_id : 0;
  }
  std::shared_ptr<Answer> recover(const std::string& user, const std::string& body) {
    auto answer = send(user, "POST", "/v1/recoveries", body);
    for (int i = 0; i < 100 && !answer->answered; ++i) pass(std::chrono::milliseconds(50));
    return answer;
  }
};

TEST_F(RecoverApi, AJobBeginsAnewOnOtherNodes) {
  const JobId job = sbatch({"-N2"});
  ASSERT_EQ(cluster_.job(job)->state, "RUNNING");
  const std::string body = fmt::format(R"({{"job":{},"node":"n1","text":"slow"}})", job);
  const auto plan = recover("ops", body.substr(0, body.size() - 1) + R"(,"dry_run":true})");
  EXPECT_EQ(plan->response.status, 200) << plan->response.body;
  EXPECT_EQ(body_of(plan)["plan"]["path"].items().at(1)["cell"].as_string(), fmt::format("job:{}", job));
  EXPECT_EQ(cluster_.job(job)->restart_cnt, 0u) << "nothing is done";

  const auto asked = recover("ops", body);
  EXPECT_EQ(asked->response.status, 201) << asked->response.body;
  EXPECT_EQ(body_of(asked)["recovery"].as_string(), "r1");
  pass(seconds(5));
  EXPECT_EQ(cluster_.job(job)->restart_cnt, 1u);
  const Json shown = body_of(ask("alice", "GET", "/v1/recoveries"))["items"].items().at(0);
  EXPECT_EQ(shown["outcome"].as_string(), "cured") << shown.dump();
  EXPECT_EQ(shown["fault"]["source"].as_string(), "by ops");
  EXPECT_EQ(shown["fault"]["job"]["exclude"].as_string(), "n1");
  pass(minutes(5));
  EXPECT_EQ(cluster_.job(job)->state, "RUNNING");
  EXPECT_EQ(cluster_.job(job)->nodes, "n[2-3]");
}

TEST_F(RecoverApi, AJobThatHasFailedBeginsAnew) {
  const JobId job = sbatch({"-N1"}, "run=2s exit=1");
  ASSERT_EQ(cluster_.job(job)->state, "FAILED");
  EXPECT_EQ(recover("root", fmt::format(R"({{"job":{}}})", job))->response.status, 201);
  pass(seconds(5));
  EXPECT_EQ(cluster_.job(job)->restart_cnt, 1u);
}

TEST_F(RecoverApi, WhatIsRefused) {
  const JobId runs = sbatch({"-N1"}), waits = sbatch({"-N1", "--hold"});
  const struct {
    const char* what;
    const char* user;
    std::string body;
    int status;
    const char* says;
  } rows[] = {
      {"its owner", "alice", fmt::format(R"({{"job":{}}})", runs), 403, "denied"},
      {"another user", "bob", fmt::format(R"({{"job":{}}})", runs), 403, "denied"},
      {"no number", "ops", R"({"job":"x"})", 400, "must be the number of a job"},
      {"none", "ops", R"({"job":0})", 400, "must be the number of a job"},
      {"a large one", "ops", R"({"job":99999999999})", 400, "must be the number of a job"},
      {"with a component", "ops", fmt::format(R"({{"job":{},"component":"slurmd"}})", runs), 400,
       "has no component"},
      {"of another class", "ops", fmt::format(R"({{"job":{},"class":"node"}})", runs), 400, "no other class"},
      {"no such job", "ops", R"({"job":4711})", 404, "Slurm has no job 4711"},
      {"it waits", "ops", fmt::format(R"({{"job":{}}})", waits), 409, "waits in the queue"},
      {"not its node", "ops", fmt::format(R"({{"job":{},"node":"n6"}})", runs), 409, "is not a node of job"},
      {"no class", "ops", R"({"node":"n1","class":"switch"})", 400, "component, node, network or cluster"},
      {"the cluster", "ops", R"({"class":"cluster"})", 409,
       "the whole cluster is restarted on a person's word"},
      {"the cluster, by a user", "alice", R"({"class":"cluster"})", 403, "denied"},
      {"no node", "ops", fmt::format(R"({{"job":{},"node":"n66"}})", runs), 409, "Slurm has no node n66"},
  };
  for (const auto& row : rows) {
    const auto answer = recover(row.user, row.body);
    EXPECT_EQ(answer->response.status, row.status) << row.what << ": " << answer->response.body;
    EXPECT_THAT(answer->response.body, HasSubstr(row.says)) << row.what;
  }
  EXPECT_TRUE(body_of(ask("ops", "GET", "/v1/recoveries"))["items"].items().empty());
  EXPECT_EQ(cluster_.job(runs)->restart_cnt, 0u);
}

TEST_F(RecoverApi, APartOfNetworkHardwareHasItsNodeLeaveServiceForAPerson) {
  const auto plan = recover("ops", R"({"node":"n2","class":"network","dry_run":true})");
  EXPECT_EQ(plan->response.status, 200) << plan->response.body;
  EXPECT_EQ(body_of(plan)["plan"]["start"].as_int(), -1);
  EXPECT_THAT(body_of(plan)["plan"]["refused"].as_string(),
              HasSubstr("for a person to change, and n2 is to leave"));
  EXPECT_EQ(recover("ops", R"({"class":"cluster","dry_run":true})")->response.status, 200);
  EXPECT_EQ(recover("ops", R"({"node":"n2","class":"network","text":"its link flaps"})")->response.status,
            201);
  pass(seconds(5));
  const Json shown = body_of(ask("ops", "GET", "/v1/recoveries"))["items"].items().at(0);
  EXPECT_EQ(shown["outcome"].as_string(), "given_up") << shown.dump();
  EXPECT_THAT(shown["why"].as_string(), HasSubstr("a person must look"));
}

TEST_F(RecoverApi, OfOneJobThereIsOneRecoveryAtATime) {
  const JobId job = sbatch({"-N2"});
  cluster_.fail_calls("requeue", sim::SimCallFault::lost_answer, 3);
  EXPECT_EQ(recover("ops", fmt::format(R"({{"job":{},"node":"n1"}})", job))->response.status, 201);
  const auto second = recover("ops", fmt::format(R"({{"job":{},"node":"n2"}})", job));
  EXPECT_EQ(second->response.status, 409) << second->response.body;
}

TEST_F(RecoverApi, WhereJobsMayNotBeRequeuedThatIsSaid) {
  config_.recover.requeue = false;
  restart();
  pass(seconds(5));
  const auto answer = recover("ops", fmt::format(R"({{"job":{}}})", sbatch({"-N1"})));
  EXPECT_EQ(answer->response.status, 409);
  EXPECT_THAT(answer->response.body, HasSubstr("recover.requeue is off"));
}

}  // namespace
}  // namespace sickbay
