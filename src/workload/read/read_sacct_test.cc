// SPDX-License-Identifier: Apache-2.0
// The reader of sacct -P on real rows: what each column becomes, and everything odd that public logs hold.
#include "workload/read/read_sacct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/read/fixture_test_parts.h"
#include "workload/read/formats.h"
#include "workload/read/read_sacct_test_parts.h"

namespace sickbay::workload {
namespace {

using reference::Fields;
using testing::HasSubstr;

// A log as the tests see it: each record's fields or the reason why it was refused.
struct ReadLog {
  std::vector<Fields> rows;
  std::vector<std::string> rejects;
  std::vector<RecordSpan> spans;
  std::vector<std::string> notes;
  std::size_t header_bytes = 0;
};

ReadLog read_log(std::string_view text, const ReadOptions& options = {}) {
  ReadLog log;
  auto opened = open_reader(text, true, options);
  if (!opened) {
    ADD_FAILURE() << opened.error().message("test");
    return log;
  }
  log.notes = opened->notes;
  log.header_bytes = opened->header_bytes;
  const std::string_view body = text.substr(opened->header_bytes);
  EXPECT_EQ(opened->reader->split(body, true, log.spans), body.size());
  Arena arena;
  Rows rows;
  for (const RecordSpan& span : log.spans) {
    rows.clear();
    std::string reason;
    if (opened->reader->parse(body.substr(span.offset, span.length), arena, rows, reason)) {
      EXPECT_EQ(rows.size(), 1U);
      EXPECT_TRUE(opened->reader->fields().has_all(rows[0].fields()));
      log.rows.push_back(reference::fields_of(rows[0]));
    } else {
      EXPECT_EQ(rows.size(), 0U) << "a refused row is taken back";
      log.rejects.push_back(reason);
    }
  }
  return log;
}

Error refusal(std::string_view text, const ReadOptions& options = {}) {
  auto opened = open_reader(text, true, options);
  EXPECT_FALSE(opened) << "should not open";
  return opened ? Error() : std::move(opened).error();
}

std::string field(const ReadLog& log, std::size_t row, const std::string& name) {
  if (row >= log.rows.size()) return "no such row";
  const auto found = log.rows[row].find(name);
  return found == log.rows[row].end() ? "-" : found->second;
}

std::vector<std::string> words(const std::string& text) { return reference::split_row(text, ","); }

const std::vector<std::string> kHbColumns = words(
    "JobID,JobName,User,Partition,NodeList,NNodes,NCPUS,NTasks,State,Submit,Start,End,Timelimit,Elapsed,"
    "TotalCPU,CPUTime,UserCPU,SystemCPU,ReqMem,MaxRSS,MaxVMSize,ReqTRES,AllocTRES,TRESUsageInMax,"
    "TRESUsageInTot,TRESUsageOutTot,MaxDiskRead,MaxDiskWrite,MaxRSSNode,MaxRSSTask,MaxVMSizeNode,"
    "MaxVMSizeTask,MaxDiskReadNode,MaxDiskReadTask,MaxDiskWriteNode,MaxDiskWriteTask,Comment");
const std::vector<std::string> kJobinfoColumns = words(
    "JobID,JobName,User,Partition,NodeList,NNodes,NCPUS,NTasks,State,Submit,Start,End,Timelimit,Elapsed,"
    "TotalCPU,UserCPU,SystemCPU,ReqMem,MaxRSS,TRESUsageInTot,TRESUsageOutTot,MaxDiskWrite,MaxDiskRead,"
    "MaxRSSNode,MaxDiskWriteNode,MaxDiskReadNode,Comment");

// Every row of a regular log, beside the slow reader.
void same_as_reference(const std::string& text, const std::vector<std::string>& names,
                       std::string_view delimiter, std::size_t skip_lines, const ReadOptions& options) {
  const ReadLog log = read_log(text, options);
  auto lines = reference::split_row(text, "\n");
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(skip_lines));
  if (lines.back().empty()) lines.pop_back();
  ASSERT_EQ(log.rows.size(), lines.size()) << testing::PrintToString(log.rejects);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto texts = reference::split_row(lines[i], delimiter);
    ASSERT_GE(texts.size(), names.size());
    const auto slow = reference::SlowRow::read(names, texts);
    ASSERT_TRUE(slow) << lines[i];
    ASSERT_EQ(reference::show(log.rows[i]), reference::show(*slow)) << lines[i];
  }
}

