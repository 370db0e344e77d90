// SPDX-License-Identifier: Apache-2.0
// The feed and the follower on real files, in virtual time: what one says the other hears, with a network in
// between that does what a test wants of it.
#include <sqlite3.h>

#include "adapters/sim/sim_loop.h"
#include "adapters/sqlite/row.h"
#include "service/standby/feed.h"
#include "service/standby/follower.h"
#include "test/standby/standby_parts.h"
#include "test/standby/wire.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;

class Following : public ::testing::Test {
 protected:
  void SetUp() override { start_active(); }

  void start_active() {
    auto journal = open_journal(folders_.path(1));
    ASSERT_TRUE(journal) << journal.error().line();
    journal_ = std::move(*journal);
    auto rows = open_journal_rows(folders_.path(1));
    ASSERT_TRUE(rows) << rows.error().line();
    rows_ = std::move(*rows);
    active_ = std::make_unique<StandbyFeed>(
        loop_, *rows_,
        [this] {
          return StandbyFeed::Standing{"head1", term_};
        },
        [this](std::int64_t seq) {
          // What is acknowledged is in the file, whoever looks.
          const auto durable = rows_of(folders_.path(2));
          EXPECT_GE(durable.empty() ? 0 : durable.back().seq, seq);
          acknowledged_ = std::max(acknowledged_, seq);
        });
    feed_ = active_.get();
  }
  void stop_active() {
    feed_ = nullptr;
    active_.reset();
    rows_.reset();
    journal_.reset();
  }
  void start_standby() {
    auto copy = open_journal_copy(folders_.path(2));
    ASSERT_TRUE(copy) << copy.error().line();
    copy_ = std::move(*copy);
    follower_ = std::make_unique<Follower>(
        loop_, wire_, *copy_,
        Follower::Listener{[this](std::int64_t term) { heard_ = term; },
                           [this](std::int64_t term) { has_term_ = std::max(has_term_, term); },
                           [this](const std::string& line) { said_.push_back(line); }});
    follower_->start();
  }
  void stop_standby() {
    follower_.reset();
    copy_.reset();
  }
  void write(int n, int count, const std::string& subject = "") {
    write_events(*journal_, n, count, subject);
    if (feed_ != nullptr) feed_->woken();
  }
  bool catches_up(Micros limit = 60s) {
    return loop_.run_while(
        [this] {
          return !(follower_->standing().following && acknowledged_ == journal_->last_seq() &&
                   copy_->place().seq == journal_->last_seq());
        },
        loop_.now() + limit);
  }
  bool was_said(const std::string& words) const {
    for (const std::string& line : said_)
      if (line.find(words) != std::string::npos) return true;
    return false;
  }

  TwoFolders folders_;
  sim::SimLoop loop_;
  std::int64_t term_ = 3, heard_ = 0, has_term_ = 0, acknowledged_ = 0;
  std::vector<std::string> said_;
  StandbyFeed* feed_ = nullptr;
  Wire wire_{loop_, feed_};
  std::unique_ptr<SqliteJournal> journal_;
  std::unique_ptr<JournalRows> rows_;
  std::unique_ptr<StandbyFeed> active_;
  std::unique_ptr<JournalCopy> copy_;
  std::unique_ptr<Follower> follower_;
};

TEST_F(Following, ACopyIsTheSameRowForRow) {
  for (int i = 0; i < 40; ++i) write(i * 100, 100);
  start_standby();
  ASSERT_TRUE(catches_up());
  expect_same(folders_);
  EXPECT_EQ(heard_, 3);
  EXPECT_EQ(follower_->standing().copies, 1);
  // It is a journal: who takes over opens it, and reads the same events.
  std::vector<std::string> original, copy;
  ASSERT_TRUE(dump_journal(*journal_, [&](const std::string& line) { original.push_back(line); }));
  stop_standby();
  auto journal = open_journal(folders_.path(2));
  ASSERT_TRUE(journal) << journal.error().line();
  ASSERT_TRUE(dump_journal(**journal, [&](const std::string& line) { copy.push_back(line); }));
  EXPECT_EQ(original, copy);
}

TEST_F(Following, ANewEventIsThereAtOnce) {
  start_standby();
  write(0, 1);
  ASSERT_TRUE(catches_up());
  for (int i = 1; i < 50; ++i) {
    const TimePoint before = loop_.now();
    write(i, 1 + i % 3);
    ASSERT_TRUE(catches_up());
    EXPECT_LT(loop_.now() - before, 10ms);
  }
  expect_same(folders_);
  // While nothing happens it asks seldom.
  const int asked = wire_.asked;
  loop_.run_until(loop_.now() + 60s);
  EXPECT_LE(wire_.asked - asked, 31);
}

