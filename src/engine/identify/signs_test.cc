// SPDX-License-Identifier: Apache-2.0
// Findings of agents as evidence of a case: which nodes and times fit, and that they decide nothing.
#include "engine/identify/signs.h"

#include <gmock/gmock.h>

#include "engine/identify/case_view.h"

namespace sickbay::identify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct World {
  cluster::Cluster cluster;
  State state;
  TimePoint start = from_unix_seconds(1'800'000'000);

  World() {
    say("c1", kCaseOpened, Json::object({{"owner", Owner{"alice", 1000, 1000}.to_json()}}));
    say("c1", kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 7}}));
  }
  void say(const std::string& subject, std::string_view kind, Json body) {
    Event event;
    event.at = start;
    event.subject = subject;
    event.kind = kind;
    event.body = std::move(body);
    cluster::apply(cluster, event);
    apply(state, cluster.view, event);
  }
  void job(const std::string& shown, TimePoint end) {
    JobInfo info;
    info.job_id = 7;
    info.state = shown;
    info.nodes = "n[1-2]";
    info.start = start;
    info.end = end;
    info.exit_code = shown == "FAILED" ? 1 : 0;
    say("c1", kJobSeen, Json::object({{"run", "c1.r1"}, {"job", info.to_json()}}));
  }
  void finding(const std::string& source, const std::string& node, std::chrono::seconds at,
               const std::string& result = "fault") {
    say(source, "finding",
        Json::object({{"node", node},
                      {"specification", "node"},
                      {"rule", "disk"},
                      {"result", result},
                      {"text", "the disk is slow"},
                      {"at", to_micros(start + at)}}));
  }
  std::vector<std::string> evidence() const {
    std::vector<std::string> lines;
    const Json view = case_view(state.cases.at(1));
    for (const Json& e : view["evidence"].items())
      lines.push_back(e["node"].as_string() + " " + e["side"].as_string() + " " + e["run"].as_string() + " " +
                      e["text"].as_string());
    return lines;
  }
};

TEST(Signs, AFindingInTheRunIsEvidenceAgainstItsNode) {
  World w;
  w.job("RUNNING", kNoTime);
  w.finding("f1", "n2", 30s);
  w.finding("f2", "n9", 30s);
  EXPECT_THAT(w.evidence(), ElementsAre("n2 against c1.r1 f1 node/disk: the disk is slow"));
}

TEST(Signs, WhatWasThereBeforeTheRunCountsUnlessItWasGone) {
  World w;
  w.finding("f1", "n1", -3600s);
  w.finding("f2", "n2", -3600s);
  w.finding("f3", "n2", -60s, "ok");
  w.job("RUNNING", kNoTime);
  EXPECT_THAT(w.evidence(), ElementsAre("n1 against c1.r1 f1 node/disk: the disk is slow"));
  w.job("RUNNING", kNoTime);
  EXPECT_EQ(w.evidence().size(), 1U) << "said once";
}

TEST(Signs, WhatIsFoundSoonAfterTheRunCountsAndLaterDoesNot) {
  World w;
  w.job("RUNNING", kNoTime);
  w.job("FAILED", w.start + 100s);
  w.finding("f1", "n1", 900s);
  EXPECT_THAT(w.evidence(), IsEmpty());
  w.finding("f2", "n2", 400s);
  EXPECT_THAT(w.evidence(), ElementsAre("n2 against c1.r1 f2 node/disk: the disk is slow"));
  EXPECT_FALSE(w.state.cases.at(1).verdict) << "a finding decides nothing";
}

TEST(Signs, UnknownIsNoSign) {
  World w;
  w.job("RUNNING", kNoTime);
  w.finding("f1", "n1", 10s, "unknown");
  EXPECT_THAT(w.evidence(), IsEmpty());
}

}  // namespace
}  // namespace sickbay::identify
