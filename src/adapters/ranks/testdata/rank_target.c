// SPDX-License-Identifier: Apache-2.0
// rank_target KIND: a program that stands in a known place.  It writes a byte when it is there, and ends when
// its standard input does.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int PMPI_Recv(long milliseconds);

static void ready(void) {
  if (write(1, "r", 1) != 1) exit(2);
}

__attribute__((noinline)) int blocked_here(int depth) {
  char byte;
  ssize_t n;
  ready();
  do n = read(0, &byte, 1);
  while (n < 0 && errno == EINTR);
  return (int)n + depth;
}
__attribute__((noinline)) int outer_work(int depth) { return blocked_here(depth + 1) + 1; }

__attribute__((noinline)) int deep(int depth) {
  volatile int left = depth;  // so that no compiler makes a loop of it
  const int more = depth == 0 ? blocked_here(0) : deep(depth - 1);
  return more + left;
}

static volatile unsigned long turns;
__attribute__((noinline)) void spinning_here(void) {
  for (;;) ++turns;
}
static void* thread_main(void* nothing) {
  (void)nothing;
  spinning_here();
  return NULL;
}

__attribute__((noinline)) int exchange(long ms) { return PMPI_Recv(ms) + 1; }

// What it counts lies on the heap: its stack and its static variables look the same in each turn.
struct solver {
  volatile long turn;
};
__attribute__((noinline)) void solve(struct solver* s) {
  for (;;) {
    ++s->turn;
    exchange(5);
  }
}

// What it counts is a static variable.
__attribute__((noinline)) void count_turns(void) {
  for (;;) {
    ++turns;
    exchange(5);
  }
}

// Threads beside a first one that waits in MPI.
__attribute__((noinline)) void sleeping_here(void) {
  const struct timespec hour = {3600, 0};
  nanosleep(&hour, NULL);
}
static void* sleeper(void* nothing) {
  sleeping_here();
  return nothing;
}
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static void* blocked(void* nothing) {
  pthread_mutex_lock(&taken);
  return nothing;
}
static void* joiner(void* other) {
  pthread_join(*(pthread_t*)other, NULL);
  return NULL;
}
static void* receiver(void* nothing) {
  exchange(-1);
  return nothing;
}

// Calls that a stop could disturb, with sums that tell: sleeps, a pipe, arithmetic.
__attribute__((noinline)) int undisturbed(void) {
  int ends[2];
  unsigned long sum = 0;
  if (pipe(ends) != 0) return 2;
  ready();
  for (unsigned i = 0; i < 200; ++i) {
    const struct timespec pause = {0, 2000000};
    if (nanosleep(&pause, NULL) != 0) return 3;
    unsigned got = 0;
    if (write(ends[1], &i, sizeof i) != sizeof i || read(ends[0], &got, sizeof got) != sizeof got) return 4;
    for (unsigned j = 0; j < 100000; ++j) sum = sum * 31 + (got ^ j);
  }
  printf("%lu\n", sum);
  return fflush(stdout) == 0 ? 0 : 5;
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  if (strcmp(kind, "blocked") == 0) return outer_work(0) < 0;
  if (strcmp(kind, "deep") == 0) return deep(500) < 0;
  if (strcmp(kind, "undisturbed") == 0) return undisturbed();
  if (strcmp(kind, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, NULL) != 0) return 2;
    ready();
    return pthread_join(thread, NULL);
  }
  if (strncmp(kind, "mpi-", 4) == 0) {
    static pthread_t first, second;  // of which a thread reads
    pthread_mutex_lock(&taken);
    if (strcmp(kind, "mpi-sleeper") == 0 && pthread_create(&first, NULL, sleeper, NULL) != 0) return 2;
    if (strcmp(kind, "mpi-blocked") == 0 && (pthread_create(&first, NULL, blocked, NULL) != 0 ||
                                             pthread_create(&second, NULL, joiner, &first) != 0))
      return 2;
    if ((strcmp(kind, "mpi-receiver") == 0 || strcmp(kind, "mpi-joins") == 0) &&
        pthread_create(&first, NULL, receiver, NULL) != 0)
      return 2;
    if (strcmp(kind, "mpi-joins") == 0) {
      ready();
      return pthread_join(first, NULL);
    }
  }
  ready();
  if (strcmp(kind, "mpi-counts") == 0) count_turns();
  if (strcmp(kind, "mpi-heap") == 0) solve((struct solver*)calloc(1, sizeof(struct solver)));
  if (strcmp(kind, "mpi-again") != 0 && strncmp(kind, "mpi", 3) == 0) return exchange(-1);
  if (strcmp(kind, "mpi-again") == 0)
    for (volatile long i = 0;; ++i) exchange(15);
  spinning_here();
  return 0;
}
