// SPDX-License-Identifier: Apache-2.0
// ranks KIND SECONDS, in C and in C++: programs that hang, and programs that are silent for long and do not.
// Each says "stage MICROSECONDS" (since 1970) when its last stage begins, in which a hanging one hangs.
//   recv      rank 3, or the last, waits for a message that nobody sends; the others are in MPI_Allreduce
//   order     odd ranks are in MPI_Bcast, the others in MPI_Barrier: each waits for the other
//   loop      rank 1 computes without end, the others wait for it
//   slow      rank 1 computes for SECONDS, the others wait for it
//   compute   all compute for SECONDS, without a call of MPI
//   io        rank 0 writes files for SECONDS, the others wait for it
//   exchange  sums are exchanged for SECONDS, over and over
//   large     one rank sends another large messages for SECONDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static long done;  // units of work, or turns: what a watched run is compared by

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void stage(void) {
  struct timespec t;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  clock_gettime(CLOCK_REALTIME, &t);
  printf("stage %lld\n", (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
  fflush(stdout);
}

__attribute__((noinline)) double work(double seconds) {
  const double end = now() + seconds;
  double x = 1;
  while (seconds < 0 || now() < end)
    for (int i = 1; i < 1000000; ++i) x += 1.0 / ((double)i * x), done += i == 1;
  return x;
}

__attribute__((noinline)) void exchange(int wait) {
  int got = 0, sum = 0;
  if (wait)
    MPI_Recv(&got, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

__attribute__((noinline)) void disorder(void) {
  int value = rank;
  if (rank % 2)
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Barrier(MPI_COMM_WORLD);
}

__attribute__((noinline)) void dump(double seconds) {
  const double end = now() + seconds;
  char name[64];
  snprintf(name, sizeof name, "dump.%d", (int)getpid());
  char* block = (char*)calloc(1, 1 << 20);
  while (now() < end) {
    FILE* f = fopen(name, "w");
    for (int i = 0; f != NULL && i < 64; ++i) fwrite(block, 1, 1 << 20, f);
    if (f != NULL) fclose(f);
  }
  unlink(name);
  free(block);
}

__attribute__((noinline)) void sums(double seconds) {
  const double end = now() + seconds;
  double mine = rank, all = 0;
  int go = 1;
  while (go) {
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    mine = all / size;
    ++done;
    go = now() < end;
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

__attribute__((noinline)) void large(double seconds) {
  const double end = now() + seconds;
  const int bytes = 256 << 20;
  char* block = (char*)calloc(1, (size_t)bytes);
  int go = 1;
  while (go) {
    if (rank == 0) MPI_Send(block, bytes, MPI_BYTE, size - 1, 5, MPI_COMM_WORLD);
    if (rank == size - 1) MPI_Recv(block, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    go = now() < end;
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  free(block);
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  const double seconds = argc > 2 ? atof(argv[2]) : 10;
  double x = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sums(2);
  done = 0;
  stage();
  if (strcmp(kind, "recv") == 0) exchange(rank == (size > 3 ? 3 : size - 1));
  if (strcmp(kind, "order") == 0) disorder();
  if (strcmp(kind, "loop") == 0 && rank == 1) x = work(-1);
  if (strcmp(kind, "slow") == 0 && rank == 1) x = work(seconds);
  if (strcmp(kind, "compute") == 0) x = work(seconds);
  if (strcmp(kind, "io") == 0 && rank == 0) dump(seconds);
  if (strcmp(kind, "exchange") == 0) sums(seconds);
  if (strcmp(kind, "large") == 0) large(seconds);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &done, &done, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("done %ld %g\n", done, x);
  MPI_Finalize();
  return 0;
}
