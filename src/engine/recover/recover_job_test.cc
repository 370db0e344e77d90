// SPDX-License-Identifier: Apache-2.0
// Recoveries of a job that Slurm puts back into its queue: what the order says in each case, and what is no
// order any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/recover/recover.h"
#include "engine/recover/recover_world.h"

namespace sickbay::recover {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kSubmit = 1'790'000'000'000'000;

class RecoverJob : public ::testing::Test, protected World {
 protected:
  void TearDown() override { EXPECT_EQ(replayed(), canonical_text(state)); }

  static JobInfo job17(const std::string& shown, std::uint32_t restart_cnt = 2) {
    JobInfo job;
    job.job_id = 17;
    job.uid = 1001;
    job.state = shown;
    job.partition = "batch";
    job.restart_cnt = restart_cnt;
    job.submit = from_micros(kSubmit);
    if (shown != "PENDING") job.nodes = "n[2-5]";
    return job;
  }
  // As the API opens it.
  static Fault of(const JobInfo& job, const std::string& node) {
    return Fault::of_job(job, node, false, "by alice");
  }
  void seen(const JobInfo& job) {
    say("r1", kJobSeen, Json::object({{"run", "r1.job"}, {"job", job.to_json()}}));
  }
  // Another engine has the job: nothing is ordered until it lets go.
  void held_by_another() {
    say("job:17", kClaimed, Json::object({{"holder", "identify"}, {"by", "c9"}, {"reason", "x"}}));
  }
  void let_go() { say("job:17", kClaimReleased, Json::object({{"holder", "identify"}, {"why", "done"}})); }
  void requeued(const char* said, bool excluded) {
    done("r1.s1", Json::object({{"requeued", true}, {"excluded", excluded}, {"said", said}}));
  }
};

TEST_F(RecoverJob, TheOrderNamesTheJobAndTheNodesThatItIsToGetNoMore) {
  struct Row {
    const char* what;
    const char *state, *node;
    std::string cells;
    std::string order;
  };
  const std::string known = R"("job_id":17,"uid":1001,"restart_cnt":2,"level":"group",)"
                            R"("nodes":["n2","n3","n4","n5"],"submit":1790000000000000)";
  const std::vector<Row> rows = {
      {"it runs", "RUNNING", "n3", "n3 job:17 cluster",
       R"({"step":1,"cell":1,)" + known + R"(,"exclude":["n3"]})"},
      {"nobody named a node", "RUNNING", "", "job:17 cluster", R"({"step":1,"cell":0,)" + known + "}"},
      {"it is over", "FAILED", "n3", "job:17 cluster",
       R"({"step":1,"cell":0,)" + known + R"(,"exclude":["n3"]})"},
      {"it lost a node", "NODE_FAIL", "", "job:17 cluster", R"({"step":1,"cell":0,)" + known + "}"},
  };
  std::int64_t no = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    opened(++no, of(job17(row.state), row.node));
    std::string cells;
    for (const PlannedCell& cell : recovery(no).plan.path) cells += (cells.empty() ? "" : " ") + cell.cell;
    EXPECT_EQ(cells, row.cells);
    const std::string key = recovery_name(no) + ".s1";
    ASSERT_NE(find(key), nullptr);
    EXPECT_EQ(find(key)->verb, "requeue_job");
    EXPECT_EQ(find(key)->args.dump(), row.order);
    done(key, Json::object({{"requeued", true}, {"excluded", true}, {"said", ""}}));
    EXPECT_EQ(end(no), "cured: the restart of job:17 cured it");
  }
}

