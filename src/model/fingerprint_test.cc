// SPDX-License-Identifier: Apache-2.0
#include "model/fingerprint.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Fingerprint, ReadsWhoDiedOfWhat) {
  const struct {
    const char* what;
    const char* text;
    int rank;  // -1: not known
    const char* node;
    int signal;
    const char* signal_name;
  } rows[] = {
      {"nothing said", "step 1\nstep 2\n", -1, "", 0, ""},
      {"srun names a task", "srun: error: n3: task 1: Segmentation fault (core dumped)\n", 1, "n3", 11,
       "SIGSEGV"},
      {"the fault, not the sweeping after it",
       "srun: error: n1: task 0: Terminated\nsrun: error: n3: task 2: Bus error\nsrun: error: n2: task 1: "
       "Killed\n",
       2, "n3", 7, "SIGBUS"},
      {"many at once: none is named", "srun: error: n[1-2]: tasks 0-1: Killed\n", -1, "", 9, "SIGKILL"},
      {"exit code", "srun: error: n2: task 3: Exited with exit code 7\n", 3, "n2", 0, ""},
      {"exit code, and the step that srun ended for it",
       "srun: error: n2: task 3: Exited with exit code 7\nsrun: launch/slurm: _step_signal: Terminating "
       "StepId=4.0\nslurmstepd-n1: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-11-25T16:41:42 ***\n"
       "srun: error: n1: task 0: Terminated\n",
       3, "n2", 0, ""},
      {"a step that was cancelled, and the code of a task that heard of it",
       "slurmstepd-n1: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-11-25T16:41:42 ***\n"
       "srun: error: n2: task 3: Exited with exit code 1\n",
       -1, "", 0, ""},
      {"out of memory", "srun: error: n2: task 3: Out Of Memory\n", 3, "n2", 9, "SIGKILL"},
      {"time limit",
       "srun: error: n1: task 0: Terminated\nslurmstepd: error: *** JOB 12 ON n1 CANCELLED AT "
       "2026-11-21T10:00:00 DUE "
       "TO TIME LIMIT ***\n",
       -1, "", 0, ""},
      {"node failure", "srun: error: n1: task 0: Killed\nsrun: error: Node failure on n3\n", -1, "n3", 0, ""},

      {"hydra",
       "=   EXIT CODE: 139\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal "
       "11)\n",
       -1, "", 11, "SIGSEGV"},
      {"MPI_Abort of MPICH",
       "Abort(1) on node 2 (rank 2 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1) - process 2\n",
       2, "", 0, ""},
      {"MPICH error stack", "Fatal error in internal_Recv: Other MPI error, error stack:\n", -1, "", 0, ""},
      {"UCX handler",
       "[n3:18650:0:18650] Caught signal 8 (Floating point exception: integer divide by zero)\n", -1, "n3", 8,
       "SIGFPE"},
      {"Open MPI",
       "mpirun noticed that process rank 3 with PID 4711 on node gpu-07 exited on signal 11 (Segmentation "
       "fault).\n",
       3, "gpu-07", 11, "SIGSEGV"},
      {"Open MPI handler", "[n4:12345] *** Process received signal ***\n[n4:12345] Signal: Aborted (6)\n", -1,
       "n4", 6, "SIGABRT"},
      {"libgfortran",
       "Program received signal SIGFPE: Floating-point exception - erroneous arithmetic "
       "operation.\n\nBacktrace for this error:\n#0  0x7f9b in ???\n",
       -1, "", 8, "SIGFPE"},
      {"libgfortran, swept away", "Program received signal SIGTERM: Termination signal.\n", -1, "", 15,
       "SIGTERM"},
      {"shell",
       "/var/spool/slurmd/job12/slurm_script: line 5: 12345 Segmentation fault      (core dumped) ./a.out\n",
       -1, "", 11, "SIGSEGV"},
  };
  for (const auto& row : rows)
    for (const bool in_err : {false, true}) {
      const Fingerprint found =
          in_err ? read_fingerprint("hello\n", row.text) : read_fingerprint(row.text, "");
      EXPECT_EQ(found.rank.value_or(-1), row.rank) << row.what;
      EXPECT_EQ(found.node.value_or(""), row.node) << row.what;
      EXPECT_EQ(found.signal.value_or(0), row.signal) << row.what;
      EXPECT_EQ(found.signal_name, row.signal_name) << row.what;
    }
}

