// SPDX-License-Identifier: Apache-2.0
#include "model/job_outcome.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(JobOutcome, NamesOfOneKind) {
  struct Row {
    const char *name, *kind;
  };
  for (const Row& row : {Row{"sweep_0017", "sweep_#"},
                         {"sweep_18", "sweep_#"},
                         {"2d-run3.sh", "#d-run#.sh"},
                         {"", ""},
                         {"42", "#"},
                         {"train", "train"}})
    EXPECT_EQ(program_kind(row.name), row.kind) << row.name;
  EXPECT_EQ(program_kind(std::string(500, 'x')).size(), 64U);
}

// All states of Slurm: which of them speak of the node at which life.
TEST(JobOutcome, WhatAnEndSays) {
  enum What { nothing, neutral, pass, failure };
  struct Row {
    const char* state;
    What early, late;
  };
  const TimePoint start = from_unix_seconds(1000);
  for (const Row& row : {
           Row{"PENDING", nothing, nothing},
           {"SUSPENDED", nothing, nothing},
           {"COMPLETED", pass, pass},
           {"FAILED", failure, failure},
           {"NODE_FAIL", failure, failure},
           {"BOOT_FAIL", failure, failure},

           // Somebody's or something else's doing: only that it lived says anything.
           {"CANCELLED", nothing, pass},
           {"TIMEOUT", neutral, pass},
           {"OUT_OF_MEMORY", neutral, pass},
           {"DEADLINE", neutral, pass},
           {"PREEMPTED", nothing, pass},
       })
    for (const bool late : {false, true}) {
      JobInfo job;
      job.job_id = 7;
      job.state = row.state;
      job.nodes = "n[1-2]";
      job.start = start;
      job.end = start + std::chrono::seconds(late ? 181 : 180);
      const auto outcome = outcome_of(job, start);
      const What want = late ? row.late : row.early;
      ASSERT_EQ(outcome.has_value(), want != nothing) << row.state << late;
      if (!outcome) continue;
      EXPECT_EQ(outcome->failed, want == failure) << row.state << late;
      EXPECT_EQ(outcome->neutral, want == neutral) << row.state << late;
      EXPECT_EQ(outcome->passed_early(), want == pass || (want == failure && late)) << row.state << late;
      EXPECT_EQ(outcome->failed_early(), want == failure && !late) << row.state << late;
      EXPECT_EQ(outcome->nodes, (std::vector<std::string>{"n1", "n2"}));
      EXPECT_EQ(JobOutcome::from_json(outcome->to_json()), *outcome);
    }
}

TEST(JobOutcome, OneThatRunsIsToldByHowLongItLives) {
  JobInfo job;
  job.state = "RUNNING";
  job.nodes = "n1";
  job.start = from_unix_seconds(1000);
  const auto outcome = outcome_of(job, from_unix_seconds(1042));
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->ended);
  EXPECT_EQ(outcome->lived.count(), 42);
  EXPECT_EQ(JobOutcome::from_json(outcome->to_json()), *outcome);
  job.start = kNoTime;
  EXPECT_FALSE(outcome_of(job, from_unix_seconds(1042)));
}

TEST(ToldLives, TellsEachAgeAndTheEndOnce) {
  using std::chrono::seconds;
  const TimePoint start = from_unix_seconds(1000);
  ToldLives told;
  EXPECT_FALSE(told.is_news(1, start, false, seconds(2)));
  EXPECT_TRUE(told.is_news(1, start, false, seconds(12)));
  EXPECT_FALSE(told.is_news(1, start, false, seconds(14)));
  EXPECT_TRUE(told.is_news(1, start, false, seconds(200)));  // ages that nobody looked at are one
  EXPECT_FALSE(told.is_news(1, start, false, seconds(5000)));
  EXPECT_TRUE(told.is_news(1, start, true, seconds(5001)));
  EXPECT_FALSE(told.is_news(1, start, true, seconds(5001)));
  EXPECT_FALSE(told.is_news(1, start, false, seconds(5001)));  // an older answer
  // Put back into the queue it is another run.
  EXPECT_TRUE(told.is_news(1, start + seconds(9000), true, seconds(1)));
  // What began long before the first look is told by its end alone.
  EXPECT_FALSE(told.is_news(2, start, false, seconds(400)));
  EXPECT_TRUE(told.is_news(2, start, true, seconds(401)));
}

TEST(ToldLives, ForgetsWhatSlurmHasForgotten) {
  const TimePoint start = from_unix_seconds(1000);
  ToldLives told;
  EXPECT_TRUE(told.is_news(1, start, true, std::chrono::seconds(3)));
  told.end_look();
  EXPECT_FALSE(told.is_news(1, start, true, std::chrono::seconds(3)));
  told.end_look();
  told.end_look();
  EXPECT_TRUE(told.is_news(1, start, true, std::chrono::seconds(3)));
}

TEST(JobOutcome, OfAWideJobNoNodeIsNamed) {
  JobInfo job;
  job.state = "FAILED";
  job.nodes = "n[1-65]";
  job.start = from_unix_seconds(1000);
  job.end = from_unix_seconds(1001);
  ASSERT_TRUE(outcome_of(job, job.end));
  EXPECT_TRUE(outcome_of(job, job.end)->nodes.empty());
  job.nodes = "n[1-64]";
  EXPECT_EQ(outcome_of(job, job.end)->nodes.size(), 64U);
}

}  // namespace
}  // namespace sickbay