TEST(ReadSacct, hb_sacct_parted_by_snowmen_and_without_header) {
  ReadOptions options;
  options.columns = kHbColumns;
  const std::string text = fixture("hb-sacct.txt");
  same_as_reference(text, kHbColumns, "\xE2\x98\x83", 0, options);
  const ReadLog log = read_log(text, options);
  // "7965768.batch", the ninth row.
  ASSERT_EQ(field(log, 9, "job_id"), "7965768");
  EXPECT_EQ(field(log, 9, "step"), "batch");
  EXPECT_EQ(field(log, 9, "kind"), "2");
  EXPECT_EQ(field(log, 9, "state"), "CANCELLED");
  EXPECT_EQ(field(log, 9, "max_rss"), std::to_string(1294440LL * 1024));
  EXPECT_EQ(field(log, 9, "max_vmsize"), std::to_string(10379460LL * 1024));
  EXPECT_EQ(field(log, 9, "total_cpu"), std::to_string(((15 * 60 + 33) * 60 + 59) * 1000));
  EXPECT_EQ(field(log, 9, "system_cpu"), "1388357");
  EXPECT_EQ(field(log, 9, "usage_disk_in"), "934556828");
  EXPECT_EQ(field(log, 9, "usage_disk_out"), "230856782740");
  EXPECT_EQ(field(log, 9, "gpu_mem"), std::to_string(20500736LL * 1024));
  EXPECT_EQ(field(log, 9, "gpu_util_milli"), "900") << "90 %, of one task";
  EXPECT_EQ(field(log, 9, "gpus"), "1");
  EXPECT_EQ(field(log, 9, "gpu_type"), "v100");
  EXPECT_EQ(field(log, 9, "user_name"), "-");
  // Cancelled while it waited: no start, no nodes.
  ASSERT_EQ(field(log, 2, "job_id"), "4047445");
  EXPECT_EQ(field(log, 2, "start_time"), "-");
  EXPECT_EQ(field(log, 2, "node_list"), "-");
  EXPECT_EQ(field(log, 2, "cancelled_by"), "10290820");
  EXPECT_EQ(field(log, 2, "cpus"), "0");
  EXPECT_EQ(field(log, 2, "req_cpus"), "8") << "from ReqTRES";
  EXPECT_EQ(field(log, 2, "req_mem"), std::to_string(32000LL << 20));
  EXPECT_EQ(field(log, 3, "array_job_id"), "5908801");
  EXPECT_EQ(field(log, 3, "array_task_id"), "3");
  EXPECT_EQ(log.spans[8].job, log.spans[9].job) << "a job and its step";
  EXPECT_EQ(log.spans[8].job, log.spans[10].job);
  EXPECT_NE(log.spans[8].job, log.spans[7].job);
}

TEST(ReadSacct, jobinfo_of_an_older_slurm) {
  ReadOptions options;
  options.columns = kJobinfoColumns;
  const std::string text = fixture("jobinfo-sacct.txt");
  same_as_reference(text, kJobinfoColumns, "\xE2\x98\x83", 0, options);
  const ReadLog log = read_log(text, options);
  EXPECT_EQ(field(log, 0, "req_mem_per_node"), std::to_string(100LL << 30));
  EXPECT_EQ(field(log, 0, "elapsed"), std::to_string(86400 + 6 * 3600 + 51 * 60 + 32));
  EXPECT_EQ(field(log, 1, "total_cpu"), "5908");
  EXPECT_EQ(field(log, 1, "usage_disk_in"), "1248832");
}

TEST(ReadSacct, drac_with_its_header) {
  const std::string text = fixture("drac-2021.sacct.txt");
  const auto names = reference::split_row(text.substr(0, text.find('\n')), "|");
  same_as_reference(text, names, "|", 1, {});
  const ReadLog log = read_log(text);
  EXPECT_EQ(log.header_bytes, text.find('\n') + 1);
  EXPECT_EQ(field(log, 0, "job_id"), "57984470");
  EXPECT_EQ(field(log, 0, "job_id_raw"), "57984470");
  EXPECT_EQ(field(log, 0, "cluster"), "cedar");
  EXPECT_EQ(field(log, 0, "elapsed"), "43216");
  EXPECT_EQ(field(log, 0, "time_limit"), "43200");
  EXPECT_EQ(field(log, 0, "submit_time"), "1619835983");
  EXPECT_EQ(field(log, 0, "req_nodes"), "3");
}

