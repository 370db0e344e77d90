// SPDX-License-Identifier: Apache-2.0
// Every command and every code of the protocol, asked over a socket by a client that knows nothing but it.
#include "test/nonstop_server/nonstop_server_parts.h"

namespace sickbay {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class NonstopCommands : public NonstopWorld {
 protected:
  std::string of(const char* command, JobId job, const std::string& rest = "") {
    return ask(kAda, fmt::format("{}:JOBID:{}{}", command, job, rest));
  }
  // n1 has the batch script; so n3 can be lost.
  JobId with_lost_node() {
    const JobId job = submit(kAda);
    EXPECT_EQ(nodes_of(job), "n[1-3]");
    serve();
    later(std::chrono::seconds(5));
    crash("n3");
    return job;
  }
};

TEST_F(NonstopCommands, TheConfigurationAsTheFileHasIt) {
  serve();
  EXPECT_EQ(
      ask(kEve, "SHOW_CONFIG"),
      "ENOERROR BackupAddr \"none\" ControlAddr \"ctl\" Debug 0 HotSpareCount \"none\" MaxSpareNodeCount 0 "
      "Port "
      "6820 TimeLimitDelay 10 TimeLimitDrop 30 TimeLimitExtend 4 UserDrainAllow \"dora,eve\" UserDrainDeny "
      "\"none\"");
  EXPECT_THAT(ask_raw("MUNGE:a:1:VERSION:20.11.4:SHOW_CONFIG"), StartsWith("20.11.4 ENOERROR"))
      << "any release, and told its own";
}

TEST_F(NonstopCommands, AJobThatIsWell) {
  const JobId job = submit(kAda);
  serve();
  EXPECT_THAT(of("GET_FAIL_NODES", job, ":STATE_FLAGS:6"), MatchesRegex("ENOERROR ?"));
  EXPECT_THAT(of("SHOW_JOB", job), HasSubstr("FAIL_NODE_CNT 0"));
  EXPECT_EQ(of("REPLACE_NODE", job, ":NODE:n2"), "ENODENOTFAIL");
  EXPECT_EQ(of("REPLACE_NODE", job, ":NODE:n6"), "ENODENOCPU");
  EXPECT_EQ(of("DROP_NODE", job, ":NODE:n6"), "NODENOTINJOB");
  EXPECT_EQ(of("TIME_INCR", job, ":MINUTES:0"), "ENOINCREASETIMELIMIT");
  EXPECT_EQ(of("CALLBACK", job, ":PORT:40000"), "ENOERROR");
  EXPECT_EQ(of("CALLBACK", job, ":PORT:0"), "ENOERROR");
  EXPECT_THAT(of("CALLBACK", job, ":PORT:22"), StartsWith("EPORT ports below 1024"));
}

TEST_F(NonstopCommands, ANodeIsLostAndReplaced) {
  const JobId job = with_lost_node();
  EXPECT_EQ(of("GET_FAIL_NODES", job, ":STATE_FLAGS:2"), "ENOERROR n3 2 2 ");
  EXPECT_THAT(of("SHOW_JOB", job), HasSubstr("FAIL_NODE_CNT 1 n3 2"));
  EXPECT_THAT(of("SHOW_JOB", job), HasSubstr("TIME_EXTEND_AVAIL 4"));
  EXPECT_EQ(of("TIME_INCR", job, ":MINUTES:5"), "ETIMEOVERLIMIT");
  EXPECT_EQ(of("TIME_INCR", job, ":MINUTES:1"), "ENOERROR");
  EXPECT_THAT(of("SHOW_JOB", job), HasSubstr("TIME_EXTEND_AVAIL 3"));
  const std::string told = of("REPLACE_NODE", job, ":NODE:n3");
  EXPECT_EQ(told, "ENOERROR ReplacementNode n4 NewNodeList n[1-2,4] NewNodeCount 3 NewCpusPerNode 2(x3)");
  EXPECT_EQ(nodes_of(job), "n[1-2,4]");
  EXPECT_EQ(of("REPLACE_NODE", job, ":NODE:n3"), told) << "who lost the answer asks again";
  EXPECT_THAT(of("SHOW_JOB", job), HasSubstr("REPLACE_NODE_CNT 1"));
  EXPECT_THAT(of("GET_FAIL_NODES", job, ":STATE_FLAGS:6"), MatchesRegex("ENOERROR ?"));
}

// srun ends a step as soon as slurmctld knows of the lost node, and what runs next asks: sickbayd has not
// looked since.
struct AskedAndTold {
  const char *asked, *told;
  friend void PrintTo(const AskedAndTold& row, std::ostream* to) { *to << row.asked; }
};
class RightBehindTheFailure : public NonstopCommands, public testing::WithParamInterface<AskedAndTold> {};
TEST_P(RightBehindTheFailure, IsToldOfIt) {
  const JobId job = submit(kAda);
  serve();
  later(std::chrono::seconds(5));
  still_ = true;
  on_loop([&] { cluster_.set_down("n3", "Not responding"); });
  TestPeer peer = connect();
  peer.send(wire::frame(credential(kAda, fmt::format(fmt::runtime(GetParam().asked), job))));
  EXPECT_TRUE(becomes([&] { return service_->counts().waiting == 1; })) << "answered without a look";
  still_ = false;
  EXPECT_THAT(body_of(peer.read_all()), StartsWith(std::string("22.05 ENOERROR") + GetParam().told));
}
INSTANTIATE_TEST_SUITE_P(NonstopCommands, RightBehindTheFailure,
                         testing::Values(AskedAndTold{"GET_FAIL_NODES:JOBID:{}:STATE_FLAGS:2", " n3 2 2"},
                                         AskedAndTold{"SHOW_JOB:JOBID:{}", " FAIL_NODE_CNT 1 n3 2"},
                                         AskedAndTold{"REPLACE_NODE:JOBID:{}:NODE:n3", " ReplacementNode n4"},
                                         AskedAndTold{"DROP_NODE:JOBID:{}:NODE:n3", " NewNodeList n[1-2]"},
                                         AskedAndTold{"TIME_INCR:JOBID:{}:MINUTES:4", ""}),
                         [](const auto& row) {
                           const std::string asked = row.param.asked;
                           return asked.substr(0, asked.find(':'));
                         });

TEST_F(NonstopCommands, ThoseWhoAskAtOnceGetOneReplacement) {
  const JobId job = with_lost_node();
  std::vector<TestPeer> peers;
  for (int i = 0; i < 20; ++i) peers.push_back(connect());
  for (TestPeer& peer : peers)
    peer.send(wire::frame(credential(kAda, fmt::format("REPLACE_NODE:JOBID:{}:NODE:n3", job))));
  for (TestPeer& peer : peers)
    EXPECT_THAT(body_of(peer.read_all()), StartsWith("22.05 ENOERROR ReplacementNode n4 "));
  EXPECT_EQ(nodes_of(job), "n[1-2,4]");
  on_loop([&] { EXPECT_EQ(cluster_.keyed_jobs().size(), 1U) << "donors"; });
}

TEST_F(NonstopCommands, TwoNodesInOneRequest) {
  const JobId job = with_lost_node();
  crash("n2");
  EXPECT_EQ(of("REPLACE_NODE", job, ":NODE:n[2-3]"),
            "ENOERROR ReplacementNode n[4-5] NewNodeList n[1,4-5] NewNodeCount 3 NewCpusPerNode 2(x3)");
}

TEST_F(NonstopCommands, ANodeIsDropped) {
  const JobId job = with_lost_node();
  EXPECT_EQ(of("DROP_NODE", job, ":NODE:n3"),
            "ENOERROR NewNodeList n[1-2] NewNodeCount 2 NewCpusPerNode 2(x2)");
  EXPECT_THAT(of("SHOW_JOB", job), HasSubstr("TIME_EXTEND_AVAIL 30"));
  EXPECT_EQ(of("TIME_INCR", job, ":MINUTES:0"), "ENOERROR");
}

TEST_F(NonstopCommands, NoNodeIsFreeAndThenOneIs) {
  const JobId job = submit(kAda);
  const JobId other = submit(kDora);  // the rest of the cluster
  serve();
  later(std::chrono::seconds(5));
  crash("n3");
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n3"), MatchesRegex("EREPLACELATER [0-9]+"));
  EXPECT_THAT(of("SHOW_JOB", job), HasSubstr("PENDING_NODE_NAME \"n3\""));
  crash("n2");
  EXPECT_EQ(of("REPLACE_NODE", job, ":NODE:n2"), "EREPLACEPENDING n3");
  on_loop([&] { cluster_.scancel(other); });
  later(std::chrono::seconds(30));
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n3"), StartsWith("ENOERROR ReplacementNode n4 "));
}

TEST_F(NonstopCommands, MoreThanMaxSpareNodeCount) {
  config_.nonstop.config.max_spare_nodes = 1;
  const JobId job = with_lost_node();
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n3"), StartsWith("ENOERROR"));
  crash("n2");
  EXPECT_EQ(of("REPLACE_NODE", job, ":NODE:n2"), "EMAXSPARECOUNT 1");
}

TEST_F(NonstopCommands, TheNodeOfTheBatchScriptStays) {
  config_.nonstop.config.drain_allow = {true, {}};
  const JobId job = submit(kAda);
  serve();
  later(std::chrono::seconds(5));
  EXPECT_EQ(ask(kAda, "DRAIN:NODES:\"n1\":REASON:\"smells\""), "ENOERROR");
  later(std::chrono::seconds(10));
  EXPECT_EQ(of("GET_FAIL_NODES", job, ":STATE_FLAGS:4"), "ENOERROR n1 2 4 ");
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n1"), StartsWith("ENODEREPLACEFAIL the batch script"));
  EXPECT_THAT(of("DROP_NODE", job, ":NODE:n1"), StartsWith("EJOBUPDATE the batch script"));
}

TEST_F(NonstopCommands, AFailingNodeLeavesWhenItsReplacementHasJoined) {
  const JobId job = submit(kAda);
  serve();
  later(std::chrono::seconds(5));
  EXPECT_EQ(ask(kRoot, "DRAIN:NODES:n2:REASON:fan"), "ENOERROR");
  later(std::chrono::seconds(5));
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n2"),
              StartsWith("ENOERROR ReplacementNode n4 NewNodeList n[1,3-4] "));
  EXPECT_EQ(nodes_of(job), "n[1,3-4]");
}

