// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/fingerprints.h"

#include <gmock/gmock.h>

#include <csignal>

#include "engine/identify/explains.h"

namespace sickbay::identify {
namespace {

using Lines = std::vector<std::string>;

Run failed(int exit_code, Lines lines, int signal = 0, Symptom symptom = Symptom::abnormal_exit) {
  Run run;
  run.outcome = Outcome::failed;
  run.symptom = symptom;
  run.job.exit_code = exit_code;
  run.nodes = {"login", "n1", "n2"};
  run.trace.emplace();
  run.trace->signal = signal;
  run.trace->last_lines = std::move(lines);
  return run;
}
Run unread(int exit_code) {
  Run run = failed(exit_code, {});
  run.trace.reset();
  return run;
}

Run says(int exit_code, const char* cause, Telling telling = Telling::says, int signal = 0) {
  Run run = failed(exit_code, {}, signal);
  run.trace->cause = cause;
  run.trace->cause_tells = telling;
  return run;
}

Run step(int exit_code, Lines lines = {}) {
  Run run = failed(0, std::move(lines), 0, Symptom::steps_failed);
  run.job.step_exit_code = exit_code;
  return run;
}

const char* const kSevenFirst = "srun: error: n2: task 1: Exited with exit code 7";
const char* const kSwept = "srun: error: n1: task 0: Terminated";
const char* const kExists = "mkdir: cannot create directory 'out': File exists";

TEST(Fingerprints, AreCompared) {
  const struct {
    const char* what;
    identify::Run a, b;
    Likeness likeness;
  } rows[] = {
      {"a code and nothing said", failed(3, {}), failed(3, {}), Likeness::same},
      {"another code and nothing said", failed(3, {}), failed(4, {}), Likeness::different},
      {"a code, outputs that say nothing", failed(3, {"step 17 of 20"}), failed(3, {"step 3 of 20"}),
       Likeness::same},
      {"outputs that could not be read", unread(1), unread(1), Likeness::same},
      {"the same signal", failed(139, {}, SIGSEGV), failed(139, {}, SIGSEGV), Likeness::same},
      {"the same signal, by the shell's code", failed(139, {}), unread(139), Likeness::same},
      {"one family of signals", failed(139, {}, SIGSEGV), failed(134, {}, SIGABRT), Likeness::unclear},
      {"a bus error is of it", failed(135, {}, SIGBUS), failed(139, {}, SIGSEGV), Likeness::unclear},
      {"another family", failed(136, {}, SIGFPE), failed(139, {}, SIGSEGV), Likeness::different},
      {"a signal, then a folder that is there", failed(135, {"srun: error: n2: task 1: Bus error"}, SIGBUS),
       failed(1, {kExists}), Likeness::different},
      {"a signal, then an output that could not be read", failed(135, {"x"}, SIGBUS), unread(1),
       Likeness::unclear},
      {"a signal and other complaints beside it", failed(139, {"error: no input"}, SIGSEGV),
       failed(139, {"error: bad matrix"}, SIGSEGV), Likeness::unclear},
      {"the same complaint", failed(1, {"solver: error: residual is nan at step 12"}),
       failed(1, {"solver: error: residual is nan at step 340"}), Likeness::same},
      {"the same complaint, other numbers, hosts and paths",
       failed(2, {"rank 3 on n1: cannot open /scratch/c1/a.dat (0x7f3a): No such file"}),
       failed(2, {"rank 0 on n2: cannot open /scratch/c2/b.dat (0x11): No such file"}), Likeness::same},
      {"other complaints", failed(1, {"error: residual is nan"}), failed(1, {kExists}), Likeness::different},
      {"a complaint in one only", failed(1, {"error: residual is nan"}), failed(1, {}), Likeness::unclear},
      {"the same complaint with another code", failed(1, {"error: residual is nan"}),
       failed(2, {"error: residual is nan"}), Likeness::unclear},
      {"a code, and the launcher's for those that it ended", failed(7, {}), failed(143, {}),
       Likeness::unclear},
      {"the same, killed", failed(7, {}), failed(137, {}), Likeness::unclear},
      {"the same, with the same complaint", failed(7, {"error: residual is nan"}),
       failed(143, {"error: residual is nan"}), Likeness::same},
      {"the same, with another complaint", failed(7, {"error: residual is nan"}), failed(143, {kExists}),
       Likeness::different},
      {"the same, where srun told of the first before it ended the others", failed(7, {}),
       failed(143, {kSevenFirst, kSwept}), Likeness::same},
      {"another code first", failed(8, {}), failed(143, {kSevenFirst, kSwept}), Likeness::different},
      {"swept away first: nobody's code", failed(7, {}), failed(143, {kSwept, kSevenFirst}),
       Likeness::unclear},
      {"both swept, one after a code", failed(143, {kSevenFirst, kSwept}), failed(143, {kSwept}),
       Likeness::unclear},
      {"a step's code of the swept ones", step(143, {kSevenFirst, kSwept}), step(7), Likeness::same},
      {"the launcher's alone, twice", failed(143, {}), failed(143, {}), Likeness::same},
      {"the launcher's, then a signal of its own", failed(143, {"x"}), failed(139, {"x"}, SIGSEGV),
       Likeness::different},
      {"what launchers say is no complaint",
       failed(1, {"srun: error: n1: task 0: Exited with exit code 1", kExists}),
       failed(1, {"srun: error: n2: task 0: Exited with exit code 1", "error: residual is nan"}),
       Likeness::different},
      {"nor what they say of those that they ended, which not each run's output has", failed(3, {}),
       failed(3, {"slurmstepd-n1: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-11-28T01:06:40 ***"}),
       Likeness::same},
      {"nor with one slurmd on each machine", failed(3, {}),
       failed(3, {"slurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-11-28T01:06:40 ***"}),
       Likeness::same},
      {"both out of time", failed(0, {}, 0, Symptom::stall), failed(0, {}, 0, Symptom::stall),
       Likeness::same},
      {"out of time, one after a rank died", failed(0, {}, SIGSEGV, Symptom::stall),
       failed(0, {}, 0, Symptom::stall), Likeness::unclear},
      {"over the limit and over what was expected", failed(0, {}, 0, Symptom::stall),
       failed(0, {}, 0, Symptom::abnormal_time), Likeness::unclear},
      {"out of time, then an exit", failed(0, {}, 0, Symptom::stall), failed(1, {}), Likeness::different},
      {"wrong results", failed(0, {}, 0, Symptom::wrong_result), failed(0, {}, 0, Symptom::wrong_result),
       Likeness::same},
      {"a lost node, then an exit", failed(0, {}, 0, Symptom::node_dead), failed(1, {kExists}),
       Likeness::different},
      {"a cause above the last lines",
       says(2, "Fortran runtime error: Index '11' of array 'a' (line 6 of a.f90)"),
       says(2, "Fortran runtime error: Index '12' of array 'a' (line 6 of a.f90)"), Likeness::same},
      {"a cause without a word of failure", says(3, "STOP 3"), says(137, "STOP 3"), Likeness::same},
      {"other causes", says(137, "MPI_Send: Invalid rank has value 2"),
       says(137, "MPI_Recv: Message truncated"), Likeness::different},
      {"a cause in one only", says(137, "MPI_Recv: Message truncated"), failed(137, {}), Likeness::unclear},
      {"the heap, as chance has it", says(137, "the heap is corrupted (free(): invalid pointer)"),
       says(137, "the heap is corrupted (malloc(): corrupted top size)"), Likeness::same},
      {"that both gave up says nothing", says(1, "the program called MPI_Abort, code 1", Telling::gives_up),
       says(1, "the program called MPI_Abort, code 1", Telling::gives_up), Likeness::same},
      {"a cause, and one that only gave up", says(1, "MPI_Recv: Message truncated"),
       says(1, "the program called MPI_Abort, code 1", Telling::gives_up), Likeness::unclear},
      {"what followed on another end",
       says(137, "UCX: connect(fd=12) failed: Connection refused", Telling::follows), failed(137, {}),
       Likeness::same},
      {"a signal beside the cause",
       says(134, "a.c:3: main: Assertion `n > 0' failed.", Telling::says, SIGABRT),
       says(134, "a.c:3: main: Assertion `n > 0' failed.", Telling::says, SIGABRT), Likeness::same},
      {"steps that ended alike", step(1), step(1), Likeness::same},
      {"steps that ended with other codes", step(1), step(2), Likeness::different},
      {"a step that died, and one that ended", step(139, {"x"}), step(1, {"x"}), Likeness::different},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(to_string(likeness_of(row.a, row.b)), to_string(row.likeness)) << row.what;
    EXPECT_EQ(likeness_of(row.a, row.b), likeness_of(row.b, row.a)) << row.what;
  }
}

TEST(Fingerprints, TakeOutWhatDiffersBetweenRuns) {
  const Lines hosts = {"login", "n1"};
  EXPECT_EQ(normalised("Rank 12 on login (pid 4711): 0xdeadbeef at 10:33:01", hosts),
            normalised("rank 3 on n1 (pid 1): 0x1 at 09:00:59", hosts));
  EXPECT_EQ(normalised("open /home/a/x.dat: No such file", hosts), "open /: no such file");
  EXPECT_NE(normalised("no such file", hosts), normalised("file exists", hosts));
  EXPECT_EQ(normalised("", hosts), "");
}

TEST(Fingerprints, AFailedStepIsExplainedByWhatMakesAProgramEnd) {
  const auto found = [](const char* fault) { return NodeResult{"n1", "", "failed", "", fault}; };
  EXPECT_EQ(fault_signal(step(139)), SIGSEGV);
  EXPECT_TRUE(explains(found("compute"), step(1)));
  EXPECT_TRUE(explains(found("disk"), step(1)));
  EXPECT_FALSE(explains(found("disk"), step(139))) << "no disk makes a program die of SIGSEGV";
  EXPECT_TRUE(explains(found("stopped"), step(1)));
  EXPECT_FALSE(explains({"n1", "", "slow", "", "slow"}, step(1))) << "time is not what was wrong";
}

TEST(Fingerprints, NameANodeOnlyByAFaultOfItsOwn) {
  identify::Run run = failed(135, {}, SIGBUS);
  run.trace->node = "n2";
  EXPECT_EQ(named_node(run), "n2");
  run.trace->node = "n9";
  EXPECT_EQ(named_node(run), "") << "not a node of the run: the text is the user's";
  run.trace->node = "n2";
  run.trace->signal = SIGKILL;
  EXPECT_EQ(named_node(run), "") << "swept away after another";
  run.trace->signal = 0;
  EXPECT_EQ(named_node(run), "") << "the first to exit is not the first to fail";
  run.symptom = Symptom::node_dead;
  EXPECT_EQ(named_node(run), "n2") << "Slurm says that the node failed";
}

}  // namespace
}  // namespace sickbay::identify