TEST(ReadSacct, rows_that_broke_another_tool) {
  for (const char* name : {"slurm2sql-1.txt", "slurm2sql-2.txt"}) {
    const std::string text = fixture(name);
    const auto names = reference::split_row(text.substr(0, text.find('\n')), "|");
    same_as_reference(text, names, "|", 1, {});
    const ReadLog log = read_log(text);
    EXPECT_EQ(field(log, 3, "end_time"), "-") << "Unknown";
    EXPECT_EQ(field(log, 3, "energy"), "999");
    EXPECT_EQ(field(log, 1, "ave_disk_read"), std::to_string(87449047)) << "85399.46K to the nearest byte";
    EXPECT_EQ(field(log, 1, "exit_signal"), "9");
    EXPECT_EQ(field(log, 1, "submit_line"), "-");
    EXPECT_THAT(field(log, 4, "comment"), HasSubstr("\"gpu_util\": 53.1"));
  }
}

// ---- rows that the format cannot say ----------------------------------------------------------------------

constexpr std::string_view kHeader = "JobID|JobName|User|State|Submit|Start|End|NCPUS|WorkDir|SubmitLine\n";
std::string row(const std::string& id, const std::string& name, const std::string& work_dir = "/home/u",
                const std::string& line = "sbatch a.sh") {
  return id + "|" + name + "|u1|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|4|" +
         work_dir + "|" + line + "\n";
}
const std::string kRepaired = std::to_string(bit(Repair::name_delimiter));

TEST(ReadSacct, delimiters_in_names) {
  const ReadLog log = read_log(std::string(kHeader) + row("1", "a|b") + row("2", "|") + row("3", "x|1|2|y") +
                               row("4", "n", "/data/a|b") + row("5", "n", "/d", "sbatch --wrap a | b || c") +
                               row("6", "a|b", "/d", "srun x | y") + row("7", "plain"));
  ASSERT_EQ(log.rows.size(), 7U) << testing::PrintToString(log.rejects);
  EXPECT_EQ(field(log, 0, "job_name"), "a|b");
  EXPECT_EQ(field(log, 1, "job_name"), "|");
  EXPECT_EQ(field(log, 2, "job_name"), "x|1|2|y");
  EXPECT_EQ(field(log, 3, "work_dir"), "/data/a|b");
  EXPECT_EQ(field(log, 4, "submit_line"), "sbatch --wrap a | b || c");
  EXPECT_EQ(field(log, 5, "job_name"), "a|b");
  EXPECT_EQ(field(log, 5, "submit_line"), "srun x | y");
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(field(log, i, "repairs"), kRepaired) << i;
    EXPECT_EQ(field(log, i, "cpus"), "4") << i;
    EXPECT_EQ(field(log, i, "user_name"), "u1") << i;
  }
  EXPECT_EQ(field(log, 6, "repairs"), "-");
}

TEST(ReadSacct, newlines_in_names) {
  const ReadLog log =
      read_log(std::string(kHeader) + row("1", "a\nb") + row("2", "one\n\ntwo|x\n") + row("3", "n", "/d\nd") +
               row("4", "n", "/d", "sbatch --wrap 'a\nb | c\n\nd'") + row("5", "plain"));
  ASSERT_EQ(log.rows.size(), 5U) << testing::PrintToString(log.rejects);
  EXPECT_EQ(field(log, 0, "job_name"), "a\nb");
  EXPECT_EQ(field(log, 1, "job_name"), "one\n\ntwo|x\n");
  EXPECT_EQ(field(log, 2, "work_dir"), "/d\nd");
  EXPECT_EQ(field(log, 3, "submit_line"), "sbatch --wrap 'a\nb | c\n\nd'");
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(field(log, i, "repairs"), kRepaired) << i;
  EXPECT_EQ(field(log, 4, "repairs"), "-");
  EXPECT_EQ(log.spans[0].lines, 2U);
  EXPECT_EQ(log.spans[1].lines, 4U);
  EXPECT_EQ(log.spans[3].lines, 4U);
}

