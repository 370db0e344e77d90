// SPDX-License-Identifier: Apache-2.0
#include "workload/relabel/relabel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sickbay::workload {
namespace {

Labeller lists(const std::string& text) {
  const std::vector<LabelFile> files{{"a.json", text}};
  auto labeller = Labeller::make(files);
  EXPECT_TRUE(labeller) << labeller.error().line();
  return std::move(*labeller);
}
const char* const kVasp =
    R"({"applications": [{"name": "VASP", "field": "materials", "keywords": ["vasp"]}]})";

// 40 jobs of each of 10 users, half of them VASP's; `times`: with run times.
Store store_with_jobs(bool times) {
  auto store = Store::open({});
  EXPECT_TRUE(store) << store.error().line();
  const std::string run = times ? "100, 3600" : "NULL, NULL";
  const auto filled = store->connection().execute(
      "INSERT INTO jobs(cluster, job_id, submit_time, user_name, job_name, cpus, cpu_time, elapsed, "
      "application) "
      "SELECT 'c', i::VARCHAR, TIMESTAMP '2021-05-01' + to_seconds(i), 'user' || i % 10, "
      "CASE WHEN i // 10 % 2 = 0 THEN 'vasp_5.4.4' ELSE 'turbsolve' || i END, 4, " +
      run + ", 'unknown' FROM range(400) t(i)");
  EXPECT_TRUE(filled) << filled.error().line();
  return std::move(*store);
}

std::int64_t count(Store& store, const std::string& where) {
  auto rows = store.connection().query("SELECT count(*) FROM jobs WHERE " + where);
  EXPECT_TRUE(rows) << rows.error().line();
  return rows ? std::get<std::int64_t>(rows->rows[0][0]) : -1;
}

TEST(Relabel, WritesWhatChangedAndNothingTheSecondTime) {
  Store store = store_with_jobs(true);
  const auto dry = relabel(store, lists(kVasp), true);
  ASSERT_TRUE(dry) << dry.error().line();
  EXPECT_EQ(dry->changed, 400u) << "the unknown get their kind";
  EXPECT_EQ(count(store, "application = 'VASP'"), 0);

  const auto done = relabel(store, lists(kVasp));
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->jobs, 400u);
  EXPECT_EQ(done->labelled, 200u);
  EXPECT_EQ(done->labelled_before, 0u);
  EXPECT_EQ(count(store,
                  "application = 'VASP' AND version = '5.4.4' AND app_field = 'materials' AND "
                  "labelled_by = 'keyword' AND job_name = 'vasp_5.4.4'"),
            200);
  EXPECT_EQ(count(store, "application = 'unknown' AND version IS NULL AND labelled_by = 'other'"), 200);

  const auto again = relabel(store, lists(kVasp));
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(again->changed, 0u);

  const auto gone = relabel(store, lists("{}"));  // another list takes labels away, too
  ASSERT_TRUE(gone) << gone.error().line();
  EXPECT_EQ(gone->changed, 200u);
  EXPECT_EQ(count(store, "application = 'VASP' OR version IS NOT NULL"), 0);
}

TEST(Relabel, NamesWithoutALabelWeighTheirCoreHours) {
  Store store = store_with_jobs(true);
  ASSERT_TRUE(relabel(store, lists(kVasp)));
  const auto names = read_names(store.connection());
  ASSERT_TRUE(names) << names.error().line();
  EXPECT_EQ(names->unit, "core-hours");
  EXPECT_EQ(names->jobs, 400u);
  EXPECT_NEAR(names->weight, 400 * 100 / 3600.0, 1e-6);
  EXPECT_EQ(names->unlabelled.size(), 200u);
  const Suggestions s = suggest(lists(kVasp), names->unlabelled, 5);
  ASSERT_EQ(s.groups.size(), 1u);
  EXPECT_EQ(s.groups[0].keyword, "turbsolve");
  EXPECT_EQ(s.groups[0].users, 10u);
}

