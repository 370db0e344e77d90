/* SPDX-License-Identifier: Apache-2.0
 * The work of wave.c and wave_files.c: a plate of SIZE x SIZE points that was struck once and swings, cut
 * into bands of rows, one for each rank.  Each step makes the next plate of the last two.  The checksum is of
 * all bits of both; how a point is computed does not depend on how the plate is cut, so it is the same with
 * any number of ranks and whatever happened on the way. */
#ifndef PLATE_H
#define PLATE_H

#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static long steps = 2000, size = 512, least_ms; /* arguments; the last: of computing in each step, at least */
static int64_t step;
static double *now, *before, *next; /* of this band; a row of each neighbour above and below */

static long first_row(int of) { return size / ranks * of + (of < size % ranks ? of : size % ranks); }
static long rows_here(void) { return first_row(rank + 1) - first_row(rank); }
static size_t band_bytes(void) { return (size_t)((rows_here() + 2) * size) * sizeof(double); }

static void stop(const char* what) {
  fprintf(stderr, "wave: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static long number(int argc, char** argv, int at, long fallback) {
  if (at >= argc) return fallback;
  char* end;
  const long value = strtol(argv[at], &end, 10);
  return *end == '\0' && value >= 0 && value <= 100000000 ? value : -1;
}

/* MPI and the plate at rest, but for the place where it was struck. */
static void begin(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  steps = number(argc, argv, 1, steps);
  size = number(argc, argv, 2, size);
  least_ms = number(argc, argv, 3, least_ms);
  if (steps < 0 || size < 8 || size > 30000 || least_ms < 0 || ranks > size || argc > 4) {
    if (rank == 0)
      fprintf(stderr, "usage: %s [STEPS [SIZE [MILLISECONDS]]]   (at most SIZE ranks)\n", argv[0]);
    MPI_Finalize();
    exit(64);
  }
  now = calloc(1, band_bytes());
  before = calloc(1, band_bytes());
  next = calloc(1, band_bytes());
  if (now == NULL || before == NULL || next == NULL) stop("no memory for the plate");
  for (long r = 0; r < rows_here(); ++r)
    for (long c = 1; c < size - 1; ++c) {
      const long row = first_row(rank) + r;
      if (labs(row - size / 3) < size / 8 && labs(c - size / 4) < size / 8)
        now[(r + 1) * size + c] = before[(r + 1) * size + c] = 1.0;
    }
}

static void swing(void) {
  for (long r = 1; r <= rows_here(); ++r) {
    const long row = first_row(rank) + r - 1;
    if (row == 0 || row == size - 1) continue; /* the rim is held */
    const double *here = now + r * size, *last = before + r * size;
    for (long c = 1; c < size - 1; ++c) {
      const double around = ((here[c - size] + here[c + size]) + here[c - 1]) + here[c + 1];
      next[r * size + c] = 2.0 * here[c] - last[c] + 0.25 * (around - 4.0 * here[c]);
    }
  }
}

/* One step: rows of the neighbours, then this band, as often as it takes to be busy for least_ms. */
static void compute_step(void) {
  const int row = (int)size, up = rank > 0 ? rank - 1 : MPI_PROC_NULL,
            down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  const double from = MPI_Wtime();
  MPI_Sendrecv(now + size, row, MPI_DOUBLE, up, 0, now + (rows_here() + 1) * size, row, MPI_DOUBLE, down, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(now + rows_here() * size, row, MPI_DOUBLE, down, 1, now, row, MPI_DOUBLE, up, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  do swing();
  while ((MPI_Wtime() - from) * 1e3 < (double)least_ms);
  double* const oldest = before;
  before = now;
  now = next;
  next = oldest;
  ++step;
}

static uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Each point with its place, summed up as whole numbers: the order of ranks does not matter. */
static uint64_t checksum(void) {
  uint64_t sum = 0, all = 0, bits;
  for (long i = size; i < (rows_here() + 1) * size; ++i) {
    const uint64_t place = (uint64_t)(first_row(rank) - 1) * (uint64_t)size + (uint64_t)i;
    memcpy(&bits, &now[i], sizeof bits);
    sum += mixed(bits ^ mixed(2 * place + 1));
    memcpy(&bits, &before[i], sizeof bits);
    sum += mixed(bits ^ mixed(2 * place + 2));
  }
  MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  return all;
}

static void leave_at_once(int signal) {
  (void)signal;
  _exit(0);
}

/* Prints the result and ends.  MPICH 4.0.2 over UCX can hang in MPI_Finalize when ranks enter it apart: the
 * barrier brings them together, and whoever hangs all the same leaves after two seconds, for all is done. */
static int end(void) {
  const uint64_t sum = checksum();
  if (rank == 0)
    printf("wave: done at step %lld, checksum %016llx\n", (long long)step, (unsigned long long)sum);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  signal(SIGALRM, leave_at_once);
  alarm(2);
  MPI_Finalize();
  alarm(0);
  free(now), free(before), free(next);
  return 0;
}

#endif
