// SPDX-License-Identifier: Apache-2.0
// Which complaints take a node out, and which do not.
#include "engine/detect/detect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cluster/cluster_test_parts.h"
#include "model/verbs.h"

namespace sickbay::detect {
namespace {

using namespace std::chrono_literals;
using cluster::kStart;

// The engine in its cluster, and its commands done as the controller has them done.
struct Scene : cluster::Scene {
  State state;
  Policy policy;
  cluster::BreakerPolicy breaker;
  bool n3_answers = false, control_answers = true;
  std::vector<std::string> acts;  // "ask n3 n1", "down n3"

  Scene() { see("n[1-8]", "IDLE"); }
  void take(Event event) {
    event.at = now;
    event.seq = static_cast<std::int64_t>(log.size()) + 1;
    cluster::apply(cluster, event);
    (void)detect::apply(state, cluster.view, event);
    log.push_back(std::move(event));
  }
  void see(const std::string& hostlist, const std::string& shown) {
    take(cluster::nodes_seen(Json::array({cluster::group(hostlist, shown)})));
  }
  void complain(const std::string& about, std::vector<std::string> by, int group = 4, int job = 17) {
    take(cluster::event_of(node_subject(about), kNodeSilent,
                           Json::object({{"job", job}, {"group", group}, {"by", by}, {"silent_ms", 2300}})));
    settle(about);
  }
  void settle(const std::string& node) {
    for (int turns = 0; turns < 10; ++turns) {
      const Decision d = decide(cluster, state, policy, breaker, node_subject(node), now);
      for (const cluster::Claim& c : d.claims)
        if (!cluster.claims.holds(kName, c.by, c.on, now)) take(cluster::Claims::claimed(c));
      for (const Event& record : d.records) take(record);
      for (const Command& command : d.commands) follow(command);
      if (d.claims.empty() && d.records.empty() && d.commands.empty()) return;
      if (!d.claims.empty() && d.commands.empty() && turns > 2) return;
    }
  }
  void follow(const Command& command) {
    take(cluster::event_of(
        command.subject, kIntent,
        Json::object({{"key", command.key}, {"verb", command.verb}, {"draws", command.draws}})));
    Json result;
    if (command.verb == verb::kAskNode) {
      acts.push_back("ask " + command.args["node"].as_string() + " " + command.args["control"].as_string());
      result = Json::object({{"answers", n3_answers}, {"control", control_answers}});
    } else {
      acts.push_back("down " + command.args["node"].as_string());
      EXPECT_EQ(command.args["reason"].as_string(), kReason);
      result = Json::object({{"changed", true}});
    }
    take(cluster::event_of(command.subject, kDone,
                           Json::object({{"key", command.key}, {"verb", command.verb}, {"result", result}})));
  }
  bool has_claim(const std::string& node) const {
    return cluster.claims.holds(kName, node_subject(node), node_subject(node), now);
  }
};

TEST(Detect, ANodeThatNobodyReachesIsSetDownOnce) {
  Scene s;
  s.complain("n3", {"n1", "n2"});
  EXPECT_THAT(s.acts, testing::ElementsAre("ask n3 n1", "down n3"));
  EXPECT_TRUE(s.has_claim("n3"));
  s.now += 2s;
  s.see("n3", "DOWN");
  s.complain("n3", {"n1", "n2"});
  EXPECT_EQ(s.acts.size(), 2u);
  s.now += 10min;
  s.see("n3", "IDLE");
  s.settle("n3");
  EXPECT_FALSE(s.has_claim("n3")) << "it is back";
  s.complain("n3", {"n1", "n2"});
  EXPECT_EQ(s.acts.size(), 3u) << "asked again; the breaker has had its one";
}

TEST(Detect, OneWhoAnswersSickbaydStays) {
  Scene s;
  s.n3_answers = true;
  s.complain("n3", {"n1", "n2"});
  EXPECT_THAT(s.acts, testing::ElementsAre("ask n3 n1"));
  EXPECT_THAT(s.state.nodes["n3"].held, testing::HasSubstr("answers sickbayd"));
  s.complain("n3", {"n1", "n2"});
  EXPECT_EQ(s.acts.size(), 1u) << "not at once again";
  for (int i = 0; i < 60; ++i) s.now += 2s, s.complain("n3", {"n1", "n2"});
  EXPECT_LE(s.acts.size(), 6u) << "and rarely after that";
}

TEST(Detect, AQuestionThatNobodyAnswersProvesNothing) {
  Scene s;
  s.control_answers = false;
  s.complain("n3", {"n1", "n2"});
  EXPECT_THAT(s.acts, testing::ElementsAre("ask n3 n1"));
  EXPECT_THAT(s.state.nodes["n3"].held, testing::HasSubstr("proves nothing"));
}

TEST(Detect, OneComplaintIsNotEnoughButInAGroupOfTwo) {
  Scene s;
  s.complain("n3", {"n1"});
  EXPECT_TRUE(s.acts.empty());
  s.complain("n3", {"n1"});
  EXPECT_TRUE(s.acts.empty()) << "nor one that is made twice";
  s.complain("n3", {"n2"});
  EXPECT_EQ(s.acts.size(), 2u);
  Scene two;
  two.complain("n3", {"n1"}, 2);
  EXPECT_EQ(two.acts.size(), 2u);
}

TEST(Detect, ComplaintsGrowOld) {
  Scene s;
  s.complain("n3", {"n1"});
  s.now += kFresh;
  s.complain("n3", {"n2"});
  EXPECT_TRUE(s.acts.empty());
}

TEST(Detect, ASignOfLifeEndsIt) {
  Scene s;
  s.complain("n3", {"n1"});
  s.say(node_subject("n3"), kNodeAnswers);
  s.take(cluster::event_of(node_subject("n3"), kNodeAnswers, Json::object({{"by", "n3"}})));
  s.complain("n3", {"n2"});
  EXPECT_TRUE(s.acts.empty());
  EXPECT_TRUE(is_suspect(s.state, "n3"));
}

TEST(Detect, AWordOfItWhileItIsAskedEndsIt) {
  Scene s;
  s.take(cluster::event_of(node_subject("n3"), kNodeSilent,
                           Json::object({{"job", 17}, {"group", 4}, {"by", Json::array({"n1", "n2"})}})));
  const auto asked = decide(s.cluster, s.state, s.policy, s.breaker, node_subject("n3"), s.now);
  ASSERT_EQ(asked.commands.size(), 1u);
  s.take(
      cluster::event_of(node_subject("n3"), kIntent, Json::object({{"key", "k"}, {"verb", verb::kAskNode}})));
  s.take(cluster::event_of(node_subject("n3"), kNodeAnswers, Json::object({{"by", "n3"}})));
  s.take(
      cluster::event_of(node_subject("n3"), kDone,
                        Json::object({{"key", "k"},
                                      {"verb", verb::kAskNode},
                                      {"result", Json::object({{"answers", false}, {"control", true}})}})));
  s.settle("n3");
  EXPECT_TRUE(s.acts.empty());
}

TEST(Detect, ACutNetworkIsLeftToSlurm) {
  Scene s;
  for (const char* node : {"n3", "n4"}) {
    s.take(cluster::event_of(node_subject(node), kNodeSilent,
                             Json::object({{"job", 17}, {"group", 4}, {"by", Json::array({"n1", "n2"})}})));
  }
  for (const char* node : {"n1", "n2"})
    s.take(cluster::event_of(node_subject(node), kNodeSilent,
                             Json::object({{"job", 17}, {"group", 4}, {"by", Json::array({"n3", "n4"})}})));
  for (const char* node : {"n1", "n2", "n3", "n4"}) s.settle(node);
  EXPECT_TRUE(s.acts.empty());
  // Of two each tells of the other.
  Scene two;
  two.take(cluster::event_of(node_subject("n1"), kNodeSilent,
                             Json::object({{"job", 17}, {"group", 2}, {"by", Json::array({"n3"})}})));
  two.complain("n3", {"n1"}, 2);
  two.settle("n1");
  EXPECT_TRUE(two.acts.empty());
}

TEST(Detect, TheBreakerBoundsHowManyGo) {
  Scene s;
  s.breaker.most = 1;
  s.complain("n3", {"n1", "n2"}, 8);
  s.complain("n4", {"n1", "n2"}, 8);
  EXPECT_THAT(s.acts, testing::ElementsAre("ask n3 n1", "down n3", "ask n4 n1"));
  EXPECT_THAT(s.state.nodes["n4"].held, testing::HasSubstr("the breaker"));
}

TEST(Detect, ANodeThatAnotherEngineHoldsIsNotSetDown) {
  Scene s;
  s.claim(node_subject("n3"), "drain", node_subject("n3"));
  const auto before = s.acts.size();
  s.take(cluster::event_of(node_subject("n3"), kNodeSilent,
                           Json::object({{"job", 17}, {"group", 4}, {"by", Json::array({"n1", "n2"})}})));
  // (The controller would write no claim here.)
  Decision d = decide(s.cluster, s.state, s.policy, s.breaker, node_subject("n3"), s.now);
  ASSERT_EQ(d.commands.size(), 1u);
  s.follow(d.commands[0]);
  d = decide(s.cluster, s.state, s.policy, s.breaker, node_subject("n3"), s.now);
  EXPECT_TRUE(d.commands.empty());
  EXPECT_FALSE(d.claims.empty());
  EXPECT_EQ(s.acts.size(), before + 1);
}

TEST(Detect, ObservingSaysWhatItWouldDo) {
  Scene s;
  s.policy.act = false;
  s.complain("n3", {"n1", "n2"});
  EXPECT_THAT(s.acts, testing::ElementsAre("ask n3 n1"));
  EXPECT_THAT(s.state.nodes["n3"].held, testing::HasSubstr("observing"));
}

TEST(Detect, ANodeThatSlurmHasDownIsLetBe) {
  Scene s;
  s.see("n3", "DOWN");
  s.complain("n3", {"n1", "n2"});
  s.complain("n9", {"n1", "n2"});
  EXPECT_TRUE(s.acts.empty());
}

TEST(Detect, RepeatsAreNoNews) {
  Scene s;
  s.policy.act = false;
  EXPECT_TRUE(is_news(s.state, "n3", {"n1"}, s.now));
  s.complain("n3", {"n1"});
  EXPECT_FALSE(is_news(s.state, "n3", {"n1"}, s.now + 2s));
  EXPECT_TRUE(is_news(s.state, "n3", {"n1", "n2"}, s.now + 2s));
  EXPECT_TRUE(is_news(s.state, "n3", {"n1"}, s.now + 4s)) << "before it would grow old";
}

TEST(Detect, AJobsNodesAreThoseItRunsOn) {
  Scene s;
  s.say("job:17", kDetectAsked, Json::object({{"detect", "fast"}, {"uid", 1000}, {"by", "alice"}}));
  s.take(cluster::event_of("job:17", kDetectAsked,
                           Json::object({{"detect", "fast"}, {"uid", 1000}, {"by", "alice"}})));
  ASSERT_TRUE(s.state.groups.contains(17));
  JobInfo job;
  job.job_id = 17, job.state = "RUNNING", job.nodes = "n[2,1]";
  const auto seen = [&] {
    s.take(cluster::event_of("job:17", kJobSeen, Json::object({{"run", "job:17"}, {"job", job.to_json()}})));
  };
  seen();
  EXPECT_TRUE(s.state.groups[17].running);
  EXPECT_THAT(s.state.groups[17].nodes, testing::ElementsAre("n1", "n2"));
  job.state = "COMPLETED";
  seen();
  // It closes itself, and the cluster's view of it.
  const Decision last = decide(s.cluster, s.state, s.policy, s.breaker, "job:17", s.now);
  ASSERT_EQ(last.records.size(), 1u);
  EXPECT_EQ(last.records[0].kind, kJobLost);
  ASSERT_FALSE(s.cluster.view.jobs.empty());
  s.take(last.records[0]);
  EXPECT_TRUE(s.state.groups.empty());
  EXPECT_TRUE(s.cluster.view.jobs.empty());
  EXPECT_TRUE(decide(s.cluster, s.state, s.policy, s.breaker, "job:17", s.now).records.empty());
}

TEST(Detect, ShowsWhoDoesNotReachANodeAndWhyItIsLetBe) {
  Scene s;
  EXPECT_TRUE(complaint_view(s.state, "n3", s.now).is_null());
  s.policy.act = false;
  s.complain("n3", {"n1", "n2"});
  const Json seen = complaint_view(s.state, "n3", s.now);
  EXPECT_EQ(seen["job"].as_int(), 17);
  EXPECT_EQ(seen["by"].as_strings(), (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(seen["held"].as_string(), "observing: detect.act is false");
  EXPECT_TRUE(complaint_view(s.state, "n3", s.now + kFresh).is_null()) << "they say so no more";
  s.policy.act = true;
  s.complain("n4", {"n1", "n2"});
  EXPECT_TRUE(complaint_view(s.state, "n4", s.now + kFresh)["set_down"].as_bool());
}

TEST(Detect, WhoSaidSlurmIsRememberedUntilTheEnd) {
  Scene s;
  const auto asks = [&](const char* how) {
    s.take(cluster::event_of("job:17", kDetectAsked,
                             Json::object({{"detect", how}, {"uid", 1000}, {"by", "alice"}})));
  };
  asks("slurm");
  ASSERT_TRUE(s.state.groups.contains(17));
  EXPECT_FALSE(s.state.groups[17].fast);
  asks("fast");
  EXPECT_TRUE(s.state.groups[17].fast);
  asks("slurm");
  s.take(cluster::event_of("job:17", kJobLost, Json::object({{"run", "job:17"}, {"job_id", 17}})));
  EXPECT_TRUE(s.state.groups.empty());
}

TEST(Detect, KnowsTheListedJobsOfSeveralNodes) {
  Scene s;
  JobInfo job;
  job.job_id = 17, job.state = "RUNNING", job.nodes = "n[3,1-2]";
  const auto seen = [&] {
    s.take(cluster::event_of("j17", kJobSeen, Json::object({{"run", "j17"}, {"job", job.to_json()}})));
  };
  seen();
  EXPECT_THAT(s.state.running[17], testing::ElementsAre("n1", "n2", "n3"));
  job.nodes = "n1";  // nobody is left to watch it
  seen();
  EXPECT_TRUE(s.state.running.empty());
  job.nodes = "n[1-2]";
  seen();
  EXPECT_THAT(s.state.running[17], testing::ElementsAre("n1", "n2"));
  s.take(cluster::event_of("j17", kJobLost, Json::object({{"run", "j17"}, {"job_id", 17}})));
  EXPECT_TRUE(s.state.running.empty());
}

TEST(Detect, AReplayGivesTheSame) {
  Scene s;
  s.complain("n3", {"n1", "n2"});
  s.now += 2s;
  s.see("n3", "DOWN");
  State again;
  cluster::Cluster cluster;
  for (const Event& event : s.log) {
    cluster::apply(cluster, event);
    (void)detect::apply(again, cluster.view, event);
  }
  EXPECT_EQ(canonical_text(again), canonical_text(s.state));
  EXPECT_FALSE(canonical_text(again).empty());
}

}  // namespace
}  // namespace sickbay::detect
