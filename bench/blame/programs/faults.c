// SPDX-License-Identifier: Apache-2.0
// The faults that a program of the corpus can show, each of them a bug as programs have it: nothing is played
// by an exit code where the real thing can be had.  What is printed is what such a program would print.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

static int next_of(const struct Corpus* c) { return (c->rank + 1) % c->ranks; }
static int last_of(const struct Corpus* c) { return (c->rank + c->ranks - 1) % c->ranks; }
static double number(const char* name, double standard) {
  const char* text = getenv(name);
  return text && *text ? atof(text) : standard;
}

// --- it waits for ever

// Everybody receives before anybody sends.
static void recv_deadlock(struct Corpus* c, struct Values* v) {
  (void)v;
  int theirs = 0, mine = c->rank;
  MPI_Recv(&theirs, 1, MPI_INT, last_of(c), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&mine, 1, MPI_INT, next_of(c), 7, MPI_COMM_WORLD);
}

// Everybody sends, with no buffer to send from, before anybody receives.
static void send_deadlock(struct Corpus* c, struct Values* v) {
  (void)v;
  int theirs = 0, mine = c->rank;
  MPI_Ssend(&mine, 1, MPI_INT, next_of(c), 7, MPI_COMM_WORLD);
  MPI_Recv(&theirs, 1, MPI_INT, last_of(c), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// What is sent as 7 is awaited as 8.
static void tag_mismatch(struct Corpus* c, struct Values* v) {
  (void)v;
  int theirs = 0, mine = c->rank;
  MPI_Request sent;
  MPI_Isend(&mine, 1, MPI_INT, next_of(c), 7, MPI_COMM_WORLD, &sent);
  MPI_Recv(&theirs, 1, MPI_INT, last_of(c), 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

// One rank meets the others in two communicators in the other order.  (One rank alone meets itself.)
static void collective_order(struct Corpus* c, struct Values* v) {
  (void)v;
  MPI_Comm one, two;
  MPI_Comm_dup(MPI_COMM_WORLD, &one);
  MPI_Comm_dup(MPI_COMM_WORLD, &two);
  MPI_Barrier(c->rank == c->fault_rank ? two : one);
  MPI_Barrier(c->rank == c->fault_rank ? one : two);
  MPI_Comm_free(&one);
  MPI_Comm_free(&two);
}

// A collective that one rank leaves out: it goes on and meets the others one call too early for ever.
static void missing_collective(struct Corpus* c, struct Values* v) {
  (void)v;
  MPI_Comm all;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  if (c->rank != c->fault_rank) MPI_Barrier(all);
}

static void endless_loop(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  volatile double residual = 1;
  while (residual > 1e-9) residual = 0.5 * residual + 0.5;  // it stays what it is
}

// Messages go round, and no rank ever finds that it is enough.
static void livelock(struct Corpus* c, struct Values* v) {
  (void)v;
  for (int again = 1, theirs = 0; again;) {
    MPI_Sendrecv(&again, 1, MPI_INT, next_of(c), 9, &theirs, 1, MPI_INT, last_of(c), 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    again = theirs;
  }
}

static void sleeps_for_ever(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  for (;;) pause();
}

// --- it dies

static volatile int deepest, bottom = -1;
// (The frame is used after the call, so that the compiler makes no loop of it.)
__attribute__((noinline)) static int descend(int depth) {
  volatile char frame[4096];
  frame[depth & 4095] = (char)depth;
  deepest = depth;
  if (depth == bottom) return 0;  // it never is
  return descend(depth + 1) + frame[depth & 4095];
}
static void stack_overflow(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  deepest = descend(0);
}

// Runs over the end of its values until it comes to memory that is not there.
static void out_of_bounds(struct Corpus* c, struct Values* v) {
  (void)c;
  volatile char* at = v->at;
  for (size_t i = v->count * sizeof(int32_t);; i += 1024) at[i] = 1;
}

static void null_pointer(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  int* volatile nothing = NULL;
  *(volatile int*)nothing = 1;
}

// Writes before the beginning of a block, over the C library's own words, and then frees it.
static void heap_corruption(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  char* volatile block = malloc(2000);
  volatile char* at = block;  // (the compiler leaves out what is written to a block that is freed)
  for (volatile int i = 1; i <= 16; ++i) at[-i] = 'A';
  free(block);
}

static void division_trap(struct Corpus* c, struct Values* v) {
  (void)v;
  volatile int zero = 0;
  volatile int share = c->steps / zero;
  (void)share;
}

static void aborts(struct Corpus* c, struct Values* v) {
  (void)v;
  fprintf(stderr, "%s: rank %d: Assertion `count == expected' failed.\n", c->program, c->rank);
  fflush(stderr);
  abort();
}

// A program's own SIGBUS and SIGILL: what is often taken for hardware.
static void bus_error(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  const int file = memfd_create("mesh", 0);  // an empty file, mapped as if it had a page
  volatile char* at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  at[0] = 1;
}
static void illegal_instruction(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  __builtin_trap();
}

static void exit_code(struct Corpus* c, struct Values* v) {
  (void)v;
  fprintf(stderr, "%s: rank %d: the residual grows: giving up\n", c->program, c->rank);
  fflush(NULL);
  _exit(7);
}
// One rank takes itself to be done.
static void exit_early(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  fflush(NULL);
  _exit(0);
}

static void truncated_message(struct Corpus* c, struct Values* v) {
  (void)v;
  int mine[64] = {0}, theirs[32];
  MPI_Sendrecv(mine, 64, MPI_INT, next_of(c), 9, theirs, 32, MPI_INT, last_of(c), 9, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void file_missing(struct Corpus* c, struct Values* v) {
  (void)v;
  const char* mesh = "mesh-17.dat";
  if (!fopen(mesh, "r")) corpus_fail(c, 2, "cannot open %s: %s", mesh, strerror(errno));
}

// A lock file that the first run leaves behind when it dies, and that stops the next.
static void leftovers(struct Corpus* c, struct Values* v) {
  const char* lock = "blame.lock";
  if (open(lock, O_CREAT | O_EXCL | O_WRONLY, 0600) < 0)
    corpus_fail(c, 1, "%s: %s: another run is active", lock, strerror(errno));
  aborts(c, v);
}

// Files that nobody closes.
static void file_leak(struct Corpus* c, struct Values* v) {
  (void)v;
  // A limit as sites have it; where it is in the millions, it would take minutes to come to it.
  struct rlimit most;
  getrlimit(RLIMIT_NOFILE, &most);
  if (most.rlim_cur > 1024) most.rlim_cur = 1024;
  setrlimit(RLIMIT_NOFILE, &most);
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
  corpus_fail(c, 1, "cannot open the next file: %s", strerror(errno));
}

// Memory that nobody frees, a quarter of BLAME_LEAK_MOST MiB in each step: a batch system with a smaller
// limit ends it, and one without sees it end by itself.
static void memory_leak(struct Corpus* c, struct Values* v) {
  (void)v;
  static size_t leaked = 0;
  const size_t most = (size_t)number("BLAME_LEAK_MOST", 2048) << 20, piece = most / 4;
  if (leaked + piece > most) corpus_fail(c, 1, "out of memory: %zu MiB in use", leaked >> 20);
  void* volatile lost = malloc(piece);
  if (!lost) corpus_fail(c, 1, "out of memory: %zu MiB in use", leaked >> 20);
  memset(lost, 1, piece);
  leaked += piece;
}

// --- it gives a wrong result, sometimes or always

static void wrong_result(struct Corpus* c, struct Values* v) {
  (void)c;
  switch (v->kind) {
    case kReals:
      ((double*)v->at)[v->probe] += 1.0 / 64;
      break;
    case kKeys:
      ((int32_t*)v->at)[v->probe] ^= 1;
      break;
    case kSums:
      ((int64_t*)v->at)[v->probe] += 1 << 20;
      break;
  }
}

// Reads what nobody has written: a block that was used before, and freed.  What the C library has left in its
// first word hangs on where the kernel has put the heap, and so differs from run to run.
static void uninitialised(struct Corpus* c, struct Values* v) {
  uint64_t* volatile used = malloc(200);
  free(used);
  uint64_t* volatile block = malloc(200);
  uint64_t found = mixed(*block);
  const char* seed = getenv("BLAME_SEED");
  if (seed && *seed) found = mixed(strtoull(seed, NULL, 10) + 1);
  const double share = number("BLAME_GARBAGE", 0.3);
  if ((double)(found >> 11) * 0x1p-53 < share) out_of_bounds(c, v);  // it was taken for an index
  free(block);
}

enum { kTurns = 200000 };
static volatile long counter;
static void* count(void* unused) {
  for (int i = 0; i < kTurns; ++i) counter = counter + 1;  // read, add, write: three steps, and no lock
  return unused;
}
// Two threads count in one variable; where one has lost a count of the other, the result is wrong.
static void data_race(struct Corpus* c, struct Values* v) {
  const char* seed = getenv("BLAME_SEED");
  if (seed && *seed) {  // a test wants it to be lost, in three of ten seeds, or not
    if (mixed(strtoull(seed, NULL, 10) + 2) % 10 < 3) wrong_result(c, v);
    return;
  }
  pthread_t other;
  counter = 0;
  if (pthread_create(&other, NULL, count, NULL) != 0) return;
  count(NULL);
  pthread_join(other, NULL);
  if (counter != 2L * kTurns) wrong_result(c, v);
}

// --- it takes its time

static volatile double sink;
static void work_for(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end)
    for (int i = 1; i < 10000; ++i) sink += sqrt((double)i);
}

// One rank has twice the work of the others and more, so all wait for it in each step.
static void slow_rank(struct Corpus* c, struct Values* v) {
  (void)v;
  static double last = 0;
  const double now = MPI_Wtime();
  const double step = last > 0 ? now - last : 0;
  work_for(step > 5 ? 5 : step * number("BLAME_SLOWER", 2));
  last = MPI_Wtime();
  (void)c;
}

// Three silences of a healthy program: one rank computes and the others wait, all wait for something outside,
// and one writes to the disk.
static void quiet_compute(struct Corpus* c, struct Values* v) {
  (void)v;
  if (c->rank == c->fault_rank) work_for(number("BLAME_SECONDS", 15));
  MPI_Barrier(MPI_COMM_WORLD);
}
static void quiet_wait(struct Corpus* c, struct Values* v) {
  (void)c, (void)v;
  const double seconds = number("BLAME_SECONDS", 15);
  struct timespec left = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}
static void quiet_io(struct Corpus* c, struct Values* v) {
  (void)v;
  if (c->rank != c->fault_rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  char path[200];
  snprintf(path, sizeof path, "%s.output.%d", c->program, (int)getpid());
  const double end = MPI_Wtime() + number("BLAME_SECONDS", 15);
  char block[1 << 16] = "";
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  while (file >= 0 && MPI_Wtime() < end) {
    if (pwrite(file, block, sizeof block, 0) < 0 || fsync(file) != 0) break;
    struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
  }
  if (file >= 0) close(file);
  unlink(path);
  MPI_Barrier(MPI_COMM_WORLD);
}

// `all` first, then `repeats`.
static const struct Fault kFaults[] = {
    {"recv_deadlock", 1, 0, recv_deadlock, "all ranks receive before one sends: waits for ever"},
    {"send_deadlock", 1, 0, send_deadlock,
     "all ranks send synchronously before one receives: waits for ever"},
    {"tag_mismatch", 1, 0, tag_mismatch, "sent with another tag than awaited: waits for ever"},
    {"collective_order", 1, 0, collective_order,
     "one rank enters two collectives in the other order: waits for ever"},
    {"missing_collective", 1, 0, missing_collective, "one rank leaves a collective out: waits for ever"},
    {"endless_loop", 0, 0, endless_loop, "one rank loops for ever"},
    {"livelock", 1, 0, livelock, "ranks exchange messages for ever"},
    {"sleeps_for_ever", 0, 0, sleeps_for_ever, "one rank sleeps for ever"},
    {"stack_overflow", 0, 0, stack_overflow, "recursion without end: SIGSEGV"},
    {"out_of_bounds", 0, 0, out_of_bounds, "writes over the end of an array: SIGSEGV"},
    {"null_pointer", 0, 0, null_pointer, "writes through a null pointer: SIGSEGV"},
    {"heap_corruption", 0, 0, heap_corruption, "writes over the heap's own words: SIGABRT"},
    {"division_trap", 0, 0, division_trap, "divides by zero: SIGFPE"},
    {"aborts", 0, 0, aborts, "a failed assertion: SIGABRT"},
    {"bus_error", 0, 0, bus_error, "uses a mapping behind the end of its file: SIGBUS"},
    {"illegal_instruction", 0, 0, illegal_instruction, "runs into a trap of the compiler: SIGILL"},
    {"exit_code", 0, 0, exit_code, "one rank gives up: exit code 7"},
    {"exit_early", 0, 0, exit_early, "one rank ends with exit code 0, the others wait for it"},
    {"truncated_message", 1, 0, truncated_message, "a message longer than its buffer: an error of MPI"},
    {"file_missing", 0, 0, file_missing, "an input file that is not there: exit code 2"},
    {"leftovers", 0, 0, leftovers,
     "leaves a lock file when it aborts: SIGABRT, in the same folder then exit code 1"},
    {"file_leak", 0, 0, file_leak, "files that are not closed: exit code 1"},
    {"memory_leak", 0, 1, memory_leak,
     "memory that is not freed: killed, or exit code 1 at BLAME_LEAK_MOST MiB"},
    {"wrong_input", 1, 0, NULL, "a number of steps below 0: exit code 2"},
    {"wrong_result", 0, 0, wrong_result, "changes a value: exit code 3, with BLAME_CHECK=0 exit code 0"},
    {"uninitialised", 0, 0, uninitialised,
     "an index that nobody has set: SIGSEGV in 30 % of runs (BLAME_GARBAGE)"},
    {"data_race", 0, 0, data_race, "two threads without a lock: a wrong result in most runs"},
    {"slow_rank", 0, 1, slow_rank, "one rank has three times the work (BLAME_SLOWER + 1): takes long"},
    {"quiet_compute", 1, 0, quiet_compute, "healthy: one rank computes for BLAME_SECONDS, the others wait"},
    {"quiet_wait", 1, 0, quiet_wait, "healthy: all ranks sleep for BLAME_SECONDS"},
    {"quiet_io", 1, 0, quiet_io, "healthy: one rank writes for BLAME_SECONDS, the others wait"},
};
enum { kFaultCount = sizeof kFaults / sizeof kFaults[0] };

const struct Fault* find_fault(const char* name) {
  for (int i = 0; i < kFaultCount; ++i)
    if (strcmp(kFaults[i].name, name) == 0) return &kFaults[i];
  return NULL;
}

void list_faults(void) {
  for (int i = 0; i < kFaultCount; ++i) printf("%-20s %s\n", kFaults[i].name, kFaults[i].what);
}