TEST(ReadSacct, a_torn_row_takes_nobody_with_it) {
  const std::string whole = row("1", "a");
  const std::string text = std::string(kHeader) + whole + "2|cut|u1|COMP\n" + row("3", "b") + "4|x|u1";
  const ReadLog log = read_log(text);
  ASSERT_EQ(log.rows.size(), 2U);
  EXPECT_EQ(field(log, 0, "submit_line"), "sbatch a.sh");
  EXPECT_EQ(field(log, 1, "job_id"), "3");
  ASSERT_EQ(log.rejects.size(), 2U);
  EXPECT_EQ(log.rejects[0], "has 4 of 10 columns");
  EXPECT_EQ(log.rejects[1], "has 3 of 10 columns");
}

TEST(ReadSacct, what_never_ends_is_bounded) {
  std::string text(kHeader);
  text += "1|begun\n";
  for (int i = 0; i < 200; ++i) text += "line\n";
  text += row("2", "b");
  const ReadLog log = read_log(text);
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_EQ(field(log, 0, "job_id"), "2");
  for (const RecordSpan& span : log.spans) EXPECT_LE(span.lines, sacct::kMaxLines);
}

TEST(ReadSacct, a_column_before_the_job_may_hold_delimiters_too) {
  const std::string text =
      "JobName|JobID|State|Submit\n"
      "a|b|77|COMPLETED|2024-01-01T00:00:00\n"
      "batch|77.batch|COMPLETED|2024-01-01T00:00:00\n";
  const ReadLog log = read_log(text);
  ASSERT_EQ(log.rows.size(), 2U) << testing::PrintToString(log.rejects);
  EXPECT_EQ(field(log, 0, "job_name"), "a|b");
  EXPECT_EQ(log.spans[0].job, log.spans[1].job);
}

TEST(ReadSacct, headers_line_ends_and_bytes) {
  std::string text = "\xEF\xBB\xBF";
  text += "JobID|JobName|State|Submit\r\n1|caf\xE9|COMPLETED|2024-01-01T00:00:00\r\n\r\n";
  text += "JobID|JobName|State|Submit\r\n";  // the next file
  text += std::string("2|a\0b|COMPLETED|2024-01-01T00:00:00\r\n", 37);
  text +=
      "3|Gr\xC3\xB6\xC3\x9F"
      "e|COMPLETED|2024-01-01T00:00:00";  // no newline at the end
  const ReadLog log = read_log(text);
  ASSERT_EQ(log.rows.size(), 2U) << testing::PrintToString(log.rejects);
  EXPECT_THAT(log.rejects, testing::ElementsAre(testing::HasSubstr("NUL")));
  EXPECT_EQ(field(log, 0, "job_name"), "caf\xEF\xBF\xBD");
  EXPECT_EQ(field(log, 0, "repairs"), std::to_string(bit(Repair::bad_utf8)));
  EXPECT_EQ(field(log, 1, "job_name"),
            "Gr\xC3\xB6\xC3\x9F"
            "e");
  EXPECT_EQ(field(log, 1, "repairs"), "-");
  EXPECT_EQ(field(log, 1, "submit_time"), "1704067200");
}

TEST(ReadSacct, trailing_delimiters_of_p) {
  const ReadLog log = read_log(
      "JobID|State|Comment|\n1|COMPLETED|c|\n2|FAILED||\n3|FAILED|a|b|\n4|COMPLETED|x\ny|\n5|FAILED|no "
      "last\n");
  ASSERT_EQ(log.rows.size(), 5U) << testing::PrintToString(log.rejects);
  EXPECT_EQ(field(log, 0, "comment"), "c");
  EXPECT_EQ(field(log, 1, "comment"), "-");
  EXPECT_EQ(field(log, 2, "comment"), "a|b");
  EXPECT_EQ(field(log, 3, "comment"), "x\ny");
  EXPECT_EQ(field(log, 4, "comment"), "no last");
  EXPECT_EQ(field(log, 4, "repairs"), "-");
}

TEST(ReadSacct, delimiters_of_any_kind) {
  for (const std::string d : {"|", "\xE2\x98\x83", "||", "~@~", "^", "@", "\x01", "!"}) {
    const ReadLog log = read_log("JobID" + d + "JobName" + d + "NCPUS\n1" + d + "n" + d + "4\n");
    EXPECT_EQ(field(log, 0, "cpus"), "4") << d;
  }
  ReadOptions options;
  options.delimiter = "xyz";
  EXPECT_EQ(field(read_log("JobIDxyzJobNamexyzNCPUS\n1xyznxyz4\n", options), 0, "cpus"), "4");
  options = {};
  options.format = "sacct";
  EXPECT_EQ(field(read_log("JobID,JobName,NCPUS\n1,n,4\n", options), 0, "cpus"), "4");
}

