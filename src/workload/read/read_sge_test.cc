// SPDX-License-Identifier: Apache-2.0
// Accounting files of Grid Engine in the shape that 6.2u5, 8.1.9 and Univa's write, and compared with a naive
// reader.
#include <fmt/format.h>

#include <cmath>

#include "workload/read/reader_test_parts.h"

namespace sickbay::workload {
namespace {

struct MadeSge {
  std::string host = "n1.cluster", name = "melt", project = "NONE", account = "sge", pe = "NONE",
              category = "-U STAFF -l h_rt=7200,h_vmem=2G -q all.q", pe_task = "NONE", behind = ":0:0",
              cpu = "3504.750000", vmem = "1073741824.000000", wallclock = "3600";
  long id = 7, submit = 1514123433, start = 1514123473, end = 1514127073, task = 0, slots = 1;
  int failed = 0, status = 0;
};
std::string sge_record(const MadeSge& m) {
  return fmt::format(
      "all.q:{}:staff:ann:{}:{}:{}:5:{}:{}:{}:{}:{}:{}:3500.250000:4.500000:4044.000000:0:0:0:0:824:3:0:504."
      "000000:16:0:0:0:106:12:{}:defaultdepartment:{}:{}:{}:{}:0.100000:0.000000:{}:0.000000:{}:{}{}\n",
      m.host, m.name, m.id, m.account, m.submit, m.start, m.end, m.failed, m.status, m.wallclock, m.project,
      m.pe, m.slots, m.task, m.cpu, m.category, m.pe_task, m.vmem, m.behind);
}
constexpr const char* kVersion = "# Version: 8.1.9\n# \n# DO NOT MODIFY THIS FILE MANUALLY!\n# \n";

TEST(ReadSge, ReadsAJob) {
  const auto log = read_log(open_sge, kVersion + sge_record({}));
  ASSERT_EQ(log->rows.size(), 1U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(
      text_of(log->row(0)),
      "job_id=7\njob_name=melt\nuser_name=ann\ngroup_name=staff\npartition=all.q\nstate=COMPLETED\n"
      "node_list=n1.cluster\nconstraints=-U STAFF -l h_rt=7200,h_vmem=2G -q all.q\njob_id_raw=7\n"
      "submit_time=1514123433\nstart_time=1514123473\nend_time=1514127073\nelapsed=3600\ntime_limit=7200\n"
      "cpus=1\nnodes=1\ntotal_cpu=3504750\nuser_cpu=3500250\nsystem_cpu=4500\nreq_mem=2147483648\n"
      "max_rss=4141056\nmax_vmsize=1073741824\nexit_code=0\nexit_signal=0\npriority=5\n");
  EXPECT_TRUE(looks_like_sge(log->text, {}));
  EXPECT_FALSE(looks_like_sge("JobID:User:State\n", {}));
  EXPECT_FALSE(looks_like_sge("root:x:0:0:root:/root:/bin/sh\n", {}));
  const auto found = open_reader(log->text, true, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->format, "sge");
}

TEST(ReadSge, ReadsWhatOldAndUnivasVersionsWrite) {
  // Of 5.3: up to the department, and up to io.
  const std::string whole = sge_record({});
  const auto cut_at = [&](int fields) {
    std::size_t at = 0;
    for (int i = 0; i < fields; ++i) at = whole.find(':', at) + 1;
    return whole.substr(0, at - 1) + "\n";
  };
  for (const int fields : {33, 36, 39}) {
    const auto log = read_log(open_sge, cut_at(fields));
    ASSERT_EQ(log->rows.size(), 1U) << fields << (log->rejects.empty() ? "" : log->rejects[0]);
    EXPECT_EQ(log->row(0).get(Num::elapsed), 3600);
    EXPECT_EQ(log->row(0).has(Num::cpus), fields > 34) << fields;
  }
  EXPECT_EQ(read_log(open_sge, cut_at(32))->rejects,
            std::vector<std::string>{"it has 32 fields, and an accounting record has 33 or more"});
  // Univa: milliseconds, and fields behind the 45th.
  const auto log = read_log(open_sge, sge_record({.behind = ":0:0:/home/ann:qsub -l h_rt\xff"
                                                            "1 x.sh",
                                                  .wallclock = "3600.125",
                                                  .submit = 1514123433001,
                                                  .start = 1514123473002,
                                                  .end = 1514127073003}));
  ASSERT_EQ(log->rows.size(), 1U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(log->row(0).get(Num::start_time), 1514123473);
  EXPECT_EQ(log->row(0).get(Num::elapsed), 3600);
  EXPECT_EQ(log->row(0).get(Num::max_vmsize), 1073741824);
}

TEST(ReadSge, ReadsTheReportingFile) {
  const auto log =
      read_log(open_sge,
               "1278638133:new_job:1278638133:38:-1:NONE:job:ann:staff::defaultdepartment:sge:1024\n"
               "1278638133:job_log:1278638133:pending:38:-1:NONE::ann:login:0:1024:1278638133:job:ann:staff::"
               "defaultdepartment:sge:new job\n1278638142:acct:" +
                   sge_record({.id = 38}));
  EXPECT_TRUE(looks_like_sge(log->text, {}));
  ASSERT_EQ(log->spans.size(), 1U);
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(log->row(0).get(Text::job_id), "38");
}

TEST(ReadSge, ReadsArraysProjectsAndCategoriesWithColons) {
  const auto log = read_log(open_sge, sge_record({.project = "phys",
                                                  .account = "lab",
                                                  .category = "-l h_rt=1:30:00,h_vmem=512M -q a:b",
                                                  .behind = ":17:1514123433",
                                                  .task = 4}) +
                                          sge_record({.account = "lab", .category = "NONE"}));
  ASSERT_EQ(log->rows.size(), 2U) << (log->rejects.empty() ? "" : log->rejects[0]);
  const Row& row = log->row(0);
  EXPECT_EQ(row.get(Text::job_id), "7[4]");
  EXPECT_EQ(row.get(Num::array_job_id), 7);
  EXPECT_EQ(row.get(Num::array_task_id), 4);
  EXPECT_FALSE(row.has(Num::job_id_raw));
  EXPECT_EQ(row.get(Text::account), "phys");
  EXPECT_EQ(row.get(Num::time_limit), 5400);
  EXPECT_EQ(row.get(Num::req_mem), 512 << 20);
  EXPECT_EQ(row.get(Text::constraints), "-l h_rt=1:30:00,h_vmem=512M -q a:b");
  EXPECT_EQ(row.get(Num::max_vmsize), 1073741824);
  EXPECT_EQ(row.get(Text::reservation), "17");
  EXPECT_EQ(log->row(1).get(Text::account), "lab");
  EXPECT_FALSE(log->row(1).has(Text::constraints));
  EXPECT_NE(log->spans[0].job, log->spans[1].job) << "tasks of an array are jobs of their own";
}

TEST(ReadSge, TellsHowAJobEnded) {
  const auto ended = [](MadeSge made) {
    const auto log = read_log(open_sge, sge_record(made));
    if (log->rows.size() != 1) return std::string("none");
    const Row& row = log->row(0);
    return fmt::format("{} {}:{}", row.get(Text::state), row.get(Num::exit_code), row.get(Num::exit_signal));
  };
  EXPECT_EQ(ended({.status = 3}), "FAILED 3:0");
  EXPECT_EQ(ended({.status = 137}), "FAILED 137:0") << "the script saw it, and Grid Engine nothing";
  EXPECT_EQ(ended({.failed = 8}), "BOOT_FAIL 0:0");
  EXPECT_EQ(ended({.failed = 15}), "COMPLETED 0:0");
  EXPECT_EQ(ended({.failed = 19}), "NODE_FAIL 0:0");
  EXPECT_EQ(ended({.failed = 26}), "BOOT_FAIL 0:0");
  EXPECT_EQ(ended({.failed = 100, .status = 137}), "CANCELLED 0:9");
  EXPECT_EQ(ended({.failed = 100, .status = 139}), "FAILED 0:11");
  EXPECT_EQ(ended({.failed = 100, .status = 152}), "TIMEOUT 0:24");
  EXPECT_EQ(ended({.wallclock = "7201", .failed = 100, .status = 137}), "TIMEOUT 0:9");
  EXPECT_EQ(ended({.vmem = "2147483648.000000", .failed = 100, .status = 137}), "OUT_OF_MEMORY 0:9");
  EXPECT_EQ(ended({.failed = 37, .status = 137}), "TIMEOUT 0:9");
  EXPECT_EQ(ended({.failed = 77}), "FAILED 0:0");
  const auto again = read_log(open_sge, sge_record({.failed = 25}));
  EXPECT_EQ(again->row(0).kind, RowKind::rerun);
  EXPECT_EQ(again->row(0).get(Text::state), "REQUEUED");
  EXPECT_EQ(again->row(0).get(Text::reason), "rescheduling");
}

TEST(ReadSge, TakesNoPartOfACategoryForAProcess) {
  for (const char* category : {"-l h_rt=1:00:00", "-l h_rt=1:00:00 -pe mpi 16"}) {
    const auto log = read_log(open_sge, sge_record({.category = category}));
    ASSERT_EQ(log->rows.size(), 1U);
    EXPECT_EQ(log->row(0).kind, RowKind::job) << category;
    EXPECT_EQ(log->row(0).get(Text::constraints), category);
    EXPECT_EQ(log->row(0).get(Num::max_vmsize), 1073741824);
  }
}

// A job that could not be started has no times.
TEST(ReadSge, LeavesOutWhatIsNotKnown) {
  const auto log = read_log(open_sge, sge_record({.pe = "mpi",
                                                  .cpu = "0.000000",
                                                  .vmem = "0.000000",
                                                  .wallclock = "0",
                                                  .submit = 0,
                                                  .start = 0,
                                                  .end = 0,
                                                  .slots = 0,
                                                  .failed = 9}));
  ASSERT_EQ(log->rows.size(), 1U) << (log->rejects.empty() ? "" : log->rejects[0]);
  for (const Num f : {Num::submit_time, Num::start_time, Num::end_time, Num::elapsed, Num::cpus, Num::nodes,
                      Num::total_cpu, Num::max_vmsize})
    EXPECT_FALSE(log->row(0).has(f)) << static_cast<int>(f);
  EXPECT_EQ(log->row(0).get(Text::state), "BOOT_FAIL");
}

// Processes that were started by qrsh -inherit: the job has the CPU time of all.
TEST(ReadSge, ProcessesOfAParallelJobAreItsSteps) {
  const auto log = read_log(
      open_sge, sge_record({.pe = "mpi", .cpu = "100.5", .slots = 32}) +
                    sge_record({.host = "n2", .pe = "mpi", .pe_task = "1.n2", .cpu = "50.25", .slots = 32}));
  ASSERT_EQ(log->rows.size(), 3U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(log->spans[0].job, log->spans[1].job);
  EXPECT_EQ(log->row(2).kind, RowKind::step);
  EXPECT_EQ(log->row(2).get(Text::step), "1.n2");
  EXPECT_FALSE(log->row(0).has(Text::node_list)) << "the other nodes are not told";
  EXPECT_FALSE(log->row(0).has(Num::total_cpu));
  EXPECT_EQ(log->row(1).get(Num::total_cpu) + log->row(2).get(Num::total_cpu), 150750);
}

TEST(ReadSge, RejectsWhatCannotBeRead) {
  MadeSge early;
  early.submit = -5;
  const auto log = read_log(open_sge, sge_record({.id = -3}) + sge_record({}).replace(0, 5, "::") +
                                          sge_record({.wallclock = "x"}) + "hello:you\n" + sge_record(early) +
                                          sge_record({}));
  EXPECT_EQ(log->rows.size(), 1U);
  ASSERT_GE(log->rejects.size(), 5U);
  EXPECT_EQ(log->rejects[0], "'-3' is no job id");
  EXPECT_EQ(log->rejects[1], "job_number is 'ann', and it should be a number");
  EXPECT_EQ(log->rejects[2], "ru_wallclock is 'x', and it should be a number");
  EXPECT_EQ(log->rejects[3], "it has 2 fields, and an accounting record has 33 or more");
  EXPECT_EQ(log->rejects.back(), "submission_time is '-5', which is no time");
}

TEST(ReadSge, RejectsARecordOverTheLimitAndGoesOn) {
  const auto log = read_log(open_sge, "q:" + std::string(kMaxRecord, 'x') + "\n" + sge_record({}));
  EXPECT_EQ(log->rows.size(), 1U);
  expect_rejected(*log, "none may be over");
}

TEST(ReadSge, AgreesWithANaiveReaderOnRandomLogs) {
  std::mt19937 random(5);
  std::string text = kVersion;
  std::vector<std::string> lines;
  for (int i = 0; i < 300; ++i) {
    MadeSge made;
    made.id = i + 1;
    made.start = made.submit + static_cast<long>(random() % 1000);
    made.end = made.start + static_cast<long>(random() % 100000);
    made.wallclock = std::to_string(made.end - made.start);
    made.slots = 1 + static_cast<long>(random() % 64);
    made.task = random() % 3 == 0 ? static_cast<long>(random() % 9) : 0;
    made.status = random() % 4 == 0 ? 1 : 0;
    made.name = "n" + std::to_string(random() % 7);
    made.cpu = fmt::format("{}.{:06}", random() % 100000, random() % 1000 * 1000);
    lines.push_back(sge_record(made));
    text += lines.back();
    if (random() % 5 == 0) text += random() % 2 == 0 ? "\n" : "# a word\n";
  }
  const auto log = read_log(open_sge, text);
  ASSERT_EQ(log->rows.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> fields(1);
    for (const char c : lines[i])
      if (c == ':')
        fields.emplace_back();
      else
        fields.back() += c;
    const Row& row = log->row(i);
    EXPECT_EQ(row.get(Text::job_id), fields[35] == "0" ? fields[5] : fields[5] + "[" + fields[35] + "]");
    EXPECT_EQ(row.get(Num::end_time) - row.get(Num::start_time),
              std::stoll(fields[10]) - std::stoll(fields[9]));
    EXPECT_EQ(row.get(Num::cpus), std::stoll(fields[34]));
    EXPECT_EQ(row.get(Text::state), fields[12] == "0" ? "COMPLETED" : "FAILED");
    EXPECT_EQ(row.get(Num::total_cpu), std::llround(std::stod(fields[36]) * 1000));
  }
  expect_same_in_pieces(*log);
}

TEST(ReadSge, SurvivesDamage) {
  survive_damage(open_sge, kVersion + sge_record({}) +
                               sge_record({.pe = "mpi", .pe_task = "1.n2", .task = 3}) +
                               "1278638142:acct:" + sge_record({.failed = 100, .status = 137}));
}

}  // namespace
}  // namespace sickbay::workload
