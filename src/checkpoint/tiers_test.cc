// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tiers.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_test_parts.h"
#include "checkpoint/fault_files_test_parts.h"

namespace sickbay::checkpoint {
namespace {

using test::Crash;
using test::FaultFiles;
using test::noise;

const std::vector<std::int64_t> kOnly = {0};

Control tier_control(std::int64_t number, std::vector<std::int64_t> ancestors, std::vector<Image> images) {
  Control control;
  control.number = number;
  control.ancestors = std::move(ancestors);
  control.job = 17;
  control.images = std::move(images);
  return control;
}

Status save_to(Store& store, std::int64_t number, const std::string& content) {
  const std::vector<ImageSource> images = {{0, {{"state", "", content}}}};
  SaveOptions options{.threads = 1};
  std::vector<std::int64_t> ancestors;
  if (number > 1) options.before = number - 1;
  for (std::int64_t n = number - 1; n > 0; --n) ancestors.push_back(n);
  auto saved = store.save(number, images, options);
  if (!saved) return tl::unexpected<Error>(saved.error());
  return store.publish(tier_control(number, ancestors, saved->images), kOnly);
}

std::string content_of(int number) { return noise(100'000, 1) + noise(1000, static_cast<unsigned>(number)); }

// What is restored from `stores`: its number, and that its content is right.
std::int64_t restored_from(Files& files, std::vector<Store> stores) {
  const auto restored = restore_newest(stores, 0, {17, 0, 1, {}}, kOnly, "t", 1);
  if (!restored) return 0;
  EXPECT_TRUE(read_whole(files, "t/state", 1 << 20).value() ==
              content_of(static_cast<int>(restored->number)));
  return restored->number;
}

TEST(Tiers, FallToTheLocalDiskWhereMemoryIsFull) {
  FaultFiles files;
  Tiers tiers{files, Store::open(files, "memory").value(), 250'000, Store::open(files, "local").value()};
  const auto save = [&](const std::string& content) {
    const auto number = tiers.next_number().value();
    const std::vector<ImageSource> images = {{0, {{"state", "", content}}}};
    const auto where = tiers.save(number, images, {});
    EXPECT_TRUE(where) << where.error().line();
    Store& store = where->in_memory ? tiers.memory : tiers.local;
    std::vector<std::int64_t> ancestors;
    for (std::int64_t n = number - 1; n > 0; --n) ancestors.push_back(n);
    EXPECT_TRUE(store.publish(tier_control(number, ancestors, where->saved.images), kOnly));
    return std::pair(where->in_memory, where->saved.notes);
  };
  EXPECT_TRUE(save(content_of(1)).first);
  EXPECT_TRUE(save(content_of(2)).first);
  const auto [in_memory, notes] = save(content_of(3));
  EXPECT_FALSE(in_memory);
  EXPECT_EQ(notes,
            std::vector<std::string>{"checkpoint 3 is on the local disk: 244 KiB of memory are not enough"});
  EXPECT_LE(bytes_in(files, tiers.memory).value(), 250'000U);
  EXPECT_EQ(restored_from(files, {tiers.memory, tiers.local}), 3);
  // The node starts anew: its memory is lost, and nothing on the disk stood on it.
  EXPECT_EQ(restored_from(files, {tiers.local}), 3);
  EXPECT_EQ(restored_from(files, {tiers.memory}), 2);
}

TEST(Copy, TakesWhatACheckpointStandsOnAndNothingTwice) {
  FaultFiles files;
  Store from = Store::open(files, "own").value(), to = Store::open(files, "partner").value();
  for (int n = 1; n <= 3; ++n) ASSERT_TRUE(save_to(from, n, content_of(n)));
  const auto copy = [&](std::int64_t n) {
    return copy_checkpoint(files, from, to, from.read_control(n).value(), kOnly);
  };
  EXPECT_GT(copy(2).value(), 100'000U);
  EXPECT_LT(copy(3).value(), 20'000U);
  EXPECT_EQ(copy(3).value(), 0U);
  EXPECT_EQ(restored_from(files, {to}), 3);
  EXPECT_EQ(to.list()->size(), 2U);
}

TEST(Copy, OfWhatIsDamagedLeavesNothing) {
  FaultFiles files;
  Store from = Store::open(files, "own").value(), to = Store::open(files, "partner").value();
  ASSERT_TRUE(save_to(from, 1, content_of(1)));
  std::string bytes = files.all().at("own/c1.r0.pack");
  bytes[50'000] = static_cast<char>(bytes[50'000] ^ 1);
  files.put("own/c1.r0.pack", bytes);
  const auto copied = copy_checkpoint(files, from, to, from.read_control(1).value(), kOnly);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::bad_input);
  EXPECT_TRUE(files.list("partner")->empty());
}

TEST(Copy, ThatTheNodeDidNotOutliveIsNoCheckpoint) {
  // The node is lost at any call of the copying, and with it all that it had: the partner has 1 whole, or 2
  // whole.
  for (const Crash how : {Crash::loses_all, Crash::keeps_all, Crash::tears}) {
    bool old = false, young = false;
    for (int call = 0;; ++call) {
      FaultFiles files;
      Store from = Store::open(files, "own").value(), to = Store::open(files, "partner").value();
      ASSERT_TRUE(save_to(from, 1, content_of(1)));
      ASSERT_TRUE(copy_checkpoint(files, from, to, from.read_control(1).value(), kOnly));
      ASSERT_TRUE(save_to(from, 2, content_of(2)));
      files.dies_at = files.calls + call;
      const bool done =
          static_cast<bool>(copy_checkpoint(files, from, to, from.read_control(2).value(), kOnly));
      files.crash(how);
      const std::int64_t number = restored_from(files, {to});
      ASSERT_GE(number, done ? 2 : 1) << call;
      (number == 2 ? young : old) = true;
      if (done) break;
    }
    EXPECT_TRUE(old && young);
  }
}

}  // namespace
}  // namespace sickbay::checkpoint
