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
//   heap      a token goes round for SECONDS; all that a turn changes lies on the heap
//   thread    in each rank a second thread waits for a message that nobody sends, and the first one joins it
//   ask       all ask again and again whether a message has come that nobody sends
//   helper    all wait for a message of rank 0, of which a thread sends it after SECONDS of sleep
#include <mpi.h>
#include <pthread.h>
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

struct ring {
  int token, got;
  long turns;
  double end;
};
__attribute__((noinline)) void pass_on(struct ring* r) {
  // Who hears of the end goes on until the last one has, so that all have made as many turns.
  for (int left = -1; left != 0;) {
    if (rank == 0 && now() > r->end) r->token = -1;
    MPI_Sendrecv(&r->token, 1, MPI_INT, (rank + 1) % size, 9, &r->got, 1, MPI_INT, (rank + size - 1) % size,
                 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++r->turns;
    r->token = r->got < 0 ? -1 : r->token;
    if (left > 0)
      --left;
    else if (r->got < 0)
      left = rank == 0 ? 0 : size - rank;
  }
}
__attribute__((noinline)) void heap(double seconds) {
  struct ring* r = (struct ring*)calloc(1, sizeof *r);
  r->token = rank;
  r->end = now() + seconds;
  pass_on(r);
  done += r->turns;
  free(r);
}

__attribute__((noinline)) void sleep_for(double seconds) {
  struct timespec t;
  t.tv_sec = (time_t)seconds;
  t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
  nanosleep(&t, NULL);
}
static void* send_later(void* seconds) {
  sleep_for(*(double*)seconds);
  for (int other = 1; other < size; ++other) MPI_Send(&rank, 1, MPI_INT, other, 6, MPI_COMM_WORLD);
  return NULL;
}
__attribute__((noinline)) void helper(double seconds) {
  pthread_t thread;
  int got = 0;
  if (rank == 0 && pthread_create(&thread, NULL, send_later, &seconds) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank != 0) MPI_Recv(&got, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) pthread_join(thread, NULL);
}

static void* receive(void* nothing) {
  exchange(1);
  return nothing;
}
__attribute__((noinline)) void join_one(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, receive, NULL) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  pthread_join(thread, NULL);
}

__attribute__((noinline)) void ask(void) {
  MPI_Request request;
  int got = 0;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, &request);
  for (int flag = 0; !flag; ++done) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  const double seconds = argc > 2 ? atof(argv[2]) : 10;
  double x = 0;
  int threads = 0;
  if (strcmp(kind, "helper") == 0 || strcmp(kind, "thread") == 0)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  else
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
  if (strcmp(kind, "heap") == 0) heap(seconds);
  if (strcmp(kind, "thread") == 0) join_one();
  if (strcmp(kind, "ask") == 0) ask();
  if (strcmp(kind, "helper") == 0) helper(seconds);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &done, &done, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("done %ld %g\n", done, x);
  MPI_Finalize();
  return 0;
}
