// SPDX-License-Identifier: Apache-2.0
// Records of a job array as slurmctld 22.05 has them, and the few events that come of them.
#include "service/watch_array.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TaskIds ids(std::string_view text) { return TaskIds::parse(text).value_or(TaskIds()); }

JobInfo record(JobId job_id, const std::string& tasks, const std::string& state,
               const std::string& nodes = "", int exit_code = 0) {
  JobInfo job;
  job.job_id = job_id;
  job.uid = 60001;
  job.array_job_id = 100;
  job.array_task_id = tasks;
  job.state = state;
  job.nodes = nodes;
  job.exit_code = exit_code;
  job.start = from_unix_seconds(1000);
  job.end = from_unix_seconds(1010);
  return job;
}

WatchedJob watched(const std::string& tasks, const std::string& left, bool told = true, bool begun = true) {
  WatchedJob job{100, 60001, "", "c1", "c1.r1"};
  job.array = WatchedArray{.tasks = ids(tasks), .left = ids(left), .told = told, .begun = begun};
  return job;
}

ArrayLook look(const WatchedJob& job, const std::vector<JobInfo>& records,
               const std::map<JobId, std::string>& nodes = {}) {
  return look_at_array(job, records, nodes, from_unix_seconds(2000));
}

TEST(WatchArray, TheFirstLookTellsWhichTasksThereAre) {
  const ArrayLook seen = look(watched("0-5", "", false, false),
                              {record(100, "2-5%2", "PENDING"), record(101, "0", "RUNNING", "n1"),
                               record(102, "1", "COMPLETED", "n2")});
  ASSERT_TRUE(seen.news);
  EXPECT_EQ(seen.news->body["tasks"].as_string(), "0-5");
  EXPECT_EQ(seen.news->body["running"].as_int(), 1);
  EXPECT_EQ(seen.news->body["ended"].dump(), R"([{"state":"COMPLETED","tasks":"1"}])");
  EXPECT_TRUE(seen.missing.empty());
}

TEST(WatchArray, HealthyTasksAreToldByTenths) {
  std::vector<JobInfo> records = {record(100, "50-999", "PENDING")};
  for (JobId task = 0; task < 50; ++task)
    records.push_back(record(101 + task, std::to_string(task), "COMPLETED"));
  EXPECT_FALSE(look(watched("0-999", "0-999"), records).news);
  for (JobId task = 50; task < 100; ++task)
    records.push_back(record(101 + task, std::to_string(task), "COMPLETED"));
  records[0].array_task_id = "100-999";
  const ArrayLook seen = look(watched("0-999", "0-999"), records);
  ASSERT_TRUE(seen.news);
  EXPECT_EQ(seen.news->body["ended"].dump(), R"([{"state":"COMPLETED","tasks":"0-99"}])");
  EXPECT_FALSE(look(watched("0-999", "100-999"), records).news) << "what was told is no news";
}

TEST(WatchArray, FailuresAreToldAtOnceWithAllTheirNodes) {
  const ArrayLook seen = look(watched("0-9", "0-9"),
                              {record(100, "2-9", "PENDING"), record(101, "0", "FAILED", "n2", 3),
                               record(102, "1", "RUNNING", "n[3-4]")},
                              {{101, "n[1-2]"}});
  ASSERT_TRUE(seen.news);
  EXPECT_EQ(seen.news->body["failed"].dump(),
            R"([{"task":0,"job_id":101,"state":"FAILED","exit_code":3,"exit_signal":0,"nodes":"n[1-2]"}])");
}

TEST(WatchArray, ACancelledRestIsOneRecord) {
  const ArrayLook seen = look(watched("0-198", "3-198"),
                              {record(100, "12-198:3%2", "CANCELLED"), record(109, "3-11", "CANCELLED")});
  ASSERT_TRUE(seen.news);
  EXPECT_EQ(ids(seen.news->body["ended"].items().at(0)["tasks"].as_string()).contains(198), true);
  EXPECT_EQ(ids(seen.news->body["ended"].items().at(0)["tasks"].as_string()).contains(13), false);
}

TEST(WatchArray, MissingTasksAreForAccounting) {
  const ArrayLook seen = look(watched("0-3", "0-3"), {record(100, "2-3", "PENDING")});
  EXPECT_EQ(seen.missing.text(), "0-1");
  EXPECT_FALSE(seen.news);
  const ArrayLook stranger = look(watched("0-3", "0-3"), [] {
    JobInfo other = record(100, "0-3", "COMPLETED");
    other.uid = 1;
    return std::vector<JobInfo>{other};
  }());
  EXPECT_TRUE(stranger.nothing) << "ids come again";
}

TEST(WatchArray, PreemptedAndRequeuedTasksAreWaitedFor) {
  JobInfo preempted = record(101, "0", "PREEMPTED");
  preempted.end = from_unix_seconds(1990);
  EXPECT_FALSE(look(watched("0-1", "0-1"), {record(100, "1", "PENDING"), preempted}).news);
  preempted.end = from_unix_seconds(1930);
  const ArrayLook over = look(watched("0-1", "0-1"), {record(100, "1", "PENDING"), preempted});
  ASSERT_TRUE(over.news);
  EXPECT_EQ(over.news->body["failed"].size(), 0U);
  // An end that was told stays, also where the task is run again.
  EXPECT_FALSE(
      look(watched("0-1", "1"), {record(100, "1", "PENDING"), record(101, "0", "RUNNING", "n1")}).news);
}

TEST(WatchArray, ATaskThatTookTooLongHasFailed) {
  WatchedJob job = watched("0-1", "0-1");
  job.array->longest_s = 5;
  const ArrayLook seen = look(job, {record(100, "1", "PENDING"), record(101, "0", "COMPLETED", "n1")});
  ASSERT_TRUE(seen.news);
  EXPECT_EQ(seen.news->body["failed"].items().at(0)["state"].as_string(), "COMPLETED");
}

}  // namespace
}  // namespace sickbay