TEST_F(Following, GoesOnFromWhereverItWasCut) {
  write(0, 25);
  const auto rows = rows_of(folders_.path(1));
  for (std::size_t had = 0; had <= rows.size(); ++had) {
    std::filesystem::remove(folders_.path(2));
    {
      auto copy = open_journal_copy(folders_.path(2));
      ASSERT_TRUE(copy);
      ASSERT_TRUE((*copy)->append({rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(had)}));
    }
    acknowledged_ = 0;
    wire_.rows = 0;
    start_standby();
    ASSERT_TRUE(catches_up()) << had;
    EXPECT_EQ(wire_.rows, static_cast<std::int64_t>(rows.size() - had));
    expect_same(folders_);
    stop_standby();
  }
}

TEST_F(Following, EitherMayBeginAnew) {
  start_standby();
  for (int i = 0; i < 20; ++i) {
    write(i * 10, 10);
    loop_.run_until(loop_.now() + 11s);
    if (i % 3 == 0) {
      stop_standby();
      start_standby();
    } else if (i % 3 == 1) {
      stop_active();
      loop_.run_until(loop_.now() + 3s);
      start_active();
    } else {
      wire_.is_cut = true;
      loop_.run_until(loop_.now() + 15s);
      EXPECT_FALSE(follower_->standing().following);
      wire_.is_cut = false;
    }
  }
  ASSERT_TRUE(catches_up());
  expect_same(folders_);
  EXPECT_EQ(follower_->standing().copies, 0);
}

TEST_F(Following, WhoIsNotActiveHandsOutNothing) {
  write(0, 5);
  term_ = 0;
  start_standby();
  loop_.run_until(loop_.now() + 20s);
  EXPECT_EQ(copy_->place().seq, 0);
  EXPECT_EQ(heard_, 0) << "and is not taken for the active";
  EXPECT_EQ(acknowledged_, 0);
  EXPECT_NE(follower_->standing().trouble, "");
  term_ = 4;
  EXPECT_TRUE(catches_up());
  EXPECT_EQ(follower_->standing().trouble, "");
}

TEST_F(Following, HearsWhenATermBegins) {
  write(0, 5);
  start_standby();
  ASSERT_TRUE(catches_up());
  EXPECT_EQ(has_term_, 0);
  std::vector<Event> began(1);
  began[0].at = journal_->last_stamp();
  began[0].subject = "term";
  began[0].kind = kTermBegan;
  began[0].body = Json::object({{"term", 4}, {"who", "head1"}});
  ASSERT_TRUE(journal_->append(began));
  feed_->woken();
  ASSERT_TRUE(catches_up());
  EXPECT_EQ(has_term_, 4);
}

// What was archived before is archived there; what is archived later is left where it was copied.
TEST_F(Following, ArchivesComeOverAsTheyStand) {
  write(0, 30, "c1");
  write(30, 30);
  ASSERT_TRUE(journal_->compact(kNever, {"c1"}));
  start_standby();
  ASSERT_TRUE(catches_up());
  expect_same(folders_);

  ASSERT_TRUE(journal_->compact(kNever, {"c4", "c5"}));
  write(60, 10, "c9");
  ASSERT_TRUE(catches_up());
  EXPECT_EQ(follower_->standing().copies, 1) << "it goes on";
  EXPECT_GT(rows_of(folders_.path(2)).size(), rows_of(folders_.path(1)).size());
  const auto check = check_journal(folders_.path(2));
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->is_whole());
}

// It was away so long that subjects of which it has a part were archived.
TEST_F(Following, WhoMissedWhatWasArchivedCopiesAnew) {
  write(0, 30, "c1");
  write(30, 5, "c8");
  start_standby();
  ASSERT_TRUE(catches_up());
  stop_standby();
  write(35, 10, "c1");
  ASSERT_TRUE(journal_->compact(kNever, {"c1"}));
  write(45, 5);
  start_standby();
  ASSERT_TRUE(catches_up());
  EXPECT_EQ(follower_->standing().copies, 1);
  expect_same(folders_);
  EXPECT_TRUE(was_said("archived c1"));
  EXPECT_FALSE(was_said("aside")) << "nothing of the old one is lost";
}

// A copy that was read while its subjects were archived has a part of them: its mark tells.
TEST_F(Following, ACopyOfAJournalThatChangedMeanwhileIsMadeAgain) {
  write(0, 10, "c1");
  write(10, 5, "c8");
  start_standby();
  ASSERT_TRUE(catches_up());
  stop_standby();
  write(15, 10, "c1");
  ASSERT_TRUE(journal_->compact(kNever, {"c1"}));
  write(25, 4000);
  bool meddled = false;
  wire_.change = [&](Json& answer) {
    // Behind the first page of the new copy something that it has is archived.
    if (meddled || !copy_->is_anew() || answer["rows"].size() == 0) return;
    meddled = true;
    ASSERT_TRUE(journal_->compact(kNever, {"c2"}));
  };
  start_standby();
  ASSERT_TRUE(catches_up(300s));
  EXPECT_TRUE(meddled);
  EXPECT_EQ(follower_->standing().copies, 2);
  expect_same(folders_);
}

