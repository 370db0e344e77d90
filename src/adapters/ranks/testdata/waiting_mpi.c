// SPDX-License-Identifier: Apache-2.0
// Stands for a library of MPI: a call that polls, as the real ones do, for a number of rounds or for ever.
#include <time.h>

static volatile unsigned long polls;
static __thread volatile unsigned long
    own_polls;  // real ones have such: they lie where the stack of a thread ends

__attribute__((noinline)) static void progress_engine(void) {
  for (int i = 0; i < 1000; ++i) ++polls, ++own_polls;
}

// MPI's second name for it, which the first one leads to.
__attribute__((noinline)) int PMPI_Recv(long milliseconds) {
  struct timespec began, now;
  clock_gettime(CLOCK_MONOTONIC, &began);
  for (;;) {
    progress_engine();
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long ms = (now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000;
    if (milliseconds >= 0 && ms >= milliseconds) return (int)polls;
  }
}
