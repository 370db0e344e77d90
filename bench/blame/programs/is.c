// SPDX-License-Identifier: Apache-2.0
// is [SIZE]: after NPB's integer sort (RNR-94-007, section 2.2.5), written from its published description:
// keys that are sums of four uniform numbers are sorted again and again, two of them changed before each
// time.
//
// Each rank has a part of the keys; a histogram says which range of keys each rank gets, so that all have
// about as many; keys travel by MPI_Alltoallv and are counted where they arrive.  The digest adds up, over
// all sorts, each key times its place: whole numbers, the same with any number of ranks.
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

enum { kBuckets = 1024, kMostRanks = 8 };

struct IsSize {
  int keys, log2_max;
};
static const struct IsSize kSizes[size_count] = {
    {1 << 15, 14}, {1 << 20, 19}, {1 << 21, 20}, {1 << 22, 21}, {1 << 22, 21}};

static const uint64_t kMask = (1ull << 46) - 1, kFactor = 1220703125, kSeed = 314159265;

static uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base = base * base & kMask)
    if (exponent & 1) result = result * base & kMask;
  return result;
}

// Keys first .. first + count - 1 of the sequence.
static void make_keys(int32_t* key, int first, int count, int log2_max) {
  uint64_t x = kSeed * power(kFactor, 4 * (uint64_t)first) & kMask;
  for (int i = 0; i < count; ++i) {
    uint64_t sum = 0;
    for (int j = 0; j < 4; ++j) sum += x = x * kFactor & kMask;
    key[i] = (int32_t)(sum >> (48 - log2_max));  // the mean of four, of 46 bits each
  }
}

// Where the keys of a sort travel: by destination, and where they arrive.
struct Travel {
  int send[kMostRanks], send_at[kMostRanks], receive[kMostRanks], receive_at[kMostRanks];
};

// Gives each bucket its owner, so that keys are shared out evenly; the first bucket of each rank, and an end.
static void share_out(const int all[kBuckets], int total, int ranks, int first_bucket[kMostRanks + 1]) {
  int owner = 0;
  int64_t seen = 0;
  first_bucket[0] = 0;
  for (int b = 0; b < kBuckets; ++b) {
    while (owner + 1 < ranks && seen * ranks >= (int64_t)total * (owner + 1)) first_bucket[++owner] = b;
    seen += all[b];
  }
  while (owner < ranks) first_bucket[++owner] = kBuckets;
}

static int bucket_of(int32_t key, int shift) {
  const int b = key >> shift;
  return b < 0 ? 0 : b >= kBuckets ? kBuckets - 1 : b;
}

int main(int argc, char** argv) {
  static const int steps[size_count] = {12, 40, 200, 600, 2000};
  struct Corpus c;
  corpus_begin(&c, "is", &argc, &argv, steps);
  const int total = kSizes[c.size].keys, log2_max = kSizes[c.size].log2_max, shift = log2_max - 10;
  const int first = part_begin(total, c.ranks, c.rank), mine = part_begin(total, c.ranks, c.rank + 1) - first;
  int32_t* key = corpus_memory(&c, (size_t)mine, sizeof *key);
  int32_t* sent = corpus_memory(&c, (size_t)mine, sizeof *sent);
  int32_t* arrived = corpus_memory(&c, (size_t)total, sizeof *arrived);
  int* counts = corpus_memory(&c, (size_t)1 << log2_max, sizeof *counts);
  make_keys(key, first, mine, log2_max);

  uint64_t part = 0;
  int lost = 0;
  for (int step = 1; step <= c.steps; ++step) {
    // Two keys change: a small one near the beginning of the sequence, a large one behind it.
    const int small_place = step % total, large_place = (step + c.steps) % total;
    if (small_place >= first && small_place < first + mine) key[small_place - first] = step % (1 << log2_max);
    if (large_place >= first && large_place < first + mine)
      key[large_place - first] = (1 << log2_max) - 1 - step % (1 << log2_max);
    corpus_step(&c, step, (struct Values){key, (size_t)mine, kKeys, (size_t)mine / 2});

    int histogram[kBuckets] = {0}, all[kBuckets], first_bucket[kMostRanks + 1], owner[kBuckets];
    for (int i = 0; i < mine; ++i) ++histogram[bucket_of(key[i], shift)];
    MPI_Allreduce(histogram, all, kBuckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    share_out(all, total, c.ranks, first_bucket);
    struct Travel t;
    memset(&t, 0, sizeof t);
    for (int r = 0; r < c.ranks; ++r)
      for (int b = first_bucket[r]; b < first_bucket[r + 1]; ++b) {
        owner[b] = r;
        t.send[r] += histogram[b];
      }
    MPI_Alltoall(t.send, 1, MPI_INT, t.receive, 1, MPI_INT, MPI_COMM_WORLD);
    int here = t.receive[0];
    for (int r = 1; r < c.ranks; ++r) {
      t.send_at[r] = t.send_at[r - 1] + t.send[r - 1];
      t.receive_at[r] = t.receive_at[r - 1] + t.receive[r - 1];
      here += t.receive[r];
    }
    int fill[kMostRanks];
    memcpy(fill, t.send_at, sizeof fill);
    for (int i = 0; i < mine; ++i) sent[fill[owner[bucket_of(key[i], shift)]]++] = key[i];
    if (here > total) corpus_fail(&c, exit_wrong_result, "%d keys arrive of %d", here, total);
    MPI_Alltoallv(sent, t.send, t.send_at, MPI_INT32_T, arrived, t.receive, t.receive_at, MPI_INT32_T,
                  MPI_COMM_WORLD);

    // Counted here, placed behind all keys of the ranks before this one.
    const int low = first_bucket[c.rank] << shift, span = (first_bucket[c.rank + 1] << shift) - low;
    memset(counts, 0, (size_t)span * sizeof *counts);
    for (int i = 0; i < here; ++i) {
      const int at = arrived[i] - low;
      if (at < 0 || at >= span)
        lost = 1;
      else
        ++counts[at];
    }
    int64_t before = 0, own = here;
    MPI_Exscan(&own, &before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (c.rank == 0) before = 0;  // Exscan leaves it undefined there
    // Places p .. p + n - 1 have one key: it counts times the sum of its places.
    for (int at = 0; at < span; ++at) {
      const uint64_t n = (uint64_t)counts[at], p = (uint64_t)before;
      if (n == 0) continue;
      part += mixed((uint64_t)(low + at)) * (n * p + n * (n + 1) / 2) * (uint64_t)(2 * step + 1);
      before += (int64_t)n;
    }
  }
  const uint64_t digest = whole_digest(part);
  MPI_Allreduce(MPI_IN_PLACE, &lost, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return corpus_end(&c, digest, lost ? "keys came to a rank that has no place for them" : NULL);
}
