// SPDX-License-Identifier: Apache-2.0
// The store on real files.  What crashes and errors leave: store_crash_test.cc.
#include "checkpoint/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "checkpoint/checkpoint_test_parts.h"

namespace sickbay::checkpoint {
namespace {

using test::noise;
using test::read_text;
using test::TemporaryFolder;
using test::write_text;

class StoreTest : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::unique_ptr<Files> files_ = make_posix_files();
  const std::string state_ = folder_ / "work/state", grid_ = folder_ / "work/out/grid";
  const std::string target_ = folder_ / "back";
  Store store_ = Store::open(*files_, folder_ / "store/j17").value();

  std::vector<ImageSource> sources() const { return {{0, {{"state", state_}, {"out/grid", grid_}}}}; }

  Control control_of(std::int64_t number, std::vector<std::int64_t> ancestors, const Saved& saved) const {
    Control control;
    control.number = number;
    control.ancestors = std::move(ancestors);
    control.job = 17;
    control.uid = 1000;
    control.fewest_nodes = 1;
    control.most_nodes = 2;
    control.images = saved.images;
    return control;
  }

  Result<Saved> save(std::int64_t number, std::vector<std::int64_t> ancestors, int threads = 0) {
    SaveOptions options{.threads = threads};
    if (!ancestors.empty()) options.before = ancestors.front();
    auto saved = store_.save(number, sources(), options);
    if (!saved) return saved;
    const auto shown = store_.publish(control_of(number, std::move(ancestors), *saved), kRanks);
    if (!shown) return tl::unexpected<Error>(shown.error());
    return saved;
  }
  Result<Restored> restore(std::int64_t from = 0) { return resume(from, {17, 1000, 1, {}}, kRanks); }
  Result<Restored> resume(std::int64_t from, const Resumer& resumer, const std::vector<std::int64_t>& ranks) {
    return restore_newest({&store_, 1}, from, resumer, ranks, target_);
  }
  void flip(const std::string& name, std::size_t at) {
    std::string bytes = read_text(store_.folder() + "/" + name);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    write_text(store_.folder() + "/" + name, bytes);
  }

