// SPDX-License-Identifier: Apache-2.0
// What users submitted is on the standby's disk before the rows are acknowledged that open its case, and goes
// there when it goes on the active.  Journals are real files; the network and time are played.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "adapters/posix/files.h"
#include "apps/daemon/case_folders.h"
#include "test/standby/two_heads.h"

namespace sickbay {
namespace {

// A disk that can be full.
struct Folders final : CaseFolders {
  using CaseFolders::CaseFolders;
  bool is_full = false;
  Status save(std::int64_t no, const Submission& submission) override {
    if (is_full) return fail(ErrorCode::storage_full, "the disk is full");
    return CaseFolders::save(no, submission);
  }
};

Submission submission_of(const std::string& text) {
  Submission s;
  s.owner = {"alice", 1001, 1001};
  s.script = "#!/bin/sh\necho " + text + "\n";
  s.script_name = "job.sh";
  s.work_dir = "/home/alice";
  s.environment = {"SECRET_TOKEN=" + text.substr(0, 100), "LANG=C"};
  s.limits = {{"NOFILE", 1024}};
  return s;
}

class CaseCopies : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int host : {1, 2}) {
      ASSERT_TRUE(make_folder(folders_.folder(host) + "/cases", 0700));
      stores_[host] = std::make_unique<Folders>(folders_.folder(host) + "/cases");
    }
    auto journal = open_journal(folders_.path(1));
    ASSERT_TRUE(journal) << journal.error().line();
    journal_ = std::move(*journal);
    auto rows = open_journal_rows(folders_.path(1));
    ASSERT_TRUE(rows) << rows.error().line();
    rows_ = std::move(*rows);
    const auto standing = [this] { return StandbyFeed::Standing{"head1", term_}; };
    feed_ = std::make_unique<StandbyFeed>(loop_, *rows_, standing, [this](std::int64_t seq) {
      acknowledged_ = std::max(acknowledged_, seq);
      if (on_acknowledged_) on_acknowledged_(seq);
    });
    case_feed_ = std::make_unique<CaseFeed>(*stores_[1], standing);
    start_standby();
  }
  void start_standby() {
    auto copy = open_journal_copy(folders_.path(2));
    ASSERT_TRUE(copy) << copy.error().line();
    copy_ = std::move(*copy);
    case_follower_ = std::make_unique<CaseFollower>(line_, *stores_[2]);
    follower_ = std::make_unique<Follower>(loop_, line_, *copy_, Follower::Listener{}, case_follower_.get());
    follower_->start();
  }
  void stop_standby() {
    follower_.reset();
    case_follower_.reset();
    copy_.reset();
  }
  // As POST /v1/cases does it.
  void open_case(std::int64_t no, const Submission& submission) {
    ASSERT_TRUE(stores_[1]->save(no, submission));
    write("case_opened", no);
  }
  void close_case(std::int64_t no) {
    write("case_closed", no);
    ASSERT_TRUE(stores_[1]->remove(no));
  }
  void write(const std::string& kind, std::int64_t no) {
    Event event = new_event(case_name(no), kind, Json::object());
    event.at = std::max(journal_->last_stamp(), loop_.now());
    std::vector<Event> events{std::move(event)};
    ASSERT_TRUE(journal_->append(events));
    feed_->woken();
  }
  bool is_acknowledged(Micros limit = 60s) {
    return loop_.run_while([&] { return acknowledged_ < journal_->last_seq(); }, loop_.now() + limit);
  }
  std::vector<std::int64_t> copies() {
    auto numbers = stores_[2]->list();
    EXPECT_TRUE(numbers);
    std::sort(numbers->begin(), numbers->end());
    return *numbers;
  }
  void expect_copy(std::int64_t no) {
    const auto original = stores_[1]->load(no), copy = stores_[2]->load(no);
    ASSERT_TRUE(original && copy) << "case " << no;
    EXPECT_TRUE(*original == *copy) << "case " << no;
  }

  sim::SimLoop loop_;
  TwoFolders folders_;
  std::int64_t term_ = 3, acknowledged_ = 0;
  bool is_older_ = false;  ///< the active
  int asked_ = 0;          ///< for what was submitted
  std::function<void(std::int64_t)> on_acknowledged_;
  std::unique_ptr<Folders> stores_[3];
  std::unique_ptr<SqliteJournal> journal_;
  std::unique_ptr<JournalRows> rows_;
  std::unique_ptr<StandbyFeed> feed_;
  std::unique_ptr<CaseFeed> case_feed_;
  Line line_{loop_, [this](const std::string& target, const Json& body, Done<Json> done) {
               if (target == kRowsTarget) return feed_->ask(body, done);
               EXPECT_EQ(target, kCasesTarget);
               ++asked_;
               if (is_older_) return done(fail(ErrorCode::not_found, "no endpoint"));
               done(case_feed_->answer(body));
             }};
  std::unique_ptr<JournalCopy> copy_;
  std::unique_ptr<CaseFollower> case_follower_;
  std::unique_ptr<Follower> follower_;
};

