// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_behaviour.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "adapters/sim/sim_request.h"

namespace sickbay::sim {
namespace {

using std::chrono::milliseconds;

TEST(SimBehaviour, ReadsEachWord) {
  struct Row {
    const char* line;
    SimBehaviour want;
  };
  const Row rows[] = {
      {"", {}},
      {"#SIM run=30s exit=3", {.run = milliseconds(30000), .exit_code = 3}},
      {"#SIM  run=500ms\tsignal=SIGSEGV", {.run = milliseconds(500), .signal = SIGSEGV}},
      {"#SIM killed=SIGTERM", {.killed = SIGTERM}},
      {"#SIM hang", {.hang = true}},
      {"#SIM crash-on=n3:SIGBUS", {.crash_node = "n3", .crash_signal = SIGBUS}},
      {"#SIM exit=1 flaky=0.25", {.exit_code = 1, .flaky = 0.25}},
      {"#SIM exit=1 fail-runs=1,3", {.exit_code = 1, .fail_runs = {1, 3}}},
      {"#SIM slow-with=n3:2.5", {.slow_node = "n3", .slow_factor = 2.5}},
      {"#SIM takes-down=2", {.takes_down = 2}},
      {"#SIM says=step_7_of_9", {.says = "step 7 of 9"}},
  };
  for (const Row& row : rows) {
    const auto got = behaviour_of_script("#!/bin/sh\n" + std::string(row.line) + "\nsrun ./a.out\n");
    ASSERT_TRUE(got) << row.line << ": " << got.error().line();
    EXPECT_EQ(*got, row.want) << row.line;
  }
}

TEST(SimBehaviour, RefusesWhatItDoesNotKnow) {
  for (const char* line : {"#SIM rnu=30s", "#SIM run=30", "#SIM run=-1s", "#SIM signal=SIGNONE",
                           "#SIM hang=1", "#SIM crash-on=n3", "#SIM crash-on=:SIGBUS", "#SIM slow-with=n3:0",
                           "#SIM exit=", "#SIM fail-runs=0", "#SIM fail-runs="}) {
    const auto got = behaviour_of_script(line);
    ASSERT_FALSE(got) << line;
    EXPECT_EQ(got.error().code, ErrorCode::bad_input);
  }
}

TEST(SimBehaviour, SignalsHaveTheWordsOfTheSystem) {
  for (const char* name :
       {"SIGHUP", "SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM"})
    EXPECT_EQ(signal_words(signal_number(name)), strsignal(signal_number(name))) << name;
}

TEST(SimRequest, TheCommandLineWinsOverTheScript) {
  Submission submission;
  submission.script =
      "#!/bin/sh\n#SBATCH -N 4 --time=5\n#SBATCH --exclude=n[1-2]\nsrun ./a.out\n#SBATCH -N 9\n";
  submission.script_name = "/home/u/solve.sh";
  submission.sbatch_options = {"--nodes=2", "-w", "n3", "--comment", "mine", "-H", "--begin=now+60"};
  const auto got = read_request(submission);
  ASSERT_TRUE(got) << got.error().line();
  EXPECT_EQ(got->name, "solve.sh");
  EXPECT_EQ(got->nodes, 2u);
  EXPECT_EQ(got->time_limit_s, 300);
  EXPECT_EQ(got->exclude, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(got->comment, "mine");
  EXPECT_TRUE(got->hold);
  EXPECT_EQ(got->not_for_reruns, (std::vector<std::string>{"--nodelist=n3", "--hold", "--begin=now+60"}));
}

TEST(SimRequest, KeysInComments) {
  EXPECT_EQ(key_in_comment("sickbay:c1.r2.a1"), "c1.r2.a1");
  EXPECT_EQ(key_in_comment("my own sickbay:c1.r2.a1"), "c1.r2.a1");
  EXPECT_EQ(key_in_comment("nosickbay:c1"), "");
  EXPECT_EQ(key_in_comment(""), "");
}

}  // namespace
}  // namespace sickbay::sim
