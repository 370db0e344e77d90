// SPDX-License-Identifier: Apache-2.0
#include "model/srun_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using Kind = SrunMessage::Kind;
using Names = std::vector<std::string>;
using Tasks = std::vector<int>;

TEST(SrunMessage, KnowsWhatNeverArrived) {
  for (const char* text : {"Communication connection failure", "Socket timed out on send/recv operation",
                           "Zero Bytes were transmitted or received", "No route to host"})
    EXPECT_TRUE(says_unreached(text)) << text;
  for (const char* text : {"", "Invalid job credential", "No space left on device", "Job credential expired",
                           "Slurmd could not set up environment for batch job"})
    EXPECT_FALSE(says_unreached(text)) << text;
}

TEST(SrunMessage, ReadsTheFormsOfSrunAndSlurmstepd) {
  const struct {
    const char* line;
    Kind kind;
    Names nodes;
    Tasks tasks;
    int number;
  } rows[] = {
      {"srun: error: n3: task 1: Bus error", Kind::task_signal, {"n3"}, {1}, 7},
      {"srun: error: n3: task 0: Segmentation fault (core dumped)", Kind::task_signal, {"n3"}, {0}, 11},
      {"srun: error: n[2-3]: tasks 1-2: Killed", Kind::task_signal, {"n2", "n3"}, {1, 2}, 9},
      {"srun: error: n1,n4: tasks 0,3-4: Terminated\r", Kind::task_signal, {"n1", "n4"}, {0, 3, 4}, 15},
      {"srun: error: n3: task 2: Out Of Memory", Kind::task_oom, {"n3"}, {2}, 9},
      {"srun: error: n3: task 2: Exited with exit code 137", Kind::task_exit, {"n3"}, {2}, 137},

      {"srun: error: Task launch for StepId=12.0 failed on node n3: Communication connection failure",
       Kind::launch_failed,
       {"n3"},
       {},
       0},
      {"srun: error: Node failure on n3", Kind::node_failure, {"n3"}, {}, 0},
      {"srun: error: Application launch failed: Communication connection failure", Kind::refused, {}, {}, 0},
      {"srun: error: Unable to create step for job 12: Requested node configuration is not available",
       Kind::refused,
       {},
       {},
       0},
      {"slurmstepd: error: execve(): /home/u/v: No such file or directory", Kind::cannot_exec, {}, {}, 0},

      // The node of these is where the batch script ran: it is not blamed.
      {"slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***",
       Kind::time_limit,
       {},
       {},
       0},
      {"slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO NODE FAILURE, SEE "
       "SLURMCTLD LOG "
       "FOR DETAILS ***",
       Kind::lost_node,
       {},
       {},
       0},
      {"slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-21T10:00:00 ***",
       Kind::cancelled,
       {},
       {},
       0},
      {"slurmstepd-n1: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE to SIGNAL Terminated ***",
       Kind::cancelled,
       {},
       {},
       0},
      {"srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
       Kind::cancelled,
       {},
       {},
       0},
      {"slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM "
       "Killed.",
       Kind::oom_kill,
       {},
       {},
       0},
  };
  for (const auto& row : rows) {
    const auto message = read_srun_message(row.line);
    ASSERT_TRUE(message) << row.line;
    EXPECT_EQ(message->kind, row.kind) << row.line;
    EXPECT_EQ(message->nodes, row.nodes) << row.line;
    EXPECT_EQ(message->tasks, row.tasks) << row.line;
    EXPECT_EQ(message->number, row.number) << row.line;
  }
}

TEST(SrunMessage, LeavesOtherLinesAlone) {
  for (const char* line : {"", "srun:", "srun: error: ", "n3: task 1: Bus error", "srun: job 12 queued",
                           "srun: error: n3: task 1: running", "srun: error: n[3: task 1: Killed",
                           "srun: error: n3: tasks x: Killed", "srun: error: n3: task",
                           "srun: error: Node failure on ", "solver: error: n3: task 1: Bus error"})
    EXPECT_FALSE(read_srun_message(line)) << line;
}

TEST(SrunMessage, TakesNoMoreNamesThanItsReaderCanUse) {
  constexpr const char* kLine = "srun: error: n[1-9]: tasks 0-8: Killed";
  EXPECT_TRUE(read_srun_message(kLine, 9));
  EXPECT_FALSE(read_srun_message(kLine, 8));
  EXPECT_FALSE(read_srun_message("srun: error: n[1-65536]: tasks 0-65535: Killed"));
}

TEST(Signals, HaveNamesAndFaults) {
  EXPECT_EQ(signal_name(7), "SIGBUS");
  EXPECT_EQ(signal_name(64), "signal 64");
  EXPECT_TRUE(is_own_fault(11));
  EXPECT_FALSE(is_own_fault(9));
  EXPECT_FALSE(is_own_fault(0));
  EXPECT_EQ(signal_of_words("no words of ours"), 0);
}

}  // namespace
}  // namespace sickbay