TEST_F(RecoverJob, WhereItDoesNotFitOnOtherNodesItMayGetTheNodeAgain) {
  struct Row {
    const char* what;
    const char* partition;
    const char* nodes;    // of the job
    std::string exclude;  // of the order
  };
  const std::vector<Row> rows = {
      {"nineteen others", "batch", "n[1-19]", R"(["n3"])"},
      {"it has all", "batch", "n[1-20]", "null"},
      {"one of its partitions is large enough", "short,batch", "n[1-19]", R"(["n3"])"},
      {"a partition that there is not", "batc", "n[1-4]", "null"},
      {"nobody told", "", "n[1-4]", "null"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const std::int64_t no = state.last + 1;
    JobInfo job = job17("FAILED");
    job.partition = row.partition;
    job.nodes = row.nodes;
    opened(no, of(job, "n3"));
    const std::string key = recovery_name(no) + ".s1";
    ASSERT_NE(find(key), nullptr);
    EXPECT_EQ(find(key)->args["exclude"].dump(), row.exclude);
    const bool excluded = row.exclude != "null";
    done(key, Json::object({{"requeued", true}, {"excluded", excluded}, {"said", ""}}));
    EXPECT_EQ(end(no), excluded ? "cured: the restart of job:17 cured it"
                                : "cured: the restart of job:17 cured it; it may get n3 again: it has too "
                                  "few other nodes");
  }
}

TEST_F(RecoverJob, WhatItWasKeptAwayFromBeforeIsNoPlaceForIt) {
  JobInfo job = job17("FAILED");
  job.nodes = "n[1-19]";
  opened(1, of(job, "n3"));
  requeued("", true);
  job.nodes = "n[1-2,4-20]";
  job.restart_cnt = 3;
  opened(2, of(job, "n4"));
  ASSERT_NE(find("r2.s1"), nullptr);
  EXPECT_FALSE(find("r2.s1")->args.has("exclude")) << "18 nodes are left for 19";
}

TEST_F(RecoverJob, WhatSlurmDidNotGrantIsTold) {
  opened(1, of(job17("FAILED"), "n3"));
  requeued("job 17 has begun already", false);
  EXPECT_EQ(end(1), "cured: the restart of job:17 cured it; it may get n3 again: job 17 has begun already");
}

TEST_F(RecoverJob, ANodeThatSlurmHasNoMoreIsNotNamedToIt) {
  held_by_another();
  opened(1, of(job17("FAILED"), "n3"));
  gone("n3");
  let_go();
  ASSERT_NE(find("r1.s1"), nullptr) << "the job begins anew all the same";
  EXPECT_FALSE(find("r1.s1")->args.has("exclude"));
}

// What becomes of the job while another engine has it: is anything left to do?
TEST_F(RecoverJob, WhatTheJobComesToBeforeItsTurn) {
  const char* const kGone = "gone: job 17 is not what it was any more";
  struct Row {
    const char *opened, *node, *then;
    std::uint32_t restart_cnt;
    std::string end;
  };
  const std::vector<Row> rows = {
      {"RUNNING", "n3", "RUNNING", 2, "open"},
      {"RUNNING", "n3", "FAILED", 2, kGone},
      {"RUNNING", "n3", "NODE_FAIL", 2, kGone},
      {"RUNNING", "n3", "PENDING", 3, "open"},  // Slurm has requeued it: kept away from n3 it can be yet
      {"RUNNING", "", "PENDING", 3, kGone},
      {"RUNNING", "n3", "RUNNING", 3, kGone},
      {"RUNNING", "n3", "", 0, kGone},

      {"FAILED", "n3", "FAILED", 2, "open"},
      {"NODE_FAIL", "n3", "PENDING", 3, "open"},
      {"NODE_FAIL", "", "PENDING", 3, kGone},
      {"NODE_FAIL", "n3", "RUNNING", 3, kGone},
      {"NODE_FAIL", "n3", "COMPLETED", 3, kGone},
      {"FAILED", "n3", "", 0, kGone},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.opened) + " then " + row.then + " of " + row.node);
    held_by_another();
    const std::int64_t no = state.last + 1;
    opened(no, of(job17(row.opened), row.node));
    if (*row.then == 0)
      say(recovery_name(no), kJobLost, Json::object({{"run", "x"}, {"job_id", 17}}));
    else
      say(recovery_name(no), kJobSeen,
          Json::object({{"run", "x"}, {"job", job17(row.then, row.restart_cnt).to_json()}}));
    EXPECT_EQ(end(no), row.end);
    EXPECT_THAT(commands, IsEmpty());
    say(recovery_name(no), kRecoveryStop, Json::object({{"by", "alice"}}));
    let_go();
  }
}

TEST_F(RecoverJob, WhereSitesTurnItOffJobsAreLeftToPeople) {
  policy.requeue = false;
  opened(1, of(job17("FAILED"), "n3"));
  EXPECT_EQ(end(1), "refused: job:17: recover.requeue is off");
  opened(2, of(job17("RUNNING"), "n3"));
  EXPECT_EQ(end(2), "refused: n3: the job does not go on while one of its nodes is restarted alone");
  EXPECT_THAT(commands, IsEmpty());
}

TEST_F(RecoverJob, WhatCannotBe) {
  JobInfo nowhere = job17("FAILED");
  nowhere.nodes = "";
  opened(1, of(nowhere, ""));
  EXPECT_EQ(end(1), "refused: nobody has said which nodes job 17 had");
  opened(2, of(job17("FAILED"), "n9"));
  EXPECT_EQ(end(2), "refused: n9 is not a node of job 17");
  opened(3, by_alice(FaultClass::job, ""));
  EXPECT_EQ(end(3), "refused: nobody has said which job it is of");
}

TEST_F(RecoverJob, WhatSlurmRefusesIsAPersons) {
  opened(1, of(job17("FAILED"), "n3"));
  failed("r1.s1", "conflict", "job 17 may not be requeued");
  EXPECT_EQ(end(1), "given_up: job 17 may not be requeued: a person must look");
  EXPECT_EQ(recovery(1).steps.front().said, "job 17 may not be requeued");
  EXPECT_EQ(state.rates.record_of_kind("group")->cures.size(), 0u)
      << "what was not restarted counts for nothing";
}

TEST_F(RecoverJob, DependentNodesOfAJobThatIsOverAreLetBe) {
  depend({{"n5", "n6"}});
  opened(1, of(job17("FAILED"), "n5"));
  EXPECT_EQ(recovery(1).plan.path.front().cell, "job:17");
  EXPECT_THAT(find("r1.s1")->args.dump(), HasSubstr(R"("exclude":["n5"])"));
}

TEST_F(RecoverJob, FaultsOfJobsComeBackFromTheJournal) {
  Fault fault = of(job17("FAILED"), "n3");
  EXPECT_EQ(Fault::from_json(fault.to_json()).to_json().dump(), fault.to_json().dump());
  EXPECT_THAT(fault.to_json().dump(),
              HasSubstr(R"("submit":1790000000000000,"partition":"batch","exclude":"n3","over":true)"));
  EXPECT_EQ(of_job(false).to_json()["job"].dump(),
            R"({"job_id":17,"uid":1001,"restart_cnt":2,"nodes":"n[2-5]","domains":[],"alone":false})")
      << "as it always was";
}

TEST_F(RecoverJob, OfJobsThatAreLongGoneNothingIsKept) {
  opened(1, of(job17("FAILED"), "n3"));
  requeued("", true);
  EXPECT_TRUE(state.opened.contains("job:17"));
  EXPECT_TRUE(state.last_cures.contains("job:17"));
  now += kDay;
  opened(2, by_alice(FaultClass::component, "n3", "slurmd"));
  EXPECT_FALSE(state.opened.contains("job:17"));
  EXPECT_FALSE(state.last_cures.contains("job:17"));
}

}  // namespace
}  // namespace sickbay::recover
