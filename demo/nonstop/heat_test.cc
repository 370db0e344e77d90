// SPDX-License-Identifier: Apache-2.0
// The example programs, run by mpiexec, with a nonstop service of the test's own: whatever happens on the
// way, the result is the same to the bit.  (On a real Slurm they are run by hand: README.md.)
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>

#include "stub_test_parts.h"

namespace sickbay {
namespace {

using ::testing::HasSubstr;
using wire::Command;
using wire::Reply;
using wire::Request;

constexpr const char* kSizes = " 200 64 20";  // steps, size, every

class Heat : public StubServiceTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    StubServiceTest::SetUp();
    std::filesystem::create_directory(conf.path("bin"));
    // srun: its own options go, four ranks come.
    conf.write("bin/srun",
               "#!/bin/sh\nwhile case $1 in --*) true ;; *) false ;; esac; do shift; done\n"
               "echo \"$SLURM_JOB_NODELIST\" >> " +
                   conf.path("ran") + "\nexec mpiexec -n 4 \"$@\"\n");
    conf.write("bin/scontrol", "#!/bin/sh\nprintf 'n%d\\n' 1 2 3 4\n");  // show hostnames
    // Where there is another MPI beside MPICH, `mpiexec` alone may be the other's.
    conf.write("bin/mpiexec", "#!/bin/sh\nexec " HEAT_MPIEXEC " \"$@\"\n");
    for (const char* command : {"bin/srun", "bin/scontrol", "bin/mpiexec"})
      ::chmod(conf.path(command).c_str(), 0755);
    run("mpiexec -n 1 " + program("heat") + " " + folder("wanted") + kSizes);
    wanted = file("wanted/result");
    ASSERT_EQ(wanted.size(), 64 * 64 * 8 + 24U) << out;
  }
  std::string program(const std::string& name) const { return HEAT_PROGRAMS "/" + name; }
  std::string folder(const std::string& name) const {
    std::filesystem::create_directory(conf.path(name));
    return conf.path(name);
  }
  std::string file(const std::string& name) const {
    std::ifstream in(conf.path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int run(const std::string& command) {
    const int status = std::system(
        ("timeout 60 env PATH=" + conf.path("bin") + ":$PATH " + command + " > " + conf.path("out") + " 2>&1")
            .c_str());
    out = file("out");
    return WEXITSTATUS(status);
  }
  int run_job(const std::string& before = "") {
    return run("SLURM_JOB_ID=17 SLURMD_NODENAME=n2 SLURM_JOB_NODELIST='n[1-4]' NONSTOP_SH=" SMD_SCRIPTS
               "/nonstop.sh " +
               before + " " HEAT_JOB " " + program(GetParam()) + " " + conf.path("work") + kSizes);
  }
  // A service whose job has a node in `state` from when `known` says so until it is replaced by n9, at the
  // second time that it is asked for.
  void tell_of(const std::string& node, std::uint32_t state, std::function<bool()> known) {
    service->answer([=, this](const Result<Request>& request, int, const std::string&) -> std::string {
      if (!request) return wire::frame("22.05.8 ECMD");
      const bool faulty = known() && !replaced;
      Reply reply;
      reply.command = request->command;
      switch (request->command) {
        case Command::events: {
          // (The stub has one thread: it closes each stream at once, and the program opens the next.)
          std::string opened = wire::frame("22.05.8 ENOERROR");
          if (!faulty) return opened;
          return opened + wire::frame(fmt::format(R"({{"n":1,"event":"{}","nodes":["{}"],"at":1}})",
                                                  state == wire::kFailed ? "failed" : "failing", node));
        }
        case Command::get_fail_nodes:
          if (faulty && (request->state_flags & state) != 0) reply.faulty = {{node, 1, state}};
          break;
        case Command::replace_node:
          if (request->node != node) {
            reply.code = wire::Code::enodenotfail;
          } else if (++asked < 2) {
            reply.code = wire::Code::ereplacelater;
          } else {
            replaced = true;
          }
          reply.replacement = "n9";
          reply.set = {"n[1-2],n[4,9]", 4, {{1, 4}}};
          break;
        default:
          reply.code = wire::Code::ecmd;
      }
      return wire::frame(wire::format_reply(reply, "22.05.8"));
    });
  }

  std::string out, wanted;
  std::atomic<int> asked = 0;
  std::atomic<bool> replaced = false;
};

TEST_P(Heat, TheResultIsTheSameOfAnyNumberOfRanks) {
  for (const int ranks : {1, 3, 4}) {
    const std::string name = fmt::format("r{}", ranks);
    EXPECT_EQ(run(fmt::format("mpiexec -n {} {} {}{}", ranks, program(GetParam()), folder(name), kSizes)), 0)
        << out;
    EXPECT_TRUE(file(name + "/result") == wanted) << ranks << " ranks";
  }
}

TEST_P(Heat, AKilledRunGoesOnFromItsCheckpointWithFewerRanks) {
  EXPECT_NE(run("HEAT_DIE=150:2:9 mpiexec -n 4 " + program(GetParam()) + " " + folder("k") + kSizes), 0);
  EXPECT_EQ(run("mpiexec -n 3 " + program(GetParam()) + " " + folder("k") + kSizes), 0);
  EXPECT_THAT(out, HasSubstr("3 ranks, from step 140 of 200"));
  EXPECT_TRUE(file("k/result") == wanted);
}

TEST_P(Heat, ABrokenCheckpointIsNotTaken) {
  folder("b");
  std::ofstream(conf.path("b/checkpoint")) << wanted.substr(0, wanted.size() - 1);
  EXPECT_EQ(run("mpiexec -n 2 " + program(GetParam()) + " " + folder("b") + kSizes), 0);
  EXPECT_THAT(out, HasSubstr("from the start"));
  EXPECT_TRUE(file("b/result") == wanted);
  EXPECT_NE(run("mpiexec -n 2 " + program(GetParam()) + " " + folder("b") + " 0"), 0);
  EXPECT_THAT(out, HasSubstr("usage: "));
}

// A node falls silent: the other ranks wait for ever, rank 0 hears of it and gets another.
TEST_P(Heat, RankZeroReplacesANodeThatFailed) {
  tell_of("n3", wire::kFailed, [this] { return std::filesystem::exists(conf.path("work/died")); });
  EXPECT_EQ(run_job("HEAT_DIE=150:3:19"), 0) << out;
  // (That rank 0 says so is not looked for: what a rank wrote just before it ends its step by MPI_Abort,
  // mpiexec may drop.  Seen in 3 of some 30 runs.)
  EXPECT_TRUE(replaced) << out;
  EXPECT_THAT(out, HasSubstr("from step 140 of 200"));
  EXPECT_TRUE(file("work/result") == wanted);
  EXPECT_EQ(file("ran"), "n[1-4]\nn[1-2],n[4,9]\n") << "the next step is on the new set";
  EXPECT_EQ(asked, 2) << "later, then there";
}

TEST_P(Heat, AFailingNodeIsLeftAtTheNextCheckpoint) {
  tell_of("n3", wire::kFailing, [] { return true; });
  EXPECT_EQ(run_job(), 0) << out;
  EXPECT_THAT(out, HasSubstr(": leaves at step 20\n"));
  EXPECT_THAT(out, HasSubstr(": node n3 replaced by n9\n"));
  EXPECT_THAT(out, HasSubstr("from step 20 of 200"));
  EXPECT_TRUE(file("work/result") == wanted);
  EXPECT_EQ(file("ran"), "n[1-4]\nn[1-2],n[4,9]\n");
}

// Rank 0's own node: nobody is left to ask, so nonstop.sh does.
TEST_P(Heat, NonstopShReplacesTheNodeOfRankZero) {
  service->answer([this](const Result<Request>& request, int, const std::string&) -> std::string {
    Reply reply;
    reply.command = request ? request->command : Command::show_config;
    if (request && request->command == Command::events) return wire::frame("22.05.8 ENOERROR");
    if (request && request->command == Command::get_fail_nodes && !replaced)
      reply.faulty = {{"n1", 1, wire::kFailed}};
    if (request && request->command == Command::replace_node) replaced = true;
    reply.replacement = "n9";
    reply.set = {"n[2-4,9]", 4, {{1, 4}}};
    return wire::frame(wire::format_reply(reply, "22.05.8"));
  });
  EXPECT_EQ(run_job("HEAT_DIE=150:0:9"), 0) << out;
  EXPECT_THAT(out, HasSubstr("_try_replace: job 17 node n1 replaced by n9\n"));
  EXPECT_TRUE(file("work/result") == wanted);
  EXPECT_EQ(file("ran"), "n[1-4]\nn[2-4,9]\n");
}

TEST_P(Heat, WithoutTheServiceItJustComputes) {
  service->stop();
  EXPECT_EQ(run_job(), 0) << out;
  EXPECT_TRUE(file("work/result") == wanted);
}

#ifdef HEAT_FORTRAN
INSTANTIATE_TEST_SUITE_P(In, Heat, ::testing::Values("heat", "heat_fortran"));
#else
INSTANTIATE_TEST_SUITE_P(In, Heat, ::testing::Values("heat"));
#endif

}  // namespace
}  // namespace sickbay