// A keyword stands in more names than those of its group, and the steps may say otherwise.
TEST(Relabel, WhatAcceptingASuggestionWillDoIsWhatItDoes) {
  auto opened = Store::open({});
  ASSERT_TRUE(opened) << opened.error().line();
  Store store = std::move(*opened);
  const auto filled = store.connection().execute(
      "INSERT INTO jobs(cluster, job_id, submit_time, user_name, job_name, step_names, work_dir, cpus, "
      "cpu_time, "
      "elapsed, application) "
      "SELECT 'c', i::VARCHAR, TIMESTAMP '2021-05-01' + to_seconds(i), 'user' || i % 28, "
      "CASE WHEN i < 3 THEN 'larmor' || i WHEN i < 200 THEN 'case' || i || '_larmor' WHEN i < 360 THEN 'qzx' "
      "     WHEN i < 380 THEN 'larmor_vasp' ELSE 'turbsolve' END, "
      "CASE WHEN i BETWEEN 190 AND 199 THEN 'vasp' END, "
      "CASE WHEN i BETWEEN 200 AND 359 THEN '/work/p/larmor/run' || i END, 4, 3600, 900, 'unknown' "
      "FROM range(400) t(i)");
  ASSERT_TRUE(filled) << filled.error().line();
  const Labeller labeller = lists(kVasp);
  ASSERT_TRUE(relabel(store, labeller));
  const auto names = read_names(store.connection());
  ASSERT_TRUE(names) << names.error().line();
  const Suggestions s = suggest(labeller, names->unlabelled, 10);
  ASSERT_GE(s.groups.size(), 2u);
  for (const Suggestion& group : s.groups) {
    const Accepted accepted{&group, "New", "f"};
    auto accepting = Accepting::make(labeller, {&accepted, 1});
    ASSERT_TRUE(accepting) << accepting.error().line();
    ASSERT_TRUE(see_all(store.connection(), *names, {&*accepting, 1}));
    const Accepting::Effect told = accepting->effect();

    const auto with = labeller.with({"own.json", overlay_of({&accepted, 1}).pretty()});
    ASSERT_TRUE(with) << with.error().line();
    ASSERT_TRUE(relabel(store, *with));
    EXPECT_EQ(static_cast<std::int64_t>(told.jobs + told.moved), count(store, "application = 'New'"))
        << group.word;
    const auto users = store.connection().query(
        "SELECT count(DISTINCT user_name), sum(cpu_time) / 3600.0 FROM jobs WHERE application = 'New' AND "
        "job_id::INT "
        "NOT BETWEEN 360 AND 379");
    ASSERT_TRUE(users) << users.error().line();
    EXPECT_EQ(static_cast<std::int64_t>(told.users), std::get<std::int64_t>(users->rows[0][0])) << group.word;
    EXPECT_DOUBLE_EQ(told.weight, std::get<double>(users->rows[0][1])) << group.word;
    ASSERT_TRUE(relabel(store, labeller));
  }
  const auto larmor = std::find_if(s.groups.begin(), s.groups.end(), [](const Suggestion& g) {
    return g.keyword == "larmor" && g.by == "job name";
  });
  ASSERT_NE(larmor, s.groups.end());
  const Accepted accepted{&*larmor, "", ""};
  auto accepting = Accepting::make(labeller, {&accepted, 1});
  ASSERT_TRUE(accepting && see_all(store.connection(), *names, {&*accepting, 1}));
  EXPECT_EQ(larmor->jobs, 3u) << "its group is small";
  EXPECT_EQ(accepting->effect().jobs, 350u);
  EXPECT_EQ(accepting->effect().users, 28u);
  EXPECT_EQ(accepting->effect().moved, 20u) << "the longer keyword takes VASP's jobs over";
}

TEST(Relabel, WithoutTimesNamesWeighTheirCores) {
  Store store = store_with_jobs(false);
  const auto names = read_names(store.connection());
  ASSERT_TRUE(names) << names.error().line();
  EXPECT_EQ(names->unit, "cores");
  EXPECT_DOUBLE_EQ(names->weight, 1600);
}

TEST(Relabel, AnAuditDrawsLabelledJobsOfSomeUsersBySeed) {
  Store store = store_with_jobs(true);
  ASSERT_TRUE(relabel(store, lists(kVasp)));
  const auto jobs_of = [&](std::int64_t seed) {
    const auto sheet = sample_labelled(store.connection(), seed, 3, 25);
    EXPECT_TRUE(sheet) << sheet.error().line();
    std::set<std::string> ids, users;
    for (const AuditRecord& r : sheet->records) {
      EXPECT_EQ(r.application, "VASP");
      ids.insert(r.job_id);
      users.insert(r.user);
    }
    EXPECT_EQ(users.size(), 3u);
    EXPECT_EQ(ids.size(), 25u);
    return ids;
  };
  EXPECT_EQ(jobs_of(1), jobs_of(1));
  EXPECT_NE(jobs_of(1), jobs_of(2));
}

}  // namespace
}  // namespace sickbay::workload
