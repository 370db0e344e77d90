// SPDX-License-Identifier: Apache-2.0
#include "workload/import/job_costs.h"

#include <gtest/gtest.h>

#include "workload/import/import_test_parts.h"

namespace sickbay::workload {
namespace {

constexpr std::int64_t kAt = 1'619'949'600'000'000;  // 2021-05-02 10:00:00

JobCostList some() {
  return {"",
          {{.job = 7,
            .restart = 0,
            .state = "NODE_FAIL",
            .at = kAt,
            .ran_ms = 3000,
            .recomputed_ms = 3000,
            .without_ms = 3000}},
          {{.job = 7, .restart = 0, .checkpoint = 1, .at = kAt - 1'000'000, .took_ms = 250}}};
}

TEST(JobCosts, ComeInOnceAndWhatIsKnownBetterReplacesThem) {
  Store store = open_store();
  for (int i = 0; i < 2; ++i) {
    const auto done = import_job_costs(store, some());
    ASSERT_TRUE(done) << done.error().line() << done.error().cause;
    EXPECT_EQ(rows_of(store, "SELECT job_id_raw, state, failed_at::VARCHAR AS t, gone_on FROM job_failures"),
              std::vector<std::string>{"job_id_raw=7 state=NODE_FAIL t=2021-05-02 10:00:00 gone_on=false "});
    EXPECT_EQ(rows_of(store, "SELECT checkpoint, took_ms FROM job_checkpoints"),
              std::vector<std::string>{"checkpoint=1 took_ms=250 "});
  }
  JobCostList later = some();
  later.failures[0].gone_on = true;
  later.failures[0].checkpoint = 1;
  later.failures[0].recomputed_ms = 1000;
  later.failures.push_back(later.failures[0]);  // the same said twice in one journal
  later.failures.push_back({.job = 8, .restart = 0, .state = "FAILED", .at = kAt});
  ASSERT_TRUE(import_job_costs(store, later));
  EXPECT_EQ(rows_of(store, "SELECT job_id_raw, checkpoint, recomputed_ms FROM job_failures ORDER BY ALL"),
            (std::vector<std::string>{"job_id_raw=7 checkpoint=1 recomputed_ms=1000 ",
                                      "job_id_raw=8 checkpoint=0 recomputed_ms=0 "}));
}

TEST(JobCosts, AreTakenByAStoreFromBeforeThem) {
  Store store = open_store();
  ASSERT_TRUE(store.connection().execute("DROP TABLE job_failures; DROP TABLE job_checkpoints"));
  ASSERT_TRUE(import_job_costs(store, some()));
  EXPECT_EQ(rows_of(store, "SELECT count(*) AS n FROM job_failures"), std::vector<std::string>{"n=1 "});
}

// One by one they would not fit into the memory of an import.
TEST(JobCosts, ComeInByTheHundredThousand) {
  auto store = Store::open({.path = "", .threads = 1, .memory_limit = std::uint64_t{128} << 20});
  ASSERT_TRUE(store) << store.error().line();
  JobCostList many;
  for (std::int64_t i = 0; i < 100'000; ++i)
    many.failures.push_back({.job = i, .restart = 0, .state = "NODE_FAIL", .at = kAt + i});
  const auto done = import_job_costs(*store, many);
  ASSERT_TRUE(done) << done.error().line() << done.error().cause;
  EXPECT_EQ(rows_of(*store, "SELECT count(*) AS n FROM job_failures"), std::vector<std::string>{"n=100000 "});
}

// The same number of a job in two clusters.
TEST(JobCosts, AreOfTheirCluster) {
  Store store = open_store();
  for (const char* cluster : {"a", "b", "", "a"}) {
    JobCostList list = some();
    list.cluster = cluster;
    ASSERT_TRUE(import_job_costs(store, list));
  }
  EXPECT_EQ(rows_of(store, "SELECT count(*) AS n, count(DISTINCT cluster) AS c FROM job_failures"),
            std::vector<std::string>{"n=3 c=2 "});
}

TEST(JobCosts, NoneChangeNothing) {
  Store store = open_store();
  ASSERT_TRUE(import_job_costs(store, {}));
  EXPECT_EQ(rows_of(store, "SELECT count(*) AS n FROM job_checkpoints"), std::vector<std::string>{"n=0 "});
}

}  // namespace
}  // namespace sickbay::workload