TEST_F(CaseCopies, ItIsThereBeforeItsCaseIsAcknowledged) {
  write("case_closed", 1);
  ASSERT_TRUE(is_acknowledged());
  std::map<std::int64_t, std::int64_t> opened_at;
  on_acknowledged_ = [&](std::int64_t seq) {
    for (const auto& [at, no] : opened_at)
      EXPECT_TRUE(at > seq || stores_[2]->load(no)) << "case " << no << " is acknowledged without";
  };
  for (std::int64_t no = 2; no < 12; ++no) {
    opened_at[journal_->last_seq() + 1] = no;
    open_case(no, submission_of("case" + std::to_string(no)));
    ASSERT_TRUE(no % 3 != 0 || is_acknowledged());
  }
  ASSERT_TRUE(is_acknowledged());
  for (std::int64_t no = 2; no < 12; ++no) expect_copy(no);
}

TEST_F(CaseCopies, FilesAndRightsAreThoseOfTheActive) {
  open_case(7, submission_of("hush"));
  ASSERT_TRUE(is_acknowledged());
  std::string texts[3];
  for (const int host : {1, 2}) {
    const std::string folder = folders_.folder(host) + "/cases/c7", file = folder + "/submission.json";
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    texts[host] = text.str();
    struct stat of {};
    ASSERT_EQ(::stat(file.c_str(), &of), 0);
    EXPECT_EQ(of.st_mode & 07777U, 0600U);
    EXPECT_EQ(of.st_uid, ::geteuid());
    ASSERT_EQ(::stat(folder.c_str(), &of), 0);
    EXPECT_EQ(of.st_mode & 07777U, 0700U);
  }
  EXPECT_FALSE(texts[1].empty());
  EXPECT_EQ(texts[1], texts[2]);
}

TEST_F(CaseCopies, ItGoesSoonAfterItsCaseClosed) {
  for (const std::int64_t no : {1, 2, 3}) open_case(no, submission_of("x"));
  ASSERT_TRUE(is_acknowledged());
  EXPECT_EQ(copies(), (std::vector<std::int64_t>{1, 2, 3}));
  close_case(2);
  ASSERT_TRUE(is_acknowledged());
  loop_.run_until(loop_.now() + Follower::kCompareSoon + 3s);
  EXPECT_EQ(copies(), (std::vector<std::int64_t>{1, 3}));
  // Also one that goes without a word in the journal.
  ASSERT_TRUE(stores_[1]->remove(3));
  loop_.run_until(loop_.now() + Follower::kCompare + 3s);
  EXPECT_EQ(copies(), (std::vector<std::int64_t>{1}));
  expect_copy(1);
}

// A crash between the two writes of a POST leaves a submission of a case that nobody heard of.
TEST_F(CaseCopies, WhatIsThereOfTheSameNumberIsReplaced) {
  write("case_closed", 1);
  ASSERT_TRUE(is_acknowledged());
  ASSERT_TRUE(stores_[2]->save(5, submission_of("of nobody")));
  open_case(5, submission_of("alice's"));
  ASSERT_TRUE(is_acknowledged());
  expect_copy(5);
}

