// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/process_runner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "adapters/net/asio_loop.h"

namespace sickbay {
namespace {

Result<ProcessOutcome> run(ProcessSpec spec) {
  auto loop = make_asio_loop();
  auto runner = make_process_runner(*loop);
  std::optional<Result<ProcessOutcome>> answer;
  runner->run(std::move(spec), [&](Result<ProcessOutcome> r) {
    answer = std::move(r);
    loop->stop();
  });
  loop->run();
  return *answer;
}

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", script};
  spec.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  return spec;
}

TEST(ProcessRunner, GivesBackWhatTheProgramSaid) {
  auto r = run(shell("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->exit_code, 7);
  EXPECT_EQ(r->out, "out\n");
  EXPECT_EQ(r->err, "err\n");
  EXPECT_FALSE(r->timed_out);
}

TEST(ProcessRunner, InputEnvironmentFolderAndExtraDescriptors) {
  ProcessSpec spec = shell("cat; cat <&5; pwd; umask; env | sort; ls /proc/self/fd | tr '\\n' ' '");
  spec.input = "in.";
  spec.extra_fds = {{5, "five."}};
  spec.folder = "/usr";
  spec.umask = 027;
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  // The last descriptor is ls's own; 3 and 4 were never given.
  EXPECT_EQ(r->out, "in.five./usr\n0027\nLC_ALL=C\nPATH=/usr/bin:/bin\nPWD=/usr\n0 1 2 3 5 ") << r->err;
}

TEST(ProcessRunner, KillsTheWholeGroupWhenTheTimeIsUp) {
  ProcessSpec spec = shell("(trap '' TERM; while :; do :; done) & echo $!; while :; do :; done");
  spec.time_limit = std::chrono::milliseconds(200);
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->timed_out);
  EXPECT_EQ(r->signal, SIGKILL);
  EXPECT_EQ(r->exit_code, -1);
}

TEST(ProcessRunner, AChildLeftBehindDoesNotHoldTheAnswer) {
  ProcessSpec spec = shell("sleep 1000 & echo started");
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->out, "started\n");
  EXPECT_FALSE(r->timed_out);
}

TEST(ProcessRunner, DropsWhatGoesOverTheOutputLimit) {
  ProcessSpec spec = shell("head -c 3000000 /dev/zero; echo end >&2");
  spec.output_limit = 1000;
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->out.size(), 1000u);
  EXPECT_TRUE(r->truncated);
  EXPECT_EQ(r->err, "end\n");
}

TEST(ProcessRunner, SaysWhatCouldNotBeDone) {
  ProcessSpec missing = shell("");
  missing.argv = {"no-such-program"};
  EXPECT_EQ(run(missing).error().code, ErrorCode::missing_program);
  missing.argv = {"/no/such/program"};
  EXPECT_EQ(run(missing).error().code, ErrorCode::missing_program);
  ProcessSpec folder = shell("true");
  folder.folder = "/no/such/folder";
  auto r = run(folder);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().what.find("/no/such/folder"), std::string::npos);
}

TEST(ProcessRunner, BecomesAnotherUserWithoutOurGroups) {
  ASSERT_EQ(geteuid(), 0u) << "the tests of Sickbay run as root";
  ProcessSpec spec = shell("id -u; id -g; id -G; ulimit -n");
  spec.as_user = ProcessSpec::Credentials{"nobody", 65534, 65534};
  spec.limits = {{"NOFILE", 77}};
  auto r = run(std::move(spec));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->out, "65534\n65534\n65534\n77\n");
}

}  // namespace
}  // namespace sickbay
