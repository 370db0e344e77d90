// SPDX-License-Identifier: Apache-2.0
#include "workload/merge/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "workload/merge/combine.h"
#include "workload/merge/merge_test_parts.h"

namespace sickbay::workload {
namespace {

// What merge() makes of some rows.
struct Merged {
  explicit Merged(const std::vector<Row>& given) {
    for (const Row& row : given) rows.add() = row;
    merge(rows, arena, jobs);
  }
  const Row& job() const { return jobs[0]; }
  Rows rows, jobs;
  Arena arena;
};

Row job_row(std::string_view id = "7") {
  Row row;
  row.set(Text::job_id, id);
  row.set(Text::user_name, "ann");
  row.set(Text::state, "COMPLETED");
  row.set(Text::node_list, "n[1-2]");
  row.set(Num::submit_time, 1000);
  row.set(Num::start_time, 1100);
  row.set(Num::end_time, 1200);
  row.set(Num::elapsed, 100);
  row.set(Num::cpus, 8);
  row.set(Num::nodes, 2);
  return row;
}

Row step_row(std::string_view step, std::string_view id = "7") {
  Row row;
  row.kind = step == "batch" ? RowKind::batch : step == "extern" ? RowKind::extern_ : RowKind::step;
  row.set(Text::job_id, id);
  row.set(Text::step, step);
  row.set(Text::job_name, step == "0" ? "cp2k.psmp" : step);
  row.set(Text::state, "COMPLETED");
  row.set(Num::start_time, 1110);
  row.set(Num::end_time, 1190);
  row.set(Num::elapsed, 80);
  return row;
}

bool has(const Row& job, Repair r) { return (job.get(Num::repairs) & bit(r)) != 0; }
bool has(const Row& job, Flaw f) { return (job.get(Num::flaws) & bit(f)) != 0; }

TEST(Merge, StepsGiveMaximaAndSums) {
  Row a = step_row("0"), b = step_row("1"), batch = step_row("batch");
  a.set(Num::max_rss, 500);
  b.set(Num::max_rss, 700);
  a.set(Num::tasks, 4);
  b.set(Num::tasks, 2);
  a.set(Num::ave_rss, 100);       // 4 processes: 400
  b.set(Num::usage_mem, 1300);    // told by TRESUsage
  a.set(Num::ave_disk_read, 10);  // 40
  b.set(Num::usage_disk_in, 7);
  batch.set(Num::usage_disk_in, 1);
  b.set(Num::usage_disk_out, 5);
  b.set(Text::job_name, "ab init");
  b.set(Text::state, "FAILED");
  const Merged m({job_row(), a, b, batch, step_row("extern")});
  ASSERT_EQ(m.jobs.size(), 1U);
  EXPECT_EQ(m.job().find(Num::max_rss), 700);
  EXPECT_EQ(m.job().find(Num::ave_rss), 100);
  EXPECT_EQ(m.job().find(Num::job_rss), 1300);
  EXPECT_EQ(m.job().find(Num::disk_read), 48);
  EXPECT_EQ(m.job().find(Num::disk_write), 5);
  EXPECT_EQ(m.job().find(Num::tasks), 4);
  EXPECT_EQ(m.job().find(Num::steps), 2);
  EXPECT_EQ(m.job().find(Num::steps_failed), 1);
  EXPECT_EQ(m.job().get(Text::step_names), "ab init cp2k.psmp");
  EXPECT_EQ(m.job().find(Num::cpu_time), 800);
  EXPECT_EQ(m.job().get(Text::state), "COMPLETED") << "the script went on after the failed step";
  EXPECT_EQ(m.job().get(Num::repairs), 0);
  EXPECT_EQ(m.job().get(Num::flaws), 0);
}

TEST(Merge, MissingIsNotZero) {
  const Merged m({job_row(), step_row("0"), step_row("batch")});
  for (const Num f : {Num::max_rss, Num::ave_rss, Num::job_rss, Num::disk_read, Num::disk_write,
                      Num::total_cpu, Num::gpu_util_milli, Num::energy, Num::req_mem, Num::tasks})
    EXPECT_FALSE(m.job().has(f)) << kNumFields[static_cast<std::size_t>(f)].name;
  Row zero = step_row("0");
  zero.set(Num::max_rss, 0);
  EXPECT_EQ(Merged({job_row(), zero}).job().find(Num::max_rss), 0);
}

TEST(Merge, UsageTakesThePlaceOfATotalCpuOfZero) {
  Row job = job_row(), step = step_row("0");
  step.set(Num::usage_cpu, 60'000);
  step.set(Num::total_cpu, 0);
  job.set(Num::total_cpu, 0);
  const Merged mended({job, step});
  EXPECT_EQ(mended.job().find(Num::total_cpu), 60'000);
  EXPECT_TRUE(has(mended.job(), Repair::total_cpu_usage));
  job.set(Num::total_cpu, 50'000);
  const Merged kept({job, step});
  EXPECT_EQ(kept.job().find(Num::total_cpu), 50'000);
  EXPECT_FALSE(has(kept.job(), Repair::total_cpu_usage));
}

TEST(Merge, MemoryAskedPerNodeOrCpuIsTheWholeJobs) {
  Row job = job_row();
  job.set(Num::req_mem_per_node, 1000);
  EXPECT_EQ(Merged({job}).job().find(Num::req_mem), 2000);
  job.set(Num::req_mem_per_node, 0);
  EXPECT_FALSE(Merged({job}).job().has(Num::req_mem)) << "0n: all of the node";
  job = job_row();
  job.set(Num::req_mem_per_cpu, 1000);
  EXPECT_EQ(Merged({job}).job().find(Num::req_mem), 8000);
  job.drop(Num::cpus);
  job.set(Num::req_cpus, 3);
  EXPECT_EQ(Merged({job}).job().find(Num::req_mem), 3000);
}

TEST(Merge, TheBatchStepsOwnWordMendsAJobSaidToBeCompleted) {
  Row batch = step_row("batch");
  batch.set(Text::state, "OUT_OF_MEMORY");
  batch.set(Num::exit_signal, 125);
  const Merged m({job_row(), batch});
  EXPECT_EQ(m.job().get(Text::state), "OUT_OF_MEMORY");
  EXPECT_EQ(m.job().get(Text::state_text), "COMPLETED");
  EXPECT_EQ(m.job().find(Num::exit_signal), 125);
  EXPECT_TRUE(has(m.job(), Repair::state_from_steps));
}

TEST(Merge, NodeFailStaysWhateverItsStepsSay) {
  Row job = job_row(), batch = step_row("batch");
  job.set(Text::state, "NODE_FAIL");
  batch.set(Text::state, "CANCELLED");
  const Merged m({job, batch});
  EXPECT_EQ(m.job().get(Text::state), "NODE_FAIL");
  EXPECT_EQ(m.job().get(Num::repairs), 0);
}

TEST(Merge, AJobCancelledWhileItWaitedNeverStarted) {
  Row job = job_row();
  job.set(Text::state, "CANCELLED");
  job.set(Num::start_time, 1200);
  job.set(Num::elapsed, 0);
  EXPECT_TRUE(Merged({job}).job().has(Num::start_time)) << "it had nodes";
  job.drop(Text::node_list);
  const Merged m({job});
  EXPECT_FALSE(m.job().has(Num::start_time));
  EXPECT_FALSE(m.job().has(Num::cpus));
  EXPECT_EQ(m.job().find(Num::req_cpus), 8);
  EXPECT_TRUE(has(m.job(), Repair::never_started));
}

TEST(Merge, TimesComeFromOneAnother) {
  Row job = job_row();
  job.drop(Num::elapsed);
  const Merged a({job});
  EXPECT_EQ(a.job().find(Num::elapsed), 100);
  EXPECT_TRUE(has(a.job(), Repair::elapsed_from_times));
  job = job_row();
  job.drop(Num::end_time);
  const Merged b({job});
  EXPECT_EQ(b.job().find(Num::end_time), 1200);
  EXPECT_TRUE(has(b.job(), Repair::times_from_elapsed));
  job.set(Text::state, "RUNNING");
  EXPECT_FALSE(Merged({job}).job().has(Num::end_time)) << "it runs still";
}

TEST(Merge, IdsThatCameAgainAreJobsOfTheirOwnWithTheirOwnSteps) {
  Row old = job_row(), young = job_row();
  young.set(Num::submit_time, 5000);
  young.set(Num::start_time, 5100);
  young.set(Num::end_time, 5200);
  Row early = step_row("0"), late = step_row("0"), between = step_row("1");
  early.set(Num::max_rss, 1);
  late.set(Num::max_rss, 2);
  late.set(Num::start_time, 5150);
  between.set(Num::start_time, 1205);  // after the first: a clock that was off
  const Merged m({late, young, early, old, between});
  ASSERT_EQ(m.jobs.size(), 2U);
  EXPECT_EQ(m.jobs[0].get(Num::submit_time), 1000);
  EXPECT_EQ(m.jobs[0].find(Num::max_rss), 1);
  EXPECT_EQ(m.jobs[0].find(Num::steps), 2);
  EXPECT_EQ(m.jobs[1].find(Num::max_rss), 2);
  EXPECT_EQ(m.jobs[1].find(Num::steps), 1);
}

TEST(Merge, RowsOfOtherIdsAndClustersAreKeptApart) {
  Row other = job_row("8"), here = job_row("7"), elsewhere = job_row("7");
  here.set(Text::cluster, "east");
  elsewhere.set(Text::cluster, "west");
  const Merged m({here, other, elsewhere, step_row("0", "8")});
  ASSERT_EQ(m.jobs.size(), 3U);
  int steps = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (m.jobs[i].get(Num::steps) == 1) {
      ++steps;
      EXPECT_EQ(m.jobs[i].get(Text::job_id), "8");
    }
  EXPECT_EQ(steps, 1);
}

TEST(Merge, StepsThatTellNoClusterAreThoseOfTheOneThatIsTold) {
  Row here = job_row(), there = job_row(), step = step_row("0");
  here.set(Text::cluster, "east");
  there.set(Text::cluster, "west");
  const Merged one({step, here});
  ASSERT_EQ(one.jobs.size(), 1U);
  EXPECT_EQ(one.job().get(Text::cluster), "east");
  EXPECT_EQ(one.job().find(Num::steps), 1);
  const Merged two({step, here, there});
  EXPECT_EQ(two.jobs.size(), 3U) << "of which of the two it is, nobody can say";
}

TEST(Merge, ARowThatCameTwiceCountsOnce) {
  Row step = step_row("0");
  step.set(Num::usage_disk_in, 10);
  const Merged m({job_row(), step, job_row(), step, step});
  ASSERT_EQ(m.jobs.size(), 1U);
  EXPECT_EQ(m.job().find(Num::disk_read), 10);
  EXPECT_EQ(m.job().find(Num::steps), 1);
  EXPECT_TRUE(has(m.job(), Repair::duplicate_rows));
}

TEST(Merge, ARunWithoutAStartIsFlawed) {
  Row row = job_row();
  row.drop(Num::start_time);
  row.drop(Num::end_time);
  row.set(Num::elapsed, 3600);
  row.set(Num::cpus, 2);
  const Merged m({row});
  EXPECT_NE(m.job().get(Num::flaws) & bit(Flaw::no_start), 0);
  EXPECT_EQ(m.job().find(Num::cpu_time), 7200);
}

// PBS: S and E are parts of one record, and none came twice.
TEST(Merge, PartsOfOneRecordAreNoDuplicates) {
  Row begun = job_row();
  begun.kind = RowKind::part;
  begun.set(Text::state, "RUNNING");
  begun.drop(Num::end_time);
  EXPECT_FALSE(has(Merged({begun, job_row()}).job(), Repair::duplicate_rows));
  EXPECT_TRUE(has(Merged({begun, job_row(), begun}).job(), Repair::duplicate_rows));
}

// PBS keeps the ctime of a job that it runs again; TORQUE's R does not even tell it.
TEST(Merge, ARerunIsARestartOfItsJob) {
  const auto row = [](RowKind kind, const char* state, std::int64_t start, std::int64_t end) {
    Row r;
    r.kind = kind;
    r.set(Text::job_id, "7");
    r.set(Text::state, state);
    if (start > 0) r.set(Num::start_time, start);
    if (end > 0) r.set(Num::end_time, end);
    return r;
  };
  Row first = row(RowKind::part, "RUNNING", 100, 0), rerun = row(RowKind::rerun, "REQUEUED", 0, 200),
      second = row(RowKind::part, "RUNNING", 210, 0), ended = row(RowKind::job, "COMPLETED", 210, 300);
  for (Row* each : {&first, &second, &ended}) {
    each->set(Num::submit_time, 50);
    each->set(Num::cpus, 4);
  }
  for (const auto& rows : {std::vector<Row>{first, rerun, second, ended},
                           {ended, rerun, second, first},
                           {rerun, first, ended},
                           {first, rerun, rerun, ended}}) {
    const Merged m(rows);
    ASSERT_EQ(m.jobs.size(), 2U);
    const Row &was = m.jobs[0], &is = m.jobs[1];
    EXPECT_EQ(was.get(Text::state), "REQUEUED");
    EXPECT_EQ(was.find(Num::submit_time), 50);
    EXPECT_EQ(was.find(Num::start_time), 100);
    EXPECT_EQ(was.find(Num::end_time), 200);
    EXPECT_EQ(was.find(Num::cpu_time), 400);
    EXPECT_EQ(is.get(Text::state), "COMPLETED");
    EXPECT_EQ(is.find(Num::submit_time), 200);
    EXPECT_EQ(is.find(Num::restarts), 1);
    EXPECT_EQ(is.find(Num::cpu_time), 360);
    EXPECT_FALSE(has(was, Repair::elapsed_from_times));
  }
  // A run that began before the log shows in the restarts alone.
  const Merged alone({rerun, second, ended});
  ASSERT_EQ(alone.jobs.size(), 1U);
  EXPECT_EQ(alone.job().find(Num::restarts), 1);
}

TEST(Merge, TheLaterRowOfARunningJobCounts) {
  Row running = job_row(), step_then = step_row("0"), step_now = step_row("0");
  running.set(Text::state, "RUNNING");
  running.drop(Num::end_time);
  running.set(Num::elapsed, 10);
  step_then.set(Text::state, "RUNNING");
  step_then.drop(Num::end_time);
  step_then.set(Num::max_rss, 5);
  step_now.set(Num::max_rss, 9);
  const Merged m({job_row(), step_now, running, step_then});
  ASSERT_EQ(m.jobs.size(), 1U);
  EXPECT_EQ(m.job().get(Text::state), "COMPLETED");
  EXPECT_EQ(m.job().find(Num::elapsed), 100);
  EXPECT_EQ(m.job().find(Num::max_rss), 9);
  EXPECT_EQ(m.job().find(Num::steps), 1);
}

TEST(Merge, AJobKnownByItsStepsOnly) {
  Row batch = step_row("batch");
  batch.set(Text::state, "FAILED");
  batch.set(Num::exit_code, 3);
  batch.set(Num::end_time, 1300);
  batch.set(Num::cpus, 4);
  const Merged m({step_row("0"), batch});
  ASSERT_EQ(m.jobs.size(), 1U);
  EXPECT_TRUE(has(m.job(), Repair::job_from_steps));
  EXPECT_EQ(m.job().get(Text::job_id), "7");
  EXPECT_EQ(m.job().get(Text::state), "FAILED");
  EXPECT_EQ(m.job().find(Num::exit_code), 3);
  EXPECT_EQ(m.job().find(Num::start_time), 1110);
  EXPECT_EQ(m.job().find(Num::end_time), 1300);
  EXPECT_EQ(m.job().find(Num::elapsed), 190);
  EXPECT_EQ(m.job().find(Num::cpus), 4);
  EXPECT_FALSE(m.job().has(Num::submit_time));
}

TEST(Merge, Flaws) {
  struct Case {
    Flaw flaw;
    void (*spoil)(Row&);
  };
  const Case cases[] = {
      {Flaw::end_before_start, [](Row& r) { r.set(Num::end_time, 1000); }},
      {Flaw::start_before_submit, [](Row& r) { r.set(Num::submit_time, 1101); }},
      {Flaw::over_used, [](Row& r) { r.set(Num::total_cpu, 8'100'000); }},
      {Flaw::no_user, [](Row& r) { r.drop(Text::user_name); }},
      {Flaw::no_cpus, [](Row& r) { r.set(Num::cpus, 0); }},
      {Flaw::over_limit,
       [](Row& r) {
         r.set(Num::time_limit, 60);
         r.set(Num::elapsed, 3700);
       }},
      {Flaw::unknown_state, [](Row& r) { r.add_bits(Num::flaws, bit(Flaw::unknown_state)); }},
  };
  EXPECT_EQ(Merged({job_row()}).job().get(Num::flaws), 0);
  for (const Case& c : cases) {
    Row row = job_row();
    c.spoil(row);
    EXPECT_TRUE(has(Merged({row}).job(), c.flaw)) << static_cast<int>(c.flaw);
  }
}

TEST(Merge, NumbersBeyondAllReasonDoNotOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  Row job = job_row(), a = step_row("0"), b = step_row("1");
  for (const auto& f : kNumFields) {
    if (f.field == Num::repairs || f.field == Num::flaws) continue;
    job.set(f.field, kHuge);
    a.set(f.field, kHuge);
    b.set(f.field, kHuge);
  }
  job.drop(Num::cpu_time);
  const Merged m({job, a, b});  // under -fsanitize=undefined this is the test
  EXPECT_EQ(m.job().get(Num::cpu_time), kHuge);
}

// ---- properties
// ---------------------------------------------------------------------------------------------

std::vector<std::string> merged_texts(const std::vector<Row>& rows) {
  const Merged m(rows);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < m.jobs.size(); ++i) texts.push_back(text_of(m.jobs[i], true));
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(MergeProperty, NeitherOrderNorRepetitionOfRowsShows) {
  std::mt19937 random(20260101);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Row> rows;
    const int count = 1 + static_cast<int>(random() % 9);
    for (int i = 0; i < count; ++i) rows.push_back(random_row(random));
    const auto expected = merged_texts(rows);
    for (int again = 0; again < 4; ++again) {
      std::vector<Row> other = rows;
      for (int twice = static_cast<int>(random() % 3); twice > 0; --twice)
        other.push_back(rows[random() % rows.size()]);
      std::shuffle(other.begin(), other.end(), random);
      ASSERT_EQ(merged_texts(other), expected) << "round " << round;
    }
  }
}

TEST(MergeProperty, JobsHaveNoFieldThatWasNotToldOf) {
  std::mt19937 random(20260102);
  for (int round = 0; round < 3000; ++round) {
    // Some fields that a log has; its rows have some of them.
    FieldSet log = FieldSet::of(Text::job_id);
    for (const auto& f : kTextFields)
      if (random() % 4 == 0) log.add(f.field);
    for (const auto& f : kNumFields)
      if (random() % 4 == 0) log.add(f.field);
    Rows rows, jobs;
    Arena arena;
    FieldSet told;
    for (unsigned left = 1 + random() % 5; left > 0; --left) {
      Row& row = rows.add();
      row = random_row(random);
      for (const auto& f : kTextFields)
        if (log.has(f.field) && random() % 2 == 0 && !row.has(f.field)) row.set(f.field, "a");
      for (const auto& f : kNumFields)
        if (log.has(f.field) && random() % 2 == 0)
          row.set(f.field, 1 + static_cast<std::int64_t>(random() % 3));
        else if (!log.has(f.field))
          row.drop(f.field);
      for (const auto& f : kTextFields)
        if (!log.has(f.field)) row.drop(f.field);
      told.add(row.fields());
    }
    merge(rows, arena, jobs);
    ASSERT_GT(jobs.size(), 0U);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      ASSERT_TRUE(fields_of_jobs(told).has_all(jobs[i].fields())) << text_of(jobs[i]);
  }
}

TEST(CombineProperty, CommutativeAndIdempotent) {
  std::mt19937 random(20260102);
  for (int round = 0; round < 20000; ++round) {
    const Row a = random_job(random), b = random_job(random);
    Row ab, ba, aa, again;
    combine(a, b, ab);
    combine(b, a, ba);
    combine(a, a, aa);
    ASSERT_EQ(text_of(ab), text_of(ba)) << "round " << round;
    ASSERT_EQ(text_of(aa), text_of(a)) << "round " << round;
    combine(ab, ab, again);
    ASSERT_EQ(text_of(again), text_of(ab)) << "round " << round;
    // What was taken up changes nothing when it comes again.
    combine(ab, b, again);
    ASSERT_EQ(text_of(again), text_of(ab))
        << "round " << round << "\na " << text_of(a) << "\nb " << text_of(b);
    combine(ab, a, again);
    ASSERT_EQ(text_of(again), text_of(ab))
        << "round " << round << "\na " << text_of(a) << "\nb " << text_of(b);
  }
}

TEST(Combine, TheRicherRecordCountsAndIsFilledFromTheOther) {
  Row running = job_row(), ended = job_row();
  running.set(Text::state, "RUNNING");
  running.drop(Num::end_time);
  running.set(Num::elapsed, 10);
  running.set(Text::qos, "normal");
  running.set(Num::max_rss, 900);
  ended.set(Num::max_rss, 800);
  Row out;
  combine(running, ended, out);
  EXPECT_EQ(out.get(Text::state), "COMPLETED");
  EXPECT_EQ(out.find(Num::elapsed), 100);
  EXPECT_EQ(out.get(Text::qos), "normal");
  EXPECT_EQ(out.find(Num::max_rss), 900) << "either may have missed a step";
}

TEST(Combine, ARunningJobGetsNoEndFromItsSteps) {
  Row running = job_row(), fragment = job_row();
  running.set(Text::state, "RUNNING");
  running.drop(Num::end_time);
  fragment.set(Num::repairs, bit(Repair::job_from_steps));
  Row out;
  combine(fragment, running, out);
  EXPECT_EQ(out.get(Text::state), "RUNNING");
  EXPECT_FALSE(out.has(Num::end_time));
  EXPECT_EQ(out.get(Num::repairs), 0);
}

}  // namespace
}  // namespace sickbay::workload
