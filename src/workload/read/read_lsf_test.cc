// SPDX-License-Identifier: Apache-2.0
// lsb.acct of LSF 10, in records of the shape that it writes, and compared with a naive reader.
#include <fmt/format.h>

#include <algorithm>

#include "workload/read/reader_test_parts.h"

namespace sickbay::workload {
namespace {

struct Made {
  std::string hosts = "2 \"n1\" \"n2\"", name = "\"\"", command = "\"/tools/100m.py\"",
              usage = "0.168266 0.044691";
  int status = 64, exit_status = 0, index = 0, why = 0, id = 387;
  long start = 1644826612, end = 1644826628;
};
// What mbatchd 10.108 writes, with some fields made ours.
std::string record(const Made& m) {
  return fmt::format(
      "\"JOB_FINISH\" \"10.108\" {} {} 1501 33554450 2 1644826611 0 0 {} \"simuser\" \"sender\" "
      "\"select[mem>10]\" \"\" \"\" \"login1\" \"/tools\" \"\" \"/tools/output/100.txt\" \"\" "
      "\"1644826611.387\" "
      "1 \"asked\" {} {} 100.0 {} {} {} 112800 0 -1 0 0 27278 4 0 936 32 -1 0 0 0 87 2 -1 \"\" "
      "\"default\" {} 2 \"\" \"\" {} 108544 0 \"\" \"\" \"\" \"\" 0 \"\" {} \"\" -1 \"\" \"\" \"\" \"\" -1 "
      "\"\" \"\" 6160 "
      "\"\" 1644826612 \"\" \"\" 5 1110 \"default\" 0 -1 4194304 86016 \"select[type == any] \" \"\" -1 \"\" "
      "-1 0 \"\"\n",
      m.end, m.id, m.start, m.hosts, m.status, m.name, m.command, m.usage, m.exit_status, m.index, m.why);
}

TEST(ReadLsf, ReadsAJob) {
  const auto log = read_log(open_lsf, record({}));
  ASSERT_EQ(log->rows.size(), 1U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(
      text_of(log->row(0)),
      "job_id=387\nuser_name=simuser\naccount=default\npartition=sender\nstate=COMPLETED\nnode_list=n[1-2]\n"
      "work_dir=/tools\nsubmit_line=/tools/100m.py\nconstraints=select[mem>10]\njob_id_raw=387\nuid=1501\n"
      "submit_time=1644826611\nstart_time=1644826612\nend_time=1644826628\nelapsed=16\nreq_cpus=2\ncpus=2\n"
      "nodes=2\ntotal_cpu=212\nuser_cpu=168\nsystem_cpu=44\nmax_rss=115507200\nexit_code=0\nexit_signal=0\n"
      "usage_mem=111149056\n");
  EXPECT_TRUE(looks_like_lsf(log->text, {}));
  EXPECT_TRUE(looks_like_lsf("\"EVENT_ADRSV_FINISH\" \"10.1\" 1644826628 5", {}));
  EXPECT_FALSE(looks_like_lsf("\"JOB_FINISH\",\"10.1\",1644826628", {}));
}

TEST(ReadLsf, ReadsShortHostsArraysAndDoubledQuotes) {
  const auto log = read_log(open_lsf, record({.hosts = "2 \"16*gpu1\" \"8*gpu2\"",
                                              .name = "\"a \"\"b\"\"[1-100]\"",
                                              .command = "\"echo \"\"\"\"; sleep 1\"",
                                              .index = 7}));
  ASSERT_EQ(log->rows.size(), 1U) << (log->rejects.empty() ? "" : log->rejects[0]);
  const Row& row = log->row(0);
  EXPECT_EQ(row.get(Num::cpus), 24);
  EXPECT_EQ(row.get(Text::node_list), "gpu[1-2]");
  EXPECT_EQ(row.get(Text::job_name), "a \"b\"[1-100]");
  EXPECT_EQ(row.get(Text::submit_line), "echo \"\"; sleep 1");
  EXPECT_EQ(row.get(Text::job_id), "387[7]");
  EXPECT_EQ(row.get(Num::array_job_id), 387);
  EXPECT_EQ(row.get(Num::array_task_id), 7);
}

TEST(ReadLsf, TellsHowAJobEnded) {
  const auto state = [](Made made) {
    made.status = 32;
    const auto log = read_log(open_lsf, record(made));
    return log->rows.size() == 1 ? std::string(log->row(0).get(Text::state)) : "none";
  };
  EXPECT_EQ(state({.exit_status = 65280}), "FAILED");
  EXPECT_EQ(state({.exit_status = 35840, .why = 5}), "TIMEOUT");
  EXPECT_EQ(state({.exit_status = 9, .why = 16}), "OUT_OF_MEMORY");
  EXPECT_EQ(state({.exit_status = 15, .why = 14}), "CANCELLED");
  EXPECT_EQ(state({.why = 1}), "PREEMPTED");
  EXPECT_EQ(state({.why = 11}), "REQUEUED");
  EXPECT_EQ(state({.why = 999}), "FAILED");
  EXPECT_EQ(state({.hosts = "0", .start = 0}), "CANCELLED");
  const auto log = read_log(open_lsf, record({.status = 32, .exit_status = 65289, .why = 5}));
  EXPECT_EQ(log->row(0).get(Num::exit_code), 255);
  EXPECT_EQ(log->row(0).get(Num::exit_signal), 9);
  EXPECT_EQ(log->row(0).get(Text::reason), "TERM_RUNLIMIT");
}

TEST(ReadLsf, LeavesOutWhatIsNotKnown) {
  const auto log = read_log(open_lsf, record({.hosts = "0", .usage = "-1.000000 -1.000000", .start = 0}));
  const Row& row = log->row(0);
  for (const Num f : {Num::start_time, Num::elapsed, Num::cpus, Num::nodes, Num::total_cpu, Num::user_cpu})
    EXPECT_FALSE(row.has(f)) << static_cast<int>(f);
}

TEST(ReadLsf, LeavesOutOtherEvents) {
  const auto log = read_log(open_lsf,
                            "\"EVENT_ADRSV_FINISH\" \"10.1\" 1644826628 5\n\"JOB_RESIZE\" \"10.1\" 5\n"
                            "\"JOB_FINISH2\" \"10.1\" 1644826628 \"k\" \"v\"\n" +
                                record({}));
  EXPECT_EQ(log->spans.size(), 1U);
  EXPECT_EQ(log->rows.size(), 1U);
}

TEST(ReadLsf, RejectsWhatCannotBeRead) {
  const std::string good = record({});
  std::string text = "hello\n\"lower\" 1\n" + good.substr(0, good.find("\"default\"")) + "\n" +
                     good.substr(0, good.find("100m")) + "\n" + record({.hosts = "2000000000 \"n1\""}) +
                     record({.id = -5}) + record({.end = 999999999999}) + record({.hosts = "x"});
  const auto log = read_log(open_lsf, text);
  EXPECT_EQ(log->rows.size(), 0U);
  ASSERT_EQ(log->rejects.size(), 8U);
  EXPECT_EQ(log->rejects[2], "the record ends before its field projectName");
  EXPECT_EQ(log->rejects[5], "'-5' is no job id");
  EXPECT_EQ(log->rejects[7], "numExHosts is 'x', and it should be a number");
}

TEST(ReadLsf, RejectsARecordOverTheLimitAndGoesOn) {
  const auto log = read_log(open_lsf, "\"JOB_FINISH\" \"" + std::string(kMaxRecord, 'x') + "\n" + record({}));
  EXPECT_EQ(log->rows.size(), 1U);
  expect_rejected(*log, "none may be over");
}

// Fields by a search for the next blank outside of quotes, each char looked at alone.
std::vector<std::string> naive_fields(const std::string& line) {
  std::vector<std::string> fields;
  std::string field;
  bool in = false, any = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (in && i + 1 < line.size() && line[i + 1] == '"') {
        field += line[++i];
      } else {
        in = !in;
        any = true;
      }
    } else if (c == ' ' && !in) {
      if (any) fields.push_back(field);
      field.clear();
      any = false;
    } else {
      field += c;
      any = true;
    }
  }
  if (any) fields.push_back(field);
  return fields;
}

TEST(ReadLsf, AgreesWithANaiveReaderOnRandomLogs) {
  std::mt19937 random(11);
  std::string text;
  std::vector<std::string> lines;
  for (int i = 0; i < 300; ++i) {
    Made made;
    made.id = i + 1;
    made.start = 1644826612 + static_cast<long>(random() % 1000);
    made.end = made.start + static_cast<long>(random() % 100000);
    const unsigned hosts = 1 + random() % 4;
    made.hosts = std::to_string(hosts);
    for (unsigned h = 0; h < hosts; ++h) made.hosts += fmt::format(" \"n{}\"", h);
    std::string name;
    for (unsigned c = random() % 8; c > 0; --c) name += std::string_view("ab \"\\[;")[random() % 7];
    std::string doubled;
    for (const char c : name) doubled += c == '"' ? std::string("\"\"") : std::string(1, c);
    made.name = "\"" + doubled + "\"";
    made.status = random() % 2 != 0 ? 64 : 32;
    lines.push_back(record(made));
    text += lines.back();
  }
  const auto log = read_log(open_lsf, text);
  ASSERT_EQ(log->rows.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto fields = naive_fields(lines[i].substr(0, lines[i].size() - 1));
    const Row& row = log->row(i);
    EXPECT_EQ(row.get(Text::job_id), fields[3]);
    EXPECT_EQ(row.get(Num::elapsed), std::stoll(fields[2]) - std::stoll(fields[10]));
    const std::size_t hosts = std::stoul(fields[24]), after = 25 + hosts;
    EXPECT_EQ(row.get(Num::cpus), static_cast<std::int64_t>(hosts));
    EXPECT_EQ(row.get(Text::state), fields[after] == "64" ? "COMPLETED" : "FAILED");
    std::string name = fields[after + 2];
    while (!name.empty() && name.back() == ' ') name.pop_back();
    while (!name.empty() && name.front() == ' ') name.erase(0, 1);
    EXPECT_EQ(row.get(Text::job_name), name);
    EXPECT_EQ(row.get(Num::usage_mem), 1024 * std::stoll(fields[after + 30]));
  }
  expect_same_in_pieces(*log);
}

TEST(ReadLsf, SurvivesDamage) {
  survive_damage(open_lsf, record({}) + record({.name = "\"a \"\"b\"\"\"", .why = 5}));
}

}  // namespace
}  // namespace sickbay::workload
