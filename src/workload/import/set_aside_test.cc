// SPDX-License-Identifier: Apache-2.0
// Rows that were set aside come out as they went in, whichever thread put them there.
#include "workload/import/set_aside.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "workload/import/import_test_parts.h"

namespace sickbay::workload {
namespace {

Status fill(Store& store, const std::shared_ptr<SetAside>& kept, const std::string& name) {
  if (auto added = store.connection().add_source(SetAside::source(kept, name)); !added) return added;
  return store.connection().execute("INSERT INTO run_records FROM " + name + "()");
}

TEST(SetAside, GivesBackKindsNumbersAndTexts) {
  const auto kept = std::make_shared<SetAside>();
  Row row;
  row.kind = RowKind::part;
  row.set(Text::job_id, "7");
  const std::string user(70'000, 'a');
  row.set(Text::user_name, user);
  row.set(Text::step, "batch");
  row.set(Num::submit_time, 1'600'000'000);
  row.set(Num::exit_code, -1);
  ASSERT_TRUE(kept->add(row));
  row.clear();
  row.kind = RowKind::rerun;
  row.set(Text::job_id, "8");
  row.set(Text::account, "");
  row.set(Num::usage_mem, 5);
  ASSERT_TRUE(kept->add(row));
  EXPECT_EQ(kept->rows(), 2u);
  Store store = open_store();
  ASSERT_TRUE(fill(store, kept, "a"));
  EXPECT_EQ(rows_of(store, "SELECT * REPLACE (md5(user_name) AS user_name) FROM run_records ORDER BY job_id"),
            (std::vector<std::string>{
                "job_id=7 user_name=" +
                    text_of(store.connection().query("SELECT md5(repeat('a', 70000))")->rows[0][0]) +
                    " submit_time=1600000000000000 exit_code=-1 step=batch row_kind=4 ",
                "job_id=8 usage_mem=5 row_kind=5 "}));
}

TEST(SetAside, OfNothingGivesNothing) {
  const auto kept = std::make_shared<SetAside>();
  Store store = open_store();
  ASSERT_TRUE(fill(store, kept, "a"));
  EXPECT_EQ(rows_of(store, "SELECT count(*) AS n FROM run_records"), std::vector<std::string>{"n=0 "});
}

TEST(SetAside, TakesRowsOfManyThreads) {
  const auto kept = std::make_shared<SetAside>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        Row row;
        const std::string id = std::to_string(t * 10'000 + i);
        row.set(Text::job_id, id);
        row.set(Num::job_id_raw, t * 10'000 + i);
        EXPECT_TRUE(kept->add(row));
      }
    });
  for (std::thread& thread : threads) thread.join();
  Store store = open_store();
  ASSERT_TRUE(fill(store, kept, "a"));
  EXPECT_EQ(
      rows_of(store,
              "SELECT count(DISTINCT job_id) AS n, sum(job_id_raw)::BIGINT AS s, count(*) FILTER (WHERE "
              "job_id <> job_id_raw::VARCHAR) AS wrong FROM run_records"),
      std::vector<std::string>{"n=20000 s=349990000 wrong=0 "});
}

}  // namespace
}  // namespace sickbay::workload
