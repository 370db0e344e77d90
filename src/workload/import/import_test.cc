// SPDX-License-Identifier: Apache-2.0
// Whole imports, of logs in the words of `sacct -P`, into stores on disk and in memory.
#include "workload/import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/json.h"
#include "workload/import/import_test_parts.h"
#include "workload/import/index.h"
#include "workload/import/pseudonyms.h"
#include "workload/import/rejects.h"

namespace sickbay::workload {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHeader =
    "JobID|JobName|User|Account|Partition|State|ExitCode|Submit|Start|End|Elapsed|AllocCPUS|NNodes|NTasks|"
    "NodeList|MaxRSS|AveRSS|TotalCPU|ReqMem|WorkDir";

std::string clock_at(std::int64_t seconds) {  // 2021-05-01 plus
  char text[40];
  std::snprintf(text, sizeof text, "2021-05-%02dT%02d:%02d:%02d", static_cast<int>(1 + seconds / 86400),
                static_cast<int>(seconds / 3600 % 24), static_cast<int>(seconds / 60 % 60),
                static_cast<int>(seconds % 60));
  return text;
}

// Rows of a made-up log, job by job: some with steps, some pending or running, one id that came again.
std::vector<std::string> made_up_rows(int jobs) {
  std::vector<std::string> rows;
  std::mt19937 random(7);
  const char* names[] = {"vasp", "lammps", "a.out", "train.py"};
  const char* states[] = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 1000"};
  for (int i = 0; i < jobs; ++i) {
    const std::string id = std::to_string(1000 + (i == jobs - 1 ? 0 : i));  // the last wraps around
    const std::string user = "user" + std::to_string(i % 5);
    const std::int64_t submit = 60 * i, start = submit + 30,
                       end = start + 100 + static_cast<int>(random() % 900);
    const auto rest = [&](int tasks, int rss) {
      return "8|2|" + (tasks > 0 ? std::to_string(tasks) : "") + "|n[1-2]|" +
             (rss > 0 ? std::to_string(rss) + "K|" + std::to_string(rss / 2) + "K" : "|");
    };
    char elapsed[16];
    std::snprintf(elapsed, sizeof elapsed, "00:%02d:%02d", static_cast<int>((end - start) / 60),
                  static_cast<int>((end - start) % 60));
    const std::string times = clock_at(start) + "|" + clock_at(end) + "|" + elapsed;
    rows.push_back(id + "|" + names[i % 4] + "|" + user + "|acc" + std::to_string(i % 3) + "|cpu|" +
                   states[random() % 4] + "|0:0|" + clock_at(submit) + "|" + times + "|" + rest(0, 0) +
                   "|00:10:00|4000Mc|/home/" + user + "/run" + std::to_string(i % 7));
    rows.push_back(id + ".batch|batch||||COMPLETED|0:0|" + clock_at(start) + "|" + times + "|" +
                   rest(1, 1000) + "|00:01:00||");
    const unsigned steps = random() % 3;
    for (unsigned s = 0; s < steps; ++s)
      rows.push_back(id + "." + std::to_string(s) + "|" + names[i % 4] + "||||COMPLETED|0:0|" +
                     clock_at(start + 1) + "|" + times + "|" +
                     rest(4, 5000 + static_cast<int>(random() % 90)) + "|00:05:00||");
  }
  return rows;
}

// A row that cannot be read: its Submit is no time.
std::string garbage(int i) { return std::to_string(90000 + i) + "|||||||never||||||||||||"; }

class ImportTest : public testing::Test {
 protected:
  ImportTest() {
    char name[] = "/tmp/sickbay-import-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~ImportTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::vector<std::string>& rows) const {
    std::ofstream file(folder_ + "/" + name);
    file << kHeader << "\n";
    for (const std::string& row : rows) file << row << "\n";
    return folder_ + "/" + name;
  }
  static Store open_store(int threads = 2) { return workload::open_store(threads); }
  static ImportResult import(Store& store, std::vector<std::string> inputs, ImportOrder order = {}) {
    order.inputs = std::move(inputs);
    order.threads = 2;
    auto result = import_logs(store, order);
    EXPECT_TRUE(result) << result.error().message("import");
    return result ? *result : ImportResult();
  }
  static std::string everything(Store& store) {
    std::string text;
    for (const std::string& row : jobs_of(store)) text += row + "\n";
    for (const char* table : {"imports", "rejects", "node_events", "nodes", "job_failures", "job_checkpoints",
                              "run_records", "meta"})
      for (const std::string& row : rows_of(store, std::string("SELECT * FROM ") + table + " ORDER BY ALL"))
        text += row + "\n";
    return text;
  }
  std::string folder_;
};

TEST_F(ImportTest, JobsWithTheirStepsOnceEach) {
  Store store = open_store();
  const auto rows = made_up_rows(50);
  const ImportResult r = import(store, {write("log", rows)});
  ASSERT_EQ(r.sources.size(), 1U);
  EXPECT_EQ(r.sources[0].records, rows.size());
  EXPECT_EQ(r.sources[0].lines, rows.size() + 1);
  EXPECT_EQ(r.sources[0].rejected, 0U);
  EXPECT_EQ(r.jobs_seen, 50U);
  EXPECT_EQ(r.jobs_new, 50U);
  EXPECT_EQ(rows_of(store, "SELECT count(*) AS n, sum(steps)::BIGINT AS s FROM jobs").at(0),
            "n=50 s=" + std::to_string(rows.size() - 100) + " ");
  EXPECT_EQ(rows_of(store, "SELECT count(*) AS n FROM jobs WHERE job_id = '1000'").at(0), "n=2 ")
      << "an id that came again is two jobs";
  EXPECT_EQ(rows_of(store, "SELECT req_mem, cpus, node_list, max_rss FROM jobs WHERE job_id = '1001'")
                .at(0)
                .substr(0, 41),
            "req_mem=33554432000 cpus=8 node_list=n[1-");
}

TEST_F(ImportTest, AScratchStoreHoldsTheSameInTheColumnsThatTheLogCanFill) {
  const std::string log = write("log", made_up_rows(300));
  for (const bool compressed : {true, false}) {
    auto scratch = Store::open({.path = "", .threads = 2, .scratch = true, .compressed = compressed});
    ASSERT_TRUE(scratch) << scratch.error().line();
    Store kept = open_store();
    import(*scratch, {log});
    import(kept, {log});
    EXPECT_EQ(jobs_of(*scratch), jobs_of(kept));
    const std::string names = "SELECT column_name, column_type FROM (DESCRIBE jobs)";
    EXPECT_EQ(rows_of(*scratch, names), rows_of(kept, names));
    const auto columns = rows_of(*scratch, "SELECT column_name AS c FROM (DESCRIBE scratch_jobs)");
    EXPECT_THAT(columns, testing::IsSupersetOf({"c=max_rss ", "c=job_rss ", "c=steps ", "c=flaws "}));
    EXPECT_THAT(columns, testing::Not(testing::Contains("c=gpus ")));
    EXPECT_THAT(columns, testing::Not(testing::Contains("c=application "))) << "nobody labelled";
  }
}

TEST_F(ImportTest, AFieldThatItsReaderDidNotTellOfIsAnErrorAndNotLost) {
  Store store = open_store();
  const FieldSet told = FieldSet::of(Text::job_id, Num::cpus);
  ASSERT_TRUE(store.connection().execute("CREATE TABLE narrow(job_id VARCHAR, cpus BIGINT)"));
  Row row;
  row.set(Text::job_id, "7");
  row.set(Num::cpus, 4);
  const auto written = insert_rows(store, "narrow", {row}, told);
  EXPECT_TRUE(written) << written.error().line();
  row.set(Num::gpus, 0);
  row.set(Text::qos, "high");
  const auto refused = insert_rows(store, "narrow", {row}, told);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::internal);
  EXPECT_THAT(refused.error().cause, HasSubstr("job '7': qos, gpus"));
  EXPECT_EQ(rows_of(store, "SELECT * FROM narrow"), std::vector<std::string>{"job_id=7 cpus=4 "});
}

