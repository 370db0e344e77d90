// SPDX-License-Identifier: Apache-2.0
// Findings of agents as evidence of a case: which nodes and times fit, and that they decide nothing.
#include "engine/identify/signs.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "engine/identify/case_view.h"
#include "engine/identify/verdict.h"
#include "engine/identify/verdict_text.h"

namespace sickbay::identify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct SignsWorld {
  cluster::Cluster cluster;
  State state;
  TimePoint start = from_unix_seconds(1'800'000'000);
  std::chrono::seconds ahead{0};  ///< the agents' clocks

  SignsWorld() {
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
    Json body = Json::object({{"node", node},
                              {"specification", "node"},
                              {"rule", "disk"},
                              {"result", result},
                              {"text", "the disk is slow"},
                              {"at", to_micros(start + at)}});
    if (ahead.count() != 0) body.set("clock_ahead_us", std::chrono::microseconds(ahead).count());
    say(source, "finding", std::move(body));
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
  SignsWorld w;
  w.job("RUNNING", kNoTime);
  w.finding("f1", "n2", 30s);
  w.finding("f2", "n9", 30s);
  EXPECT_THAT(w.evidence(), ElementsAre("n2 against c1.r1 f1 node/disk: the disk is slow"));
}

TEST(Signs, WhatWasThereBeforeTheRunCountsUnlessItWasGone) {
  SignsWorld w;
  w.finding("f1", "n1", -3600s);
  w.finding("f2", "n2", -3600s);
  w.finding("f3", "n2", -60s, "ok");
  w.job("RUNNING", kNoTime);
  EXPECT_THAT(w.evidence(), ElementsAre("n1 against c1.r1 f1 node/disk: the disk is slow"));
  w.job("RUNNING", kNoTime);
  EXPECT_EQ(w.evidence().size(), 1U) << "said once";
}

TEST(Signs, WhatIsFoundSoonAfterTheRunCountsAndLaterDoesNot) {
  SignsWorld w;
  w.job("RUNNING", kNoTime);
  w.job("FAILED", w.start + 100s);
  w.finding("f1", "n1", 900s);
  EXPECT_THAT(w.evidence(), IsEmpty());
  w.finding("f2", "n2", 400s);
  EXPECT_THAT(w.evidence(), ElementsAre("n2 against c1.r1 f2 node/disk: the disk is slow"));
  EXPECT_FALSE(w.state.cases.at(1).verdict) << "a finding decides nothing";
}

TEST(Signs, AWrongClockHidesNoFinding) {
  struct Row {
    std::string_view what;
    std::chrono::seconds found, gone, ahead;  // by the agent's clock; gone 0: not said
    bool fits;
  };
  // The run takes 100 s.
  for (const Row& row : std::initializer_list<Row>{
           {"an hour ahead", 3620s, 0s, 3600s, true},
           {"ahead, and found long after the run", 3600s + 900s, 0s, 3600s, false},
           {"stamped before its clock was set wrong", 20s, 0s, 3600s, true},
           {"an hour behind", -3580s, 0s, -3600s, true},
           {"behind, and gone after the run", -3580s, -3400s, -3600s, true},
           {"behind, and gone before it", -3700s, -3650s, -3600s, false},
           {"an older sickbayd did not say how far", 3620s, 0s, 0s, false},
       }) {
    SignsWorld w;
    w.ahead = row.ahead;
    w.job("RUNNING", kNoTime);
    w.job("FAILED", w.start + 100s);
    w.finding("f1", "n2", row.found);
    if (row.gone != 0s) w.finding("f2", "n2", row.gone, "ok");
    const bool stands = std::ranges::any_of(w.state.records.at("n2").signs, [&](const Sign& sign) {
      return was_there(sign, w.start, w.start + 100s);
    });
    EXPECT_EQ(stands, row.fits) << row.what;
  }
}

TEST(Signs, WhatVDoesNotSayIsNotItsEnd) {
  struct Row {
    Outcome outcome;
    std::string refusal, words;
  };
  for (const Row& row : std::initializer_list<Row>{
           {Outcome::ok, "", "c1.v1 gives no answer: its job has ended, and what it said was not read"},
           {Outcome::failed, "", "c1.v1 gives no answer: its job has ended, and what it said was not read"},
           {Outcome::cancelled, "", "c1.v1 was cancelled, and not by Sickbay"},
           {Outcome::ok, "V left no result", "c1.v1 gives no answer: V left no result"},
       }) {
    Case c;
    identify::Run& v = c.verifications.emplace_back();
    v.id = {1, RunKind::verification, 1};
    v.outcome = row.outcome;
    v.refusal = row.refusal;
    std::vector<std::string> why;
    add_run_lines(c, why);
    EXPECT_THAT(why, ElementsAre(row.words));
  }
}

TEST(Signs, AnUndecidedVerdictNamesWhatWasFound) {
  const Row* undecided = nullptr;
  const Row* program = nullptr;
  for (const Row& row : verdict_rows()) {
    if (row.rule == "U10") undecided = &row;
    if (row.rule == "P1") program = &row;
  }
  SignsWorld w;
  w.job("RUNNING", kNoTime);
  w.finding("f1", "n2", 30s);
  w.job("FAILED", w.start + 100s);
  for (const Row* row : {undecided, program}) {
    Verdict v;
    v.faulty.emplace();
    put_in_words(w.state.cases.at(1), *row, Told{}, v);
    const auto names_it = ::testing::Contains("n2: f1 node/disk: the disk is slow");
    if (row == undecided) {
      EXPECT_THAT(v.why, names_it);
      EXPECT_THAT(v.next, ::testing::Contains(::testing::HasSubstr("--exclude=n2")));
    } else {
      EXPECT_THAT(v.why, ::testing::Not(names_it)) << "evidence beside the answer, no more";
    }
  }
}

TEST(Signs, UnknownIsNoSign) {
  SignsWorld w;
  w.job("RUNNING", kNoTime);
  w.finding("f1", "n1", 10s, "unknown");
  EXPECT_THAT(w.evidence(), IsEmpty());
}

}  // namespace
}  // namespace sickbay::identify