TEST_F(NonstopCommands, DrainsOfWhatIsNotThereOrIsTooMuch) {
  submit(kDora);
  serve();
  EXPECT_EQ(ask(kRoot, "DRAIN:NODES:n99:REASON:x"), "EUPDNODE n99: Slurm has no such node");
  EXPECT_EQ(ask(kRoot, "DRAIN:NODES:n5:REASON:x"), "ENOERROR");
  EXPECT_THAT(ask(kRoot, "DRAIN:NODES:n6:REASON:x"), StartsWith("EUPDNODE n6: ")) << "the breaker";
}

TEST_F(NonstopCommands, AJobThatEndedAndOneThatNeverWas) {
  const JobId job = submit(kAda);
  serve();
  EXPECT_THAT(of("SHOW_JOB", job), StartsWith("ENOERROR"));
  on_loop([&] { cluster_.scancel(job); });
  later(std::chrono::seconds(30));
  EXPECT_EQ(of("SHOW_JOB", job), "EJOBNOTRUN");
  EXPECT_EQ(of("DROP_NODE", job, ":NODE:n3"), "EJOBNOTRUNRROR");
  EXPECT_EQ(of("SHOW_JOB", 4711), "EJOBID");
}

TEST_F(NonstopCommands, AJobOfOneNodeIsLookedForWhenSomebodyAsks) {
  const JobId job = submit(kAda, {"-N1", "--no-kill", "-t60"});
  serve();
  EXPECT_THAT(of("SHOW_JOB", job), StartsWith("ENOERROR"));
  EXPECT_THAT(ask(kEve, fmt::format("SHOW_JOB:JOBID:{}", job)), StartsWith("EPERM"));
}

