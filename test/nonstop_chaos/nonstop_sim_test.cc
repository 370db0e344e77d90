// SPDX-License-Identifier: Apache-2.0
// The nonstop engine in sickbayd's own rounds, on the simulated cluster: what is looked at, and one
// replacement from the failure to the answer, also over a kill of sickbayd.
#include <gmock/gmock.h>

#include "service/watch_nonstop.h"
#include "test/sim_runner/sim_world.h"

namespace sickbay::sim {
namespace {

using namespace std::chrono_literals;

RunningJob running(JobId id, std::vector<std::string> nodes) {
  RunningJob job;
  job.job_id = id;
  job.uid = 1001;
  job.submit = from_unix_seconds(1000);
  job.cpus_per_node = {{8, static_cast<std::uint32_t>(nodes.size())}};
  job.nodes = std::move(nodes);
  return job;
}

TEST(NonstopNews, WhatDiffersFromTheViewIsTold) {
  cluster::View view;
  const auto look = [&](const std::vector<RunningJob>& jobs) {
    auto events = running_job_news(view, jobs, from_unix_seconds(2000));
    std::vector<std::string> told;
    for (const Event& event : events) {
      cluster::apply(view, event);
      told.push_back(event.subject + " " + event.kind);
    }
    return told;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(look({running(17, {"n1", "n2"}), running(18, {"n3", "n4"})}),
              ElementsAre("j17 job_seen", "j18 job_seen"));
  EXPECT_THAT(look({running(17, {"n1", "n2"}), running(18, {"n3", "n4"})}), ElementsAre());
  EXPECT_THAT(look({running(17, {"n1"}), running(18, {"n3", "n4"})}), ElementsAre("j17 job_seen"));
  EXPECT_THAT(look({running(18, {"n3", "n4"})}), ElementsAre("j17 job_lost"));
  EXPECT_THAT(look({}), ElementsAre("j18 job_lost"));
}

TEST(NonstopNews, SlurmsOrderOfNodesIsKept) {
  const Event event = running_job_seen(running(17, {"n10", "n2"}), kNoTime);
  EXPECT_THAT(event.body["nodes"].as_strings(), ::testing::ElementsAre("n10", "n2"));
  EXPECT_TRUE(running_job_seen(running(17, {"n2", "n10"}), kNoTime).body["nodes"].is_null());
}

class NonstopOnSim : public ::testing::Test {
 protected:
  NonstopOnSim() : world_(options(), config()) {
    world_.start_sickbayd();
    run(6s);
  }
  static SimOptions options() {
    SimOptions o;
    o.write_outputs = false;
    o.partitions = {{"batch", "n[1-6]"}};
    return o;
  }
  static Config config() {
    Config config;
    config.nonstop.on = true;
    config.nonstop.config.time_limit_extend = 2;
    config.verify.folder = "/shared/verify";
    return config;
  }
  void run(Micros time) { world_.loop().run_until(world_.loop().now() + time); }
  const NonstopSeat& seat() { return world_.controller().seats().nonstop(); }
  JobId sbatch() {
    Submission s;
    s.owner = {"alice", 1001, 1001};
    s.script = "#!/bin/sh\n#SIM hang\nsrun ./a\n";
    s.script_name = "a.sh";
    s.sbatch_options = {"-N3", "-t60", "--no-kill"};
    s.work_dir = "/shared/alice";
    return world_.cluster().sbatch(s)->job_id;
  }
  // As who serves a client: until there is a reply, or the time is over.
  std::string ask(const wire::Request& request, const std::string& token, Micros most = 60s) {
    const nonstop::Caller caller{1001, "alice", false, "10.0.0.1"};
    const TimePoint until = world_.loop().now() + most;
    while (world_.loop().now() < until) {
      auto told = seat().answer(caller, request, token, world_.controller().now());
      if (!told.events.empty()) world_.controller().take(std::move(told.events));
      if (told.what == nonstop::Answer::What::reply) return wire::format_reply(told.reply, "22.05.8");
      run(100ms);
    }
    return "no reply";
  }

  SimWorld world_;
};

TEST_F(NonstopOnSim, ALostNodeIsReplaced) {
  const JobId id = sbatch();
  run(6s);
  ASSERT_TRUE(seat().state().jobs.contains(id));
  const std::string lost = seat().state().jobs.at(id).nodes.back().node;
  world_.cluster().crash_node(lost);
  for (int i = 0; i < 600 && seat().state().jobs.at(id).faulty.empty(); ++i) run(1s);
  ASSERT_TRUE(seat().state().jobs.at(id).faulty.contains(lost));
  wire::Request request;
  request.command = wire::Command::replace_node;
  request.job = id;
  request.names = {lost};
  EXPECT_THAT(ask(request, "t1"), ::testing::HasSubstr("ENOERROR ReplacementNode n"));
  EXPECT_EQ(seat().state().jobs.at(id).nodes.size(), 3u);
  // The answer was lost with sickbayd, and is given again.
  world_.kill_sickbayd();
  world_.start_sickbayd();
  run(6s);
  EXPECT_THAT(ask(request, "t2"), ::testing::HasSubstr("ENOERROR ReplacementNode n"));
  request.command = wire::Command::time_incr;
  EXPECT_THAT(ask(request, "t3"), ::testing::HasSubstr("ENOERROR"));
  EXPECT_EQ(seat().state().jobs.at(id).limit, 62);
  EXPECT_EQ(world_.controller().parked(), 0u);
}

TEST_F(NonstopOnSim, AJobThatEndsIsClosed) {
  const JobId id = sbatch();
  run(6s);
  ASSERT_TRUE(seat().state().jobs.contains(id));
  JobHandle handle{id, 1001, kNoTime, ""};
  handle.submit = seat().state().jobs.at(id).submit;
  world_.cluster().cancel(handle, [](Result<bool>) {});
  run(60s);
  EXPECT_FALSE(seat().state().jobs.contains(id));
}

}  // namespace
}  // namespace sickbay::sim