TEST_F(ImportTest, ASecondImportChangesNothing) {
  Store store = open_store();
  const std::string log = write("log", made_up_rows(300));
  import(store, {log});
  const std::string before = everything(store);
  const ImportResult again = import(store, {log});
  EXPECT_EQ(again.jobs_new, 0U);
  EXPECT_EQ(again.jobs_changed, 0U);
  EXPECT_EQ(again.jobs_unchanged, 300U);
  EXPECT_EQ(everything(store), before);
}

TEST_F(ImportTest, ShuffledLinesGiveTheSameJobs) {
  auto rows = made_up_rows(300);
  Store ordered = open_store(), shuffled = open_store();
  import(ordered, {write("a", rows)});
  std::shuffle(rows.begin(), rows.end(), std::mt19937(3));
  import(shuffled, {write("b", rows)});
  EXPECT_EQ(jobs_of(shuffled), jobs_of(ordered));
}

TEST_F(ImportTest, OverlappingHalvesInAnyOrderAreTheWhole) {
  const auto rows = made_up_rows(300);
  Store whole = open_store();
  import(whole, {write("whole", rows)});
  // Cut at every offset of a job's rows, so that jobs are torn at both ends.
  for (std::size_t shift = 0; shift < 5; ++shift) {
    const auto first_end = rows.begin() + static_cast<long>(rows.size() * 6 / 10 + shift);
    const auto second_begin = rows.begin() + static_cast<long>(rows.size() * 4 / 10 + shift);
    const auto a = write("a", {rows.begin(), first_end}), b = write("b", {second_begin, rows.end()});
    for (const bool a_first : {true, false}) {
      Store store = open_store();
      import(store, {a_first ? a : b});
      const ImportResult second = import(store, {a_first ? b : a});
      EXPECT_GT(second.jobs_new, 0U);
      EXPECT_GT(second.jobs_unchanged, 0U);
      ASSERT_EQ(jobs_of(store), jobs_of(whole)) << shift << a_first;
    }
    // Both at once are the same but for the rows that came twice.
    Store store = open_store();
    import(store, {a, b});
    const std::string but_repeated =
        "* REPLACE (repairs & ~" + std::to_string(bit(Repair::duplicate_rows)) + " AS repairs)";
    ASSERT_EQ(jobs_of(store, but_repeated), jobs_of(whole, but_repeated)) << shift;
  }
}

