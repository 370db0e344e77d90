// SPDX-License-Identifier: Apache-2.0
// From a job that asks for it to one that is ended since it hangs: polls, reports, judgement, journal, over a
// simulated cluster.
#include "service/rank_watches.h"

#include <gmock/gmock.h>

#include "service/ranks_test_parts.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class RankWatchesTest : public RanksApiTest {
 protected:
  std::shared_ptr<Answer> tell(int node, JobId id, Standing standing, const std::string& path, Micros held,
                               Doubt doubt = Doubt::none) {
    RankReport report;
    RankGroup group{"step 0", 2, standing, path.substr(0, path.find(' ')), path, {}, held};
    group.proven = doubt == Doubt::none ? held : Micros(0);
    group.doubt = doubt;
    if (doubt != Doubt::none) group.doubt_text = "rank 0: why not";
    report.calm = held;
    group.ranks.add(static_cast<TaskId>(node - 1));
    report.groups.push_back(group);
    report.network_rate = report.unsent_bytes = 0;
    return ask("root@10.0.0." + std::to_string(node), "POST", "/v1/agent/ranks",
               Json::object({{"node", "n" + std::to_string(node)}, {"job", id}, {"report", to_json(report)}})
                   .dump());
  }
  std::shared_ptr<Answer> tell_times(int node, JobId id, std::int64_t waited_permille, Micros seen) {
    ProcessTimes times;
    times.name = "a.out";
    times.seen = seen;
    times.waited = seen * waited_permille / 1000;
    times.ran = seen - times.waited;
    return ask(
        "root@10.0.0." + std::to_string(node), "POST", "/v1/agent/ranks",
        Json::object({{"node", "n" + std::to_string(node)}, {"job", id}, {"times", to_json(times)}}).dump());
  }
  void deadlock(JobId id, Micros held, Doubt doubt = Doubt::none) {
    (void)tell(1, id, Standing::waits, "MPI_Recv < main", held);
    (void)tell(2, id, Standing::waits, "MPI_Barrier < main", held, doubt);
    pass(1s);
  }
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
  EXPECT_GE(ranks["jobs"].items()[0]["pause_ms"].as_int(), 500);
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
  config_.identify.starved = false;
  stop();
  start();
  serve();
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

