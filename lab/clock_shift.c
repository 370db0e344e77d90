// SPDX-License-Identifier: Apache-2.0
// A preloaded library for what one node of the lab is told of time: a wall clock that is off by
// SICKBAY_CLOCK_SHIFT seconds, and the time since its boot where it has booted in the lab (SICKBAY_BOOTED_AT,
// seconds of CLOCK_BOOTTIME).
//
// The kernel has one wall clock, and time namespaces do not shift it; so what libc's callers are told is
// shifted.  The monotonic clocks and the times in the file system stay true, and a static program, or one
// that asks the kernel itself, sees no shift.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
  static long seconds;
  static int known;
  if (!known) {
    const char* text = getenv("SICKBAY_CLOCK_SHIFT");
    seconds = text ? atol(text) : 0;
    known = 1;
  }
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
  return (int)failed;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now) *now = exact.tv_sec;
  return exact.tv_sec;
}

int sysinfo(struct sysinfo* info) {
  const long failed = syscall(SYS_sysinfo, info);
  const char* booted = getenv("SICKBAY_BOOTED_AT");
  if (failed == 0 && booted) info->uptime -= atol(booted);
  return (int)failed;
}
