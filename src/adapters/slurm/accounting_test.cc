// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/accounting.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sickbay::slurm {
namespace {

const std::string kD = "DELIM";

/// One record as sacct --parsable prints it.
std::string record(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += field + kD;
  return line + "\n";
}

std::vector<std::string> good() {
  return {"26",   "60001", "FAILED", "3:0", "1795257036", "1795257037", "1795257035", "n[1-2]",
          "main", "5",     "2",      "",    "/home/x",    "job.sh",     "26",         "sbatch --hold x"};
}

TEST(Accounting, AJobIsReadWhole) {
  const auto jobs = parse_sacct(record(good()), kD);
  ASSERT_TRUE(jobs) << jobs.error().line();
  ASSERT_EQ(jobs->size(), 1U);
  JobInfo expected;
  expected.job_id = 26;
  expected.uid = 60001;
  expected.state = "FAILED";
  expected.exit_code = 3;
  expected.start = from_unix_seconds(1795257036);
  expected.end = from_unix_seconds(1795257037);
  expected.submit = from_unix_seconds(1795257035);
  expected.nodes = "n[1-2]";
  expected.partition = "main";
  expected.time_limit_s = 300;
  expected.num_nodes = 2;
  expected.work_dir = "/home/x";
  expected.name = "job.sh";
  EXPECT_EQ((*jobs)[0].job, expected);
  EXPECT_EQ((*jobs)[0].submit_line, "sbatch --hold x");
}

TEST(Accounting, TasksOfArraysAreNamed) {
  struct Row {
    const char* name;
    JobId array;
    const char* tasks;
  };
  for (const Row& row : {Row{"20_7", 20, "7"}, Row{"20_[12-21:3%2]", 20, "12,15,18,21"}, Row{"26", 0, ""}}) {
    auto fields = good();
    fields[14] = row.name;
    const auto jobs = parse_sacct(record(fields), kD);
    ASSERT_TRUE(jobs) << jobs.error().line();
    EXPECT_EQ((*jobs)[0].job.array_job_id, row.array);
    EXPECT_EQ((*jobs)[0].job.array_task_id, row.tasks);
  }
  auto fields = good();
  fields[14] = "20_[1-...]";
  EXPECT_FALSE(parse_sacct(record(fields), kD));
}

TEST(Accounting, WordsForNothingAreNothing) {
  auto fields = good();
  fields[2] = "CANCELLED by 60001";
  fields[3] = "0:15";
  fields[4] = "None";
  fields[5] = "Unknown";
  fields[7] = "None assigned";
  fields[9] = "Partition_Limit";
  const auto jobs = parse_sacct(record(fields), kD);
  ASSERT_TRUE(jobs) << jobs.error().line();
  const JobInfo& job = (*jobs)[0].job;
  EXPECT_EQ(job.state, "CANCELLED");
  EXPECT_EQ(job.exit_signal, 15);
  EXPECT_EQ(job.start, kNoTime);
  EXPECT_EQ(job.end, kNoTime);
  EXPECT_EQ(job.nodes, "");
  EXPECT_EQ(job.time_limit_s, 0);
}

TEST(Accounting, AYearIsNoLimit) {
  // What the backfill scheduler writes where the job has no limit.
  const struct {
    const char* minutes;
    std::int64_t seconds;
  } rows[] = {{"5", 300}, {"525599", 31535940}, {"525600", 0}, {"1000000", 0}, {"UNLIMITED", 0}};
  for (const auto& row : rows) {
    auto fields = good();
    fields[9] = row.minutes;
    const auto jobs = parse_sacct(record(fields), kD);
    ASSERT_TRUE(jobs) << jobs.error().line();
    EXPECT_EQ((*jobs)[0].job.time_limit_s, row.seconds) << row.minutes;
  }
}

TEST(Accounting, UsersTextMayHoldLinesAndBars) {
  auto first = good(), second = good();
  first[13] = "a|b\n99|60001|COMPLETED|0:0|\n";
  first[14] = "sbatch --job-name='a|b\n'";
  second[0] = "27";
  const auto jobs = parse_sacct(record(first) + record(second), kD);
  ASSERT_TRUE(jobs) << jobs.error().line();
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].job.name, first[13]);
  EXPECT_EQ((*jobs)[1].job.job_id, 27U);
}

TEST(Accounting, WhatDoesNotFitIsAnErrorWithItsField) {
  const struct {
    std::size_t field;
    const char* text;
    const char* words;
  } rows[] = {
      {0, "26.batch", "JobIDRaw"}, {0, "", "JobIDRaw"},          {1, "root", "UID"},
      {2, "EXPLODED", "State"},    {3, "3", "ExitCode"},         {3, "3:x", "ExitCode"},
      {4, "2026-11-21", "Start"},  {9, "5 min", "TimelimitRaw"},
  };
  for (const auto& row : rows) {
    auto fields = good();
    fields[row.field] = row.text;
    const auto jobs = parse_sacct(record(fields), kD);
    ASSERT_FALSE(jobs) << row.text;
    EXPECT_EQ(jobs.error().code, ErrorCode::bad_input);
    EXPECT_NE(jobs.error().what.find(row.words), std::string::npos) << jobs.error().what;
  }
  EXPECT_FALSE(parse_sacct("26" + kD + "60001" + kD, kD));
  EXPECT_FALSE(parse_sacct(record(good()) + "rest", kD));
  EXPECT_TRUE(parse_sacct("", kD)->empty());
}

TEST(Accounting, TheDelimiterCannotBeGuessed) {
  EXPECT_EQ(random_delimiter().size(), 24U);
  EXPECT_NE(random_delimiter(), random_delimiter());
}

TEST(Accounting, TheCommandAsksInUtcForWholeJobs) {
  const ProcessSpec by_id = sacct_command({{26, 27}, 0}, "/usr/bin/sacct", "/x/slurm.conf", kD);
  EXPECT_EQ(by_id.argv.back(), "--jobs=26,27");
  EXPECT_EQ(std::ranges::count(by_id.argv, "--allocations"), 1);
  EXPECT_EQ(std::ranges::count(by_id.environment, "TZ=UTC"), 1);
  EXPECT_EQ(std::ranges::count(by_id.environment, "SLURM_CONF=/x/slurm.conf"), 1);
  const ProcessSpec by_user = sacct_command({{}, 60001}, "/usr/bin/sacct", "/x/slurm.conf", kD);
  EXPECT_EQ(std::ranges::count(by_user.argv, "--uid=60001"), 1);
  EXPECT_EQ(by_user.argv.back(), "--starttime=now-14days");
}

TEST(Accounting, AnAbsentSlurmdbdIsSaidSo) {
  ProcessOutcome outcome;
  outcome.exit_code = 1;
  outcome.err = "sacct: error: Problem talking to the database: Connection refused\n";
  EXPECT_EQ(sacct_error(outcome).code, ErrorCode::slurm_away);
  outcome.err = "sacct: fatal: Bad job/step specified: x\n";
  EXPECT_EQ(sacct_error(outcome).code, ErrorCode::refused_by_slurm);
  outcome.timed_out = true;
  EXPECT_EQ(sacct_error(outcome).code, ErrorCode::timed_out);
}

}  // namespace
}  // namespace sickbay::slurm
