// SPDX-License-Identifier: Apache-2.0
// Corpus: what the five programs of bench/blame share: their start and end, progress, the check of the
// result, scratch files, and the faults that can be asked of them.
//
// The programs stand in for users' programs in measurements of verdicts, so they must do real work with a
// known result, and nothing that they print may give away which fault was asked for.  BLAME_* variables steer
// them:
//
//   BLAME_FAULT=NAME       the fault to show (faults.c has the table); none: the program is healthy
//   BLAME_RANK=2           the rank that has it (standard: the last); faults of all ranks do without
//   BLAME_STEP=7           the step of the main loop that has it (standard: after the first third)
//   BLAME_PROBABILITY=0.3  shown in this share of the runs only
//   BLAME_SEED=5           decides instead of chance whether it is shown, for tests
//   BLAME_TELL=1           says aloud when it is shown, for tests
//   BLAME_CHECK=0          the program does not check its result: a wrong one ends with exit code 0
//   BLAME_SCRATCH=/tmp     each rank writes what it has to a file here ten times, and reads it back
//   BLAME_TIME=1           the last line has the seconds that the work took
#pragma once
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

// Sizes, by their letter on the command line: T for tests (well below 1 s), then about 1, 2, 6 to 20 and 30 s
// on two cores with 2 to 4 ranks.
enum Size { kTiny, kSmall, kMedium, kLarge, kHuge, size_count };

// Exit codes.  (1 and 2 are what MPI and shells use of themselves.)
enum { exit_wrong_input = 2, exit_wrong_result = 3, exit_scratch = 4 };

// The values that a program works on, as a fault may change them.
struct Values {
  void* at;
  size_t count;
  enum Kind { kReals, kKeys, kSums } kind;  // double, int32_t (may change by one), int64_t
  size_t probe;                             // one that the result hangs on
};

struct Corpus {
  const char* program;
  int rank, ranks;
  enum Size size;
  int steps;
  double begun;
  const struct Fault* fault;  // null: healthy
  int fault_rank, fault_step;
  int strikes;  // whether chance, or BLAME_SEED, shows the fault in this run; the same on all ranks
  int tells, checks, times;
  const char* scratch;  // null: no scratch files
};

// What a fault does.  `all`: every rank calls it in its step; else one.  `repeats`: in each step from then
// on.
struct Fault {
  const char* name;
  int all, repeats;
  void (*show)(struct Corpus* c, struct Values* values);
  const char* what;
};
// The fault of this name, or null.
const struct Fault* find_fault(const char* name);
// Lists name and effect of all, one a line.
void list_faults(void);

// Starts MPI and reads `PROGRAM [SIZE=S]` and the variables above; `steps` has the steps of each size.  Ends
// the program, saying why, on a size, fault or number of steps that cannot be.  `--faults` lists the faults,
// `--digest S` prints the known digest of a size.
void corpus_begin(struct Corpus* c, const char* program, int* argc, char*** argv,
                  const int steps[size_count]);

// To be called at the beginning of step 1..c->steps, by all ranks: progress, scratch files, faults.
void corpus_step(struct Corpus* c, int step, struct Values values);

// Says the result, compares it with the known one, leaves MPI; gives back the exit code.  `digest` must be
// the same on all ranks; `wrong` names what else the program found wrong, null: nothing.
int corpus_end(struct Corpus* c, uint64_t digest, const char* wrong);

// The known digest of a program's result.  They were computed once, with one rank; that every other number of
// ranks gives them, too, is what programs_test.sh shows.
uint64_t known_digest(const char* program, enum Size size);

// "PROGRAM: rank 1: TEXT" on standard error, and the end of all ranks with this code.
__attribute__((format(printf, 3, 4), noreturn)) void corpus_fail(const struct Corpus* c, int code,
                                                                 const char* format, ...);

// Part `i` of `n` things in `parts` parts as even as can be: its first thing; parts + 1 ends the last.
static inline int part_begin(int n, int parts, int i) {
  const int each = n / parts, more = n % parts;
  return i * each + (i < more ? i : more);
}

// A well-mixed number for each number, so that sums of them tell positions apart.
static inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The sum of all ranks' parts of a digest.  Whole numbers, so neither order nor number of ranks matters.
static inline uint64_t whole_digest(uint64_t part) {
  MPI_Allreduce(MPI_IN_PLACE, &part, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return part;
}

// Memory for `count` things of `size`, zeroed; without it the program ends.
void* corpus_memory(const struct Corpus* c, size_t count, size_t size);