TEST_F(ImportTest, BlocksOfAnySizeAndAnyNumberOfThreadsGiveTheSame) {
  const auto rows = made_up_rows(200);
  const std::string log = write("log", rows);
  auto logs = open_logs({log}, {});
  ASSERT_TRUE(logs) << logs.error().line();
  ASSERT_TRUE(logs->at(0).cuttable);
  for (const std::size_t block : {1UL, 100UL, 1000UL, 4096UL, 1UL << 30})
    for (const int threads : {1, 3}) {
      auto index = make_index(*logs, threads, block);
      ASSERT_TRUE(index);
      std::uint64_t records = 0, end = logs->at(0).opened.header_bytes, line = 2;
      for (const Block& b : index->blocks) {
        EXPECT_EQ(b.begin, end) << "no byte between blocks";
        EXPECT_EQ(b.first_line, line);
        records += b.records;
        line += b.lines;
        end = b.end;
      }
      EXPECT_EQ(end, std::filesystem::file_size(log));
      EXPECT_EQ(records, rows.size());
      // Torn jobs and the id that came again, and nothing else, lie in several places.
      if (block == 1UL << 30) {
        EXPECT_EQ(index->scattered_runs(), 2U);
      }
      if (block == 1) {
        EXPECT_EQ(index->scattered_runs(), rows.size());
      }
    }
}

TEST_F(ImportTest, RejectsAreKeptWithLineAndReasonAndDoNotStopTheImport) {
  auto rows = made_up_rows(100);
  rows.insert(rows.begin() + 10, garbage(1));
  rows.insert(rows.begin() + 50, garbage(2));
  Store store = open_store();
  ImportOrder order;
  order.rejects_path = folder_ + "/rejects";
  const ImportResult r = import(store, {write("log", rows)}, order);
  EXPECT_EQ(r.sources.at(0).rejected, 2U);
  EXPECT_EQ(r.jobs_seen, 100U);
  std::ifstream file(order.rejects_path);
  std::vector<std::int64_t> lines;
  for (std::string line; std::getline(file, line);) {
    auto json = Json::parse(line);
    ASSERT_TRUE(json);
    lines.push_back((*json)["line"].as_int());
    EXPECT_EQ((*json)["record"].as_string(), rows.at(static_cast<std::size_t>(lines.back()) - 2));
    EXPECT_NE((*json)["reason"].as_string(), "");
  }
  EXPECT_THAT(lines, testing::UnorderedElementsAre(12, 52));
  EXPECT_EQ(rows_of(store, "SELECT sum(records)::BIGINT AS n, min(first_line) AS l FROM rejects").at(0),
            "n=2 l=12 ");
}

