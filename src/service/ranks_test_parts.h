// SPDX-License-Identifier: Apache-2.0
// A sickbayd that has agents look at a job while it runs, over a simulated cluster.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "service/api_test_parts.h"

namespace sickbay {

class RanksApiTest : public ApiTest {
 protected:
  RanksApiTest() { serve(); }
  void serve() {
    daemon_->api.serve_agents(daemon_->agents);
    daemon_->agents.watch_ranks({});
    pass(std::chrono::seconds(1));
  }
  // A job of alice on two nodes, with a case that says `hang`, if anything.
  JobId job(const std::string& hang = "") {
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
    pass(std::chrono::seconds(5));
    return made->job_id;
  }
  std::shared_ptr<Answer> poll(int node, const std::string& ranks) {
    return ask("root@10.0.0." + std::to_string(node), "GET",
               "/v1/agent/tasks?node=n" + std::to_string(node) + "&after=0" + ranks);
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

}  // namespace sickbay
