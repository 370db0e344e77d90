// SPDX-License-Identifier: Apache-2.0
// Jobs whose owner asked for a recovery at submission: which ends of a case make one, and what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/recover/asked.h"
#include "engine/recover/recover.h"
#include "engine/recover/recover_world.h"

namespace sickbay::recover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Asking : public ::testing::Test, protected World {
 protected:
  Asking() { policy.act = false; }  // the owner's word is enough
  void TearDown() override { EXPECT_EQ(replayed(), canonical_text(state)); }

  void opened_case(int no, Json options, Json more = Json::object()) {
    Json body = Json::object(
        {{"owner", Json::object({{"user", "alice"}, {"uid", 1001}})}, {"options", std::move(options)}});
    for (const auto& [name, value] : more.members()) body.set(name, value);
    say(case_name(no), kCaseOpened, std::move(body));
  }
  static JobInfo job17(const std::string& shown, const std::string& nodes = "n[2-5]",
                       std::uint32_t restart_cnt = 0) {
    JobInfo job;
    job.job_id = 17;
    job.uid = 1001;
    job.state = shown;
    job.partition = "batch";
    job.submit = from_micros(1'790'000'000'000'000);
    job.nodes = nodes;
    job.restart_cnt = restart_cnt;
    return job;
  }
  void seen(const JobInfo& job, const std::string& run = "c1.r1") {
    say(run.substr(0, run.find('.')), kJobSeen, Json::object({{"run", run}, {"job", job.to_json()}}));
  }
  void verdict(const std::string& cause, Json nodes, bool final = true) {
    say("c1", kVerdict,
        Json::object({{"cause", cause},
                      {"final", final},
                      {"sentence", "The node is to blame."},
                      {"nodes", std::move(nodes)}}));
  }
  /// Nothing is decided, and Slurm lost nodes under the job.
  void undecided(Json lost) {
    say("c1", kVerdict,
        Json::object({{"cause", "inconclusive"},
                      {"final", true},
                      {"sentence", "Not decided."},
                      {"nodes", Json::array()},
                      {"lost", std::move(lost)}}));
  }
  void closed() { say("c1", kCaseClosed); }
  static Json recover() { return Json::object({{"recover", true}, {"requeue", true}}); }
};

TEST_F(Asking, ACaseThatBlamesANodeEndsInARecoveryOfTheJob) {
  opened_case(1, recover());
  seen(job17("RUNNING"));
  seen(job17("FAILED"));
  verdict("b", Json::array({"n3"}));
  EXPECT_EQ(state.last, 0) << "while the case is open the job is identify's";
  closed();
  ASSERT_EQ(state.last, 1);
  EXPECT_EQ(recovery(1).fault.source, "c1");
  EXPECT_EQ(recovery(1).fault.text, "The node is to blame.");
  EXPECT_TRUE(recovery(1).acts);
  ASSERT_NE(find("r1.s1"), nullptr);
  EXPECT_THAT(find("r1.s1")->args.dump(),
              HasSubstr(R"("nodes":["n2","n3","n4","n5"],"submit":1790000000000000,"exclude":["n3"])"));
  done("r1.s1", Json::object({{"requeued", true}, {"excluded", true}, {"said", ""}}));
  EXPECT_EQ(end(1), "cured: the restart of job:17 cured it");
  EXPECT_THAT(state.asked, IsEmpty());
  EXPECT_THAT(state.wanted_jobs, IsEmpty());
}

// Slurm's own requeue asks no more than that: where the program was first to end, --recover is not less.
TEST_F(Asking, AnUndecidedCaseWhoseJobLostANodeMakesOne) {
  opened_case(1, recover());
  seen(job17("FAILED"));
  undecided(Json::array({"n4"}));
  closed();
  ASSERT_EQ(state.last, 1);
  EXPECT_EQ(recovery(1).fault.to_json()["job"]["exclude"].as_string(), "n4");
}

TEST_F(Asking, WhichEndsOfACaseMakeOne) {
  const Json asked = recover(), delivers = recover().set("deliver", true), not_asked = Json::object();
  struct Row {
    const char* what;
    Json options;
    std::string state;
    std::string cause;
    Json nodes;
    bool final;
    std::string exclude;  // "": no recovery
  };
  const std::vector<Row> rows = {
      {"a node", asked, "FAILED", "b", Json::array({"n3"}), true, "n3"},
      {"two nodes", asked, "FAILED", "b", Json::array({"n4", "n3"}), true, "n[3-4]"},
      {"a node now and then", asked, "FAILED", "d", Json::array({"n5"}), true, "n5"},
      {"a lost node", asked, "NODE_FAIL", "b", Json::array({"n3"}), true, "n3"},
      {"too long on a slow node", asked, "TIMEOUT", "b", Json::array({"n3"}), true, "n3"},
      {"a wrong result", asked, "COMPLETED", "b", Json::array({"n3"}), true, "n3"},
      {"and one of another job", asked, "FAILED", "b", Json::array({"n3", "n9"}), true, "n3"},

      {"nobody asked", not_asked, "FAILED", "b", Json::array({"n3"}), true, ""},
      {"its result is delivered", delivers, "FAILED", "b", Json::array({"n3"}), true, ""},
      {"the program", asked, "FAILED", "a", Json::array(), true, ""},
      {"the program, on sick nodes", asked, "FAILED", "a", Json::array({"n3"}), true, ""},
      {"undecided", asked, "FAILED", "inconclusive", Json::array(), true, ""},
      {"cancelled", asked, "CANCELLED", "cancelled", Json::array(), true, ""},
      {"it is well", asked, "COMPLETED", "normal", Json::array(), true, ""},
      {"not final", asked, "FAILED", "b", Json::array({"n3"}), false, ""},
      {"no node of the job", asked, "FAILED", "b", Json::array({"n9"}), true, ""},
      {"it runs again", asked, "RUNNING", "b", Json::array({"n3"}), true, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const std::int64_t before = state.last;
    const int no = static_cast<int>(before) + 1;
    opened_case(1, row.options);
    seen(job17(row.state));
    verdict(row.cause, row.nodes, row.final);
    closed();
    if (row.exclude.empty()) {
      EXPECT_EQ(state.last, before);
    } else {
      ASSERT_EQ(state.last, no);
      EXPECT_EQ(recovery(no).fault.to_json()["job"]["exclude"].as_string(), row.exclude);
      say(recovery_name(no), kRecoveryStop, Json::object({{"by", "alice"}}));
      done(recovery_name(no) + ".s1", Json::object({{"requeued", false}, {"said", ""}}));
      EXPECT_FALSE(recovery(no).open());
      now += kDay;  // five of one job are enough for a day
    }
    EXPECT_THAT(state.asked, IsEmpty());
  }
}

TEST_F(Asking, JobArraysAndTheirTasksAreLetBe) {
  opened_case(1, recover(), Json::object({{"array", "0-9"}}));
  EXPECT_THAT(state.asked, IsEmpty());
}

TEST_F(Asking, WhatTheJobHadIsKeptWhileItsNodesComeFree) {
  opened_case(1, recover());
  seen(job17("RUNNING"));
  JobInfo other = job17("RUNNING", "n[7-8]");
  other.job_id = 18;
  seen(other, "c1.r2");
  seen(other, "c1.v1");
  seen(job17("FAILED", "n[2-4]"));
  seen(job17("FAILED", ""));
  EXPECT_THAT(state.asked.at(1).job.nodes, ElementsAre("n2", "n3", "n4", "n5"));
  EXPECT_TRUE(state.asked.at(1).job.over);
  seen(job17("RUNNING", "n[2-3]", 1));
  EXPECT_THAT(state.asked.at(1).job.nodes, ElementsAre("n2", "n3")) << "a restart has nodes of its own";
}

TEST_F(Asking, AJobThatBeganAnewAndWaitsForNothingBeginsNow) {
  const auto waits = [](const char* reason, std::uint32_t restart_cnt = 1) {
    JobInfo job = job17("PENDING", "", restart_cnt);
    job.reason = reason;
    return job;
  };
  opened_case(1, recover());
  seen(job17("RUNNING"));
  seen(waits("BeginTime", 0));
  EXPECT_THAT(begins_sooner(state), IsEmpty()) << "its owner's --begin";
  JobInfo completing = waits("BeginTime");
  completing.flags = {"COMPLETING"};
  seen(completing);
  EXPECT_THAT(begins_sooner(state), IsEmpty()) << "Slurm would put it off again";
  seen(waits("BeginTime"));
  ASSERT_NE(find("c1.b1"), nullptr);
  EXPECT_EQ(find("c1.b1")->verb, "begin_now");
  EXPECT_EQ(find("c1.b1")->args["job_id"].as_int(), 17);
  seen(waits("Resources"));
  EXPECT_THAT(begins_sooner(state), IsEmpty());
  seen(waits("BeginTime", 2));
  ASSERT_NE(find("c1.b2"), nullptr) << "each restart is a new one";
  JobInfo held = waits("BeginTime", 3);
  held.held = true;
  seen(held);
  EXPECT_THAT(begins_sooner(state), IsEmpty());
  JobInfo late = waits("BeginTime", 3);
  late.expected_start = late.submit + std::chrono::hours(1);
  seen(late);
  EXPECT_THAT(begins_sooner(state), IsEmpty()) << "somebody said when";
  seen(waits("BeginTime", 3));
  closed();
  EXPECT_THAT(begins_sooner(state), IsEmpty());
  opened_case(2, Json::object({{"requeue", true}}));
  JobInfo not_asked = waits("BeginTime");
  seen(not_asked, "c2.r1");
  EXPECT_THAT(begins_sooner(state), IsEmpty()) << "nobody asked for it";
}

TEST_F(Asking, AVerdictThatTurnsCountsAsItStandsAtTheEnd) {
  opened_case(1, recover());
  seen(job17("FAILED"));
  verdict("b", Json::array({"n3"}));
  verdict("a", Json::array());
  closed();
  EXPECT_EQ(state.last, 0);
}

TEST_F(Asking, WhereSitesTurnRequeuesOffThatIsTold) {
  policy.requeue = false;
  opened_case(1, recover());
  seen(job17("FAILED"));
  verdict("b", Json::array({"n3"}));
  closed();
  EXPECT_EQ(end(1), "refused: job:17: recover.requeue is off");
}

TEST_F(Asking, WhatSlurmHasForgottenIsTold) {
  opened_case(1, recover());
  seen(job17("FAILED"));
  verdict("b", Json::array({"n3"}));
  closed();
  failed("r1.s1", "not_found", "slurmctld knows no job 17");
  EXPECT_EQ(end(1), "given_up: slurmctld knows no job 17: a person must look");
}

TEST_F(Asking, OneJobIsNotPutBackAgainAndAgain) {
  for (int i = 1; i <= policy.most_a_day + 1; ++i) {
    opened_case(1, recover());
    seen(job17("FAILED", "n[2-5]", static_cast<std::uint32_t>(i)));
    verdict("b", Json::array({"n3"}));
    closed();
    if (find(recovery_name(i) + ".s1") != nullptr)
      done(recovery_name(i) + ".s1", Json::object({{"requeued", true}, {"excluded", true}, {"said", ""}}));
  }
  EXPECT_EQ(end(policy.most_a_day), "cured: the restart of job:17 cured it");
  EXPECT_EQ(end(policy.most_a_day + 1), "given_up: job:17 had 5 recoveries within a day: a person must look");
}

}  // namespace
}  // namespace sickbay::recover