TEST_F(ImportTest, TooManyRejectsStoreNothingAndSayWhy) {
  auto rows = made_up_rows(10);
  for (int i = 0; i < 5; ++i) rows.push_back(garbage(i));
  Store store = open_store();
  ImportOrder order;
  order.inputs = {write("log", rows)};
  auto refused = import_logs(store, order);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_THAT(refused.error().what, HasSubstr("nothing was stored"));
  EXPECT_THAT(refused.error().cause, HasSubstr("log:"));
  EXPECT_EQ(everything(store), "name=store_version value=" + std::to_string(kStoreVersion) + " \n");
  order.max_reject_share = 0.5;
  EXPECT_TRUE(import_logs(store, order));
}

TEST_F(ImportTest, ATruncatedInputStoresNothing) {
  const std::string log = write("log", made_up_rows(500));
  ASSERT_EQ(
      std::system(("gzip -k " + log + " && head -c 3000 " + log + ".gz > " + folder_ + "/cut.gz").c_str()),
      0);
  Store store = open_store();
  EXPECT_EQ(import(store, {log + ".gz"}).jobs_seen, 500U);
  Store none = open_store();
  ImportOrder order;
  order.inputs = {folder_ + "/cut.gz"};
  auto refused = import_logs(none, order);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_EQ(jobs_of(none).size(), 0U);
}

TEST_F(ImportTest, OfAGrowingLogOnlyWholeLinesAreRead) {
  const auto rows = made_up_rows(20);
  const std::string log = write("log", {rows.begin(), rows.end() - 8});
  const std::string& half = rows[rows.size() - 8];
  std::ofstream(log, std::ios::app) << half.substr(0, half.size() / 2);
  Store store = open_store(), whole = open_store();
  ImportOrder order;
  order.growing = true;
  EXPECT_EQ(import(store, {log}, order).sources.at(0).records, rows.size() - 8);
  write("log", rows);
  EXPECT_EQ(import(store, {log}, order).sources.at(0).records, rows.size());
  import(whole, {log});
  EXPECT_EQ(jobs_of(store), jobs_of(whole));
}

TEST_F(ImportTest, PseudonymsHideNamesEverywhereAndAreTheSameAgain) {
  const auto rows = made_up_rows(40);
  ImportOrder order;
  order.pseudonym_key = "0123456789abcdef";
  Store store = open_store();
  const std::string log = write("log", rows);
  import(store, {log}, order);
  for (const std::string& row : jobs_of(store)) EXPECT_THAT(row, testing::Not(HasSubstr("user1")));
  EXPECT_EQ(rows_of(store, "SELECT count(DISTINCT user_name) AS n FROM jobs").at(0), "n=5 ");
  EXPECT_EQ(rows_of(store,
                    "SELECT count(*) AS n FROM jobs WHERE work_dir NOT LIKE '/home/' || user_name || '/run_'")
                .at(0),
            "n=0 ");
  EXPECT_EQ(import(store, {log}, order).jobs_unchanged, 40U);
  order.pseudonym_key = "short";
  order.inputs = {log};
  EXPECT_FALSE(import_logs(store, order));
}

TEST_F(ImportTest, AnEmptyLogAndAMissingFileAreErrorsThatSayWhich) {
  Store store = open_store();
  ImportOrder order;
  order.inputs = {folder_ + "/none"};
  auto missing = import_logs(store, order);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().line(), HasSubstr("none"));
  EXPECT_THAT(missing.error().remedy(), HasSubstr("check the path"));
  EXPECT_EQ(import(store, {write("log", {})}).jobs_seen, 0U) << "a log with its header and no rows is a log";
}

