// SPDX-License-Identifier: Apache-2.0
// Why a job without a case failed: from the look at all jobs to the answer.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class FailuresApi : public ApiTest {
 protected:
  FailuresApi() {
    config_.identify.all_jobs = true;
    restart();
  }
  JobId sbatch(std::uint32_t uid, const std::string& does) {
    Submission s;
    s.owner = {"u" + std::to_string(uid), uid, uid};
    s.script = "#!/bin/sh\n#SIM " + does + "\n";
    s.script_name = "job.sh";
    s.work_dir = "/home/u";
    s.sbatch_options = {"--nodes=1", "--time=10", "--no-requeue"};
    return cluster_.sbatch(s)->job_id;
  }
  std::size_t looks() {
    std::size_t n = 0;
    for (const Event& event : journal_.events()) n += event.kind == kJobsEnded ? 1 : 0;
    return n;
  }
};

TEST_F(FailuresApi, AnswersForAJobOfPlainSbatch) {
  const JobId failed = sbatch(60001, "run=5s exit=3"), passed = sbatch(60001, "run=5s");
  pass(seconds(30));
  const auto target = [](JobId job) { return fmt::format("/v1/jobs/{}/failure", job); };
  const auto answer = ask("alice", "GET", target(failed));
  ASSERT_EQ(answer->response.status, 200) << answer->response.body;
  const Json view = body_of(answer);
  EXPECT_EQ(view["job_id"].as_int(), failed);
  EXPECT_TRUE(view["verdict"]["final"].as_bool());
  EXPECT_NE(view["verdict"]["confidence"].as_string(), "high");
  EXPECT_EQ(view["verdict"]["nodes"].size(), 0U);
  EXPECT_THAT(view["verdict"].dump(), HasSubstr("ended as FAILED, exit code 3, 5 s after its start on n"));
  EXPECT_EQ(ask("ops", "GET", target(failed))->response.status, 200);
  EXPECT_EQ(ask("bob", "GET", target(failed))->response.status, 403);
  EXPECT_THAT(ask("alice", "GET", target(passed))->response.body, HasSubstr("did not fail"));
  EXPECT_THAT(ask("alice", "GET", target(999))->response.body, HasSubstr("nothing is kept of job 999"));
  EXPECT_EQ(ask("alice", "GET", target(0))->response.status, 400);
}

TEST_F(FailuresApi, WhatItKnowsOutlivesSickbayd) {
  const JobId failed = sbatch(60001, "run=5s exit=3");
  pass(seconds(30));
  restart();
  EXPECT_EQ(ask("alice", "GET", fmt::format("/v1/jobs/{}/failure", failed))->response.status, 200);
}

TEST_F(FailuresApi, OthersDoNotHearOfIt) {
  sbatch(60001, "run=5s exit=3");
  pass(seconds(30));
  EXPECT_GT(looks(), 0U);
  EXPECT_THAT(ask("ops", "GET", "/v1/events")->streamed, HasSubstr("jobs_ended"));
  EXPECT_EQ(ask("bob", "GET", "/v1/events")->streamed.find("jobs_ended"), std::string::npos);
}

// Thousands of failures of one user neither fill the journal nor hide the one of another.
TEST_F(FailuresApi, AFloodStarvesNobody) {
  for (int i = 0; i < 600; ++i) sbatch(60001, "run=1s exit=1");
  pass(seconds(120));
  const JobId one = sbatch(60002, "run=1s exit=7");
  pass(seconds(1800));
  EXPECT_EQ(ask("bob", "GET", fmt::format("/v1/jobs/{}/failure", one))->response.status, 200);
  std::size_t told = 0;
  for (const Event& event : journal_.events())
    if (event.kind == kJobsEnded) told += event.body["outcomes"].size();
  EXPECT_LE(told, 601U);  // each once
}

TEST_F(FailuresApi, WithoutTheSitesWordNothingIsLookedAt) {
  config_.identify.all_jobs = false;
  restart();
  const auto before = looks();
  const JobId failed = sbatch(60001, "run=5s exit=3");
  pass(seconds(600));
  EXPECT_EQ(looks(), before);
  EXPECT_THAT(ask("alice", "GET", fmt::format("/v1/jobs/{}/failure", failed))->response.body,
              HasSubstr("identify.jobs"));
}

}  // namespace
}  // namespace sickbay