  const std::vector<std::int64_t> kRanks = {0};
};

TEST_F(StoreTest, GivesBackFilesWithTheirModes) {
  std::string state = noise(9 << 20, 1) + std::string(8 << 20, 's'), grid = noise(1000, 2);
  for (std::size_t at = 0; at < (9U << 20); at += 300'000)  // what can be made smaller among what cannot
    for (std::size_t i = at; i < at + 100'000; i += 2) state[i] = 'x';
  write_text(state_, state);
  write_text(grid_, grid);
  std::filesystem::permissions(grid_, std::filesystem::perms(0750));
  for (const int threads : {1, 2, 5}) {
    const auto number = store_.next_number().value();
    const auto saved = save(number, {}, threads);
    ASSERT_TRUE(saved) << saved.error().line();
    EXPECT_EQ(saved->raw, state.size() + grid.size());
    EXPECT_LT(saved->written, (9U << 20) + 20'000);  // zstd and equal chunks
    const auto restored = restore();
    ASSERT_TRUE(restored) << restored.error().line();
    EXPECT_EQ(restored->number, number);
    EXPECT_EQ(restored->notes, std::vector<std::string>());
    EXPECT_TRUE(read_text(target_ + "/state") == state);
    EXPECT_TRUE(read_text(target_ + "/out/grid") == grid);
    EXPECT_EQ(std::filesystem::status(target_ + "/out/grid").permissions(), std::filesystem::perms(0750));
    std::filesystem::remove_all(target_);
  }
  // However many threads: the same bytes.
  for (const char* other : {"/c2.r0.pack", "/c3.r0.pack"})
    EXPECT_TRUE(read_text(store_.folder() + "/c1.r0.pack") == read_text(store_.folder() + other));
}

TEST_F(StoreTest, TakesEmptyFilesAndProcessesWithNone) {
  write_text(state_, "");
  const std::vector<ImageSource> images = {{0, {{"state", state_}}}, {1, {}}};
  const auto saved = store_.save(1, images, {});
  ASSERT_TRUE(saved) << saved.error().line();
  const std::vector<std::int64_t> both = {0, 1};
  ASSERT_TRUE(store_.publish(control_of(1, {}, *saved), both));
  ASSERT_TRUE(resume(0, {17, 1000, 1, {}}, both));
  EXPECT_EQ(std::filesystem::file_size(target_ + "/state"), 0U);
}

TEST_F(StoreTest, WritesLittleWhereLittleChanged) {
  std::string state = noise(10 << 20, 3);
  write_text(state_, state);
  write_text(grid_, "grid");
  ASSERT_TRUE(save(1, {}));
  // 5 % of it in pieces of 256 KiB, and everything behind the middle moved by some bytes.
  for (std::size_t at = 0; at + (256 << 10) < state.size(); at += 5 << 20)
    state.replace(at, 256 << 10, noise(256 << 10, static_cast<unsigned>(at)));
  state.insert(state.size() / 2, "inserted");
  write_text(state_, state);
  const auto saved = save(2, {1});
  ASSERT_TRUE(saved) << saved.error().line();
  EXPECT_LT(saved->written, saved->raw / 10);
  ASSERT_TRUE(restore());
  EXPECT_TRUE(read_text(target_ + "/state") == state);

  // Nothing changed: next to nothing is written.
  const auto same = save(3, {2, 1});
  ASSERT_TRUE(same);
  EXPECT_LT(same->written, 2000U);
  ASSERT_TRUE(restore());
  EXPECT_TRUE(read_text(target_ + "/state") == state);
}

TEST_F(StoreTest, IsFullAgainAfterManyIncrementalOnes) {
  write_text(grid_, "grid");
  std::string state;
  std::vector<std::int64_t> ancestors;
  int full = 0;
  for (std::int64_t number = 1; number <= 40; ++number) {
    state += noise(70'000, static_cast<unsigned>(number));
    write_text(state_, state);
    const auto saved = save(number, ancestors);
    ASSERT_TRUE(saved) << saved.error().line();
    if (!saved->notes.empty()) ++full;
    ancestors.insert(ancestors.begin(), number);
  }
  EXPECT_EQ(full, 2);  // the 18th and the 35th
  ASSERT_TRUE(restore());
  EXPECT_TRUE(read_text(target_ + "/state") == state);
  ASSERT_TRUE(restore(17));
}

TEST_F(StoreTest, FallsBackSayingSo) {
  write_text(grid_, "grid");
  for (int i = 1; i <= 3; ++i) {
    write_text(state_, noise(200'000, static_cast<unsigned>(i)));
    ASSERT_TRUE(save(i, i == 1   ? std::vector<std::int64_t>{}
                        : i == 2 ? std::vector<std::int64_t>{1}
                                 : std::vector<std::int64_t>{2, 1}));
  }
  flip("c3.r0.pack", 100'000);
  auto restored = restore();
  ASSERT_TRUE(restored) << restored.error().line();
  EXPECT_EQ(restored->number, 2);
  ASSERT_EQ(restored->notes.size(), 2U);
  EXPECT_EQ(restored->notes[0].rfind(
                "checkpoint 3 in " + store_.folder() + ": the pack c3.r0.pack is damaged: chunk ", 0),
            0U)
      << restored->notes[0];
  EXPECT_EQ(restored->notes[1], "checkpoint 2 was taken instead");
  EXPECT_TRUE(read_text(target_ + "/state") == noise(200'000, 2));

  std::filesystem::remove(store_.folder() + "/c2.r0.pack");
  restored = restore();
  ASSERT_TRUE(restored) << restored.error().line();
  EXPECT_EQ(restored->number, 1);
  EXPECT_TRUE(read_text(target_ + "/state") == noise(200'000, 1));

  std::filesystem::resize_file(store_.folder() + "/c1.r0.pack", 5000);
  restored = restore();
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().what, "no checkpoint from 3 on backwards is whole");
  EXPECT_TRUE(read_text(target_ + "/state") == noise(200'000, 1)) << "a restore that fails changes nothing";
}

TEST_F(StoreTest, FallsBackAlongTheTreeNotAcrossIt) {
  write_text(grid_, "grid");
  // 1 - 2 - 3, and from 1 another way: 4.
  const std::vector<std::vector<std::int64_t>> ancestors = {{}, {1}, {2, 1}, {1}};
  for (int i = 0; i < 4; ++i) {
    write_text(state_, noise(100'000, static_cast<unsigned>(i + 1)));
    ASSERT_TRUE(save(i + 1, ancestors[static_cast<std::size_t>(i)]));
  }
  flip("c4.r0.pack", 50'000);
  const auto restored = restore();
  ASSERT_TRUE(restored) << restored.error().line();
  EXPECT_EQ(restored->number, 1);
  // Without its control file nobody knows what 4 went on from; on a line one does.
  flip("c4.json", 10);
  EXPECT_TRUE(restore()) << "1 - 2 - 3 alone is a line";
  EXPECT_EQ(restore()->number, 3);
  write_text(state_, noise(100'000, 5));
  ASSERT_TRUE(save(5, {1}));
  ASSERT_TRUE(save(6, {5, 1}));
  flip("c6.json", 10);
  const auto lost = restore();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::conflict);
  EXPECT_EQ(restore(5)->number, 5);
}

TEST_F(StoreTest, RefusesWhoMayNotGoOnFromIt) {
  write_text(state_, "s");
  write_text(grid_, "g");
  ASSERT_TRUE(save(1, {}));
  EXPECT_EQ(resume(0, {18, 1000, 1, {}}, kRanks).error().code, ErrorCode::conflict);
  EXPECT_EQ(resume(0, {17, 1001, 1, {}}, kRanks).error().code, ErrorCode::denied);
  EXPECT_EQ(resume(0, {17, 1000, 3, {}}, kRanks).error().code, ErrorCode::conflict);
  EXPECT_EQ(resume(2, {17, 1000, 1, {}}, kRanks).error().code, ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(target_));
}

TEST_F(StoreTest, IsNotWrittenOver) {
  write_text(state_, "s");
  write_text(grid_, "g");
  const auto saved = save(1, {});
  ASSERT_TRUE(saved);
  EXPECT_EQ(store_.save(1, sources(), {}).error().code, ErrorCode::already_exists);
  Control control = control_of(1, {}, *saved);
  EXPECT_TRUE(store_.publish(control, kRanks)) << "the same again";
  control.uid = 1001;
  EXPECT_EQ(store_.publish(control, kRanks).error().code, ErrorCode::already_exists);
  control.number = 2;
  control.images[0].pack = pack_name(2, 0);
  EXPECT_EQ(store_.publish(control, kRanks).error().code, ErrorCode::not_found);
}

TEST_F(StoreTest, OpensFewFilesAtATime) {
  // More processes and files than a process may have open.
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<ImageSource> images(150);
  std::vector<std::int64_t> ranks;
  std::vector<std::string> names;
  for (int i = 0; i < 600; ++i) names.push_back("r" + std::to_string(i % 150) + "/f" + std::to_string(i));
  for (std::size_t i = 0; i < names.size(); ++i) {
    ImageSource& image = images[i % 150];
    image.rank = static_cast<std::int64_t>(i % 150);
    image.files.push_back({.name = names[i], .path = "", .bytes = names[i], .mode = 0400});
    if (i < 150) ranks.push_back(image.rank);
  }
  const rlimit few{200, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto saved = store_.save(1, images, {});
  const auto shown = saved ? store_.publish(control_of(1, {}, *saved), ranks) : Status();
  const auto restored = resume(0, {17, 1000, 1, {}}, ranks);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_TRUE(saved) << saved.error().line();
  ASSERT_TRUE(shown) << shown.error().line();
  ASSERT_TRUE(restored) << restored.error().line();
  for (const std::string& name : names) EXPECT_EQ(read_text(target_ + "/" + name), name);
}

TEST_F(StoreTest, LetsOneWriteAtATime) {
  const auto first = store_.lock();
  ASSERT_TRUE(first) << first.error().line();
  auto other = Store::open(*files_, store_.folder());
  EXPECT_EQ(other->lock().error().code, ErrorCode::busy);
}

TEST_F(StoreTest, RefusesNamesThatLeaveTheFolderOrMeetTwice) {
  write_text(state_, "s");
  for (const char* name : {"../x", "/x", "", "a//b"}) {
    const std::vector<ImageSource> images = {{0, {{name, state_}}}};
    EXPECT_EQ(store_.save(1, images, {}).error().code, ErrorCode::bad_input) << name;
  }
  const std::vector<ImageSource> twice = {{0, {{"x", state_}, {"x", state_}}}};
  EXPECT_EQ(store_.save(1, twice, {}).error().code, ErrorCode::bad_input);
  const std::vector<ImageSource> missing = {{0, {{"x", folder_ / "none"}}}};
  EXPECT_EQ(store_.save(1, missing, {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(files_->list(store_.folder())->size(), 0U);
  // Of two processes, to one folder.
  const std::vector<ImageSource> both = {{0, {{"x", state_}}}, {1, {{"x", state_}}}};
  const auto saved = store_.save(1, both, {});
  ASSERT_TRUE(saved);
  const std::vector<std::int64_t> ranks = {0, 1};
  ASSERT_TRUE(store_.publish(control_of(1, {}, *saved), ranks));
  EXPECT_EQ(resume(0, {17, 1000, 1, {}}, ranks).error().code, ErrorCode::conflict);
}

TEST_F(StoreTest, IsIncrementalOnlyOnWhatIsWhole) {
  write_text(state_, noise(100'000, 1));
  write_text(grid_, "g");
  ASSERT_TRUE(save(1, {}));
  std::filesystem::resize_file(store_.folder() + "/c1.r0.pack", 5000);
  const auto saved = save(2, {1});
  ASSERT_TRUE(saved) << saved.error().line();
  ASSERT_EQ(saved->notes.size(), 1U);
  EXPECT_EQ(saved->notes[0].rfind("the image of rank 0 is full: the pack c1.r0.pack is damaged", 0), 0U);
  EXPECT_EQ(restore()->number, 2);
}

TEST_F(StoreTest, VerifiesEachPackOnce) {
  write_text(state_, noise(2'000'000, 1));
  write_text(grid_, "g");
  const auto first = save(1, {});
  ASSERT_TRUE(first);
  write_text(grid_, "changed");
  const auto second = save(2, {1});
  ASSERT_TRUE(second);
  std::map<std::string, Digest> sure;
  EXPECT_TRUE(store_.verify_pack(second->images[0], sure));
  EXPECT_EQ(sure.size(), 2U);
  flip("c1.r0.pack", 1'000'000);
  EXPECT_TRUE(store_.verify_pack(first->images[0], sure)) << "it was found right before";
  sure.clear();
  EXPECT_EQ(store_.verify_pack(second->images[0], sure).error().code, ErrorCode::bad_input);
  EXPECT_EQ(store_.verify_pack(first->images[0], sure).error().code, ErrorCode::bad_input);
}

TEST_F(StoreTest, RemovesWhatNoCheckpointNeeds) {
  write_text(grid_, "g");
  write_text(state_, noise(300'000, 1));
  ASSERT_TRUE(save(1, {}));
  write_text(state_, noise(300'000, 1) + "more");
  ASSERT_TRUE(save(2, {1}));
  write_text(state_, noise(300'000, 3));
  write_text(grid_, "h");  // (an unchanged chunk of it, however small, would need the whole pack)
  ASSERT_TRUE(save(3, {2, 1}));
  const auto there = [&](const char* name) { return std::filesystem::exists(store_.folder() + "/" + name); };
  const auto remove = [&](std::vector<std::int64_t> numbers) { return store_.remove(numbers); };
  ASSERT_EQ(remove({1}).value(), 0U) << "2 stands on its pack";
  EXPECT_TRUE(there("c1.r0.pack") && !there("c1.json"));
  EXPECT_EQ(restore(2)->number, 2);
  write_text(store_.folder() + "/c2.r5.pack.new", "left by a crash");
  ASSERT_GT(remove({2}).value(), 300'000U);
  EXPECT_FALSE(there("c1.r0.pack") || there("c2.r0.pack") || there("c2.r5.pack.new"));
  EXPECT_EQ(restore()->number, 3);
  ASSERT_TRUE(remove({3}));
  EXPECT_FALSE(there("c3.r0.pack"));
}

}  // namespace
}  // namespace sickbay::checkpoint
