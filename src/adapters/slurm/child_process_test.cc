// SPDX-License-Identifier: Apache-2.0
// A child that ends before it takes its request: libslurm ends its process where it cannot use slurm.conf.
// A shell script takes the child's place; the loop of virtual time never sees its socket, so that what is
// tried is the sending alone.
#include "adapters/slurm/child_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "adapters/sim/sim_loop.h"

namespace sickbay::slurm {
namespace {

TEST(ChildProcess, OneThatEndedBeforeItsRequestSaysWhyAndTookNothing) {
  const std::string script = ::testing::TempDir() + "/child" + std::to_string(::getpid()) + ".sh";
  std::ofstream(script) << "#!/bin/sh\necho 'fatal: NoSuchWord' >&2\nexit 1\n";
  ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
  sim::SimLoop loop;
  std::vector<std::string> logged;
  auto child = ChildProcess::start(loop, script, {},
                                   {[](Json) {}, [](std::string) { FAIL() << "nobody reads its socket"; },
                                    [&](std::string_view line) { logged.emplace_back(line); }});
  ASSERT_TRUE(child) << child.error().line();
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>((*child)->pid()), &ended, WEXITED | WNOWAIT), 0);
  const auto sent = (*child)->send(Json::object({{"call", "look"}}));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::slurm_away) << sent.error().line();
  EXPECT_EQ(sent.error().cause, "fatal: NoSuchWord");
  EXPECT_EQ(logged, std::vector<std::string>{"fatal: NoSuchWord"});
  ::unlink(script.c_str());
}

}  // namespace
}  // namespace sickbay::slurm
