// SPDX-License-Identifier: Apache-2.0
// Whole imports from a plan: of logs, and of what a stand-in for sacct tells.
#include "workload/import/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "workload/import/for_report.h"
#include "workload/import/import_test_parts.h"

namespace sickbay::workload {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kNow = 1'622'505'600;  // 2021-06-01T00:00:00Z
constexpr std::int64_t kHour = 3600;
using Asked = std::pair<std::int64_t, std::optional<std::int64_t>>;

std::string log_of(std::initializer_list<const char*> ids) {
  std::string text = "JobID|JobName|User|State|Submit|Start|End\n";
  for (const char* id : ids)
    text +=
        std::string(id) + "|vasp|ann|COMPLETED|2021-05-01T00:00:00|2021-05-01T00:00:10|2021-05-01T01:00:00\n";
  return text;
}

class Rounds : public testing::Test {
 protected:
  Rounds() {
    char name[] = "/tmp/sickbay-rounds-XXXXXX";
    folder_ = mkdtemp(name);
    plan_.store_path = folder_ + "/jobs.duckdb";
    plan_.order.threads = 1;
    plan_.ask_sacct = [this](std::int64_t from, std::optional<std::int64_t> to) -> Result<AskedLog> {
      asked_.emplace_back(from, to);
      ReadOptions read;
      read.format = "sacct";
      read.delimiter = "|";
      if (sacct_fails_) return fail(ErrorCode::refused_by_slurm, "sacct failed");
      return AskedLog{write("sacct", sacct_says_), read, nullptr};
    };
  }
  ~Rounds() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::vector<std::string> jobs(const std::string& what) const {
    auto store = Store::open({.path = plan_.store_path, .mode = StoreMode::read});
    if (!store) return {store.error().line()};
    return jobs_of(*store, what);
  }

  std::string folder_, sacct_says_ = log_of({"1"});
  bool sacct_fails_ = false;
  std::vector<Asked> asked_;
  ImportPlan plan_;
};

TEST_F(Rounds, OneImportOfLogsAsksNobody) {
  plan_.order.inputs = {write("log", log_of({"1", "2"}))};
  auto done = import_once(plan_, kNow);
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->jobs_new, 2u);
  EXPECT_TRUE(asked_.empty());
  EXPECT_THAT(jobs("job_id"), ElementsAre("job_id=1 ", "job_id=2 "));
}

TEST_F(Rounds, OneImportOfSacctAsksForThePeriodOrForADay) {
  plan_.order.read.cluster = "east";
  plan_.order.read.time_zone = "Asia/Shanghai";  // of other logs: sacct is asked in UTC
  plan_.from = kNow - 90 * kHour;
  plan_.to = kNow - 80 * kHour;
  auto done = import_once(plan_, kNow);
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->sources.at(0).name, "sacct") << "not the path of a file that is gone";
  EXPECT_THAT(jobs("cluster, epoch(submit_time)::BIGINT AS submit"),
              ElementsAre("cluster=east submit=1619827200 "));
  plan_.from = plan_.to = std::nullopt;
  ASSERT_TRUE(import_once(plan_, kNow));
  EXPECT_THAT(asked_, ElementsAre(Asked(kNow - 90 * kHour, kNow - 80 * kHour),
                                  Asked(kNow - 24 * kHour, std::nullopt)));
}

TEST_F(Rounds, EachRoundAsksSacctFromWhereTheLastOneEndedWithAnOverlap) {
  ImportRounds rounds(plan_);
  ASSERT_TRUE(rounds.next(kNow));
  ASSERT_TRUE(rounds.next(kNow + 5 * kHour));
  ImportRounds of_another_process(plan_);
  ASSERT_TRUE(of_another_process.next(kNow + 9 * kHour));
  EXPECT_THAT(asked_, ElementsAre(Asked(kNow - 24 * kHour, std::nullopt), Asked(kNow - kHour, std::nullopt),
                                  Asked(kNow + 4 * kHour, std::nullopt)));
}