TEST(ReadSacct, values_that_public_logs_hold) {
  const ReadLog log = read_log(
      "JobID|JobIDRaw|State|Eligible|Start|NodeList|Timelimit|ReqMem|TotalCPU|TRESUsageInTot|Partition|NCPUS|"
      "NNodes\n"
      "4103947_[9-11,13,16-20]|4103947|PENDING|Unknown|Unknown|None "
      "assigned|Partition_Limit|2147486648Mn|00:00:00||"
      "cpu,physics|0|2K\n"
      "9380968+0|9380968|CANCELLED by 1000|Unknown|None||UNLIMITED|0n|1234-10:11:12|||8|1\n"
      "9380968+0.ext+|9380968.extern|COMPLETED|||||4000Mc|0|cpu=00:00:07,mem=2K||8|1\n"
      "5|5|WEIRD_STATE|2024-01-01T00:00:00|2024-01-01T00:00:00|n1|1-00:00:00|1.50T|15:08.123||||\n"
      "6|6|CANCELLED+|||||32Gn|INVALID|||x|1\n");
  ASSERT_EQ(log.rows.size(), 5U) << testing::PrintToString(log.rejects);
  EXPECT_EQ(field(log, 0, "array_tasks"), "9");
  EXPECT_EQ(field(log, 0, "job_id_raw"), "4103947");
  EXPECT_EQ(field(log, 0, "req_mem_per_cpu"), std::to_string(3000LL << 20));
  EXPECT_EQ(field(log, 0, "repairs"), std::to_string(bit(Repair::req_mem_flag)));
  EXPECT_EQ(field(log, 0, "partition"), "cpu,physics");
  EXPECT_EQ(field(log, 0, "nodes"), "2048");
  for (const char* name : {"eligible_time", "start_time", "node_list", "time_limit"})
    EXPECT_EQ(field(log, 0, name), "-") << name;
  EXPECT_EQ(field(log, 1, "het_job_id"), "9380968");
  EXPECT_EQ(field(log, 1, "total_cpu"), std::to_string((1234LL * 86400 + 10 * 3600 + 11 * 60 + 12) * 1000));
  EXPECT_EQ(field(log, 2, "kind"), "3");
  EXPECT_EQ(field(log, 2, "total_cpu"), "0");
  EXPECT_EQ(field(log, 2, "usage_cpu"), "7000");
  EXPECT_EQ(field(log, 2, "usage_mem"), "2048");
  EXPECT_EQ(log.spans[1].job, log.spans[2].job);
  EXPECT_EQ(field(log, 3, "state"), "WEIRD_STATE");
  EXPECT_EQ(field(log, 3, "flaws"), std::to_string(bit(Flaw::unknown_state)));
  EXPECT_EQ(field(log, 3, "total_cpu"), "908123");
  EXPECT_EQ(field(log, 4, "state"), "CANCELLED");
  EXPECT_EQ(field(log, 4, "cpus"), "-");
  EXPECT_EQ(field(log, 4, "flaws"), std::to_string(bit(Flaw::bad_value)));
}

TEST(ReadSacct, of_two_columns_that_say_the_same_the_raw_one_counts) {
  const ReadLog log = read_log(
      "Elapsed|ElapsedRaw|NCPUS|AllocCPUS|CPUTime|CPUTimeRAW|NNodes|AllocNodes|Timelimit|TimelimitRaw|"
      "ConsumedEnergy|"
      "ConsumedEnergyRaw|AllocTRES|JobIDRaw|JobID|AllocCPUS\n"
      "00:00:01|2|3|4|00:00:05|6|7|8|00:09:00|10|1.50K|1501|cpu=90,node=91|12|11|99\n"
      "00:00:01||3||00:00:05||7||00:09:00||1.50K||cpu=90,node=91|12|11|99\n"
      "||||||||||2M|18446744073709551614|cpu=90,node=91,gres/gpu:a=1,gres/gpu:b=2|12|11|99\n");
  EXPECT_EQ(field(log, 0, "elapsed") + " " + field(log, 1, "elapsed"), "2 1");
  EXPECT_EQ(field(log, 0, "cpus") + " " + field(log, 1, "cpus") + " " + field(log, 2, "cpus"), "4 3 90");
  EXPECT_EQ(field(log, 0, "cpu_time") + " " + field(log, 1, "cpu_time"), "6 5");
  EXPECT_EQ(field(log, 0, "nodes") + " " + field(log, 1, "nodes") + " " + field(log, 2, "nodes"), "8 7 91");
  EXPECT_EQ(field(log, 0, "time_limit") + " " + field(log, 1, "time_limit"), "600 540");
  EXPECT_EQ(field(log, 0, "energy") + " " + field(log, 1, "energy") + " " + field(log, 2, "energy"),
            "1501 1500 2000000");
  EXPECT_EQ(field(log, 0, "job_id") + " " + field(log, 0, "job_id_raw"), "11 12");
  EXPECT_EQ(field(log, 2, "gpus") + " " + field(log, 2, "gpu_type"), "3 a");
}

