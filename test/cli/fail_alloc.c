// SPDX-License-Identifier: Apache-2.0
// A preloaded library by which a program is refused memory once: the N-th allocation after SIGUSR2 with the
// value N (kill -s USR2 -q N PID) fails, those before and after it do not.  For out_of_memory.sh.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

static atomic_long left = -1;  // allocations before the one that fails; below 0: none fails

static void arm(int number, siginfo_t* sent, void* context) {
  (void)number, (void)context;
  atomic_store(&left, (long)sent->si_value.sival_int);
}

__attribute__((constructor)) static void listen(void) {
  struct sigaction act = {.sa_sigaction = arm, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGUSR2, &act, NULL);
}

static int refused(void) {
  if (atomic_load_explicit(&left, memory_order_relaxed) < 0 || atomic_fetch_sub(&left, 1) != 0) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) { return refused() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return refused() ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return refused() ? NULL : __libc_realloc(old, size); }