TEST_F(Rounds, ADailyImportAsksFromWhereTheLastOneEndedHoweverLongAgo) {
  auto nothing = import_since_last(plan_, kNow);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::not_found) << "nobody said since when";
  EXPECT_TRUE(asked_.empty());
  plan_.from = kNow - 90 * kHour;
  ASSERT_TRUE(import_once(plan_, kNow));
  plan_.from = std::nullopt;
  sacct_says_ = log_of({"1", "2"});
  auto first = import_since_last(plan_, kNow + 24 * kHour);
  ASSERT_TRUE(first) << first.error().line();
  EXPECT_EQ(first->jobs_new, 1u);
  auto twice = import_since_last(plan_, kNow + 24 * kHour);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->jobs_new + twice->jobs_changed, 0u);
  sacct_fails_ = true;
  EXPECT_FALSE(import_since_last(plan_, kNow + 48 * kHour));
  sacct_fails_ = false;
  ASSERT_TRUE(import_since_last(plan_, kNow + 1000 * kHour)) << "after a gap";
  ASSERT_TRUE(import_since_last(plan_, kNow + 1024 * kHour));
  EXPECT_THAT(asked_,
              ElementsAre(Asked(kNow - 90 * kHour, std::nullopt), Asked(kNow - 24 * kHour, std::nullopt),
                          Asked(kNow, std::nullopt), Asked(kNow, std::nullopt), Asked(kNow, std::nullopt),
                          Asked(kNow + 976 * kHour, std::nullopt)));
}

TEST_F(Rounds, AnImportOfOneTimeLeavesNoGapBehindForTheNext) {
  plan_.from = kNow - 90 * kHour;
  ASSERT_TRUE(import_once(plan_, kNow));
  plan_.from = kNow + 100 * kHour;  // what lies between has not been asked for
  ASSERT_TRUE(import_once(plan_, kNow + 200 * kHour));
  plan_.from = kNow - 200 * kHour;
  plan_.to = kNow - 100 * kHour;  // nor does this go up to now
  ASSERT_TRUE(import_once(plan_, kNow + 200 * kHour));
  plan_.from = plan_.to = std::nullopt;
  ASSERT_TRUE(import_since_last(plan_, kNow + 300 * kHour));
  EXPECT_EQ(asked_.back(), Asked(kNow - 24 * kHour, std::nullopt));
}

TEST_F(Rounds, WhatAFailedRoundAskedForIsAskedForAgain) {
  ImportRounds rounds(plan_);
  ASSERT_TRUE(rounds.next(kNow));
  sacct_fails_ = true;
  auto failed = rounds.next(kNow + 5 * kHour);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(may_be_better_later(failed.error()));
  sacct_fails_ = false;
  sacct_says_ = "no log at all\n";
  EXPECT_FALSE(rounds.next(kNow + 6 * kHour));
  sacct_says_ = log_of({"1", "2"});
  auto done = rounds.next(kNow + 7 * kHour);
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ((*done)->jobs_new, 1u);
  EXPECT_EQ(asked_.at(1).first, kNow - kHour);
  EXPECT_EQ(asked_.at(3).first, kNow - kHour);
}

TEST_F(Rounds, OnlyLogsThatChangedAreImported) {
  plan_.order.inputs = {write("a", log_of({"1"})), write("b", log_of({"2"}))};
  ImportRounds rounds(plan_);
  auto first = rounds.next(kNow);
  ASSERT_TRUE(first && *first) << first.error().line();
  EXPECT_EQ((*first)->sources.size(), 2u);
  auto second = rounds.next(kNow);
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second) << "no log changed";
  write("b", log_of({"2", "3"}));
  auto third = rounds.next(kNow);
  ASSERT_TRUE(third && *third);
  EXPECT_EQ((*third)->sources.size(), 1u);
  EXPECT_EQ((*third)->jobs_new, 1u);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Rounds, LogsWhoseImportFailedAreTriedAgainAlsoWhenTheyDoNotChange) {
  plan_.order.inputs = {write("log", log_of({"1"}))};
  plan_.store_path = folder_ + "/later/jobs.duckdb";
  ImportRounds rounds(plan_);
  EXPECT_FALSE(rounds.next(kNow)) << "there is no folder for the store yet";
  std::filesystem::create_directory(folder_ + "/later");
  auto done = rounds.next(kNow);
  ASSERT_TRUE(done) << done.error().line();
  ASSERT_TRUE(*done) << "the log was taken for imported";
  EXPECT_EQ((*done)->jobs_new, 1u);
  EXPECT_FALSE(*rounds.next(kNow));
}

TEST(MayBeBetterLater, AWrongCommandLineIsNot) {
  EXPECT_FALSE(may_be_better_later(Error(ErrorCode::usage, "")));
  EXPECT_FALSE(may_be_better_later(Error(ErrorCode::too_new, "")));
  EXPECT_FALSE(may_be_better_later(Error(ErrorCode::missing_program, "")));
  EXPECT_TRUE(may_be_better_later(Error(ErrorCode::busy, "")));
  EXPECT_TRUE(may_be_better_later(Error(ErrorCode::refused_by_slurm, "")));
}

