// SPDX-License-Identifier: Apache-2.0
// A case of alice whose job runs on n1 and n2, for tests of what is seen while it runs.
#pragma once
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "engine/identify/verdict.h"

namespace sickbay::identify {

class WatchedRunTest : public testing::Test {
 protected:
  void opens(Json options) {
    event(kCaseOpened, Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()},
                                     {"options", std::move(options)},
                                     {"work_dir", "/home/alice"},
                                     {"output_dir", "/home/alice/sickbay-c1"}}));
    event(kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
    see("RUNNING", std::chrono::seconds(0));
  }
  void event(std::string_view kind, Json body) {
    Event e;
    e.at = now_ += std::chrono::seconds(1);
    e.subject = "c1";
    e.kind = kind;
    e.body = std::move(body);
    events_.push_back(e);
    cluster::apply(cluster_, e);
    apply(state_, cluster_.view, e);
  }
  void see(const char* state, std::chrono::seconds lived, std::uint32_t restarts = 0) {
    JobInfo job;
    job.job_id = 100;
    job.uid = 60001;
    job.state = state;
    job.nodes = "n[1-2]";
    job.submit = job.start = from_unix_seconds(1'800'000'000);
    if (lived > std::chrono::seconds(0)) job.end = job.start + lived;
    job.restart_cnt = restarts;
    event(kJobSeen, Json::object({{"run", "c1.r1"}, {"job", job.to_json()}}));
  }
  /// V that passed on the job's nodes.
  identify::Run passed() const {
    identify::Run v1;
    v1.id = {1, RunKind::verification, 1};
    v1.checks = 1;
    v1.outcome = Outcome::ok;
    v1.nodes = {"n1", "n2"};
    v1.bound = v1.output_read = true;
    v1.wanted_at = now_;
    v1.results = {{"n1", "", "ok", ""}, {"n2", "", "ok", ""}};
    return v1;
  }
  Verdict judged(const Case& c) const {
    const auto verdict = judge({cluster_.view, state_, policy_, now_}, c);
    EXPECT_TRUE(verdict);
    return verdict.value_or(Verdict());
  }
  const identify::Run& r1() const { return state_.cases.at(1).programs.front(); }

  TimePoint now_ = from_unix_seconds(1'800'000'000);
  std::vector<Event> events_;
  cluster::Cluster cluster_;
  State state_;
  Policy policy_;
};

}  // namespace sickbay::identify
