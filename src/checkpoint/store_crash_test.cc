// SPDX-License-Identifier: Apache-2.0
// A crash, an error, a full disk at every single call: what is restored is the old content or the new one,
// whole.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_test_parts.h"
#include "checkpoint/fault_files_test_parts.h"
#include "checkpoint/store.h"

namespace sickbay::checkpoint {
namespace {

using test::Crash;
using test::FaultFiles;

constexpr JobId kJob = 17;

// Two processes, one with two files.
struct Content {
  std::string a, b, c;
  friend bool operator==(const Content&, const Content&) = default;
};
Content old_content() { return {test::noise(90'000, 1), std::string(40'000, 'b'), test::noise(50'000, 2)}; }
Content new_content() {
  Content content = old_content();
  content.a.insert(45'000, "what is new");
  content.b.resize(30'000);
  content.c = test::noise(20'000, 3);
  return content;
}
Content newest_content() {
  Content content = new_content();
  content.a.erase(10'000, 10);
  content.c += "more";
  return content;
}

Control control_of(std::int64_t number, std::vector<std::int64_t> ancestors, std::vector<Image> images) {
  Control control;
  control.number = number;
  control.ancestors = std::move(ancestors);
  control.job = kJob;
  control.images = std::move(images);
  return control;
}

Status save(Files& files, std::int64_t number, std::vector<std::int64_t> ancestors, const Content& content) {
  auto store = Store::open(files, "s");
  if (!store) return tl::unexpected<Error>(store.error());
  const std::vector<ImageSource> images = {{0, {{"a", "", content.a}, {"b/b", "", content.b}}},
                                           {1, {{"c", "", content.c}}}};
  SaveOptions options{.threads = 1};
  if (!ancestors.empty()) options.before = ancestors.front();
  auto saved = store->save(number, images, options);
  if (!saved) return tl::unexpected<Error>(saved.error());
  return store->publish(control_of(number, std::move(ancestors), saved->images),
                        std::vector<std::int64_t>{0, 1});
}

struct Found {
  std::int64_t number;
  Content content;
};
Result<Found> restore(Files& files, std::int64_t from = 0) {
  const auto store = Store::open(files, "s");
  if (!store) return tl::unexpected<Error>(store.error());
  const auto restored =
      restore_newest({&*store, 1}, from, {kJob, 0, 1, {}}, std::vector<std::int64_t>{0, 1}, "t", 1);
  if (!restored) return tl::unexpected<Error>(restored.error());
  const auto text = [&](const char* name) {
    return read_whole(files, std::string("t/") + name, 1 << 20).value_or("?");
  };
  return Found{restored->number, {text("a"), text("b/b"), text("c")}};
}

// Restores, and sees that it is one of the checkpoints that there were, the latest that may be expected.
void expect_whole(Files& files, const std::vector<Content>& contents, std::int64_t at_least,
                  const std::string& where) {
  const auto found = restore(files);
  ASSERT_TRUE(found) << where << ": " << found.error().line();
  ASSERT_LE(static_cast<std::size_t>(found->number), contents.size()) << where;
  EXPECT_GE(found->number, at_least) << where;
  EXPECT_TRUE(found->content == contents[static_cast<std::size_t>(found->number) - 1]) << where;
}

const std::vector<Content>& contents() {
  static const std::vector<Content> all = {old_content(), new_content(), newest_content()};
  return all;
}

constexpr Crash kCrashes[] = {Crash::loses_all, Crash::keeps_all, Crash::tears};

TEST(StoreCrash, AtAnyCallOfASaveLeavesTheOldOrTheNew) {
  for (const Crash how : kCrashes) {
    int begun = 0, ended = 0;
    {
      FaultFiles files;
      ASSERT_TRUE(save(files, 1, {}, contents()[0]));
      begun = files.calls;
      ASSERT_TRUE(save(files, 2, {1}, contents()[1]));
      ended = files.calls;
    }
    ASSERT_GT(ended - begun, 10);
    bool old = false, young = false;
    for (int call = begun; call <= ended; ++call) {
      FaultFiles files;
      ASSERT_TRUE(save(files, 1, {}, contents()[0]));
      files.dies_at = call;
      const bool said = static_cast<bool>(save(files, 2, {1}, contents()[1]));
      EXPECT_EQ(said, call == ended);
      files.crash(how);
      const std::string where = "call " + std::to_string(call - begun);
      expect_whole(files, contents(), said ? 2 : 1, where);
      const auto found = restore(files);
      (found && found->number == 2 ? young : old) = true;
      // What the crash left disturbs nobody: the next checkpoint is taken and is the newest.
      const auto next = Store::open(files, "s")->next_number();
      ASSERT_TRUE(next);
      ASSERT_TRUE(save(files, *next, {found->number}, contents()[2])) << where;
      const auto again = restore(files);
      ASSERT_TRUE(again) << where;
      EXPECT_EQ(again->number, *next);
      EXPECT_TRUE(again->content == contents()[2]) << where;
    }
    EXPECT_TRUE(old && young);
  }
}

TEST(StoreCrash, AtAnyCallOfARemovalKeepsWhatShouldStay) {
  const auto three = [](FaultFiles& files) {
    return save(files, 1, {}, contents()[0]) && save(files, 2, {1}, contents()[1]) &&
           save(files, 3, {2, 1}, contents()[2]);
  };
  const std::vector<std::int64_t> first_two = {1, 2};
  for (const Crash how : kCrashes) {
    for (int call = 0;; ++call) {
      FaultFiles files;
      ASSERT_TRUE(three(files));
      files.dies_at = files.calls + call;
      const bool done = static_cast<bool>(Store::open(files, "s")->remove(first_two));
      files.crash(how);
      expect_whole(files, contents(), 3, "call " + std::to_string(call));
      // Those that are still listed are whole, too.
      const auto all = Store::open(files, "s")->list();
      ASSERT_TRUE(all);
      for (const Listed& one : *all) {
        const auto found = restore(files, one.number);
        ASSERT_TRUE(found) << found.error().line();
        EXPECT_EQ(found->number, one.number);
      }
      if (done) break;
    }
  }
}

TEST(StoreCrash, AtAnyCallOfARestoreIsMendedByDoingItAgain) {
  for (int call = 0;; ++call) {
    FaultFiles files;
    ASSERT_TRUE(save(files, 1, {}, contents()[0]));
    files.dies_at = files.calls + call;
    const bool done = static_cast<bool>(restore(files));
    files.crash(Crash::tears);
    expect_whole(files, contents(), 1, "call " + std::to_string(call));
    if (done) break;
  }
}

TEST(StoreFaults, AnErrorAtAnyCallLeavesTheOldOrTheNew) {
  for (int call = 0;; ++call) {
    FaultFiles files;
    ASSERT_TRUE(save(files, 1, {}, contents()[0]));
    files.fails_at = files.calls + call;
    const bool reached_end = static_cast<bool>(save(files, 2, {1}, contents()[1]));
    const bool was_hit = files.calls > files.fails_at;
    files.fails_at = -1;
    expect_whole(files, contents(), reached_end ? 2 : 1, "call " + std::to_string(call));
    if (!was_hit) break;
  }
}

TEST(StoreFaults, AFullDiskTakesNothingAndLeavesNothingBehind) {
  FaultFiles measured;
  ASSERT_TRUE(save(measured, 1, {}, contents()[0]));
  std::uint64_t full = 0;
  for (const auto& [name, bytes] : measured.all()) full += bytes.size();
  for (std::uint64_t more = 0; more < 60'000; more += 1'500) {
    FaultFiles files;
    ASSERT_TRUE(save(files, 1, {}, contents()[0]));
    const auto before = files.all();
    files.room = full + more;
    const Status saved = save(files, 2, {1}, contents()[1]);
    if (!saved) {
      EXPECT_EQ(saved.error().code, ErrorCode::storage_full);
      for (const auto& [name, bytes] : files.all())
        EXPECT_TRUE(before.contains(name) || name.ends_with(".r0.pack") || name.ends_with(".r1.pack"))
            << name;
    }
    files.room = ~std::uint64_t{0};
    expect_whole(files, contents(), saved ? 2 : 1, "room for " + std::to_string(more));
  }
}

TEST(StoreFaults, EveryTenthWriteCutOffIsNeverAWrongRestore) {
  for (int every = 1; every <= 10; ++every) {
    FaultFiles files;
    ASSERT_TRUE(save(files, 1, {}, contents()[0]));
    files.every_fails = every;
    std::int64_t last = 1;
    for (int attempt = 0; attempt < 20; ++attempt) {
      const auto next = Store::open(files, "s")->next_number();
      ASSERT_TRUE(next);
      if (save(files, *next, {last}, contents()[static_cast<std::size_t>(attempt) % 3])) last = *next;
      const auto found = restore(files);
      if (found) {
        EXPECT_EQ(found->number, last);
        EXPECT_NE(std::find(contents().begin(), contents().end(), found->content), contents().end());
      }
    }
    files.every_fails = 0;
    const auto found = restore(files);
    ASSERT_TRUE(found) << found.error().line();
    EXPECT_EQ(found->number, last);
  }
}

TEST(StoreFaults, NoFlippedByteAndNoMissingFileIsAWrongRestore) {
  FaultFiles right;
  ASSERT_TRUE(save(right, 1, {}, contents()[0]));
  ASSERT_TRUE(save(right, 2, {1}, contents()[1]));
  const auto all = right.all();
  for (const auto& [name, bytes] : all) {
    for (std::size_t at = 0; at < bytes.size() + 1; at += 997) {
      FaultFiles files;
      for (const auto& [other, content] : all)
        if (other != name) files.put(other, content);
      std::string changed = bytes;
      if (at < bytes.size())
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
      else
        changed.resize(bytes.size() / 2);                               // the last: cut short
      if (at > 0 || name.ends_with(".json")) files.put(name, changed);  // the first: the file is missing
      const auto found = restore(files);
      if (!found) {
        EXPECT_EQ(found.error().code, ErrorCode::bad_input) << found.error().line();
        continue;
      }
      EXPECT_TRUE(found->content == contents()[static_cast<std::size_t>(found->number) - 1])
          << name << " " << at;
    }
  }
}

}  // namespace
}  // namespace sickbay::checkpoint