// A limit of time ends ranks that hang: nobody has gone on.
TEST_F(RankWatchesTest, ThatAllHaveEndedIsNoProgress) {
  const JobId id = job("notify");
  deadlock(id, 9s);
  ASSERT_EQ(count("hang_seen"), 1);
  (void)tell(1, id, Standing::ended, "", 0s);
  (void)tell(2, id, Standing::ended, "", 0s);
  pass(2s);
  EXPECT_EQ(count("hang_over"), 0);
  (void)tell(1, id, Standing::moves, "MPI_Recv < main", 0s);
  (void)tell(2, id, Standing::waits, "MPI_Recv < main", 0s);
  pass(2s);
  EXPECT_EQ(count("hang_over"), 1);
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

TEST_F(RankWatchesTest, WhatIsNotProvenIsToldAndEndedOnlyOnceItIs) {
  const JobId id = job("cancel");
  deadlock(id, 9s, Doubt::uncounted);
  pass(10s);
  EXPECT_EQ(count("hang_seen"), 0);
  deadlock(id, 61s, Doubt::uncounted);
  pass(10s);
  EXPECT_EQ(count("hang_seen"), 1);
  const Json run = shown()["runs"].items()[0];
  EXPECT_EQ(run["outcome"].as_string(), "running");
  EXPECT_EQ(run["hang"]["unproven"].as_string(), "rank 0: why not");
  // Also after a restart it is told again when it is certain.
  stop();
  start();
  serve();
  deadlock(id, 75s, Doubt::uncounted);
  EXPECT_EQ(count("hang_seen"), 1);
  deadlock(id, 80s);
  EXPECT_EQ(count("hang_seen"), 2);
  pass(10s);
  EXPECT_EQ(shown()["runs"].items()[0]["outcome"].as_string(), "failed");
}

TEST_F(RankWatchesTest, TheLastSuspicionIsToldWhenItEnds) {
  const JobId id = job("notify");
  deadlock(id, 45s, Doubt::thread);
  EXPECT_EQ(count("hang_suspected"), 0) << "it runs";
  // Slurm ends the ranks, one after the other; the one that is left seems to go on.
  (void)tell(1, id, Standing::ended, "", 0s);
  (void)tell(2, id, Standing::moves, "main", 0s);
  pass(1s);
  cluster_.scancel(id);
  pass(10s);
  EXPECT_EQ(count("hang_suspected"), 1);
  EXPECT_EQ(count("hang_seen"), 0);
  EXPECT_THAT(journal_text(), HasSubstr("it may be released by rank 0: why not"));
}

TEST_F(RankWatchesTest, OfOneThatWentOnNoSuspicionIsTold) {
  const JobId id = job("notify");
  deadlock(id, 45s, Doubt::thread);
  (void)tell(1, id, Standing::moves, "main", 0s);
  pass(1s);
  deadlock(id, 9s, Doubt::thread);
  cluster_.scancel(id);
  pass(10s);
  EXPECT_EQ(count("hang_suspected"), 0);
}

// Without --hang: times of processes alone.
TEST_F(RankWatchesTest, OfEveryJobTheTimesOfItsProcessesAreWanted) {
  auto early = poll(1, "&ranks=0");
  const JobId id = job("");
  ASSERT_TRUE(early->answered);
  const Json ranks = body_of(early)["ranks"];
  EXPECT_EQ(ranks["jobs"].size(), 0u) << "no stacks";
  ASSERT_EQ(ranks["times"].size(), 1u) << ranks.dump();
  EXPECT_EQ(ranks["times"].items()[0]["job"].as_int(), id);
  EXPECT_EQ(ranks["times"].items()[0]["uid"].as_int(), 60001);
  EXPECT_GE(ranks["times"].items()[0]["pause_ms"].as_int(), 10'000);
  cluster_.scancel(id);
  pass(10s);
  EXPECT_EQ(tell_times(1, id, 0, 20s)->response.status, 404);
}

TEST_F(RankWatchesTest, AStarvedNodeIsToldOnceAndAgainWhenItIsMuchWorse) {
  const JobId id = job("");
  (void)tell_times(2, id, 480, 30s);
  pass(3s);
  EXPECT_EQ(count("starved_seen"), 0) << "the other node has not told yet";
  (void)tell_times(1, id, 10, 30s);
  pass(3s);
  EXPECT_EQ(count("starved_seen"), 1);
  (void)tell_times(2, id, 480, 40s);
  pass(3s);
  EXPECT_EQ(count("starved_seen"), 1);
  (void)tell_times(2, id, 480, 50s);
  pass(3s);
  EXPECT_EQ(count("starved_seen"), 2);
  const Json run = shown()["runs"].items()[0];
  ASSERT_EQ(run["starved"].size(), 1u) << run.dump();
  const Json starved = run["starved"].items()[0];
  EXPECT_EQ(starved["node"].as_string(), "n2");
  EXPECT_EQ(starved["waited_permille"].as_int(), 480);
  EXPECT_EQ(starved["others_permille"].as_int(), 10);
  EXPECT_EQ(starved["seconds"].as_int(), 50);
  EXPECT_TRUE(starved["apart"].as_bool());
  EXPECT_THAT(shown()["evidence"].dump(), HasSubstr("waited 48 % of 50 s for a processor on n2"));
  // After a restart it is not told again.
  stop();
  start();
  serve();
  (void)tell_times(1, id, 10, 60s);
  (void)tell_times(2, id, 480, 60s);
  pass(3s);
  EXPECT_EQ(count("starved_seen"), 2);
  // An hour of it is a few events more.
  for (int minute = 2; minute <= 62; ++minute) {
    (void)tell_times(2, id, 480, std::chrono::minutes(minute));
    pass(3s);
  }
  EXPECT_LE(count("starved_seen"), 13);
}

TEST_F(RankWatchesTest, WhereAllNodesWaitOneShowsIt) {
  const JobId id = job("");
  for (int i = 0; i < 3; ++i) {
    (void)tell_times(1, id, 380, 30s);
    (void)tell_times(2, id, 400, 30s);
    pass(3s);
  }
  EXPECT_EQ(count("starved_seen"), 1);
  EXPECT_FALSE(shown()["runs"].items()[0]["starved"].items()[0]["apart"].as_bool());
}

TEST_F(RankWatchesTest, TimesThatAreNoneAreRefused) {
  const JobId id = job("");
  const auto post = [&](const char* times) {
    return ask("root@10.0.0.1", "POST", "/v1/agent/ranks",
               Json::object({{"node", "n1"}, {"job", id}, {"times", *Json::parse(times)}}).dump())
        ->response.status;
  };
  EXPECT_EQ(post("{}"), 400);
  EXPECT_EQ(post("7"), 400);
  EXPECT_EQ(tell_times(6, id, 500, 30s)->response.status, 404) << "n6 is not of the job";
}

TEST(StarvedWatch, TellsOfFewNodesOfALargeJob) {
  StarvedWatch watch;
  ProcessTimes times;
  times.seen = 60s;
  for (int i = 1; i <= 10'000; ++i) {
    times.waited = i <= 400 ? 30s : 0s;
    times.ran = times.seen - times.waited;
    watch.take("n" + std::to_string(i), times);
  }
  EXPECT_EQ(watch.news(10'000).size(), StarvedWatch::kMostTold);
  EXPECT_TRUE(watch.news(10'000).empty());
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
