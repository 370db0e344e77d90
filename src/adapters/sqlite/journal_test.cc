// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace sickbay {
namespace {

namespace fs = std::filesystem;

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sickbay-journal-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/journal.db";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Event event(const std::string& subject, std::int64_t n, std::int64_t at = 1000) {
    Event e;
    e.at = from_micros(at);
    e.subject = subject;
    e.kind = "job_seen";
    e.body = Json::object({{"n", n}, {"text", "läuft\nweiter"}});
    return e;
  }
  static std::vector<std::string> dump(Journal& journal) {
    std::vector<std::string> lines;
    EXPECT_TRUE(dump_journal(journal, [&](const std::string& line) { lines.push_back(line); }));
    return lines;
  }

  std::string folder_, path_;
};

TEST_F(JournalTest, KeepsOrderStampAndBody) {
  {
    auto journal = open_journal(path_);
    ASSERT_TRUE(journal) << journal.error().line();
    EXPECT_EQ((*journal)->last_seq(), 0);
    std::vector<Event> first{event("c1", 1), event("c2", 2, 1001)}, second{event("c1", 3, 1001)};
    ASSERT_TRUE((*journal)->append(first));
    ASSERT_TRUE((*journal)->append(second));
    EXPECT_EQ(first[1].seq, 2);
    EXPECT_EQ(second[0].seq, 3);
  }
  auto journal = open_journal(path_);
  ASSERT_TRUE(journal);
  EXPECT_EQ((*journal)->last_seq(), 3);
  EXPECT_EQ(to_micros((*journal)->last_stamp()), 1001);
  EXPECT_EQ(
      dump(**journal).at(1),
      R"({"seq":2,"at":1001,"v":1,"subject":"c2","kind":"job_seen","body":{"n":2,"text":"läuft\nweiter"}})");
  std::vector<std::int64_t> seqs;
  ASSERT_TRUE((*journal)->read_subject("c1", 1, [&](const Event& e) {
    seqs.push_back(e.seq);
    return true;
  }));
  EXPECT_EQ(seqs, std::vector<std::int64_t>{3});
}