TEST_F(Rounds, NodesAreBroughtInAndTold) {
  plan_.node_files.nodes = write("nodes", "NodeName=n1 CPUTot=8 RealMemory=1000 Partitions=cpu\n");
  plan_.node_files.events = write(
      "events", "NodeName|TimeStart|TimeEnd|State|Reason\nn1|2021-05-01T00:00:00|Unknown|DOWN|broken\n");
  std::vector<std::string> told;
  auto done = import_nodes_of(plan_, kNow, [&](const char* what, const NodeImport& n) {
    told.push_back(std::string(what) + " " + std::to_string(n.added));
  });
  ASSERT_TRUE(done) << done.error().line() << done.error().cause;
  EXPECT_THAT(told, ElementsAre("nodes 1", "node events 1"));
  plan_.node_files.nodes = folder_ + "/none";
  auto missing = import_nodes_of(plan_, kNow, [](const char*, const NodeImport&) {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  plan_.node_files = {};
  plan_.store_path = folder_ + "/untouched.duckdb";
  ASSERT_TRUE(import_nodes_of(plan_, kNow, [](const char*, const NodeImport&) {}));
  EXPECT_FALSE(std::filesystem::exists(plan_.store_path)) << "nothing to do makes no store";
}

// A list that names no cluster comes before the jobs that do: it is theirs, and stays so when another comes.
TEST_F(Rounds, NodesGetTheClusterOfTheOnlyJobs) {
  plan_.node_files.nodes = write("nodes", "NodeName=n1 CPUTot=8\n");
  plan_.node_files.events = write("events", "NodeName|TimeStart|State\nn1|2021-05-01T00:00:00|DOWN\n");
  const auto nothing = [](const char*, const NodeImport&) {};
  ASSERT_TRUE(import_nodes_of(plan_, kNow, nothing));
  for (const char* cluster : {"a", "b"}) {
    plan_.order.read.cluster = cluster;
    plan_.order.inputs = {write(std::string("log ") + cluster, log_of({"1"}))};
    auto done = import_once(plan_, kNow);
    ASSERT_TRUE(done) << done.error().line() << done.error().cause;
  }
  {
    auto store = Store::open({.path = plan_.store_path});
    ASSERT_TRUE(store);
    EXPECT_THAT(rows_of(*store, "SELECT cluster FROM nodes UNION ALL SELECT cluster FROM node_events"),
                ElementsAre("cluster=a ", "cluster=a "));
  }
  auto refused = import_nodes_of(plan_, kNow, nothing);
  ASSERT_FALSE(refused) << "the next one could be of either";
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  plan_.node_files.cluster = "b";
  ASSERT_TRUE(import_nodes_of(plan_, kNow, nothing));
}

// ---- straight to a report
// ----------------------------------------------------------------------------------

TEST_F(Rounds, AReportOfLogsLeavesAStoreOnlyWhereItIsKept) {
  LogsOfReport logs;
  logs.order = plan_.order;
  logs.order.inputs = {write("log", log_of({"1", "2"}) + "3||||never||\n")};
  logs.order.max_reject_share = 1;
  logs.ask_sacct = plan_.ask_sacct;
  auto done = import_for_report(logs, plan_.store_path, from_unix_seconds(kNow));
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->sources.at(0).rejected, 1u);
  EXPECT_THAT(jobs("job_id"), ElementsAre("job_id=1 ", "job_id=2 ")) << "j reads a scratch store like any";
  plan_.store_path = folder_ + "/kept.duckdb";
  logs.kept = true;
  ASSERT_TRUE(import_for_report(logs, plan_.store_path, from_unix_seconds(kNow)));
  ASSERT_TRUE(import_for_report(logs, plan_.store_path, from_unix_seconds(kNow)))
      << "once more changes nothing";
  EXPECT_THAT(jobs("job_id"), ElementsAre("job_id=1 ", "job_id=2 "));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Rounds, AReportOfSacctAsksForItsPeriodOrForAMonth) {
  LogsOfReport live;
  live.order = plan_.order;
  live.ask_sacct = plan_.ask_sacct;
  ASSERT_TRUE(import_for_report(live, folder_ + "/1.duckdb", from_unix_seconds(kNow)));
  live.from = from_unix_seconds(kNow - 50 * kHour);
  live.to = from_unix_seconds(kNow - 40 * kHour);
  ASSERT_TRUE(import_for_report(live, folder_ + "/2.duckdb", from_unix_seconds(kNow)));
  EXPECT_THAT(asked_, ElementsAre(Asked(kNow - 30 * 24 * kHour, std::nullopt),
                                  Asked(kNow - 50 * kHour, kNow - 40 * kHour)));
}

}  // namespace
}  // namespace sickbay::workload