TEST_F(Following, OnesThatWentApartCopyAnewAndKeepTheOld) {
  write(0, 10);
  start_standby();
  ASSERT_TRUE(catches_up());
  stop_standby();
  // What an active wrote that nobody heard of before it fell.
  {
    auto other = open_journal(folders_.path(2));
    ASSERT_TRUE(other);
    write_events(**other, 900, 3);
  }
  const auto lost = rows_of(folders_.path(2));
  write(10, 20);
  start_standby();
  ASSERT_TRUE(catches_up());
  expect_same(folders_);
  EXPECT_TRUE(was_said("aside="));
  std::vector<std::string> asides;
  for (const auto& file : std::filesystem::directory_iterator(folders_.folder(2)))
    if (file.path().string().find(".aside-") != std::string::npos) asides.push_back(file.path().string());
  ASSERT_EQ(asides.size(), 1U);
  EXPECT_TRUE(rows_of(asides[0]) == lost);
}

// A copy that is being made is not what is acknowledged, and a crash leaves the old one.
TEST_F(Following, ACrashWhileItCopiesAnewLeavesTheOld) {
  write(0, 10);
  start_standby();
  ASSERT_TRUE(catches_up());
  stop_standby();
  {
    auto other = open_journal(folders_.path(2));
    ASSERT_TRUE(other);
    write_events(**other, 900, 3);
  }
  const auto old = rows_of(folders_.path(2));
  write(10, 4000);
  acknowledged_ = 0;
  start_standby();
  ASSERT_TRUE(
      loop_.run_while([this] { return !(copy_->is_anew() && copy_->place().seq > 0); }, loop_.now() + 20s));
  EXPECT_EQ(acknowledged_, 0);
  stop_standby();
  EXPECT_TRUE(rows_of(folders_.path(2)) == old);
  start_standby();
  ASSERT_TRUE(catches_up());
  expect_same(folders_);
}

TEST_F(Following, AWrongBitOnTheWayIsNotTakenIn) {
  write(0, 40);
  int changed = 0;
  wire_.change = [&](Json& answer) {
    if (answer["rows"].size() < 20 || changed++ > 2) return;
    Json rows = answer["rows"], row = rows.items()[17], wrong = Json::array(), all = Json::array();
    for (std::size_t i = 0; i < 7; ++i) {
      if (i == 5) {
        std::string body = row.items()[5].as_string();
        body[6] = static_cast<char>(body[6] ^ 1);
        wrong.push(body);
      } else {
        wrong.push(row.items()[i]);
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) all.push(i == 17 ? wrong : rows.items()[i]);
    answer.set("rows", all);
  };
  start_standby();
  ASSERT_TRUE(catches_up());
  EXPECT_EQ(changed, 4);
  EXPECT_TRUE(was_said("was changed on its way"));
  expect_same(folders_);
}

TEST_F(Following, ADamagedRowIsNotHandedOut) {
  write(0, 40);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(folders_.path(1).c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE event SET body = '{}' WHERE seq = 20", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  start_standby();
  loop_.run_until(loop_.now() + 10s);
  EXPECT_NE(follower_->standing().trouble.find("event 20"), std::string::npos)
      << follower_->standing().trouble;
  EXPECT_EQ(copy_->place().seq, 0);
}

// What the standby's own version cannot read it copies all the same; who speaks otherwise is told.
TEST_F(Following, RowsOfAnotherVersionAreCopied) {
  stop_active();
  std::filesystem::remove(folders_.path(1));
  {
    JournalRow row{1, 1'800'000'000'000'000, 99, "c1", "of_tomorrow", R"({"n":1})", 0};
    row.sum = sqlite::row_sum(row.seq, row.at, row.v, row.subject, row.kind, row.body);
    auto tomorrow = open_journal_copy(folders_.path(1));
    ASSERT_TRUE(tomorrow);
    ASSERT_TRUE((*tomorrow)->append({row}));
  }
  start_active();
  start_standby();
  ASSERT_TRUE(catches_up());
  EXPECT_TRUE(rows_of(folders_.path(1)) == rows_of(folders_.path(2)));
  wire_.change = [](Json& answer) { answer.set("format", kRowsFormat + 1); };
  loop_.run_until(loop_.now() + 10s);
  EXPECT_FALSE(follower_->standing().following);
  EXPECT_NE(follower_->standing().trouble.find("another version"), std::string::npos);
}

}  // namespace
}  // namespace sickbay
