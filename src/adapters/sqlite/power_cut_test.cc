// SPDX-License-Identifier: Apache-2.0
// The journal on a disk that loses what was not synced: cut at every sync of a random workload.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/power_cut_vfs.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using sqlite::PowerCutVfs;

const std::int64_t kStart = 1'790'000'000'000'000;  // in 2026

struct Outcome {
  std::vector<std::string> acknowledged;  // the texts, by seq
  std::vector<std::string> last_try;      // of the append that failed: all or none of it may be there
};

// The same appends for the same seed.  Large bodies now and then, so that the WAL is checkpointed too.
Outcome work(Journal& journal, std::uint32_t seed, std::size_t large) {
  std::mt19937 random(seed);
  Outcome outcome;
  for (int i = 0; i < 40; ++i) {
    std::vector<Event> events;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      Event e;
      e.at = from_micros(kStart + i);
      e.subject = "c" + std::to_string(random() % 5);
      e.kind = random() % 2 ? "intent" : "done";
      e.body = Json::object({{"n", i}, {"text", std::string(random() % 5 ? random() % 200 : large, 'x')}});
      events.push_back(e);
    }
    if (journal.append(events)) {
      for (const Event& e : events) outcome.acknowledged.push_back(e.text());
      continue;
    }
    std::int64_t seq = journal.last_seq();
    for (Event& e : events) {
      e.seq = ++seq;
      outcome.last_try.push_back(e.text());
    }
    break;
  }
  return outcome;
}

class PowerCutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sickbay-cut-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/journal.db";
  }
  void TearDown() override { fs::remove_all(folder_); }
  void clear() {
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry);
  }
  static std::vector<std::string> dump(Journal& journal) {
    std::vector<std::string> lines;
    const auto all = dump_journal(journal, [&](const std::string& line) { lines.push_back(line); });
    EXPECT_TRUE(all) << all.error().line();
    return lines;
  }
  std::string folder_, path_;
};

TEST_F(PowerCutTest, KeepsEveryAcknowledgedAppend) {
  int cuts = 0;
  for (int at = 1;; ++at) {
    clear();
    PowerCutVfs disk;
    disk.cut_at_sync(at, static_cast<std::uint32_t>(at));
    Outcome outcome;
    if (auto journal = open_journal(path_))
      outcome = work(**journal, static_cast<std::uint32_t>(at % 3), 120'000);
    if (!disk.is_cut()) break;  // past the last sync
    ++cuts;
    disk.settle();
    auto journal = open_journal(path_);
    ASSERT_TRUE(journal) << "cut " << at << ": " << journal.error().line();
    auto lines = dump(**journal);
    auto expected = outcome.acknowledged;
    if (lines.size() > expected.size())
      expected.insert(expected.end(), outcome.last_try.begin(), outcome.last_try.end());
    ASSERT_EQ(lines, expected) << "cut " << at;
    std::vector<Event> next(1);
    next[0].at = from_micros(kStart + 1000);
    next[0].subject = "c1";
    next[0].kind = "done";
    ASSERT_TRUE((*journal)->append(next)) << "cut " << at;
    EXPECT_EQ(next[0].seq, static_cast<std::int64_t>(expected.size()) + 1);
  }
  EXPECT_GT(cuts, 40);
}

TEST_F(PowerCutTest, CompactionLosesNothingAndIsFinishedByTheNext) {
  int cuts = 0;
  for (int at = 1;; ++at) {
    clear();
    PowerCutVfs disk;
    Outcome outcome;
    {
      auto journal = open_journal(path_);
      ASSERT_TRUE(journal);
      outcome = work(**journal, 7, 10'000);
      ASSERT_TRUE(outcome.last_try.empty());
      disk.cut_at_sync(at, static_cast<std::uint32_t>(at));
      (void)(*journal)->compact(from_micros(kStart + 100), {"c0", "c1", "c3"});
    }
    const bool cut = disk.is_cut();
    if (cut) {
      ++cuts;
      disk.settle();
    }
    auto journal = open_journal(path_);
    ASSERT_TRUE(journal) << "cut " << at << ": " << journal.error().line();
    const auto kept_seq = (*journal)->last_seq();
    const auto repeated = (*journal)->compact(from_micros(kStart + 100), {"c0", "c1", "c3"});
    ASSERT_TRUE(repeated) << "cut " << at << ": " << repeated.error().line();
    EXPECT_EQ((*journal)->last_seq(), kept_seq);
    EXPECT_EQ((*journal)->last_seq(), static_cast<std::int64_t>(outcome.acknowledged.size()));
    // What stayed and what was archived are together what was appended, each once.
    auto archive = open_journal_reader(folder_ + "/journal-2026.db");
    ASSERT_TRUE(archive) << "cut " << at << ": " << archive.error().line();
    auto lines = dump(**archive);
    int summaries = 0;
    for (const std::string& line : dump(**journal))
      if (line.find("\"kind\":\"archived\"") == std::string::npos)
        lines.push_back(line);
      else
        ++summaries;
    EXPECT_EQ(summaries, 3);
    auto expected = outcome.acknowledged;
    std::sort(lines.begin(), lines.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(lines, expected) << "cut " << at;
    if (!cut) break;
  }
  EXPECT_GT(cuts, 10);
}

}  // namespace
}  // namespace sickbay
