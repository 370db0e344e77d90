// SPDX-License-Identifier: Apache-2.0
// The shipped operations that are programs, run as the agent runs them: through the choice of runners, with
// limits.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/node/node_test_parts.h"
#include "adapters/posix/operation_process.h"
#include "model/builtin_operations.h"
#include "model/value.h"
#include "ports/operation_choice.h"

namespace sickbay {
namespace {

using Ended = OperationEnd::Result;

class Operations : public ::testing::Test {
 protected:
  void start(const std::string& root) {
    loop_ = make_poll_loop().value();
    programs_ = make_process_runner(*loop_);
    runner_ = make_operation_choice(make_node_runner(*loop_, *programs_, root),
                                    make_operation_process_runner(*loop_, {{SB_OPERATIONS}, root}));
  }
  static OperationCall call(const std::string& run, Json arguments = Json::object()) {
    OperationCall c;
    c.operation = "test";
    c.kind = "test";
    c.run = run;
    c.arguments = std::move(arguments);
    c.time_limit = std::chrono::minutes(1);
    return c;
  }
  OperationEnd run(OperationCall c) {
    if (!runner_) start("/");
    std::optional<OperationEnd> end;
    runner_->run(std::move(c), [&](OperationEnd e) {
      end = std::move(e);
      loop_->stop();
    });
    loop_->run();
    return *end;
  }
  // The outputs of the table, all and of their types.
  static void expect_outputs(const std::string& name, const OperationEnd& end) {
    const BuiltinOperation& row = *builtin_operation(name);
    ASSERT_EQ(end.outputs.size(), row.outputs.size()) << end.outputs.dump();
    for (const BuiltinOutput& out : row.outputs)
      EXPECT_TRUE(value_from_json(end.outputs[out.name], out.type)) << out.name << " " << end.outputs.dump();
  }
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<ProcessRunner> programs_;
  std::unique_ptr<OperationRunner> runner_;
};

TEST_F(Operations, MemoryTest) {
  const OperationEnd end = run(call("builtin:memory_test", Json::object({{"size", 4 << 20}})));
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  EXPECT_EQ(end.outputs.dump(), R"({"memory_test_errors":0,"memory_tested":4194304})");
  expect_outputs("memory_test", end);
  OperationCall large = call("builtin:memory_test", Json::object({{"size", std::int64_t{1} << 30}}));
  large.memory_limit = std::size_t{16} << 20;
  const OperationEnd refused = run(std::move(large));
  EXPECT_EQ(refused.result, Ended::unknown);
  EXPECT_EQ(refused.text,
            "memory_test: cannot get 1073741824 bytes: raise \"memory\" of the specification, or test less");
}

TEST_F(Operations, DiskTest) {
  node::TestFolder folder;
  const OperationEnd end = run(call("builtin:disk_test", Json::object({{"path", folder.path()}})));
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  expect_outputs("disk_test", end);
  EXPECT_EQ(end.outputs["disk_test_errors"], Json(0));
  EXPECT_GT(end.outputs["disk_write_rate"].as_int(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left";
  EXPECT_EQ(run(call("builtin:disk_test", Json::object({{"path", folder.path() + "/none"}}))).text,
            "disk_test: cannot write a file in " + folder.path() + "/none: No such file or directory");
}

TEST_F(Operations, CpuTest) {
  const OperationEnd end = run(call("builtin:cpu_test", Json::object({{"milliseconds", 20}})));
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  expect_outputs("cpu_test", end);
  EXPECT_EQ(end.outputs["cpu_wrong"], Json(0));
  EXPECT_GT(end.outputs["cpu_slowest_percent"].as_int(), 0);
}

TEST_F(Operations, ThroughputBetweenTwo) {
  start("/");
  // A port that is free now.
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const int port = ntohs(address.sin_port);
  ::close(fd);
  std::optional<OperationEnd> served, sent;
  runner_->run(call("builtin:throughput", Json::object({{"serve", true}, {"port", port}, {"seconds", 30}})),
               [&](OperationEnd e) {
                 served = std::move(e);
                 loop_->stop();
               });
  // The peer may not listen yet: asked again until it does, or until it has ended.
  std::function<void()> send = [&] {
    runner_->run(
        call("builtin:throughput", Json::object({{"peer", "127.0.0.1"}, {"port", port}, {"seconds", 1}})),
        [&](OperationEnd e) {
          sent = std::move(e);
          if (sent->result == Ended::unknown && !served)
            send();
          else
            loop_->stop();
        });
  };
  send();
  while (!served || !sent || sent->result == Ended::unknown) loop_->run();
  EXPECT_EQ(served->result, Ended::ok) << served->text;
  EXPECT_EQ(sent->result, Ended::ok) << sent->text;
  expect_outputs("throughput", *sent);
  EXPECT_GT(sent->outputs["throughput"].as_int(), 0);
  // A peer that is not there is no fault of ours.
  const OperationEnd alone =
      run(call("builtin:throughput", Json::object({{"peer", "127.0.0.1"}, {"port", port}, {"seconds", 1}})));
  EXPECT_EQ(alone.result, Ended::unknown);
  EXPECT_EQ(alone.text, "throughput: cannot reach the peer: Connection refused");
}

TEST_F(Operations, MemoryBankInShell) {
  node::TestFolder sick, none;
  node::unpack("server", sick);
  start(sick.path());
  const OperationEnd end = run(call("memory_bank"));
  EXPECT_EQ(end.result, Ended::fault) << end.text;
  EXPECT_EQ(end.outputs.dump(), R"({"bank_label":"CPU1_DIMM_C2","bank_place":"channel 2 slot 1","banks":2})");
  EXPECT_EQ(end.text, "CPU1_DIMM_C2 is lost or has uncorrected errors");
  sick.write("/sys/devices/system/edac/mc/mc1/dimm4/dimm_ue_count", "0\n");
  const OperationEnd well = run(call("memory_bank"));
  EXPECT_EQ(well.result, Ended::ok) << well.text;
  EXPECT_EQ(well.outputs.dump(), R"({"bank_label":"","bank_place":"","banks":2})");
  start(none.path());
  EXPECT_EQ(run(call("memory_bank")).text,
            "memory_bank: there is no " + none.path() +
                "/sys/devices/system/edac/mc: no ECC memory, or no driver for it");
}

#ifdef SB_KNOWN_GOOD
TEST_F(Operations, KnownGoodRunsTheVerificationProgram) {
  OperationCall asked = call("known_good");
  asked.time_limit = std::chrono::seconds(60);
  asked.memory_limit = std::size_t{4} << 30;
  start("/");
  const OperationEnd end = run(asked);
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  EXPECT_TRUE(end.outputs["known_good_passed"].as_bool())
      << end.text;  // slow it may be: others use this machine
  node::TestFolder elsewhere;
  start(elsewhere.path());
  EXPECT_EQ(run(asked).result, Ended::unknown);
}
#endif

TEST_F(Operations, KernelLogInPython) {
  node::TestFolder root;
  root.write("/var/log/kern.log",
             "Nov 21 16:00:01 n3 kernel: [ 1.0] sd 0:0:0:0: [sda] tag#1 Sense Key : Medium Error [current]\n"
             "Nov 21 16:00:02 n3 kernel: [ 2.0] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
             "Nov 21 16:00:03 n3 kernel: [ 3.0] eth0: link up\n");
  start(root.path());
  const Json by_file = Json::object({{"log", "/var/log/kern.log"}});
  const OperationEnd end = run(call("kernel_log", by_file));
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  EXPECT_EQ(end.outputs["disk_messages"], Json(1));
  EXPECT_EQ(end.outputs["gpu_xids"], Json(1));
  EXPECT_EQ(end.outputs["hung_tasks"], Json(0));
  EXPECT_NE(end.outputs["kernel_last"].as_string().find("Xid"), std::string::npos);
  EXPECT_EQ(run(call("kernel_log", Json::object({{"log", "/var/log/none"}}))).text,
            "kernel_log: there is no " + root.path() + "/var/log/none");
  EXPECT_EQ(run(call("kernel_log")).text, "kernel_log: there is no " + root.path() + "/dev/kmsg");
}

// A user's program can bear any name, and can write into the kernel's log.
TEST_F(Operations, KernelLogHearsTheKernelAlone) {
  node::TestFolder root;
  start(root.path());
  const auto xids = [&](const std::string& log) {
    root.write("/dev/kmsg", log);
    const OperationEnd end = run(call("kernel_log"));
    EXPECT_EQ(end.result, Ended::ok) << end.text;
    return end.outputs["gpu_xids"].as_int();
  };
  EXPECT_EQ(xids("4,1,5,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n SUBSYSTEM=pci\n"), 1);
  EXPECT_EQ(xids("12,1,5,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"), 0);
  EXPECT_EQ(
      xids(
          "6,1,5,-;NVRM: Xid[123]: segfault at 0 ip 0 sp 0 error 4 in NVRM: Xid (PCI:0000:3b:00): 79[1+2]\n"),
      0);
  EXPECT_EQ(xids("6,1,5,-;NVRM: Xid (PCI:[123]: segfault at 0 ip 0 sp 0 error 4\n"), 0);
  root.write("/var/log/kern.log",
             "Nov 21 16:00:02 n3 kernel: [ 2.0] NVRM: Xid[9]: segfault at 0\n"
             "Nov 21 16:00:02 n3 alice: NVRM: Xid (PCI:0000:3b:00): 79, GPU\n");
  EXPECT_EQ(run(call("kernel_log", Json::object({{"log", "/var/log/kern.log"}}))).outputs["gpu_xids"],
            Json(0));
}

TEST_F(Operations, WhatIsWrongWithArgumentsIsSaid) {
  EXPECT_EQ(run(call("builtin:memory_test", Json::object({{"sise", 1}}))).text,
            "builtin:memory_test has no argument 'sise'");
  EXPECT_EQ(run(call("builtin:no_such")).text, "there is no built-in operation 'builtin:no_such'");
}

}  // namespace
}  // namespace sickbay