TEST(ReadSacct, gpus_of_an_older_slurm_and_of_tres_where_both_are_told) {
  const ReadLog log = read_log(
      "JobID|AllocGRES|AllocTRES\n"
      "1|gpu:k80:4(IDX:0-3),craynetwork:1|\n"
      "2|gpu:2|cpu=1\n"
      "3|gpu:2|cpu=1,gres/gpu:v100=1\n"
      "4|craynetwork:1|\n"
      "5||\n");
  EXPECT_EQ(field(log, 0, "gpus") + " " + field(log, 0, "gpu_type"), "4 k80");
  EXPECT_EQ(field(log, 1, "gpus") + " " + field(log, 1, "gpu_type"), "2 -");
  EXPECT_EQ(field(log, 2, "gpus") + " " + field(log, 2, "gpu_type"), "1 v100");
  EXPECT_EQ(field(log, 3, "gpus") + field(log, 4, "gpus"), "--");
  EXPECT_EQ(field(log, 3, "flaws"), "-");
}

TEST(ReadSacct, zones_and_clusters_that_the_log_does_not_say) {
  ReadOptions options;
  options.time_zone = "Europe/Berlin";
  options.cluster = "home";
  const ReadLog log = read_log("JobID|Cluster|Submit\n1||2021-07-01T12:00:00\n2|far|1625133600\n", options);
  EXPECT_EQ(field(log, 0, "submit_time"), "1625133600");
  EXPECT_EQ(field(log, 1, "submit_time"), "1625133600");
  EXPECT_EQ(field(log, 0, "cluster") + " " + field(log, 1, "cluster"), "home far");
}

TEST(ReadSacct, refused_rows_say_why) {
  const ReadLog log = read_log(
      "JobID|JobName|Submit|NCPUS\n"
      "abc|n|2024-01-01T00:00:00|1\n"
      "1|n|yesterday|1\n"
      "|n|2024-01-01T00:00:00|1\n"
      "2|a|b|c|d|e|f\n"
      "JobID|User|State\n");
  EXPECT_EQ(log.rows.size(), 0U);
  EXPECT_THAT(log.rejects,
              testing::ElementsAre(
                  "JobID is 'abc', which is no job id", "Submit is 'yesterday', which is no time",
                  "JobID is empty", "has 6 delimiters for 4 columns, and no text in which the others fit",
                  "is another header than the log's first; give logs of different columns one by one"));
}

// Open XDMoD's logs have no header, and nobody types 26 names.
TEST(ReadSacct, columns_of_xdmod_are_known_by_their_shape) {
  const std::string row =
      "7_1|9|c|cpu|normal|phys|ann|100|ann|1000|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T00:01:00|"
      "2024-01-01T01:01:00|01:00:00|0:0|COMPLETED|2|8|8|4G|cpu=8|cpu=8,gres/gpu=1|02:00:00|n[1-2]|relax\n";
  const ReadLog log = read_log(row + row);
  ASSERT_EQ(log.rows.size(), 2U);
  EXPECT_EQ(field(log, 0, "job_name"), "relax");
  EXPECT_EQ(field(log, 0, "user_name"), "ann");
  EXPECT_EQ(field(log, 0, "cpus"), "8");
  EXPECT_EQ(field(log, 0, "elapsed"), "3600");
  EXPECT_EQ(field(log, 0, "node_list"), "n[1-2]");
  EXPECT_TRUE(looks_like_sacct(row, {}));
  EXPECT_FALSE(looks_like_sacct("a" + row, {}));
}

