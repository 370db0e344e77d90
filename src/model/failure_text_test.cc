// SPDX-License-Identifier: Apache-2.0
// Real text of programs that failed, and what is made of it.  Where a row's text has "documented" beside it,
// the compiler or library is not one of Debian's, and the text is from its manual.
#include "model/failure_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sickbay {
namespace {

FailureText read_failure(std::string_view text) {
  FailureReader reader;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  reader.end();
  return reader.best();
}

struct TextRow {
  const char* what;
  const char* text;
  Telling telling;
  const char* words;
};

void expect_words(std::initializer_list<TextRow> rows) {
  for (const TextRow& row : rows) {
    const FailureText found = read_failure(row.text);
    EXPECT_EQ(to_string(found.telling), to_string(row.telling)) << row.what;
    EXPECT_EQ(found.words, row.words) << row.what;
  }
}

TEST(FailureText, OfFortran) {
  using enum Telling;
  expect_words({
      {"an index out of bounds",
       "At line 6 of file bounds.f90\nFortran runtime error: Index '11' of dimension 1 of array 'a' above "
       "upper "
       "bound of 10\n\nError termination. Backtrace:\n#0  0x7ff3558218c2 in ???\n",
       says,
       "Fortran runtime error: Index '11' of dimension 1 of array 'a' above upper bound of 10 (line 6 of "
       "bounds.f90)"},
      {"two ranks at once",
       "At line 13 of file /home/alice/src/b_free_twice.f90\nAt line 13 of file "
       "/home/alice/src/b_free_twice.f90\n"
       "Fortran runtime error: Attempt to DEALLOCATE unallocated 'a'\n"
       "Fortran runtime error: Attempt to DEALLOCATE unallocated 'a'\n",
       says, "Fortran runtime error: Attempt to DEALLOCATE unallocated 'a' (line 13 of b_free_twice.f90)"},
      {"a file",
       "At line 3 of file open.f90 (unit = 10, file = 'none.dat')\nFortran runtime error: Cannot open "
       "file 'none.dat': No such file or directory\n",
       says,
       "Fortran runtime error: Cannot open file 'none.dat': No such file or directory (line 3 of open.f90)"},
      {"without a place", "Fortran runtime error: End of file\n", says, "Fortran runtime error: End of file"},
      {"a place alone", "At line 7 of file x.f90\nsome other line\n", gives_up,
       "the Fortran program stopped at line 7 of x.f90"},
      {"a place at the end of the text", "At line 7 of file x.f90\n", gives_up,
       "the Fortran program stopped at line 7 of x.f90"},
      {"a warning is no cause",
       "At line 5 of file t.f90\nFortran runtime warning: An array temporary was created for argument 'x'\n",
       nothing, ""},
      {"STOP with a code", "STOP 3\n", says, "STOP 3"},
      {"STOP with 0, with a text, or within a line", "STOP 0\nSTOP done\nall STOP 3\n", nothing, ""},
      {"ERROR STOP", "ERROR STOP\n", says, "ERROR STOP"},
      {"ERROR STOP with a text", "ERROR STOP no convergence\n\nError termination. Backtrace:\n", says,
       "ERROR STOP no convergence"},
      {"a word that begins so", "ERROR STOPPED\n", nothing, ""},
      {"Intel (documented)", "forrtl: severe (174): SIGSEGV, segmentation fault occurred\n", says,
       "forrtl: severe (174): SIGSEGV, segmentation fault occurred"},
      {"Intel, swept away (documented)", "forrtl: error (78): process killed (SIGTERM)\n", follows,
       "forrtl: error (78): process killed (SIGTERM)"},
      {"Intel, another error (documented)", "forrtl: error (65): floating invalid\n", says,
       "forrtl: error (65): floating invalid"},
  });
}

TEST(FailureText, OfTheCLibrary) {
  using enum Telling;
  expect_words({
      {"stack", "*** stack smashing detected ***: terminated\n", says,
       "stack smashing detected: a variable on the stack was written beyond its end"},
      {"buffer", "*** buffer overflow detected ***: terminated\n", says,
       "buffer overflow detected by the C library"},
      {"free twice", "free(): double free detected in tcache 2\n", says,
       "the heap is corrupted (free(): double free detected in tcache 2)"},
      {"free twice, large", "double free or corruption (!prev)\n", says,
       "the heap is corrupted (double free or corruption (!prev))"},
      {"malloc", "malloc(): corrupted top size\n", says,
       "the heap is corrupted (malloc(): corrupted top size)"},
      {"free of what is none", "free(): invalid pointer\n", says,
       "the heap is corrupted (free(): invalid pointer)"},
      {"munmap", "munmap_chunk(): invalid pointer\n", says,
       "the heap is corrupted (munmap_chunk(): invalid pointer)"},
      {"sizes", "corrupted size vs. prev_size\n", says,
       "the heap is corrupted (corrupted size vs. prev_size)"},
      {"realloc", "realloc(): invalid pointer\n", says, "the heap is corrupted (realloc(): invalid pointer)"},
      {"glibc of old (documented)",
       "*** Error in `./a.out': double free or corruption (fasttop): 0x0000000001c6a010 ***\n", says,
       "the heap is corrupted (double free or corruption (fasttop))"},
      {"assert", "solve: solve.c:12: step: Assertion `n > 0' failed.\n", says,
       "solve.c:12: step: Assertion `n > 0' failed."},
      {"assert under srun --label", "3: solve: solve.c:12: step: Assertion `n > 0' failed.\n", says,
       "solve.c:12: step: Assertion `n > 0' failed."},
      {"assert of musl (documented)", "Assertion failed: n > 0 (solve.c: step: 12)\n", says,
       "Assertion failed: n > 0 (solve.c: step: 12)"},
      {"somebody speaks of one", "the Assertion `n > 0' failed.\n", nothing, ""},
  });
}

TEST(FailureText, OfCxx) {
  using enum Telling;
  expect_words({
      {"an exception",
       "terminate called after throwing an instance of 'std::out_of_range'\n  what():  "
       "vector::_M_range_check: __n "
       "(which is 10) >= this->size() (which is 3)\n",
       says,
       "uncaught exception std::out_of_range: vector::_M_range_check: __n (which is 10) >= this->size() "
       "(which "
       "is 3)"},
      {"of two ranks",
       "terminate called after throwing an instance of 'std::runtime_error'\n"
       "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no matrix\n  what(): "
       " no "
       "matrix\n",
       says, "uncaught exception std::runtime_error: no matrix"},
      {"without a text", "terminate called after throwing an instance of 'int'\n", says,
       "uncaught exception int"},
      {"a text of nobody's", "  what():  no matrix\n", nothing, ""},
      {"no exception", "terminate called without an active exception\n", says,
       "terminate called without an active exception"},
      {"a virtual function", "pure virtual method called\nterminate called without an active exception\n",
       says, "pure virtual method called"},
      {"libc++ (documented)",
       "libc++abi: terminating due to uncaught exception of type std::runtime_error: no matrix\n", says,
       "uncaught exception std::runtime_error: no matrix"},
  });
}

TEST(FailureText, OfSanitizers) {
  using enum Telling;
  expect_words({
      {"heap",
       "==4711==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000038 at pc 0x5581 bp "
       "0x7ffd sp 0x7ffd\nWRITE of size 4 at 0x602000000038 thread T0\n",
       says, "AddressSanitizer: heap-buffer-overflow"},
      {"a signal",
       "AddressSanitizer:DEADLYSIGNAL\n=================================================================\n"
       "==4711==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000 (pc 0x5581 bp 0x7ffd sp "
       "0x7ffd "
       "T0)\n",
       says, "AddressSanitizer: SEGV"},
      {"cut short", "==4711==ERROR: \n", says, "==4711==ERROR:"},
      {"leaks", "==4711==ERROR: LeakSanitizer: detected memory leaks\n", says,
       "LeakSanitizer: detected memory leaks"},
      {"uninitialised", "==4711==WARNING: MemorySanitizer: use-of-uninitialized-value\n", says,
       "MemorySanitizer: use-of-uninitialized-value"},
      {"a race", "WARNING: ThreadSanitizer: data race (pid=4711)\n", says, "ThreadSanitizer: data race"},
      {"undefined behaviour",
       "/home/alice/t.c:5:12: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented "
       "in "
       "type 'int'\n",
       says,
       "t.c:5:12: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type "
       "'int'"},
      {"somebody's runtime error", "solver: runtime error: 3\n==x==ERROR: y\n", nothing, ""},
  });
}

TEST(FailureText, OfPython) {
  using enum Telling;
  expect_words({
      {"a traceback",
       "Traceback (most recent call last):\n  File \"/home/alice/x.py\", line 3, in <module>\n    f()\n  "
       "File "
       "\"/home/alice/x.py\", line 2, in f\n    raise ValueError('no matrix')\nValueError: no matrix\n",
       says, "ValueError: no matrix"},
      {"of mpi4py",
       "Traceback (most recent call last):\n  File \"x.py\", line 3, in <module>\n    comm.send(1, dest=9)\n "
       " File "
       "\"src/mpi4py/MPI.src/Comm.pyx\", line 1662, in mpi4py.MPI.Comm.send\nmpi4py.MPI.Exception: "
       "MPI_ERR_RANK: invalid rank\n",
       says, "mpi4py.MPI.Exception: MPI_ERR_RANK: invalid rank"},
      {"under srun --label, with another rank's lines between",
       "1: Traceback (most recent call last):\n0: step 4\n1:   File \"x.py\", line 3, in <module>\n0: step "
       "5\n1:     "
       "f()\n1: KeyError: 'n'\n",
       says, "KeyError: 'n'"},
      {"one after the other: the last ended it",
       "Traceback (most recent call last):\n  File \"x.py\", line 3, in <module>\n    f()\nKeyError: "
       "'n'\n\nDuring "
       "handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n "
       " "
       "File \"x.py\", line 5, in <module>\n    g()\nRuntimeError: no n\n",
       says, "RuntimeError: no n"},
      {"without a text",
       "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    assert 1 > 2\n         "
       "  ^^^^^\n"
       "AssertionError\n",
       says, "AssertionError"},
      {"ended from outside",
       "Traceback (most recent call last):\n  File \"x.py\", line 3, in <module>\n    time.sleep(9)\n"
       "KeyboardInterrupt\n",
       follows, "KeyboardInterrupt"},
      {"a syntax error", "  File \"x.py\", line 1\n    f(\n     ^\nSyntaxError: '(' was never closed\n", says,
       "SyntaxError: '(' was never closed"},
      {"a head alone", "Traceback (most recent call last):\nValueError: x\n", nothing, ""},
      {"a name with a number is none", "ValueError is what I print: 3\nstep: 3\n", nothing, ""},
  });
}

TEST(FailureText, OfMpich) {
  using enum Telling;
  expect_words({
      {"a rank that is not there",
       "Abort(403327494) on node 0 (rank 0 in comm 0): Fatal error in internal_Send: Invalid rank, error "
       "stack:\n"
       "internal_Send(120): MPI_Send(buf=0x7ffc15f018f0, count=1000, MPI_INT, 2, 124523, MPI_COMM_WORLD) "
       "failed\n"
       "internal_Send(78).: Invalid rank has value 2 but must be nonnegative and less than 2\nsrun: Job step "
       "aborted: Waiting up to 7 seconds for job step to finish.\n",
       says, "MPI_Send: Invalid rank has value 2 but must be nonnegative and less than 2"},
      {"a message that is too long",
       "Abort(139278) on node 1 (rank 1 in comm 0): Fatal error in internal_Recv: Message truncated, error "
       "stack:\n"
       "internal_Recv(127): MPI_Recv(buf=0x7ffc4260d740, count=1000, MPI_INT, 0, 124523, MPI_COMM_WORLD, "
       "status=0x1) failed\n(unknown)(): Message truncated\n",
       says, "MPI_Recv: Message truncated"},
      {"deep in the library",
       "Abort(472523790) on node 0 (rank 0 in comm 0): Fatal error in internal_Reduce: Message truncated, "
       "error "
       "stack:\ninternal_Reduce(150).....................: MPI_Reduce(sendbuf=0x7fff498554c0, count=1) "
       "failed\n"
       "MPID_Reduce(687).........................: \nMPIDI_Reduce_intra_composition_gamma(564): "
       "\n(unknown)(): "
       "Message truncated\n",
       says, "MPI_Reduce: Message truncated"},
      {"the network below it",
       "[1795705639.922200] [n2:2821 :0]            sock.c:325  UCX  ERROR   connect(fd=12, "
       "dest_addr=10.77.140.1:33873) failed: Connection refused\n"
       "Abort(339332623) on node 1 (rank 1 in comm 0): Fatal error in internal_Init: Other MPI error, error "
       "stack:\ninternal_Init(59).............: MPI_Init(argc=0x7ffc3863321c, argv=0x7ffc38633210) failed\n",
       follows, "UCX: connect(fd=12, dest_addr=10.77.140.1:33873) failed: Connection refused"},
      {"that, before another rank says why",
       "[1795705014.812352] [n3:1092 :0]            sock.c:325  UCX  ERROR connect(fd=13, "
       "dest_addr=10.77.140.4:59459) failed: Connection refused\n"
       "Abort(1007296517) on node 1 (rank 1 in comm 0): Fatal error in internal_Recv: Invalid communicator, "
       "error "
       "stack:\ninternal_Recv(127): MPI_Recv(buf=0x7ffc2dac1db0, count=1000, MPI_INT, 0, 124523, comm=0x0, "
       "status=0x1) failed\ninternal_Recv(45).: Invalid communicator\n",
       says, "MPI_Recv: Invalid communicator"},
      {"an endpoint that is gone",
       "Abort(675881743) on node 0 (rank 0 in comm 0): Fatal error in internal_Barrier: Other MPI error, "
       "error "
       "stack:\ninternal_Barrier(84)....................: MPI_Barrier(MPI_COMM_WORLD) failed\n"
       "MPID_Barrier(44)........................: \nMPIDI_UCX_send(83)......................:  returned "
       "failed "
       "request in UCX netmod(ucx_send.h 83 MPIDI_UCX_send Endpoint timeout)\n",
       follows,
       "MPI_Barrier: returned failed request in UCX netmod(ucx_send.h 83 MPIDI_UCX_send Endpoint timeout)"},
      {"lines of the program after a stack",
       "Fatal error in PMPI_Wait: Invalid request, error stack:\nPMPI_Wait(207): MPI_Wait(request=0x1) "
       "failed\n"
       "PMPI_Wait(178): Null request handle\nstep\nstep(3): 0.5\n",
       says, "MPI_Wait: Null request handle"},
      {"the stack of another rank is not the first one's",
       "Abort(1) on node 0 (rank 0 in comm 0): Fatal error in internal_Send: Invalid rank, error stack:\n"
       "internal_Send(78).: Invalid rank has value 2 but must be nonnegative and less than 2\n"
       "Abort(2) on node 1 (rank 1 in comm 0): Fatal error in internal_Recv: Invalid tag, error stack:\n"
       "internal_Recv(99).: Invalid tag, value is -9\n",
       says, "MPI_Send: Invalid rank has value 2 but must be nonnegative and less than 2"},
      {"MPI_Abort",
       "Abort(-1) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, -1) - process "
       "0\n",
       gives_up, "the program called MPI_Abort, code -1"},
      {"MPI_Abort after a word on why",
       "solve: solve.c:12: step: Assertion `n > 0' failed.\nAbort(1) on node 2 (rank 2 in comm 0): "
       "application "
       "called MPI_Abort(MPI_COMM_WORLD, 1) - process 2\n",
       says, "solve.c:12: step: Assertion `n > 0' failed."},
      {"before MPI_Init",
       "Attempting to use an MPI routine (internal_Comm_rank) before initializing or after finalizing "
       "MPICH\n",
       says,
       "Attempting to use an MPI routine (internal_Comm_rank) before initializing or after finalizing MPICH"},
      {"an argument",
       "Abort(697356) on node 1 (rank 1 in comm 0): Fatal error in internal_Wait: Invalid argument, error "
       "stack:\n"
       "internal_Wait(89): MPI_Wait(request=(nil), status=0x1) failed\ninternal_Wait(44): Null pointer in "
       "parameter request\n",
       says, "MPI_Wait: Null pointer in parameter request"},
      {"an assertion of the library",
       "Assertion failed in file src/mpid/ch4/src/ch4_impl.h at line 123: comm_ptr != NULL\n", says,
       "Assertion failed in file src/mpid/ch4/src/ch4_impl.h at line 123: comm_ptr != NULL"},
  });
}

TEST(FailureText, OfOpenMpiAndTransports) {
  using enum Telling;
  expect_words({
      {"a rank that is not there (documented)",
       "[n1:4711] *** An error occurred in MPI_Send\n[n1:4711] *** reported by process [3133145089,0]\n"
       "[n1:4711] *** on communicator MPI_COMM_WORLD\n[n1:4711] *** MPI_ERR_RANK: invalid rank\n"
       "[n1:4711] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n",
       says, "MPI_Send: MPI_ERR_RANK: invalid rank"},
      {"without the call (documented)", "[n1:4711] *** MPI_ERR_TRUNCATE: message truncated\n", says,
       "MPI_ERR_TRUNCATE: message truncated"},
      {"the network below it (documented)", "[n1:4711] *** MPI_ERR_OTHER: known error not in list\n", follows,
       "MPI_ERR_OTHER: known error not in list"},
      {"MPI_Abort (documented)",
       "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 5.\n", gives_up,
       "the program called MPI_Abort"},
      {"before MPI_Init (documented)",
       "*** The MPI_Comm_rank() function was called before MPI_INIT was invoked.\n", says,
       "The MPI_Comm_rank() function was called before MPI_INIT was invoked."},
      {"a connection (documented)",
       "[n1][[41232,1],0][btl_tcp_frag.c:241:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed: "
       "Connection reset by peer (104)\n",
       follows, "Open MPI: mca_btl_tcp_frag_recv: readv failed: Connection reset by peer (104)"},
      {"an assertion of UCX",
       "[n1:7516 :0:7516]      rcache.c:409  Assertion `region->refcount == 0' failed: region 0x55dc563230f0 "
       "0x7fff2718f080..0x7fff2718f090 of ucp_rcache\n",
       says, "UCX: Assertion `region->refcount == 0' failed"},
  });
}

TEST(FailureText, OfSlurmTheLoaderAndTheShell) {
  using enum Telling;
  expect_words({
      {"memory",
       "slurmstepd-n3: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been "
       "OOM Killed.\n",
       says, "out of memory: the kernel killed a process for the memory that the job may use"},
      {"memory, 22.05",
       "slurmstepd-n3: error: Detected 1 oom-kill event(s) in StepId=29.0. Some of your processes may have "
       "been "
       "killed by the cgroup out-of-memory handler.\n",
       says, "out of memory: the kernel killed a process for the memory that the job may use"},
      {"memory, srun", "srun: error: n2: task 3: Out Of Memory\n", says,
       "out of memory: the kernel killed a process for the memory that the job may use"},
      {"a program that is not there", "slurmstepd-n3: error: execve(): ./nope: No such file or directory\n",
       says, "the program could not be started: ./nope: No such file or directory"},
      {"a library that is not there",
       "./a.out: error while loading shared libraries: libx.so.1: cannot open shared object file: No such "
       "file or "
       "directory\n",
       says,
       "error while loading shared libraries: libx.so.1: cannot open shared object file: No such file or "
       "directory"},
      {"a symbol that is not there", "./a.out: symbol lookup error: ./a.out: undefined symbol: f\n", says,
       "symbol lookup error: ./a.out: undefined symbol: f"},
      {"a command that is not there: the script goes on",
       "/var/spool/slurmd/job12/slurm_script: line 3: module: command not found\nERROR STOP\n", says,
       "ERROR STOP"},
      {"and alone", "/var/spool/slurmd/job12/slurm_script: line 3: solve: command not found\n", follows,
       "line 3: solve: command not found"},
      {"a program that is not there, bash",
       "/var/spool/slurmd/job12/slurm_script: line 3: ./solve: No such file or directory\n", follows,
       "line 3: ./solve: No such file or directory"},
      {"a program that is not there, dash", "/usr/bin/sh: 1: /tmp/bounds: not found\n", follows,
       "1: /tmp/bounds: not found"},
      {"what srun says of the swept ones",
       "srun: error: n1: task 0: Killed\nsrun: Job step aborted: Waiting up to 7 seconds for job step to "
       "finish.\n",
       nothing, ""},
  });
}

TEST(FailureText, IsBoundedAndOneLine) {
  const FailureText found = read_failure("ERROR STOP " + std::string(100'000, 'x'));
  EXPECT_EQ(found.words.size(), kMostFailureWords);
  EXPECT_EQ(read_failure("ERROR STOP \x1b[31mred\n").words, "ERROR STOP \uFFFD[31mred");
  // Between equals the first is the cause of those after it.
  EXPECT_EQ(read_failure("STOP 3\nSTOP 4\n").words, "STOP 3");
  // One that was cut begins anew, with the next text.
  FailureReader reader;
  reader.read("Traceback (most recent call last):");
  reader.read("  File \"x.py\", line 3, in <module>");
  reader.end();
  reader.read("ValueError: of another text");
  EXPECT_EQ(reader.best().telling, Telling::nothing);
}

TEST(FailureText, TellingHasNames) {
  for (const Telling telling : {Telling::nothing, Telling::follows, Telling::gives_up, Telling::says})
    EXPECT_EQ(telling_from(to_string(telling)), telling);
  EXPECT_EQ(telling_from("of the future"), Telling::nothing);
}

}  // namespace
}  // namespace sickbay
