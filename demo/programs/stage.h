// SPDX-License-Identifier: Apache-2.0
// Stage: what all demo programs share: MPI's start and end, progress lines, a bit of real work.
//
// Progress lines go to standard output one write each and unbuffered, so that the last line of a program
// that dies says how far it came.
#pragma once
#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace demo {

struct Stage {
  const char* program;
  int rank = 0;
  int ranks = 1;

  Stage(const char* name, int* argc, char*** argv) : program(name) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char host[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(host, &length);
    say("starts on %s, rank %d of %d", host, rank, ranks);
  }

  /// "PROGRAM: rank 2: TEXT", one line.
  __attribute__((format(printf, 2, 3))) void say(const char* format, ...) const {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    std::printf("%s: rank %d: %s\n", program, rank, text);
    std::fflush(stdout);
  }

  /// Leaves MPI and gives back `code`, the program's exit code.
  int end(int code = 0) const {
    // MPICH 4.0.2 over UCX can hang in MPI_Finalize when ranks enter it apart.  The barrier brings them
    // together, and whoever hangs all the same leaves after two seconds: what there was to say has been said.
    exit_code_of_alarm = code;
    std::signal(SIGALRM, [](int) { ::_exit(exit_code_of_alarm); });
    MPI_Barrier(MPI_COMM_WORLD);
    ::alarm(2);
    MPI_Finalize();
    ::alarm(0);
    return code;
  }

  static inline volatile std::sig_atomic_t exit_code_of_alarm = 0;
};

/// Most callers of work() want its time and not its sum, and a sum that nobody reads the compiler leaves out.
inline volatile double sum_of_work = 0;

/// About 0.6 ms of arithmetic (2.6 GHz): roots and quotients, and their sum.
inline double work() {
  double sum = 0;
  for (int i = 1; i < 150'000; ++i) sum += std::sqrt(static_cast<double>(i)) / i;
  sum_of_work = sum;
  return sum;
}

/// Everybody's value comes to everybody: a token around the ring, then a sum; false when a result is wrong.
inline bool exchange(const Stage& stage) {
  const int next = (stage.rank + 1) % stage.ranks, last = (stage.rank + stage.ranks - 1) % stage.ranks;
  int mine = stage.rank, theirs = -1;
  MPI_Sendrecv(&mine, 1, MPI_INT, next, 0, &theirs, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return theirs == last && sum == stage.ranks * (stage.ranks - 1) / 2;
}

/// Work and exchange for `seconds` (rank 0's clock decides for all); false on a wrong result.
inline bool run_for(const Stage& stage, double seconds) {
  const double begun = MPI_Wtime();
  double told = begun;
  for (int step = 1, going = 1; going; ++step) {
    work();
    if (!exchange(stage)) return false;
    const double now = MPI_Wtime();
    if (stage.rank == 0 && now - told >= 1) {
      stage.say("step %d after %.0f s", step, now - begun);
      told = now;
    }
    going = now - begun < seconds;
    MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  return true;
}

/// The number in argument `i`, or `fallback`.
inline double number(int argc, char** argv, int i, double fallback) {
  return argc > i ? std::atof(argv[i]) : fallback;
}

}  // namespace demo