TEST_F(NonstopCommands, WhatCannotBeReadIsToldWhy) {
  serve();
  EXPECT_THAT(ask(kAda, "REPLACE_NOD:JOBID:17:NODE:n3"), StartsWith("ECMD 'REPLACE_NOD' is no command"));
  EXPECT_THAT(ask(kAda, "REPLACE_NODE:JOBID:17"), StartsWith("ECMD REPLACE_NODE without NODE:"));
  EXPECT_THAT(ask(kAda, "TIME_INCR:JOBID:x:MINUTES:1"), StartsWith("ECMD"));
  EXPECT_THAT(ask(kAda, "CALLBACK:JOBID:1:PORT:99999"), StartsWith("ECMD"));
  EXPECT_THAT(ask(kAda, "REPLACE_NODE:JOBID:17:NODE:n[1-99999]"), StartsWith("ECMD"));
}

TEST_F(NonstopCommands, SlurmIsAwayAndTheRequestIsKept) {
  const JobId job = with_lost_node();
  on_loop([&] { cluster_.stop_controller(false); });
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n3"), StartsWith("EREPLACELATER"))
      << "within the client's patience";
  EXPECT_THAT(of("SHOW_JOB", job), HasSubstr("PENDING_NODE_NAME \"n3\""));
  EXPECT_THAT(of("SHOW_JOB", 4711), StartsWith("EJOBUPDATE nobody knows job 4711 yet"));
  on_loop([&] { cluster_.start_controller(); });
  later(std::chrono::seconds(120));
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n3"), StartsWith("ENOERROR ReplacementNode n4 "));
  on_loop([&] { EXPECT_EQ(cluster_.keyed_jobs().size(), 1U) << "donors"; });
}