// A day without jobs is no reason to refuse the other 91.
TEST_F(ImportTest, AnEmptyLogAmongOthersIsToldOfAndNoError) {
  Store store = open_store();
  const std::string empty = folder_ + "/empty";
  std::ofstream(empty).close();
  const ImportResult r = import(store, {empty, write("log", {}), empty});
  ASSERT_EQ(r.sources.size(), 3U);
  EXPECT_EQ(r.sources[0].records, 0);
  EXPECT_THAT(r.sources[0].notes, testing::Contains(HasSubstr("empty")));
  ImportOrder order;
  order.inputs = {empty, empty};
  EXPECT_FALSE(import_logs(store, order)) << "nothing at all is a mistake";
}

TEST(ReasonKind, LeavesOutTheValues) {
  EXPECT_EQ(reason_kind("'12x' is no job id (column 3)"), "'...' is no job id (column N)");
  EXPECT_EQ(reason_kind("a quote's half stays"), "a quote's half stays");
  EXPECT_EQ(reason_kind("'a\\'b'... (4096 bytes) is long"), "'...' (N bytes) is long");
}

// Ends the process: with 0 where it imported `jobs` of SWF and never held more than `most_mib`.
[[noreturn]] void import_swf_and_exit(int jobs, int threads, long most_mib) {
  char name[] = "/tmp/sickbay-swf-XXXXXX";
  const std::string folder = mkdtemp(name);
  bool good = false;
  {
    std::ofstream log(folder + "/log.swf");
    log << "; UnixStartTime: 1600000000\n; MaxProcs: 4096\n";
    for (int i = 1; i <= jobs; ++i)
      log << i << ' ' << 30L * i << ' ' << i % 19997 << ' ' << 1 + i % 79999 << ' ' << (1 << i % 9) << ' '
          << i % 70001 << ".5 " << 1000 + i % 899 << ' ' << (1 << i % 9) << ' ' << 600 + i % 79999 << " -1 1 "
          << i % 211 << ' ' << i % 23 << ' ' << i % 499 << " 1 1 -1 -1\n";
  }
  {
    auto store = Store::open({.path = folder + "/s.db", .memory_limit = Bytes{std::uint64_t{512} << 20}});
    ImportOrder order;
    order.inputs = {folder + "/log.swf"};
    order.threads = threads;
    auto done = store ? import_logs(*store, order) : Result<ImportResult>(fail(std::move(store.error())));
    good = done && done->jobs_new == static_cast<std::uint64_t>(jobs);
  }
  std::filesystem::remove_all(folder);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::fprintf(stderr, "peak %ld MiB\n", used.ru_maxrss / 1024);
  std::_Exit(good && used.ru_maxrss / 1024 < most_mib ? 0 : 1);
}

// A log of no more than this is read by one thread, which needs half of what two do.  (A sanitizer needs
// more.)
TEST(ImportMemory, ThreeHundredThousandJobsOfSwfTakeLessThan256MiB) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const long most_mib = 1 << 20;
#else
  const long most_mib = 256;
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(import_swf_and_exit(300'000, 0, most_mib), testing::ExitedWithCode(0), "peak");
}

TEST(PseudonymTest, ANameIsReplacedWhereItStands) {
  Arena arena;
  struct Case {
    std::string_view text, name, result;
  };
  const Case cases[] = {
      {"/home/alice/x", "alice", "/home/P/x"},
      {"alice2.sh --to alice", "alice", "P2.sh --to P"},
      {"/home/bo/bonus", "bo", "/home/P/bonus"},  // short ones only alone
      {"bo", "bo", "P"},
      {"nothing", "alice", "nothing"},
      {"x", "", "x"},
  };
  for (const Case& c : cases) EXPECT_EQ(without_name(c.text, c.name, "P", arena), c.result) << c.text;
}

TEST(PseudonymTest, TheKeyAndTheKindCount) {
  Pseudonyms a("0123456789abcdef"), same("0123456789abcdef"), other("0123456789abcdeF");
  const std::string word = a.of('u', "alice");
  EXPECT_EQ(word.size(), 10U);
  EXPECT_EQ(word.substr(0, 2), "u-");
  EXPECT_EQ(same.of('u', "alice"), word);
  EXPECT_NE(other.of('u', "alice"), word);
  EXPECT_NE(a.of('a', "alice").substr(2), word.substr(2));
}

}  // namespace
}  // namespace sickbay::workload
