// SPDX-License-Identifier: Apache-2.0
// What tests of flushing share.  A node is a folder of its own.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ckpt/ckpt_test_parts.h"

namespace sickbay::ckpt::test {

inline constexpr std::uint64_t kRoom = 10 << 20;

/// Four processes, each on a node of its own: a folder.
class FlushTest : public testing::Test {
 protected:
  FlushTest() { four_.use_fast(kRoom); }

  void take(const std::string& text, const TakeWish& wish = {}) {
    four_.write_all(text);
    for (const auto& one : four_.all([&](std::int64_t rank) { return four_.take(rank, wish); }))
      ASSERT_TRUE(one) << one.error().line();
  }
  auto flush(const FlushWish& wish = {}) {
    return four_.all([&](std::int64_t rank) { return four_.flush(rank, wish); });
  }
  void flush_well(std::int64_t number, const FlushWish& wish = {}) {
    for (const auto& one : flush(wish)) {
      ASSERT_TRUE(one) << one.error().line();
      EXPECT_EQ(one->number, number);
    }
  }
  static auto back(const Processes& processes) {
    return processes.all([&](std::int64_t rank) { return processes.back(rank); });
  }
  void expect_back(const Processes& processes, std::int64_t number, const std::string& text) {
    four_.write_all("lost");
    for (const auto& one : back(processes)) {
      ASSERT_TRUE(one) << one.error().line();
      EXPECT_EQ(one->number, number);
    }
    for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(four_.state(rank), text + std::to_string(rank));
  }
  static std::vector<std::int64_t> numbers_in(const checkpoint::Store& store) {
    std::vector<std::int64_t> numbers;
    const auto listed = store.list();
    if (listed)
      for (const checkpoint::Listed& one : *listed) numbers.push_back(one.control ? one.number : -one.number);
    return numbers;
  }
  std::vector<std::int64_t> shared() { return numbers_in(four_.series(*files_).store); }
  std::vector<std::int64_t> noted() { return numbers_in(four_.series(*files_).noted); }
  std::set<std::string> packs_in(const std::string& folder) {
    std::set<std::string> packs;
    const auto names = files_->list(folder).value_or(std::vector<std::string>());
    for (const std::string& name : names)
      if (name.find(".pack") != std::string::npos) packs.insert(name);
    return packs;
  }
  static void flip(const std::string& path) {
    std::string bytes = read_text(path);
    ASSERT_GT(bytes.size(), 20U) << path;
    bytes[20] ^= 1;
    write_text(path, bytes);
  }

  checkpoint::test::TemporaryFolder folder_;
  std::unique_ptr<checkpoint::Files> files_ = checkpoint::make_posix_files();
  Processes four_{folder_.path(), 4, "17.0.1"};
};

}  // namespace sickbay::ckpt::test
