// SPDX-License-Identifier: Apache-2.0
// ep [SIZE]: after NPB's "embarrassingly parallel" kernel, written from its published definition (NAS
// Parallel Benchmarks, RNR-94-007, section 2.2.1): pairs of uniform numbers, those in the unit circle turned
// into Gaussian deviates, their sums and their counts in ten square annuli.
//
// Ranks work apart and meet once in each step.  Counts are whole numbers and make the digest; the sums are
// those published for classes W, A and B.  Sums of blocks are added as whole numbers of 2^-40, so that they
// do not hang on the number of ranks.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"

enum { kBlockLog = 14, kAnnuli = 10 };
static const uint64_t kMask = (1ull << 46) - 1;

struct EpSize {
  int log2_pairs;
  double sx, sy;
};
static const struct EpSize kSizes[size_count] = {
    {20, 0, 0},
    {25, -2.863319731645753e+3, -6.320053679109499e+3},
    {28, -4.295875165629892e+3, -1.580732573678431e+4},
    {30, 4.033815542441498e+4, -2.660669192809235e+4},
    {32, 4.764367927995374e+4, -8.084072988043731e+4},
};

static uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base = base * base & kMask)
    if (exponent & 1) result = result * base & kMask;
  return result;
}

// Adds the pairs of one block: sums[0..1] the deviates, sums[2..] the annuli.
static void add_block(uint64_t block, int64_t sums[2 + kAnnuli]) {
  const uint64_t a = 1220703125, seed = 271828183;
  uint64_t x = seed * power(a, block << (kBlockLog + 1)) & kMask;
  double sx = 0, sy = 0;
  for (int i = 0; i < 1 << kBlockLog; ++i) {
    x = x * a & kMask;
    const double x1 = 2 * ((double)x * 0x1p-46) - 1;
    x = x * a & kMask;
    const double x2 = 2 * ((double)x * 0x1p-46) - 1;
    const double t = x1 * x1 + x2 * x2;
    if (t > 1) continue;
    const double factor = sqrt(-2 * log(t) / t), g1 = x1 * factor, g2 = x2 * factor;
    const double most = fmax(fabs(g1), fabs(g2));
    sums[2 + (int)most] += 1;
    sx += g1;
    sy += g2;
  }
  sums[0] += llrint(sx * 0x1p40);
  sums[1] += llrint(sy * 0x1p40);
}

int main(int argc, char** argv) {
  static const int steps[size_count] = {12, 64, 256, 1024, 4096};
  struct Corpus c;
  corpus_begin(&c, "ep", &argc, &argv, steps);
  const struct EpSize* size = &kSizes[c.size];
  const int blocks = 1 << (size->log2_pairs - kBlockLog);
  int64_t mine[2 + kAnnuli] = {0}, all[2 + kAnnuli] = {0};
  for (int step = 1; step <= c.steps; ++step) {
    corpus_step(&c, step, (struct Values){mine, 2 + kAnnuli, kSums, 3});
    const int first = part_begin(blocks, c.steps, step - 1),
              count = part_begin(blocks, c.steps, step) - first;
    for (int i = part_begin(count, c.ranks, c.rank); i < part_begin(count, c.ranks, c.rank + 1); ++i)
      add_block((uint64_t)(first + i), mine);
    MPI_Allreduce(mine, all, 2 + kAnnuli, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  }
  uint64_t digest = 0;
  for (int i = 0; i < kAnnuli; ++i) digest += mixed((uint64_t)i) * (uint64_t)all[2 + i];
  const double sx = (double)all[0] * 0x1p-40, sy = (double)all[1] * 0x1p-40;
  if (c.rank == 0) printf("ep: sums %.9e %.9e\n", sx, sy);
  const char* wrong = NULL;
  if (size->sx != 0 && (fabs(sx / size->sx - 1) > 1e-8 || fabs(sy / size->sy - 1) > 1e-8))
    wrong = "the sums are not those published";
  return corpus_end(&c, digest, wrong);
}