TEST_F(JournalTest, OneWriterManyReaders) {
  auto writer = open_journal(path_);
  ASSERT_TRUE(writer);
  auto second = open_journal(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_NE(second.error().what.find("process " + std::to_string(::getpid())), std::string::npos)
      << second.error().what;
  auto reader = open_journal_reader(path_);
  ASSERT_TRUE(reader) << reader.error().line();
  std::vector<Event> events{event("c1", 1)};
  ASSERT_TRUE((*writer)->append(events));
  EXPECT_EQ(dump(**reader).size(), 1u);
  EXPECT_EQ((*reader)->append(events).error().code, ErrorCode::conflict);
}

TEST_F(JournalTest, RefusesANewerSchemaAndADamagedFile) {
  { ASSERT_TRUE(open_journal(path_)); }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA user_version=99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_EQ(open_journal(path_).error().code, ErrorCode::too_new);
  std::ofstream(folder_ + "/x.db") << std::string(4096, 'x');
  EXPECT_EQ(open_journal(folder_ + "/x.db").error().code, ErrorCode::storage_broken);
}

TEST_F(JournalTest, FullDiskLosesNothingAndTakesUpAgain) {
  // A real file system of 512 KiB, filled to the brim by another file.
  const std::string small = folder_ + "/small";
  fs::create_directory(small);
  ASSERT_EQ(::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=512k"), 0) << "this test needs root";
  {
    auto journal = open_journal(small + "/journal.db");
    ASSERT_TRUE(journal);
    std::vector<Event> first{event("c1", 1)};
    ASSERT_TRUE((*journal)->append(first));
    std::ofstream(small + "/ballast") << std::string(600'000, 'x');
    std::vector<Event> big;
    for (int i = 0; i < 2000; ++i) big.push_back(event("c1", i));
    auto full = (*journal)->append(big);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::storage_full) << full.error().line();
    EXPECT_EQ((*journal)->last_seq(), 1);
    EXPECT_EQ(dump(**journal).size(), 1u);
    fs::remove(small + "/ballast");
    std::vector<Event> again{event("c1", 2), event("c1", 3)};
    ASSERT_TRUE((*journal)->append(again)) << (*journal)->append(again).error().line();
    EXPECT_EQ(again[0].seq, 2);
    EXPECT_EQ(dump(**journal).size(), 3u);
  }
  EXPECT_EQ(::umount(small.c_str()), 0);
}

TEST_F(JournalTest, KilledAtAnyMomentKeepsWhatItAcknowledged) {
  for (int round = 0; round < 20; ++round) {
    int acks[2];
    ASSERT_EQ(::pipe(acks), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto journal = open_journal(path_);
      if (!journal) ::_exit(1);
      for (;;) {
        std::vector<Event> batch{event("c1", 1, 5000), event("c2", 2, 5000), event("c3", 3, 5000)};
        if (!(*journal)->append(batch)) ::_exit(1);
        const std::int64_t seq = batch.back().seq;
        if (::write(acks[1], &seq, sizeof seq) < 0) ::_exit(1);
      }
    }
    ::close(acks[1]);
    std::int64_t acknowledged = 0;
    // The kill comes after a different number of acknowledgements each round: no clock is needed.
    for (int i = 0; i <= round * 3; ++i)
      ASSERT_EQ(::read(acks[0], &acknowledged, sizeof acknowledged),
                static_cast<ssize_t>(sizeof acknowledged));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    for (std::int64_t more; ::read(acks[0], &more, sizeof more) == static_cast<ssize_t>(sizeof more);)
      acknowledged = more;
    ::close(acks[0]);
    auto journal = open_journal(path_);
    ASSERT_TRUE(journal) << journal.error().line();
    EXPECT_GE((*journal)->last_seq(), acknowledged);
    EXPECT_EQ((*journal)->last_seq() % 3, 0) << "half a transaction";
    EXPECT_EQ(dump(**journal).size(), static_cast<std::size_t>((*journal)->last_seq()));
  }
}

TEST_F(JournalTest, CompactionMovesClosedSubjectsAndRepeatsSafely) {
  const std::int64_t year_2026 = 1'790'000'000'000'000;
  auto journal = open_journal(path_);
  ASSERT_TRUE(journal);
  std::vector<Event> events{event("c1", 1, year_2026), event("c2", 2, year_2026), event("c1", 3, year_2026)};
  ASSERT_TRUE((*journal)->append(events));
  for (int i = 0; i < 2; ++i) {
    auto done = (*journal)->compact(from_micros(year_2026 + 1), {"c1"});
    ASSERT_TRUE(done) << done.error().line();
    EXPECT_EQ(done->events, i == 0 ? 2 : 0);
    const auto lines = dump(**journal);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_NE(
        lines[1].find(
            R"("kind":"archived","body":{"kinds":{"job_seen":2},"first":1,"last":3,"file":"journal-2026.db"})"),
        std::string::npos)
        << lines[1];
  }
  auto archive = open_journal_reader(folder_ + "/journal-2026.db");
  ASSERT_TRUE(archive) << archive.error().line();
  EXPECT_EQ(dump(**archive).size(), 2u);
  std::vector<Event> next{event("c3", 4, year_2026)};
  ASSERT_TRUE((*journal)->append(next));
  EXPECT_EQ(next[0].seq, 4);
}

TEST_F(JournalTest, CompactionTakesTheOldPartOfASubjectThatNeverCloses) {
  const std::int64_t year_2026 = 1'790'000'000'000'000, year_2027 = 1'820'000'000'000'000;
  auto journal = open_journal(path_).value();
  std::vector<Event> events;
  for (int n = 1; n <= 5; ++n) events.push_back(event("jobs", n, year_2026 + n));
  events.push_back(event("c1", 6, year_2026 + 6));
  for (int n = 7; n <= 9; ++n) events.push_back(event("jobs", n, year_2027 + n));
  ASSERT_TRUE(journal->append(events));
  // In portions; each time one summary is left, and what is young stays.
  std::vector<std::int64_t> moved;
  for (int i = 0; i < 5; ++i) {
    auto done = journal->compact_before(from_micros(year_2027 + 8), "jobs", 3);
    ASSERT_TRUE(done) << done.error().line();
    moved.push_back(done->events);
  }
  EXPECT_EQ(moved, (std::vector<std::int64_t>{3, 3, 0, 0, 0}));
  const auto lines = dump(*journal);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_NE(lines[1].find(R"("seq":7,)"), std::string::npos) << lines[1];
  EXPECT_NE(
      lines[1].find(
          R"("kind":"archived","body":{"kinds":{"job_seen":6},"first":1,"last":7,"file":"journal-2027.db"})"),
      std::string::npos)
      << lines[1];
  EXPECT_EQ(lines[3], events[8].text());
  EXPECT_EQ(dump(*open_journal_reader(folder_ + "/journal-2026.db").value()).size(), 3u);
  EXPECT_EQ(dump(*open_journal_reader(folder_ + "/journal-2027.db").value()).size(), 3u);
  EXPECT_EQ(open_journal_reader(path_).value()->compact_before(from_micros(1), "jobs", 1).error().code,
            ErrorCode::conflict);
}

TEST_F(JournalTest, CompactionTakesManySubjectsInOneGoAndNoMoreThanItMay) {
  const std::int64_t year_2026 = 1'790'000'000'000'000, year_2027 = 1'820'000'000'000'000;
  auto journal = open_journal(path_).value();
  std::vector<Event> events;
  for (int n = 0; n < 12; ++n)
    events.push_back(event("c" + std::to_string(n % 6), n, n % 6 < 4 ? year_2026 : year_2027));
  std::ranges::stable_sort(events, {}, &Event::at);
  ASSERT_TRUE(journal->append(events));
  std::vector<std::string> subjects{"c0", "c1", "c2", "c3", "c4", "c5"};
  const auto first = journal->compact(from_micros(year_2027 + 1), subjects, 5).value();
  EXPECT_EQ(first.subjects, (std::vector<std::string>{"c0", "c1", "c2"}));
  EXPECT_EQ(first.looked_at, 3u);
  EXPECT_EQ(first.events, 6);
  const auto rest = journal->compact(from_micros(year_2027 + 1), subjects).value();
  EXPECT_EQ(rest.subjects, (std::vector<std::string>{"c3", "c4", "c5"}));
  EXPECT_EQ(rest.looked_at, 6u);
  const auto lines = dump(*journal);
  ASSERT_EQ(lines.size(), 6u);
  for (const std::string& line : lines) EXPECT_NE(line.find(R"("kind":"archived")"), std::string::npos);
  EXPECT_EQ(dump(*open_journal_reader(folder_ + "/journal-2026.db").value()).size(), 8u);
  EXPECT_EQ(dump(*open_journal_reader(folder_ + "/journal-2027.db").value()).size(), 4u);
  EXPECT_TRUE(open_journal(path_).error().code == ErrorCode::conflict) << "it is still open";
  journal.reset();
  EXPECT_EQ(dump(*open_journal(path_).value()).size(), 6u) << "its balance is that of the rows";
}

TEST_F(JournalTest, TheMarkOfTheFirstEventsIsTheirsAlone) {
  const auto journal = open_journal(path_).value();
  std::vector<std::string> marks{journal->mark_until(0).value()};
  for (int i = 1; i <= 5; ++i) {
    std::vector<Event> one{event(i % 2 ? "c1" : "c2", i, i * 1000)};
    ASSERT_TRUE(journal->append(one));
    marks.push_back(journal->mark_until(i).value());
  }
  // Of as many events each has its own, whatever came later, and a reader sees the same.
  const auto reader = open_journal_reader(path_).value();
  for (int i = 0; i <= 5; ++i) {
    EXPECT_EQ(journal->mark_until(i).value(), marks[static_cast<std::size_t>(i)]) << i;
    EXPECT_EQ(reader->mark_until(i).value(), marks[static_cast<std::size_t>(i)]) << i;
    for (int k = 0; k < i; ++k)
      EXPECT_NE(marks[static_cast<std::size_t>(i)], marks[static_cast<std::size_t>(k)]) << i << ' ' << k;
  }
  // What is archived changes the marks from there on: c2's last is event 4.
  ASSERT_TRUE(journal->compact(from_micros(1'000'000), {"c2"}));
  EXPECT_EQ(journal->mark_until(1).value(), marks[1]);
  for (int i = 4; i <= 5; ++i)
    EXPECT_NE(journal->mark_until(i).value(), marks[static_cast<std::size_t>(i)]) << i;
}

TEST_F(JournalTest, RefusesWhatCouldNotBeReadBack) {
  auto journal = open_journal(path_).value();
  Json deep;
  for (int i = 0; i < 70; ++i) deep = Json::array({deep});
  for (const auto& [body, v] : {std::pair(deep, 1), std::pair(Json(Json::Object{{"a", 1}, {"a", 2}}), 1),
                                std::pair(Json::object(), 2)}) {
    std::vector<Event> events{event("c1", 1), event("c1", 2)};
    events[1].body = body;
    events[1].v = v;
    EXPECT_EQ(journal->append(events).error().code, ErrorCode::bad_input);
    EXPECT_EQ(journal->last_seq(), 0);
  }
  std::vector<Event> events{event("c1", 1)};
  events[0].body = Json::object({{"out", "\xff!"}});
  ASSERT_TRUE(journal->append(events));
  EXPECT_EQ(dump(*journal), std::vector{events[0].text()});
  ASSERT_TRUE(journal->read(0, [&](const Event& e) {
    EXPECT_EQ(e, events[0]) << "live state and replay see the same";
    return true;
  }));
}

TEST_F(JournalTest, CompactionSparesTheYoungAndForeignArchives) {
  const std::int64_t year_2026 = 1'790'000'000'000'000;
  {
    auto journal = open_journal(path_).value();
    std::vector<Event> events{event("c1", 1, year_2026), event("c2", 2, year_2026 + 5)};
    ASSERT_TRUE(journal->append(events));
    EXPECT_EQ(journal->compact(from_micros(year_2026 + 5), {"c1", "c2", "c9"}).value().subjects,
              std::vector<std::string>{"c1"})
        << "c2 was spoken of lately: who forgets it knows less than the next replay";
  }
  fs::remove(path_);  // and a new journal beside the old archive
  auto journal = open_journal(path_).value();
  std::vector<Event> events{event("c7", 1, year_2026)};
  ASSERT_TRUE(journal->append(events));
  EXPECT_EQ(journal->compact(from_micros(year_2026 + 5), {"c7"}).error().code, ErrorCode::conflict);
  EXPECT_EQ(dump(*journal), std::vector{events[0].text()});
}

TEST_F(JournalTest, ReadersSeeWhatIsCommittedMeanwhile) {
  EXPECT_EQ(open_journal_reader(path_).error().code, ErrorCode::not_found);
  auto writer = open_journal(path_).value();
  auto reader = open_journal_reader(path_).value();
  std::vector<Event> events{event("c1", 1)};
  ASSERT_TRUE(writer->append(events));
  EXPECT_EQ(reader->last_seq(), 1);
  EXPECT_EQ(reader->compact(from_micros(1 << 20), {"c1"}).error().code, ErrorCode::conflict);
}

}  // namespace
}  // namespace sickbay
