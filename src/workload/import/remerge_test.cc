// SPDX-License-Identifier: Apache-2.0
// Logs of PBS, TORQUE and Grid Engine in pieces: whatever is imported first, the store is that of one import
// of all.
#include "workload/import/remerge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "workload/import/import.h"
#include "workload/import/import_test_parts.h"

namespace sickbay::workload {
namespace {

using Lines = std::vector<std::string>;

constexpr std::int64_t kDay = 1'600'041'600;  // 2020-09-14 00:00 UTC

std::string record(char kind, std::int64_t at, const std::string& id, const std::string& rest) {
  const std::int64_t second = at - kDay;
  return fmt::format("09/{:02}/2020 {:02}:{:02}:{:02};{};{}.srv;{}", 14 + second / 86400, second / 3600 % 24,
                     second / 60 % 60, second % 60, kind, id, rest);
}
std::string whole(std::int64_t ctime, std::int64_t start) {
  return fmt::format(
      "user=ann group=phys account=acc jobname=vasp queue=long ctime={} qtime={} etime={} start={} "
      "exec_host=n1/0*4 Resource_List.nodect=1 Resource_List.nodes=1:ppn=4 Resource_List.walltime=10:00:00 "
      "Resource_List.pmem=1gb",
      kDay + ctime, kDay + ctime, kDay + ctime, kDay + start);
}
std::string begun(const std::string& id, std::int64_t ctime, std::int64_t start) {
  return record('S', kDay + start, id, whole(ctime, start));
}
std::string ended(const std::string& id, std::int64_t ctime, std::int64_t start, std::int64_t end,
                  int status = 0) {
  return record('E', kDay + end, id,
                fmt::format("{} end={} Exit_status={} resources_used.cput=00:00:{:02} "
                            "resources_used.mem={}kb resources_used.walltime=00:01:00",
                            whole(ctime, start), kDay + end, status, end % 60, 1000 + end % 7));
}
// TORQUE's has nothing, PBS Pro's all.
std::string rerun(const std::string& id, std::int64_t at) { return record('R', kDay + at, id, ""); }
std::string rerun(const std::string& id, std::int64_t at, std::int64_t ctime, std::int64_t start) {
  return record('R', kDay + at, id, whole(ctime, start));
}

// A record of Grid Engine, which writes one for each run: 25 is one that it rescheduled, 24 one that
// migrated.
std::string sge(int id, std::int64_t submit, std::int64_t start, std::int64_t end, int failed, int task = 0,
                int status = 0) {
  return fmt::format(
      "all.q:n1:staff:ann:vasp:{}:sge:5:{}:{}:{}:{}:{}:{}:3.25:0.5:40.0:0:0:0:0:824:3:0:504.0:16:0:0:0:106:"
      "12:"
      "NONE:defaultdepartment:NONE:1:{}:3.75:0.1:0.0:-l h_rt=7200:0.0:NONE:1073741824.0:0:0",
      id, kDay + submit, kDay + start, kDay + end, failed, status, end - start, task);
}

class RemergeTest : public testing::Test {
 protected:
  RemergeTest() {
    char name[] = "/tmp/sickbay-remerge-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~RemergeTest() override { std::filesystem::remove_all(folder_); }

  ImportResult import(Store& store, const Lines& lines, const std::string& key = {},
                      const char* format = "torque") {
    const std::string path = folder_ + "/" + std::to_string(count_++);
    std::ofstream file(path);
    for (const std::string& line : lines) file << line << "\n";
    file.close();
    ImportOrder order;
    order.inputs = {path};
    order.read.format = format;
    order.threads = 1;
    order.pseudonym_key = key;
    auto result = import_logs(store, order);
    EXPECT_TRUE(result) << result.error().message("import");
    return result ? *result : ImportResult();
  }
  static Lines short_jobs(Store& store) {
    return jobs_of(store,
                   "state, epoch(submit_time)::BIGINT - 1600041600 AS submit, epoch(start_time)::BIGINT - "
                   "1600041600 AS start, elapsed, restarts");
  }
  // But for the mark of rows that came twice in one import.
  static Lines all_of(Store& store) {
    return jobs_of(store, fmt::format("* REPLACE (repairs & ~{} AS repairs)", bit(Repair::duplicate_rows)));
  }
  static Lines kept(Store& store) { return rows_of(store, "SELECT job_id, row_kind FROM run_records"); }

  std::string folder_;
  int count_ = 0;
};

TEST_F(RemergeTest, ARerunIsPutTogetherWhateverFileComesFirst) {
  const std::vector<Lines> files = {{begun("7", 50, 100)},
                                    {rerun("7", 200)},
                                    {begun("7", 50, 210)},
                                    {ended("7", 50, 210, 300)},
                                    {begun("8", 10, 20), ended("8", 10, 20, 30)}};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  int tried = 0;
  do {
    if (++tried % 7 != 1) continue;  // 18 of the 120
    Store store = open_store();
    for (const std::size_t i : order) import(store, files[i]);
    ASSERT_EQ(short_jobs(store), (Lines{"state=REQUEUED submit=50 start=100 elapsed=100 ",
                                        "state=COMPLETED submit=200 start=210 elapsed=90 restarts=1 ",
                                        "state=COMPLETED submit=10 start=20 elapsed=10 "}))
        << testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(RemergeTest, TheSameFileAgainChangesNothing) {
  const Lines a = {begun("7", 50, 100), rerun("7", 200), begun("9", 60, 70)},
              b = {begun("7", 50, 210), ended("7", 50, 210, 300)};
  Store store = open_store();
  import(store, a);
  import(store, b);
  const Lines jobs = all_of(store), records = rows_of(store, "FROM run_records ORDER BY ALL");
  for (const Lines& file : {a, b, b, a}) {
    const ImportResult again = import(store, file);
    EXPECT_EQ(again.jobs_new, 0U);
    EXPECT_EQ(again.jobs_changed, 0U);
    EXPECT_EQ(all_of(store), jobs);
    EXPECT_EQ(rows_of(store, "FROM run_records ORDER BY ALL"), records);
  }
  for (const std::string& job : jobs_of(store, "repairs"))
    EXPECT_EQ(job, "repairs=0 ") << "nothing came twice";
}

TEST_F(RemergeTest, RecordsAreKeptOfJobsThatMayGoOnAndOfNoOthers) {
  Store store = open_store();
  import(store, {begun("7", 50, 100), ended("7", 50, 100, 200), ended("8", 50, 100, 200)});
  EXPECT_THAT(kept(store), testing::IsEmpty()) << "they have ended, once";
  import(store, {begun("9", 50, 100)});
  EXPECT_EQ(kept(store), Lines{"job_id=9 row_kind=4 "});
  import(store, {ended("9", 50, 100, 200)});
  EXPECT_THAT(kept(store), testing::IsEmpty());
  EXPECT_EQ(jobs_of(store, "state").size(), 3U);
  auto scratch = Store::open({.path = "", .threads = 1, .scratch = true});
  ASSERT_TRUE(scratch);
  import(*scratch, {begun("9", 50, 100)});
  EXPECT_THAT(kept(*scratch), testing::IsEmpty()) << "nothing comes after";
}

TEST_F(RemergeTest, TwoEndsOfOneSubmissionThatCameApartAreTwoRunsOnceTheRerunIsKnown) {
  Store store = open_store();
  import(store, {ended("7", 50, 100, 200)});
  import(store, {ended("7", 50, 310, 400)});
  EXPECT_EQ(jobs_of(store, "1 AS x").size(), 1U) << "as in one import of both";
  import(store, {rerun("7", 300)});
  EXPECT_EQ(short_jobs(store), (Lines{"state=COMPLETED submit=50 start=100 elapsed=100 ",
                                      "state=COMPLETED submit=300 start=310 elapsed=90 restarts=1 "}));
}

TEST_F(RemergeTest, AnIdThatCameAgainInAnotherLogIsNotLost) {
  Store store = open_store();
  import(store, {begun("7", 50, 100), rerun("7", 200)});
  ASSERT_TRUE(
      store.connection().execute("UPDATE jobs SET cluster = NULL; UPDATE run_records SET cluster = NULL"));
  const std::string path = folder_ + "/sacct";
  std::ofstream(path) << "JobID|User|State|Submit|Start|End|AllocCPUS\n"
                         "7|bob|COMPLETED|2024-01-01T00:00:00|2024-01-01T01:00:00|2024-01-01T02:00:00|2\n"
                         "8|bob|COMPLETED|2024-01-01T00:00:00|2024-01-01T01:00:00|2024-01-01T02:00:00|2\n";
  ImportOrder order;
  order.inputs = {path};
  order.threads = 1;
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(import_logs(store, order));
    EXPECT_EQ(jobs_of(store, "job_id, user_name, state"),
              (Lines{"job_id=7 user_name=ann state=REQUEUED ", "job_id=7 user_name=bob state=COMPLETED ",
                     "job_id=8 user_name=bob state=COMPLETED "}));
  }
}

// A log of some jobs, many of them run again; records that a real log would lack are left out at random.
Lines random_log(std::mt19937& random) {
  Lines lines;
  const auto maybe = [&](unsigned of) { return random() % of != 0; };
  for (int job = 0; job < 40; ++job) {
    const std::string id = std::to_string(100 + job);
    std::int64_t at = static_cast<std::int64_t>(random() % 200);
    const bool bare = random() % 2 == 0;
    for (unsigned again = random() % 5 == 0 ? 2 : 1; again > 0; --again) {  // ids wrap
      const std::int64_t ctime = at;
      for (unsigned runs = 1 + random() % 3; runs > 0; --runs) {
        at += 1 + static_cast<std::int64_t>(random() % 30);
        const std::int64_t start = at;
        if (maybe(5)) lines.push_back(begun(id, ctime, start));
        at += static_cast<std::int64_t>(random() % 100);
        if (runs > 1 && maybe(6))
          lines.push_back(bare ? rerun(id, at) : rerun(id, at, ctime, start));
        else if (maybe(6))
          lines.push_back(ended(id, ctime, start, at, static_cast<int>(random() % 2)));
      }
      at += 1 + static_cast<std::int64_t>(random() % 50);
    }
  }
  return lines;
}

// What only one of the two has: "-" of the first, "+" of the second.
std::string difference(const Lines& wanted, const Lines& got) {
  std::string text;
  for (const std::string& line : wanted)
    if (std::count(wanted.begin(), wanted.end(), line) > std::count(got.begin(), got.end(), line))
      text += "- " + line + "\n";
  for (const std::string& line : got)
    if (std::count(got.begin(), got.end(), line) > std::count(wanted.begin(), wanted.end(), line))
      text += "+ " + line + "\n";
  return text;
}
// The records of a job, for who looks into a difference.
std::string records_of(const Lines& lines, const std::string& difference) {
  const std::size_t at = difference.find("job_id=");
  if (at == difference.npos) return {};
  const std::string id = ";" + difference.substr(at + 7, 3) + ".srv;";
  std::string text;
  for (const std::string& line : lines)
    if (line.find(id) != line.npos) text += line + "\n";
  return text;
}

void expect_pieces_to_be_the_whole(std::mt19937& random, const Lines& lines,
                                   const std::function<void(Store&, const Lines&)>& import,
                                   const std::function<Lines(Store&)>& jobs_of_store) {
  Store at_once = open_store();
  import(at_once, lines);
  const Lines expected = jobs_of_store(at_once);
  Lines mixed = lines;
  if (random() % 3 != 0) std::shuffle(mixed.begin(), mixed.end(), random);  // else cut as a day would
  std::vector<Lines> pieces(2 + random() % 3);
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    pieces[i * pieces.size() / mixed.size()].push_back(mixed[i]);
    if (random() % 8 == 0) pieces[random() % pieces.size()].push_back(mixed[i]);  // logs overlap
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  Store store = open_store();
  std::string told;
  for (const Lines& piece : pieces) import(store, piece);
  const std::string first = difference(expected, jobs_of_store(store));
  for (const Lines& piece : pieces) told += "import of\n" + records_of(piece, first);
  ASSERT_EQ(first, "") << told;
  import(store, pieces.front());
  ASSERT_EQ(difference(expected, jobs_of_store(store)), "") << "a piece once more";
}

TEST_F(RemergeTest, ARandomLogCutAtRandomAndImportedInAnyOrderIsTheWhole) {
  std::mt19937 random(20261126);
  for (int round = 0; round < 16 && !HasFatalFailure(); ++round) {
    SCOPED_TRACE(round);
    expect_pieces_to_be_the_whole(
        random, random_log(random), [&](Store& store, const Lines& lines) { import(store, lines); }, all_of);
  }
}

TEST_F(RemergeTest, RunsThatGridEngineRescheduledArePutTogetherWhateverFileComesFirst) {
  const std::vector<Lines> files = {{sge(7, 50, 100, 200, 25), sge(8, 10, 20, 30, 0)},
                                    {sge(7, 50, 210, 300, 24), sge(9, 60, 70, 80, 25, 3)},
                                    {sge(7, 50, 310, 400, 0), sge(9, 60, 90, 95, 0, 3)}};
  std::vector<std::size_t> order = {0, 1, 2};
  do {
    Store store = open_store();
    for (const std::size_t i : order) import(store, files[i], {}, "sge");
    ASSERT_EQ(short_jobs(store), (Lines{"state=REQUEUED submit=50 start=100 elapsed=100 ",
                                        "state=REQUEUED submit=200 start=210 elapsed=90 restarts=1 ",
                                        "state=COMPLETED submit=300 start=310 elapsed=90 restarts=2 ",
                                        "state=COMPLETED submit=10 start=20 elapsed=10 ",
                                        "state=REQUEUED submit=60 start=70 elapsed=10 ",
                                        "state=COMPLETED submit=80 start=90 elapsed=5 restarts=1 "}))
        << testing::PrintToString(order);
    const Lines jobs = all_of(store);
    const ImportResult again = import(store, files[order[0]], {}, "sge");
    EXPECT_EQ(again.jobs_new + again.jobs_changed, 0U);
    EXPECT_EQ(all_of(store), jobs);
  } while (std::next_permutation(order.begin(), order.end()));
}

// As random_log(), in Grid Engine's words: no begins, an end for each run, and tasks of arrays.
Lines random_sge_log(std::mt19937& random) {
  Lines lines;
  for (int job = 0; job < 60; ++job) {
    const int id = 100 + job / 2, task = job % 2 == 0 ? 0 : 1 + static_cast<int>(random() % 2);
    std::int64_t at = static_cast<std::int64_t>(random() % 200);
    for (unsigned again = random() % 5 == 0 ? 2 : 1; again > 0; --again) {  // ids wrap
      const std::int64_t submit = at;
      for (unsigned runs = 1 + random() % 3; runs > 0; --runs) {
        at += 1 + static_cast<std::int64_t>(random() % 30);
        const std::int64_t start = at;
        at += 1 + static_cast<std::int64_t>(random() % 100);
        const int failed = runs > 1 ? 24 + static_cast<int>(random() % 2) : 0;
        if (random() % 6 != 0)
          lines.push_back(sge(id, submit, start, at, failed, task, static_cast<int>(random() % 2)));
      }
      at += 1 + static_cast<std::int64_t>(random() % 50);
    }
  }
  return lines;
}

TEST_F(RemergeTest, ARandomLogOfGridEngineInPiecesIsTheWhole) {
  std::mt19937 random(20261128);
  for (int round = 0; round < 10 && !HasFatalFailure(); ++round) {
    SCOPED_TRACE(round);
    expect_pieces_to_be_the_whole(
        random, random_sge_log(random),
        [&](Store& store, const Lines& lines) { import(store, lines, {}, "sge"); }, all_of);
  }
}

TEST_F(RemergeTest, SoItIsWithPseudonymsAndNoNameIsKept) {
  std::mt19937 random(20261127);
  for (int round = 0; round < 3 && !HasFatalFailure(); ++round) {
    SCOPED_TRACE(round);
    expect_pieces_to_be_the_whole(
        random, random_log(random),
        [&](Store& store, const Lines& lines) {
          import(store, lines, "0123456789abcdef");
          for (const std::string& row : rows_of(store, "FROM run_records"))
            ASSERT_THAT(row, testing::Not(testing::HasSubstr("=ann ")));
        },
        all_of);
  }
}

}  // namespace
}  // namespace sickbay::workload
