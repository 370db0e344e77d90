// SPDX-License-Identifier: Apache-2.0
// One wrong bit anywhere in the file, and rows that are gone: nothing of it is ever replayed, all of it is
// told, and what is whole is kept.
#include "adapters/sqlite/check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "adapters/sqlite/backup.h"
#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/salvage.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kYear2026 = 1'790'000'000'000'000;

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class JournalDamage : public ::testing::Test {
 protected:
  // c1 and c2 live, c9 archived, of n1 what is seen: 61 events in two of 16 pages of 4 KiB.
  void SetUp() override {
    // In memory where that can be had: some thousand files are written, and what a disk does is others' test.
    const fs::path place = fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    std::string pattern = (place / "sickbay-check-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/journal.db";
    auto journal = open_journal(path_).value();
    std::vector<Event> events;
    for (int i = 0; i < 20; ++i) {
      if (i < 5) events.push_back(event("c9", "job_seen", i));
      events.push_back(event("c1", "verdict", i));
      events.push_back(event("node:n1", "agent_seen", i));
      if (i < 16) events.push_back(event("c2", "job_seen", i));
    }
    ASSERT_TRUE(journal->append(events));
    ASSERT_EQ(journal->compact(from_micros(kYear2026 + 1'000'000), {"c9"}).value().events, 5);
    journal.reset();
    whole_ = bytes_of(path_);
    ASSERT_FALSE(fs::exists(path_ + "-wal"));
    lines_ = dump(path_).value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Event event(const std::string& subject, const std::string& kind, int n) {
    Event e;
    e.at = from_micros(kYear2026 + n);
    e.subject = subject;
    e.kind = kind;
    e.body = Json::object({{"n", n}, {"text", std::string(100, 'x')}});
    return e;
  }
  static Result<std::vector<std::string>> dump(const std::string& path) {
    std::vector<std::string> lines;
    auto journal = open_journal_reader(path);
    if (!journal) return fail(journal.error());
    auto all = dump_journal(**journal, [&](const std::string& line) { lines.push_back(line); });
    if (!all) return fail(all.error());
    return lines;
  }
  void sql(const std::string& text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  Result<Salvage> salvaged() {
    for (const char* name : {"/new.db", "/new.db-wal", "/new.db-shm", "/new-rest.db"})
      fs::remove(folder_ + name);
    return salvage_journal(path_, folder_ + "/new.db");
  }
  static std::vector<std::string> told(const std::vector<JournalCheck::Lost>& lost) {
    std::vector<std::string> all;
    for (const auto& one : lost)
      all.push_back(fmt::format("{}-{} {} {}", one.first, one.last, one.subject, one.why));
    return all;
  }

  std::string folder_, path_, whole_;
  std::vector<std::string> lines_;
};

TEST_F(JournalDamage, AWholeOneIsWhole) {
  const auto check = check_journal(path_).value();
  EXPECT_TRUE(check.is_whole()) << testing::PrintToString(told(check.lost))
                                << testing::PrintToString(check.trouble);
  EXPECT_EQ(check.events, 57) << "56, and one for c9";
  EXPECT_THAT(check.archives, ElementsAre("journal-2026.db"));
  const auto salvage = salvaged().value();
  EXPECT_EQ(salvage.kept, 57);
  EXPECT_THAT(salvage.given_up, IsEmpty());
  EXPECT_EQ(dump(folder_ + "/new.db").value(), lines_);
  EXPECT_EQ(salvage_journal(path_, folder_ + "/new.db").error().code, ErrorCode::conflict);
}

// Wherever it falls: either nothing of what the journal says is different, or it is refused.
TEST_F(JournalDamage, OneWrongBitAnywhereIsNeverReplayed) {
  int refused = 0, unseen = 0, lost_more = 0;
  for (std::size_t at = 0; at < whole_.size(); at += 17) {
    std::string bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    write(path_, bytes);
    const auto lines = dump(path_);
    if (lines) {
      ASSERT_EQ(*lines, lines_) << "byte " << at;
      ++unseen;
      continue;
    }
    ++refused;
    ASSERT_THAT(lines.error().code, testing::AnyOf(ErrorCode::storage_broken, ErrorCode::too_new)) << at;
    const auto check = check_journal(path_);
    if (!check) continue;  // not even its first page can be read
    ASSERT_FALSE(check->is_whole()) << "byte " << at << ": " << lines.error().line();
    const auto salvage = salvaged();
    ASSERT_TRUE(salvage) << "byte " << at << ": " << salvage.error().line();
    const auto kept = dump(folder_ + "/new.db");
    ASSERT_TRUE(kept) << "byte " << at << ": " << kept.error().line();
    // What is kept is what was, and besides only what stands for a subject that was given up.
    const std::set<std::string> before(lines_.begin(), lines_.end());
    for (const std::string& line : *kept)
      ASSERT_TRUE(before.contains(line) || line.find(R"("kind":"archived")") != line.npos) << line;
    lost_more += kept->size() + 25 < lines_.size();
  }
  // Most bytes of so small a file are unused, or of the index.
  EXPECT_GT(refused, 300);
  EXPECT_GT(unseen, 100);
  EXPECT_LT(lost_more, refused / 4) << "a page of the table has up to 25 rows";
}

TEST_F(JournalDamage, AWrongBitInABodyIsTold) {
  int found = 0;
  for (std::size_t at = whole_.find("xxxx"); at != std::string::npos; at = whole_.find("xxxx", at + 200)) {
    std::string bytes = whole_;
    bytes[at] = 'y';  // JSON as good as any: SQLite's own check sees nothing
    write(path_, bytes);
    const auto lines = dump(path_);
    ASSERT_FALSE(lines) << at;
    EXPECT_THAT(lines.error().line(), HasSubstr("is damaged"));
    EXPECT_THAT(std::string(lines.error().remedy()), HasSubstr("--salvage"));
    const auto check = check_journal(path_).value();
    ASSERT_EQ(check.lost.size(), 1U);
    EXPECT_NE(check.lost[0].subject, "");
    EXPECT_THAT(check.trouble, IsEmpty());
    ++found;
  }
  EXPECT_GT(found, 20);
}

TEST_F(JournalDamage, RowsThatAreGoneAreTold) {
  sql("DELETE FROM event WHERE seq IN (20, 21, 40)");
  const auto lines = dump(path_);
  ASSERT_FALSE(lines);
  EXPECT_THAT(lines.error().line(), HasSubstr("3 of the 57 events of"));
  EXPECT_THAT(told(check_journal(path_).value().lost), ElementsAre("20-21  gone", "40-40  gone"))
      << "and not those in the archive";
  // A writer that opens it before anybody has looked refuses as well.
  EXPECT_FALSE(open_journal(path_).value()->read(0, [](const Event&) { return true; }));
}

TEST_F(JournalDamage, TheLastRowsThatAreGoneAreTold) {
  sql("DELETE FROM event WHERE seq > 58");
  EXPECT_FALSE(dump(path_));
  EXPECT_THAT(check_journal(path_).value().trouble, ElementsAre(HasSubstr("it says that it has 57")));
}

TEST_F(JournalDamage, AnEventOfAnotherTimeInItsPlaceIsTold) {
  // Both rows have good sums of their own: only the balance knows.
  sql("UPDATE event SET sum = sum + 1 WHERE seq = 10; UPDATE event SET sum = sum - 1 WHERE seq = 11");
  EXPECT_EQ(check_journal(path_).value().lost.size(), 2U);
}

TEST_F(JournalDamage, ACaseThatLostAnEventIsGivenUpWhole) {
  sql("UPDATE event SET body = '{}' WHERE subject = 'c2' AND seq = 29 OR subject = 'node:n1' AND seq = 28");
  std::vector<std::string> theirs, others;
  for (const std::string& line : lines_)
    if (line.find(R"("subject":"c2")") != line.npos)
      theirs.push_back(line);
    else if (line.find(R"("seq":28,)") == line.npos)
      others.push_back(line);
  const auto salvage = salvaged().value();
  ASSERT_EQ(salvage.found.lost.size(), 2U) << testing::PrintToString(told(salvage.found.lost));
  EXPECT_THAT(salvage.given_up, ElementsAre("c2"));
  auto kept = dump(folder_ + "/new.db").value();
  const auto stub = std::find_if(kept.begin(), kept.end(), [](const std::string& line) {
    return line.find(R"("subject":"c2")") != line.npos;
  });
  ASSERT_NE(stub, kept.end());
  EXPECT_THAT(*stub, HasSubstr(R"("file":"new-rest.db")"));
  kept.erase(stub);
  EXPECT_EQ(kept, others);
  EXPECT_EQ(dump(salvage.rest).value().size(), theirs.size() - 1);
  // It goes on: numbers are not given again, and stamps do not run backwards.
  auto journal = open_journal(folder_ + "/new.db").value();
  ASSERT_TRUE(journal->read(0, [](const Event&) { return true; }));
  std::vector<Event> next{event("c3", "job_seen", 100)};
  ASSERT_TRUE(journal->append(next));
  EXPECT_EQ(next[0].seq, 62);
}

TEST_F(JournalDamage, AJournalOfAnOlderVersionGetsItsSums) {
  sql("ALTER TABLE event DROP COLUMN sum; DROP TABLE balance; PRAGMA user_version = 1");
  EXPECT_THAT(check_journal(path_).error().line(), HasSubstr("has no checksums"));
  { ASSERT_TRUE(open_journal(path_)); }
  EXPECT_EQ(dump(path_).value(), lines_);
  EXPECT_TRUE(check_journal(path_).value().is_whole());
}

TEST_F(JournalDamage, ABackupIsMadeBesideTheDaemonAndOnlyOfAWholeOne) {
  const std::string copies = folder_ + "/copies";
  fs::create_directory(copies);
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(copies)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  };
  {
    auto daemon = open_journal(path_).value();
    for (int day = 1; day <= 3; ++day) {
      std::vector<Event> next{event("c3", "job_seen", 100 + day)};
      ASSERT_TRUE(daemon->append(next));
      const auto backup =
          back_up_journal(path_, copies, 2, from_micros(kYear2026 + day * std::int64_t{86'400'000'000}));
      ASSERT_TRUE(backup) << backup.error().line();
      EXPECT_EQ(backup->events, 57 + day);
      EXPECT_EQ(dump(backup->file).value(), dump(path_).value());
      EXPECT_TRUE(check_journal(backup->file).value().is_whole());
      EXPECT_EQ(fs::status(backup->file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    }
  }
  const std::vector<std::string> two{"journal-backup-20260923T141320Z.db",
                                     "journal-backup-20260924T141320Z.db"};
  EXPECT_EQ(files(), two);
  sql("UPDATE event SET body = '{}' WHERE seq = 30");
  const auto backup = back_up_journal(path_, copies, 1, from_micros(kYear2026));
  EXPECT_EQ(backup.error().code, ErrorCode::storage_broken);
  EXPECT_EQ(files(), two) << "no good copy goes for a bad one";
}

}  // namespace
}  // namespace sickbay