// A host that joins, and one that was away, have what the active has.
TEST_F(CaseCopies, WhoWasAwayHasWhatIsThereNow) {
  for (const std::int64_t no : {1, 2, 3}) open_case(no, submission_of("first" + std::to_string(no)));
  ASSERT_TRUE(is_acknowledged());
  stop_standby();
  close_case(1);
  for (const std::int64_t no : {4, 5}) open_case(no, submission_of("then" + std::to_string(no)));
  close_case(4);
  ASSERT_TRUE(stores_[2]->remove(3));  // as an older version would not have had it
  start_standby();
  ASSERT_TRUE(is_acknowledged());
  EXPECT_EQ(copies(), (std::vector<std::int64_t>{2, 3, 5}));
  for (const std::int64_t no : {2, 3, 5}) expect_copy(no);
}

TEST_F(CaseCopies, LargeOnesComeInSeveralAnswers) {
  stop_standby();
  std::vector<std::int64_t> all;
  for (std::int64_t no = 1; no <= 30; ++no) {
    open_case(no, submission_of(std::string(1 << 20, static_cast<char>('a' + no % 26))));
    all.push_back(no);
  }
  asked_ = 0;
  start_standby();
  ASSERT_TRUE(is_acknowledged());
  EXPECT_EQ(copies(), all);
  for (const std::int64_t no : all) expect_copy(no);
  EXPECT_GT(asked_, 30 / 5);
}

TEST_F(CaseCopies, WhereTheyFindNoRoomNothingIsAcknowledged) {
  write("case_closed", 1);
  ASSERT_TRUE(is_acknowledged());
  stores_[2]->is_full = true;
  open_case(2, submission_of("x"));
  EXPECT_FALSE(is_acknowledged(30s));
  EXPECT_THAT(follower_->standing().trouble, testing::HasSubstr("full"));
  stores_[2]->is_full = false;
  ASSERT_TRUE(is_acknowledged());
  expect_copy(2);
}

TEST_F(CaseCopies, OneThatIsDamagedKeepsNobodyElseWaiting) {
  open_case(1, submission_of("whole"));
  ASSERT_TRUE(is_acknowledged());
  std::ofstream(folders_.folder(1) + "/cases/c1/submission.json", std::ios::binary) << "{\"owner\"";
  open_case(2, submission_of("next"));
  ASSERT_TRUE(is_acknowledged());
  expect_copy(2);
  write("case_opened", 1);
  ASSERT_TRUE(is_acknowledged());
  EXPECT_TRUE(stores_[2]->load(1)) << "the standby's copy is whole";
}

TEST_F(CaseCopies, AnOlderActiveIsFollowedWithout) {
  stop_standby();
  is_older_ = true;
  open_case(1, submission_of("x"));
  start_standby();
  ASSERT_TRUE(is_acknowledged());
  EXPECT_TRUE(copies().empty());
}

TEST_F(CaseCopies, OnlyTheActiveHandsThemOutAndOnlyWhatItIsAskedFor) {
  open_case(1, submission_of("x"));
  EXPECT_FALSE(case_feed_->answer(Json::object()));
  EXPECT_FALSE(case_feed_->answer(*Json::parse(R"({"format": 1, "cases": ["../1"], "after": 0})")));
  EXPECT_FALSE(case_feed_->answer(*Json::parse(R"({"format": 2, "cases": [1], "after": 0})")));
  const Json ask = *Json::parse(R"({"format": 1, "cases": [1, 2], "after": 0})");
  const auto answer = case_feed_->answer(ask);
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)["submitted"].size(), 1U);
  EXPECT_EQ((*answer)["gone"].size(), 1U);
  term_ = 0;
  const auto refused = case_feed_->answer(ask);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
}

}  // namespace
}  // namespace sickbay
