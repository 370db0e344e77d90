// SPDX-License-Identifier: Apache-2.0
#include "model/running_job.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(RunningJob, CpusInGroupsAndBack) {
  const std::vector<std::uint32_t> cpus = {2, 2, 2, 4, 2};
  const auto groups = group_cpus(cpus);
  EXPECT_EQ(groups, (std::vector<CpuGroup>{{2, 3}, {4, 1}, {2, 1}}));
  EXPECT_EQ(ungroup_cpus(groups), cpus);
  EXPECT_EQ(cpus_per_node_text(groups), "2(x3),4,2");
  EXPECT_EQ(cpus_per_node_text({}), "");
  EXPECT_EQ(cpu_groups_from_json(cpu_groups_to_json(groups)), groups);
}

TEST(RunningJob, AJobComesBackFromItsJson) {
  RunningJob job;
  job.job_id = 17;
  job.uid = 1001;
  job.gid = 100;
  job.submit = from_unix_seconds(1'700'000'000);
  job.start = from_unix_seconds(1'700'000'100);
  job.name = "solver";
  job.state = "RUNNING";
  job.flags = {"RESIZING"};
  job.nodes = {"n1", "n3"};
  job.cpus_per_node = {{2, 1}, {4, 1}};
  job.batch = true;
  job.batch_host = "n1";
  job.time_limit_min = 60;
  job.partition = "batch";
  job.account = "physics";
  job.qos = "normal";
  job.reservation = "weekly";
  job.features = "ib&gpu";
  job.tres_per_node = "gres:gpu:2";
  job.tres_per_socket = "gres:gpu:1";
  job.tres_per_task = "gres:gpu:1";
  job.tres_per_job = "gres:gpu:4";
  job.cpus_per_tres = "gres:gpu:2";
  job.mem_per_tres = "gres:gpu:100";
  job.gres = "gpu:4";
  job.memory_mib = 500;
  job.memory_per_cpu = true;
  job.excluded = {"n7"};
  job.oversubscribe = "NO";
  job.tasks_per_node = 2;
  job.cpus_per_task = 1;
  job.threads_per_core = 1;
  job.core_spec = 1;
  job.het_job_id = 16;
  job.het_offset = 1;
  job.array_job_id = 15;
  job.array_task_id = "3";
  const auto parsed = Json::parse(job.to_json().dump());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(RunningJob::from_json(*parsed), job);
}

TEST(RunningJob, OnlyOneThatRunsCanBeChanged) {
  RunningJob job;
  job.job_id = 17;
  for (const char* state : {"PENDING", "SUSPENDED", "COMPLETED", "NODE_FAIL"}) {
    job.state = state;
    const auto can = can_change(job);
    ASSERT_FALSE(can) << state;
    EXPECT_EQ(can.error().code, ErrorCode::conflict);
    EXPECT_EQ(can.error().remedy_text.find("--no-kill") != std::string::npos,
              std::string_view(state) == "NODE_FAIL");
  }
  job.state = "RUNNING";
  job.flags = {"RESIZING"};
  EXPECT_TRUE(can_change(job));
  job.flags = {"COMPLETING"};
  EXPECT_FALSE(can_change(job));
}

TEST(RunningJob, WhatIsLeftWithoutSomeNodes) {
  RunningJob job;
  job.job_id = 17;
  job.state = "RUNNING";
  job.nodes = {"n2", "n3", "n10"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(nodes_left(job, {"n3"}).value(), (Names{"n2", "n10"}));
  EXPECT_EQ(nodes_left(job, {"n7"}).value(), job.nodes) << "a node that it has not is no loss";
  const auto none = nodes_left(job, {"n10", "n2", "n3"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "job 17 would have no node left");
  job.batch = true;
  job.batch_host = "n2";
  EXPECT_TRUE(nodes_left(job, {"n3"}));
  const auto script = nodes_left(job, {"n2"});
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().what, "job 17 cannot lose n2");
}

TEST(RunningJob, WhatANodesStateMeansToItsJobs) {
  struct Row {
    const char* state;
    NodeFault fault;
    const char* word;
  };
  const Row rows[] = {
      {"ALLOCATED", NodeFault::none, ""},
      {"IDLE+DRAIN", NodeFault::none, ""},
      {"ALLOCATED+NOT_RESPONDING", NodeFault::none, ""},
      {"ALLOCATED+FAIL", NodeFault::failing, "FAILING"},
      {"IDLE+FAIL", NodeFault::failing, "FAILING"},
      {"DOWN", NodeFault::failed, "FAILED"},
      {"DOWN+FAIL", NodeFault::failed, "FAILED"},
  };
  for (const Row& row : rows) {
    const auto state = parse_node_state(row.state);
    ASSERT_TRUE(state) << row.state;
    EXPECT_EQ(fault_of(*state), row.fault) << row.state;
    EXPECT_EQ(to_string(fault_of(*state)), row.word) << row.state;
  }
}

}  // namespace
}  // namespace sickbay