TEST_F(NonstopCommands, SickbaydIsKilledWhileAReplacementIsUnderWay) {
  const JobId job = with_lost_node();
  still_ = true;
  TestPeer client = connect();
  client.send(wire::frame(credential(kAda, fmt::format("REPLACE_NODE:JOBID:{}:NODE:n3", job))));
  ASSERT_TRUE(becomes([&] { return service_->counts().waiting == 1; }));
  on_loop([&] { loop_.run_until(loop_.now() + std::chrono::milliseconds(7)); });
  kill_and_restart();
  EXPECT_EQ(client.read_all(), "") << "cut";
  still_ = false;
  later(std::chrono::seconds(60));
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n3"), StartsWith("ENOERROR ReplacementNode n4 "));
  EXPECT_EQ(nodes_of(job), "n[1-2,4]");
  on_loop([&] { EXPECT_EQ(cluster_.keyed_jobs().size(), 1U) << "donors"; });
}

TEST_F(NonstopCommands, AFullDiskActsNotAndSaysSo) {
  const JobId job = with_lost_node();
  on_loop([&] { journal_.set_full(true); });
  EXPECT_THAT(of("REPLACE_NODE", job, ":NODE:n3"), StartsWith("EJOBUPDATE nothing was done: "));
  EXPECT_EQ(of("GET_FAIL_NODES", job, ":STATE_FLAGS:6"), "ENOERROR n3 2 2 ") << "answers go on";
  on_loop([&] { journal_.set_full(false); });
}

}  // namespace
}  // namespace sickbay
