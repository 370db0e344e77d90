// SPDX-License-Identifier: Apache-2.0
// Parts of memory: they come back whole or not at all.
#include "checkpoint/memory.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "checkpoint/checkpoint_test_parts.h"
#include "checkpoint/store.h"
#include "checkpoint/workers.h"

namespace sickbay::checkpoint {
namespace {

using test::noise;
using test::read_text;
using test::TemporaryFolder;
using test::write_text;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    write_text(folder_ / "work/log", "a file beside it");
    const std::vector<ImageSource> images = {{3,
                                              {{memory_name(3, "grid"), "", grid_},
                                               {"log", folder_ / "work/log"},
                                               {memory_name(3, "step"), "", step_},
                                               {memory_name(3, "none"), "", ""}}}};
    saved_ = store_.save(1, images, {}).value();
    control_.number = 1;
    control_.job = 17;
    control_.images = saved_.images;
    EXPECT_TRUE(store_.publish(control_, kRank));
  }
  Result<std::uint64_t> restore(MemoryTarget& target, const std::function<Status()>& ready = {}) {
    return store_.restore(control_, kRank, folder_ / "back", 2, ready, &target);
  }
  MemoryTarget target(std::string& grid, std::string& step) {
    return {{{memory_name(3, "step"), step}, {memory_name(3, "grid"), grid}, {memory_name(3, "none"), {}}}};
  }

  const std::vector<std::int64_t> kRank = {3};
  const TemporaryFolder folder_;
  const std::unique_ptr<Files> files_ = make_posix_files();
  Store store_ = Store::open(*files_, folder_ / "store").value();
  // (More than one piece of 8 MiB.)
  std::string grid_ = noise(9 << 20, 1) + std::string(9 << 20, 'g'), step_ = "step 12";
  Saved saved_;
  Control control_;
};

TEST_F(MemoryTest, ComesBackToItsPlaceBesideFiles) {
  std::string grid(grid_.size(), '?'), step(step_.size(), '?');
  MemoryTarget to = target(grid, step);
  bool asked = false;
  const auto raw = restore(to, [&]() -> Status {
    asked = true;
    EXPECT_EQ(step, std::string(step_.size(), '?')) << "nothing is changed before all are ready";
    EXPECT_EQ(grid.find_first_not_of('?'), std::string::npos);
    EXPECT_FALSE(to.changed);
    return {};
  });
  ASSERT_TRUE(raw) << raw.error().line();
  EXPECT_TRUE(asked);
  EXPECT_EQ(*raw, grid_.size() + step_.size() + 16);
  EXPECT_TRUE(grid == grid_);
  EXPECT_EQ(step, step_);
  EXPECT_EQ(read_text(folder_ / "back/log"), "a file beside it");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "back/.sickbay-memory"));
}

TEST_F(MemoryTest, OtherPartsAreRefused) {
  std::string grid(grid_.size(), '?'), step(step_.size(), '?'), longer(step_.size() + 1, '?');
  const auto refused = [&](MemoryTarget to, const char* what) {
    const auto raw = restore(to);
    ASSERT_FALSE(raw) << what;
    EXPECT_EQ(raw.error().code, ErrorCode::conflict);
    EXPECT_NE(raw.error().what.find(what), std::string::npos) << raw.error().what;
    EXPECT_FALSE(to.changed);
    EXPECT_EQ(grid.find_first_not_of('?'), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "back/log"));
  };
  refused(target(grid, longer), "'step' has 8 bytes, and in the checkpoint 7");
  MemoryTarget few = target(grid, step), many = target(grid, step);
  few.parts.erase(few.parts.begin());
  refused(few, "it has a part of memory 'step'");
  many.parts.push_back({memory_name(3, "new"), step});
  refused(many, "it has no part of memory 'new'");
  refused({}, "it has a part of memory 'grid'");
}

TEST_F(MemoryTest, DamageChangesNothing) {
  const std::string pack = store_.folder() + "/" + pack_name(1, 3), whole = read_text(pack);
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 17) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    write_text(pack, bytes);
    std::string grid(grid_.size(), '?'), step(step_.size(), '?');
    MemoryTarget to = target(grid, step);
    const auto raw = restore(to, [&]() -> Status {
      ADD_FAILURE() << "found to be whole with a flipped bit at " << at;
      return {};
    });
    ASSERT_FALSE(raw) << at;
    EXPECT_EQ(raw.error().code, ErrorCode::bad_input);
    EXPECT_FALSE(to.changed);
    EXPECT_EQ(grid.find_first_not_of('?'), std::string::npos);
  }
}

// Damaged between the two readings: it is said that the memory is of no use.
TEST_F(MemoryTest, DamageOnTheWayIsSaidSo) {
  const std::string pack = store_.folder() + "/" + pack_name(1, 3);
  std::string grid(grid_.size(), '?'), step(step_.size(), '?');
  MemoryTarget to = target(grid, step);
  const auto raw = restore(to, [&]() -> Status {
    std::string bytes = read_text(pack);
    bytes[1 << 20] = static_cast<char>(bytes[1 << 20] ^ 1);
    write_text(pack, bytes);
    return {};
  });
  ASSERT_FALSE(raw);
  EXPECT_TRUE(to.changed);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "back/log")) << "files come after memory";
}

TEST_F(MemoryTest, WithoutATargetPartsAreFiles) {
  ASSERT_TRUE(store_.restore(control_, kRank, folder_ / "back"));
  EXPECT_EQ(read_text(folder_ / "back/.sickbay-memory/r3/step"), step_);
}

TEST(Workers, AnExceptionIsAnErrorAndSignalsAreTheProgramsOwn) {
  std::atomic<int> blocked = 0;
  const auto begin = std::this_thread::get_id();
  const auto done = for_each_task(
      200, 4, [] { return 0; },
      [&](int, std::size_t task) -> Status {
        sigset_t now;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
        if (std::this_thread::get_id() == begin ? ::sigismember(&now, SIGUSR1) == 1
                                                : ::sigismember(&now, SIGUSR1) == 0)
          ++blocked;
        if (task == 150) throw std::bad_alloc();
        return {};
      });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::os);
  EXPECT_EQ(blocked, 0) << "threads that are not as they should be";
}

}  // namespace
}  // namespace sickbay::checkpoint
