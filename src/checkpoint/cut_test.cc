// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/cut.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_test_parts.h"

namespace sickbay::checkpoint {
namespace {

using test::noise;

// The chunks of `bytes` that come in pieces of `piece` bytes.
std::vector<std::string> chunks_of(std::string_view bytes, std::size_t piece, CutSizes sizes = {}) {
  Cutter cutter(sizes);
  std::vector<std::string> chunks;
  std::string open;
  while (!bytes.empty()) {
    std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    while (!next.empty()) {
      const auto cut = cutter.find(next);
      open += next.substr(0, cut.value_or(next.size()));
      next.remove_prefix(cut.value_or(next.size()));
      if (cut) chunks.push_back(std::move(open));
      if (cut) open.clear();
    }
  }
  if (!open.empty()) chunks.push_back(std::move(open));
  return chunks;
}

std::string joined(const std::vector<std::string>& chunks) {
  std::string whole;
  for (const std::string& chunk : chunks) whole += chunk;
  return whole;
}

TEST(Cut, GivesTheSameChunksHoweverTheBytesCome) {
  for (const std::string& bytes : {noise(1 << 20, 1), std::string(300'000, '\0'),
                                   noise(70'000, 2) + std::string(200'000, 'x') + noise(70'000, 3)}) {
    const std::vector<std::string> whole = chunks_of(bytes, bytes.size());
    EXPECT_EQ(joined(whole), bytes);
    for (const std::size_t piece : {1, 63, 4095, 4096, 4097, 65'536, 100'001})
      EXPECT_EQ(chunks_of(bytes, piece), whole) << piece;
  }
}

TEST(Cut, KeepsItsBounds) {
  struct Row {
    CutSizes sizes;
    std::string bytes;
  };
  for (const Row& row : {Row{{}, noise(1 << 20, 4)}, Row{{}, std::string(1 << 20, 'a')},
                         Row{{64, 1024, 1024}, noise(1 << 18, 5)}, Row{{2048, 2048, 4096}, noise(1 << 18, 6)},
                         Row{{1024, 1024, 1024}, noise(10'000, 7)}}) {
    const std::vector<std::string> chunks = chunks_of(row.bytes, 10'000, row.sizes);
    EXPECT_EQ(joined(chunks), row.bytes);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      EXPECT_LE(chunks[i].size(), row.sizes.most);
      if (i + 1 < chunks.size()) {
        EXPECT_GE(chunks[i].size(), row.sizes.least);
      }
    }
  }
}

TEST(Cut, GivesChunksNearTheWishedForSize) {
  const std::size_t count = chunks_of(noise(4 << 20, 8), 1 << 20).size();
  EXPECT_GT(count, std::size_t{4 << 20} / (24 << 10));
  EXPECT_LT(count, std::size_t{4 << 20} / (12 << 10));
}

TEST(Cut, ChangesFewChunksAroundAChange) {
  const std::string before = noise(4 << 20, 9);
  const std::size_t middle = before.size() / 2;
  struct Row {
    const char* what;
    std::string after;
  };
  std::string flipped = before;
  flipped[middle] = static_cast<char>(flipped[middle] ^ 1);
  for (const Row& row : {Row{"inserted", std::string(before).insert(middle, "some new bytes")},
                         Row{"erased", std::string(before).erase(middle, 1000)}, Row{"flipped", flipped},
                         Row{"put in front", "x" + before}, Row{"appended", before + "x"}}) {
    const std::vector<std::string> old_list = chunks_of(before, before.size());
    const std::set<std::string> old(old_list.begin(), old_list.end());
    int changed = 0;
    for (const std::string& chunk : chunks_of(row.after, row.after.size())) changed += !old.contains(chunk);
    EXPECT_GE(changed, 1) << row.what;
    EXPECT_LE(changed, 5) << row.what;
  }
}

TEST(Cut, FallsWhereItAlwaysFell) {
  // The chunks of older checkpoints are found again only as long as this does not change.
  const std::vector<std::string> chunks = chunks_of(noise(200'000, 10), 200'000);
  std::vector<std::size_t> sizes;
  for (const std::string& chunk : chunks) sizes.push_back(chunk.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{18583, 23002, 20008, 20055, 19137, 13710, 28147, 8364, 16547,
                                             18987, 13460}));
}

}  // namespace
}  // namespace sickbay::checkpoint
