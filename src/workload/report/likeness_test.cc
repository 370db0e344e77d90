// SPDX-License-Identifier: Apache-2.0
#include "workload/report/likeness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "workload/store/store.h"

namespace sickbay::workload {
namespace {

class Likeness : public testing::Test {
 protected:
  void SetUp() override {
    auto store = Store::open({});
    ASSERT_TRUE(store) << store.error().line();
    store_.emplace(std::move(*store));
  }
  // `count` jobs of one user, name, size and label.
  void add(int count, const std::string& user, const std::string& name, int cpus,
           const std::string& application) {
    execute(fmt::format(
        "INSERT INTO jobs(cluster, job_id, submit_time, user_name, job_name, cpus, nodes, time_limit, "
        "application, "
        "app_field, labelled_by) SELECT 'c', {0} + i || '', TIMESTAMP '2021-05-01' + to_seconds(i), '{1}', "
        "replace('{2}', '#', i::VARCHAR), {3}, 1, 3600, '{4}', CASE WHEN '{4}' <> 'unknown' THEN 'f' END, "
        "CASE WHEN '{4}' = 'unknown' THEN 'other' ELSE 'step' END FROM range({5}) t(i)",
        next_ += 1000, user, name, cpus, application, count));
  }
  void execute(const std::string& sql) {
    const auto done = store_->connection().execute(sql);
    ASSERT_TRUE(done) << done.error().line();
  }
  std::string one(const std::string& sql) {
    auto rows = store_->connection().query(sql);
    EXPECT_TRUE(rows) << rows.error().line();
    if (!rows || rows->rows.empty()) return "none";
    const auto& cell = rows->rows[0][0];
    if (const auto* n = std::get_if<std::int64_t>(&cell)) return std::to_string(*n);
    if (const auto* d = std::get_if<double>(&cell)) return fmt::format("{:.4f}", *d);
    const auto* text = std::get_if<std::string>(&cell);
    return text == nullptr ? "NULL" : *text;
  }
  std::string like(const std::string& what, const std::string& where) {
    return one("SELECT " + what + " FROM jobs_like WHERE " + where);
  }
  std::optional<Store> store_;
  int next_ = 0;
};

TEST_F(Likeness, AJobIsWhatTheUsersJobsOfItsShapeAre) {
  add(20, "ann", "bulk_#", 48, "VASP");
  add(3, "ann", "bulk_x#", 48, "unknown");  // another name of that size: one name is no witness enough
  add(5, "ann", "bulk_#", 48, "unknown");
  add(5, "ann", "bulk_#", 8, "unknown");   // another size
  add(5, "bob", "bulk_#", 48, "unknown");  // another user
  execute(likeness_sql(0.8));
  EXPECT_EQ(like("count(*)", "labelled_by = 'like'"), "5");
  EXPECT_EQ(like("count(*)",
                 "labelled_by = 'like' AND user_name = 'ann' AND cpus = 48 AND application = 'VASP' AND "
                 "app_field = 'f' AND job_name NOT LIKE '%x%'"),
            "5");
  EXPECT_EQ(like("max(label_confidence)", "true"), "0.8389") << "Wilson's bound of 20 of 20";
  EXPECT_EQ(like("count(*)", "labelled_by = 'step' AND label_confidence IS NULL"), "20")
      << "evidence stays evidence";
  EXPECT_EQ(one("SELECT count(*) FROM jobs WHERE labelled_by = 'like'"), "0") << "nothing is stored";
  EXPECT_EQ(like("count(*)", "true"), one("SELECT count(*) FROM jobs"));
}

TEST_F(Likeness, FewOrDividedWitnessesAreNotSure) {
  add(15, "ann", "few", 4, "VASP");  // Wilson's bound of 15 of 15 is 0.796
  add(1, "ann", "few", 4, "unknown");
  add(40, "ann", "mixed", 4, "LAMMPS");
  add(10, "ann", "mixed", 4, "VASP");
  add(1, "ann", "mixed", 4, "unknown");
  execute(likeness_sql(0.8));
  EXPECT_EQ(like("count(*)", "labelled_by = 'like'"), "0");
  execute(likeness_sql(0.5));
  EXPECT_EQ(like("application", "labelled_by = 'like' AND job_name = 'few'"), "VASP");
  EXPECT_EQ(like("label_confidence", "labelled_by = 'like' AND job_name = 'mixed'"), "0.6696");
}

// Names that say nothing, of one user and size: his names are the witnesses, each once, however many jobs it
// has.
TEST_F(Likeness, ManyNamesOfOneSizeAreWitnessesToo) {
  for (char name = 'a'; name < 'a' + 20; ++name)
    add(name == 'a' ? 500 : 1, "eve", fmt::format("Si{}O", name), 96, "VASP");
  add(7, "eve", "TaBiSb", 96, "unknown");
  execute(likeness_sql(0.8));
  EXPECT_EQ(like("count(*)", "labelled_by = 'like' AND application = 'VASP' AND job_name = 'TaBiSb'"), "7");
  EXPECT_EQ(like("max(label_confidence)", "job_name = 'TaBiSb'"), "0.8389");
  EXPECT_EQ(one("SELECT (\"right\" = asked AND asked > 0)::BIGINT FROM (" + likeness_check_sql() + ")"), "1");
}

TEST_F(Likeness, JobsWithoutAUserAreNobodys) {
  execute(
      "INSERT INTO jobs(cluster, job_id, submit_time, job_name, cpus, application) SELECT 'c', i::VARCHAR, "
      "TIMESTAMP "
      "'2021-05-01', 'x', 4, CASE WHEN i < 30 THEN 'VASP' ELSE 'unknown' END FROM range(40) t(i)");
  execute(likeness_sql(0.8));
  EXPECT_EQ(like("count(*)", "labelled_by = 'like'"), "0");
}

}  // namespace
}  // namespace sickbay::workload
