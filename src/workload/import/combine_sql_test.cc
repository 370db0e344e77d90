// SPDX-License-Identifier: Apache-2.0
// The SQL that brings an import into a store says what combine() says.
#include "workload/import/combine_sql.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "workload/import/import_test_parts.h"
#include "workload/merge/merge_test_parts.h"

namespace sickbay::workload {
namespace {

constexpr const char* kIncoming = "CREATE TEMP TABLE incoming AS FROM jobs LIMIT 0";

TEST(CombineSql, SaysWhatCombineSaysOfRandomPairs) {
  std::mt19937 random(20260103);
  std::vector<Row> existing, incoming, expected;
  std::vector<std::unique_ptr<std::string>> ids;
  for (int i = 0; i < 5000; ++i) {
    ids.push_back(std::make_unique<std::string>(std::to_string(100000 + i)));
    Row a = random_job(random), b = random() % 10 == 0 ? a : random_job(random), both;
    a.set(Text::job_id, *ids.back());
    b.set(Text::job_id, *ids.back());
    if (random() % 2 == 0) {
      a.set(Text::cluster, "c");
      b.set(Text::cluster, "c");
    } else {
      a.drop(Text::cluster);
      b.drop(Text::cluster);
    }
    combine(a, b, both);
    existing.push_back(a);
    incoming.push_back(b);
    expected.push_back(both);
  }
  Store store = open_store(), wanted = open_store();
  ASSERT_TRUE(store.connection().execute(kIncoming));
  ASSERT_TRUE(insert_rows(store, "jobs", existing));
  ASSERT_TRUE(insert_rows(store, "incoming", incoming));
  ASSERT_TRUE(insert_rows(wanted, "jobs", expected));
  const auto done = store.connection().execute(combine_sql());
  ASSERT_TRUE(done) << done.error().line();

  const auto got = jobs_of(store), want = jobs_of(wanted);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]) << i;

  // The same again changes nothing.
  ASSERT_TRUE(store.connection().execute(combine_done_sql()));
  ASSERT_TRUE(store.connection().execute(kIncoming));
  ASSERT_TRUE(insert_rows(store, "incoming", incoming));
  ASSERT_TRUE(store.connection().execute(combine_sql()));
  EXPECT_EQ(rows_of(store, "SELECT count(*) AS n FROM import_pairs").at(0), "n=5000 ");
  EXPECT_EQ(rows_of(store, "SELECT count(*) AS n FROM import_combined").at(0), "n=0 ");
  EXPECT_EQ(jobs_of(store), want);
}

Row plain_job(std::string_view id, std::int64_t submit) {
  Row row;
  row.set(Text::job_id, id);
  row.set(Text::state, "COMPLETED");
  row.set(Text::user_name, "ann");
  row.set(Num::submit_time, submit);
  row.set(Num::start_time, submit + 10);
  row.set(Num::end_time, submit + 20);
  row.set(Num::repairs, 0);
  row.set(Num::flaws, 0);
  return row;
}

TEST(CombineSql, StepsWithoutAJobFindTheInstanceInWhoseRunTheyBegan) {
  Row fragment = plain_job("7", 2000), stray = plain_job("7", 5000);
  for (Row* row : {&fragment, &stray}) {
    row->drop(Num::submit_time);
    row->set(Num::repairs, bit(Repair::job_from_steps));
  }
  fragment.set(Num::max_rss, 55);
  const std::vector<Row> whole = {plain_job("7", 1000), plain_job("7", 2000)};
  for (const bool fragment_first : {false, true}) {
    Store store = open_store();
    ASSERT_TRUE(store.connection().execute(kIncoming));
    ASSERT_TRUE(insert_rows(store, fragment_first ? "incoming" : "jobs", whole));
    ASSERT_TRUE(insert_rows(store, fragment_first ? "jobs" : "incoming", {fragment}));
    const auto done = store.connection().execute(combine_sql());
    ASSERT_TRUE(done) << done.error().line();
    EXPECT_EQ(jobs_of(store, "epoch(submit_time)::BIGINT AS s, max_rss, repairs"),
              (std::vector<std::string>{"s=1000 repairs=0 ", "s=2000 max_rss=55 repairs=0 "}));
  }
  Store store = open_store();
  ASSERT_TRUE(store.connection().execute(kIncoming));
  ASSERT_TRUE(insert_rows(store, "jobs", whole));
  ASSERT_TRUE(insert_rows(store, "incoming", {stray}));
  ASSERT_TRUE(store.connection().execute(combine_sql()));
  EXPECT_EQ(jobs_of(store, "1 AS x").size(), 3U) << "it began in no run that is known";
}

TEST(CombineSql, LabelsAreTheNewerImportsUnlessItKnowsLess) {
  Row old = plain_job("7", 1000), poor = plain_job("7", 1000);
  old.set(Text::application, "VASP");
  for (const bool labelled : {true, false}) {
    Store store = open_store();
    Row again = old;
    if (labelled)
      again.set(Text::application, "CP2K");
    else
      again.drop(Text::application);
    ASSERT_TRUE(store.connection().execute(kIncoming));
    ASSERT_TRUE(insert_rows(store, "jobs", {old}));
    ASSERT_TRUE(insert_rows(store, "incoming", {again}));
    ASSERT_TRUE(store.connection().execute(combine_sql()));
    EXPECT_EQ(jobs_of(store, "application").at(0), labelled ? "application=CP2K " : "application=VASP ");
  }
  poor.set(Text::application, "unknown");
  poor.set(Num::end_time, 1);
  Store store = open_store();
  ASSERT_TRUE(store.connection().execute(kIncoming));
  ASSERT_TRUE(insert_rows(store, "jobs", {old}));
  ASSERT_TRUE(insert_rows(store, "incoming", {poor}));
  ASSERT_TRUE(store.connection().execute(combine_sql()));
  EXPECT_EQ(jobs_of(store, "application").at(0), "application=VASP ");
}

TEST(CombineSql, ATimeFarBehindTheNewestImportIsAFlawUntilALaterOne) {
  Row odd = plain_job("7", 1000), soon = plain_job("8", 1000);
  odd.set(Num::end_time, 2000 + 2 * 86400);
  soon.set(Num::end_time, 2000 + 86400);
  Store store = open_store();
  ASSERT_TRUE(insert_rows(store, "jobs", {odd, soon, plain_job("9", 2000 + 2 * 86400)}));
  const auto import_at = [&](std::int64_t seconds) {
    ASSERT_TRUE(store.connection().execute(fmt::format(
        "INSERT INTO imports (content_hash, imported_at) VALUES ('x', make_timestamp({}000000))", seconds)));
  };
  import_at(1000);
  import_at(2000);
  const std::string flag = std::to_string(bit(Flaw::in_future));
  for (int twice = 0; twice < 2; ++twice) {
    const auto done = store.connection().execute(in_future_sql());
    ASSERT_TRUE(done) << done.error().line();
    EXPECT_EQ(jobs_of(store, "job_id, flaws"),
              (std::vector<std::string>{"job_id=7 flaws=" + flag + " ", "job_id=8 flaws=0 ",
                                        "job_id=9 flaws=" + flag + " "}));
  }
  import_at(90000 + 86400);
  ASSERT_TRUE(store.connection().execute(in_future_sql()));
  EXPECT_EQ(jobs_of(store, "flaws"), (std::vector<std::string>(3, "flaws=0 ")));
}

}  // namespace
}  // namespace sickbay::workload