TEST(Fingerprint, TellsThatMemoryWasShort) {
  const struct {
    const char* text;
    bool short_of_memory;
  } rows[] = {
      {"srun: error: n2: task 3: Out Of Memory\n", true},
      {"slurmstepd-n3: error: Detected 1 oom-kill event(s) in StepId=29.0. Some of your processes may have "
       "been killed by the cgroup out-of-memory handler.\n",
       true},
      {"srun: error: n2: task 3: Killed\n", false},
      // A fault of its own says more than the memory handler.
      {"srun: error: n2: task 3: Out Of Memory\nsrun: error: n3: task 0: Bus error\n", false},
      {"out of memory, says the program\n", false},
  };
  for (const auto& row : rows)
    EXPECT_EQ(read_fingerprint(row.text, "").out_of_memory, row.short_of_memory) << row.text;
}

TEST(Fingerprint, KeepsTheLineThatDecided) {
  const auto found =
      read_fingerprint("step 1\n", "srun: error: n1: task 0: Killed\nsrun: error: n3: task 1: Bus error\n");
  EXPECT_EQ(found.message, "srun: error: n3: task 1: Bus error");
}

// srun says who died and how, the program why; and where no launcher speaks the program's word is the line.
TEST(Fingerprint, KeepsWhyItEndedBesideHow) {
  auto found = read_fingerprint("step 1\n",
                                "a.out: a.c:12: main: Assertion `n > 0' failed.\nsrun: error: n3: task 1: "
                                "Aborted\nsrun: error: n1: task 0: Killed\n");
  EXPECT_EQ(found.cause, "a.c:12: main: Assertion `n > 0' failed.");
  EXPECT_EQ(found.cause_tells, Telling::says);
  EXPECT_EQ(found.signal_name, "SIGABRT");
  EXPECT_EQ(found.node, "n3");
  EXPECT_EQ(found.message, "srun: error: n3: task 1: Aborted");
  found = read_fingerprint("step 1\n", "ERROR STOP no convergence\n");
  EXPECT_EQ(found.cause, "ERROR STOP no convergence");
  EXPECT_EQ(found.message, "ERROR STOP no convergence");
  found = read_fingerprint("step 1\n", "srun: error: n3: task 1: Killed\n");
  EXPECT_EQ(found.cause, "");
  EXPECT_EQ(found.cause_tells, Telling::nothing);
}

TEST(Fingerprint, KeepsTheLastLinesWithinBothBounds) {
  std::string out, err;
  for (int i = 0; i < 100; ++i) {
    out += "out " + std::to_string(i) + "\n\n";
    err += "err " + std::to_string(i) + "\n";
  }
  auto found = read_fingerprint(out, err);
  ASSERT_EQ(found.last_lines.size(), kFingerprintLines);
  EXPECT_EQ(found.last_lines.front(), "out 90");
  EXPECT_EQ(found.last_lines.back(), "err 99");
  found = read_fingerprint(out, "err\n");
  ASSERT_EQ(found.last_lines.size(), kFingerprintLines);
  EXPECT_EQ(found.last_lines.front(), "out 81");
  EXPECT_EQ(found.last_lines.back(), "err");

  found = read_fingerprint(std::string(100'000, 'x') + "\n" + std::string(3000, 'y') + "\nlast", "");
  std::size_t bytes = 0;
  for (const auto& line : found.last_lines) bytes += line.size();
  EXPECT_LE(bytes, kFingerprintBytes);
  EXPECT_EQ(found.last_lines.back(), "last");
}

TEST(SafeLine, IsUtf8WithoutControls) {
  const struct {
    std::string_view in, out;
  } rows[] = {
      {"plain", "plain"},
      {"grün ✓ 𝄞", "grün ✓ 𝄞"},
      {"a\tb\r", "a b"},
      {"\x1b[31mred", "\uFFFD[31mred"},
      {"\xc2\x9b"
       "31m",
       "\uFFFD"
       "31m"},  // the one-byte form of ESC [
      {"\xff"
       "a\xc3",
       "\uFFFD"
       "a\uFFFD"},
      {"\xc0\xaf", "\uFFFD\uFFFD"},            // overlong
      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},  // surrogate
      {std::string_view("a\0b", 3),
       "a\uFFFD"
       "b"},
  };
  for (const auto& row : rows) EXPECT_EQ(safe_line(row.in), row.out);
}

}  // namespace
}  // namespace sickbay