// doc/formats/logs.md says so of every format.
TEST(ReadSacct, records_beyond_reading_are_rejected) {
  const std::string header = "JobID|JobName|Submit|NCPUS\n", rest = "|2024-01-01T00:00:00|1\n";
  const ReadLog hole = read_log(header + "1|a" + std::string(1, '\0') + "b" + rest + "2|n" + rest);
  ASSERT_EQ(hole.rows.size(), 1U);
  EXPECT_THAT(hole.rejects, testing::ElementsAre(testing::HasSubstr("NUL")));
  const ReadLog large =
      read_log(header + "1|" + std::string(std::size_t{17} << 20, 'x') + rest + "2|n" + rest);
  ASSERT_EQ(large.rows.size(), 1U);
  EXPECT_THAT(large.rejects, testing::ElementsAre(testing::HasSubstr("bytes long")));
}

// Slurm counts nothing below 0.
TEST(ReadSacct, negative_counts_are_no_values) {
  const ReadLog log =
      read_log("JobID|Submit|NCPUS|AllocTRES|CPUTimeRAW\n1|2024-01-01T00:00:00|-5|cpu=-5|-100\n");
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_EQ(field(log, 0, "cpus"), "-");
  EXPECT_EQ(field(log, 0, "cpu_time"), "-");
  EXPECT_EQ(field(log, 0, "flaws"), std::to_string(bit(Flaw::bad_value)));
}

// ---- opening ----------------------------------------------------------------------------------------------

TEST(ReadSacct, what_cannot_be_opened_says_what_is_needed) {
  const Error none = refusal("1|a|COMPLETED\n2|b|FAILED\n");
  EXPECT_EQ(none.code, ErrorCode::bad_input);
  EXPECT_THAT(none.what, HasSubstr("'1|a|COMPLETED'"));
  EXPECT_THAT(none.remedy_text, testing::AllOf(HasSubstr("--columns"), HasSubstr("JobIDRaw")));
  const Error no_job = refusal("User|State|Submit\nu|COMPLETED|2024-01-01T00:00:00\n");
  EXPECT_THAT(no_job.what, HasSubstr("neither JobID nor JobIDRaw"));
  ReadOptions options;
  options.columns = {"JobID", "State"};
  const Error wrong = refusal("1|a|COMPLETED\n", options);
  EXPECT_THAT(wrong.what, testing::AllOf(HasSubstr("names 2 columns"), HasSubstr("has 3")));
  options = {};
  options.format = "sact";
  EXPECT_THAT(refusal("JobID|State\n", options).remedy_text, HasSubstr("did you mean 'sacct'"));
  EXPECT_THAT(refusal("").what, HasSubstr("empty"));
  options = {};
  options.time_zone = "Mars/Olympus";
  EXPECT_EQ(refusal("JobID|State\n", options).code, ErrorCode::not_found);
}

TEST(ReadSacct, notes_and_what_the_log_lacks) {
  const std::string text = "sacct: error: slow\nJobID|Colour|User%20|elapsedraw\n1|red|u|5\n";
  const ReadLog log = read_log(text);
  EXPECT_EQ(field(log, 0, "elapsed"), "5");
  EXPECT_EQ(field(log, 0, "user_name"), "u");
  EXPECT_THAT(log.notes, testing::Contains(HasSubstr("'Colour'")));
  EXPECT_THAT(log.notes, testing::Contains(HasSubstr("no Submit")));
  const auto opened = open_reader(text, true, {});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->header_lines, 2U);
  const std::string words_of_it = opened->reader->describe();
  const std::string lacks = words_of_it.substr(words_of_it.find("lacks"));
  EXPECT_THAT(lacks, HasSubstr("MaxRSS"));
  EXPECT_THAT(lacks, testing::Not(HasSubstr("Elapsed")));
}

TEST(ReadSacct, every_column_of_sacct_is_known_once) {
  std::vector<std::string> names;
  for (const sacct::Column& column : sacct::columns()) {
    std::string lower(column.name);
    std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
    names.push_back(lower);
    EXPECT_EQ(sacct::find_column(lower), &column);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(sacct::find_column("Job"), nullptr);
}

}  // namespace
}  // namespace sickbay::workload
