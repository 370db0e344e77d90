// SPDX-License-Identifier: Apache-2.0
// CSV: dumps of others, maps of columns, quotes, and a naive reader.
#include <fmt/format.h>

#include "workload/read/csv_columns.h"
#include "workload/read/fixture_test_parts.h"
#include "workload/read/reader_test_parts.h"

namespace sickbay::workload {
namespace {

TEST(ReadCsv, ReadsTheDumpOfEagle) {
  const auto log = read_log(open_csv, fixture("nrel-eagle.csv"));
  EXPECT_TRUE(log->rejects.empty());
  ASSERT_EQ(log->rows.size(), 43U);
  EXPECT_EQ(
      text_of(log->row(0)),
      "job_id=532209\njob_name=name00005115\nuser_name=user0014\naccount=account0003\npartition="
      "partition001\n"
      "qos=normal\nstate=COMPLETED\nwork_dir=work_dir00003818\nsubmit_line=submit_line00000001\n"
      "job_id_raw=532209\nsubmit_time=1546332955\nstart_time=1546332956\nend_time=1546432781\nelapsed=99825\n"
      "time_limit=172800\nreq_cpus=10\nreq_nodes=10\nreq_gpus=0\nreq_mem=0\n");
  EXPECT_TRUE(looks_like_csv(log->text, {}));
  EXPECT_TRUE(log->opened.notes.empty());
  expect_same_in_pieces(*log);
}

TEST(ReadCsv, ReadsSacctsNamesWithAnyDelimiter) {
  for (const char delimiter : {',', ';', '\t', '|'}) {
    std::string text = "JobID,JobName,ReqTRES,Start\n1,job1,cpu=1,1970-01-01T03:00:00\n";
    for (char& c : text)
      if (c == ',') c = delimiter;
    const auto log = read_log(open_csv, text);
    ASSERT_EQ(log->rows.size(), 1U) << delimiter;
    EXPECT_EQ(text_of(log->row(0)), "job_id=1\njob_name=job1\njob_id_raw=1\nstart_time=10800\nreq_cpus=1\n");
    EXPECT_TRUE(looks_like_csv(text, {}));
  }
}

TEST(ReadCsv, ReadsQuotesAndNewlinesInside) {
  const auto log = read_log(
      open_csv, "JobID,\"JobName\",User\r\n1,\"a, \"\"b\"\"\nc\",ann\r\n\r\n2,x\"y\",bob\n3,\"\",eve");
  ASSERT_EQ(log->rows.size(), 3U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(log->row(0).get(Text::job_name), "a, \"b\"\nc");
  EXPECT_FALSE(log->row(0).has(Num::repairs)) << "nothing had to be mended";
  EXPECT_EQ(log->spans[0].lines, 2U);
  EXPECT_EQ(log->row(1).get(Text::job_name), "x\"y\"");
  EXPECT_FALSE(log->row(2).has(Text::job_name));
  expect_same_in_pieces(*log);
}

TEST(ReadCsv, ReadsByAMap) {
  ReadOptions options;
  options.column_map =
      R"({"job_id": "Number", "user_name": "who", "time_limit": {"column": "limit", "unit": "minutes"},
          "req_mem": {"column": "mem", "unit": "MiB"}, "cpus": "procs", "req_cpus": "procs", "elapsed": "ran"})";
  const auto log =
      read_log(open_csv, "who;limit;Number;mem;procs;ran;nothing\nann;90;17;4000;8.0;01:00:00;x\n", options);
  ASSERT_EQ(log->rows.size(), 1U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(text_of(log->row(0)),
            "job_id=17\nuser_name=ann\njob_id_raw=17\nelapsed=3600\ntime_limit=5400\n"
            "req_cpus=8\ncpus=8\nreq_mem=4194304000\n");
  ASSERT_EQ(log->opened.notes.size(), 1U);
  EXPECT_NE(log->opened.notes[0].find("'nothing'"), std::string::npos);
}

TEST(ReadCsv, ReadsOurOwnFields) {
  const auto log = read_log(
      open_csv,
      "job_id,total_cpu,time_limit,gpus,max_rss,end_time\n5,61001,3600,4,1024,2021-05-01 00:00:00\n");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(text_of(log->row(0)),
            "job_id=5\njob_id_raw=5\nend_time=1619827200\ntime_limit=3600\ngpus=4\n"
            "total_cpu=61001\nmax_rss=1024\n");
}

TEST(ReadCsv, RefusesMapsAndHeadersThatSayNothing) {
  const auto refused = [](std::string text, std::string map) {
    ReadOptions options;
    options.column_map = std::move(map);
    const auto opened = open_csv(text, true, options);
    return opened ? std::string("opened") : opened.error().what + " / " + opened.error().remedy_text;
  };
  EXPECT_NE(refused("a,b\n1,2\n", "").find("{\"job_id\": \"NAME OF ITS COLUMN\"}"), std::string::npos);
  EXPECT_NE(refused("a,b\n", R"({"job_idd": "a"})").find("did you mean 'job_id'"), std::string::npos);
  EXPECT_NE(refused("number,b\n", R"({"job_id": "numbr"})").find("did you mean 'number'"), std::string::npos);
  EXPECT_NE(refused("a,b\n", R"({"job_id": {"column": "a", "unit": "weeks"}})").find("weeks"),
            std::string::npos);
  EXPECT_NE(refused("a,b\n", "[1]").find("is a array"), std::string::npos);
  EXPECT_NE(refused("a,b\n", "{").find("not valid JSON"), std::string::npos);
  EXPECT_FALSE(looks_like_csv("a,b,c\n", {}));
  EXPECT_FALSE(looks_like_csv("hello world", {}));
  std::string many = "JobID,JobName";
  for (int i = 0; i < 5000; ++i) many += ",State";
  EXPECT_FALSE(looks_like_csv(many, {})) << "no log of jobs has 5,000 columns";
}

TEST(ReadCsv, RejectsWhatCannotBeRead) {
  const auto log = read_log(open_csv,
                            "JobID,JobName,Submit\n1,a\n2,b,c,d\nx,b,2021-05-01T00:00:00\n4,\"b\"z,\n"
                            "5,b,yesterday\n6;b;2021-05-01T00:00:00\n7,ok,2021-05-01T00:00:00,\n");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(log->row(0).get(Text::job_name), "ok");
  ASSERT_EQ(log->rejects.size(), 6U);
  EXPECT_EQ(log->rejects[0], "has 2 columns, and the header has 3");
}

TEST(ReadCsv, AQuoteThatIsNeverClosedCostsItsLineAlone) {
  std::string text = "JobID,JobName\n1,\"open\n";
  for (int i = 2; i < 200000; ++i) text += std::to_string(i) + ",n\n";
  ASSERT_GT(text.size(), std::size_t{1} << 20);
  const auto log = read_log(open_csv, text);
  EXPECT_EQ(log->rows.size(), 199998U);
  expect_rejected(*log, "a quote is not closed");
  const auto at_end = read_log(open_csv, "JobID,JobName\n1,a\n2,\"open\n3,b\n");
  EXPECT_EQ(at_end->rows.size(), 2U);
  EXPECT_EQ(at_end->rejects.size(), 1U);
  expect_same_in_pieces(*at_end);
}

TEST(ReadCsv, RejectsARecordOverTheLimitAndGoesOn) {
  const auto log = read_log(open_csv, "JobID,JobName\n1," + std::string(kMaxRecord, 'x') + "\n2,b\n");
  EXPECT_EQ(log->rows.size(), 1U);
  expect_rejected(*log, "none may be over");
}

// A state machine of one character at a time.
std::vector<std::vector<std::string>> naive(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += text[++i];
      else
        quoted = false;
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      row.push_back(field);
      field.clear();
      if (c == '\n') {
        rows.push_back(row);
        row.clear();
      }
    } else {
      field += c;
    }
  }
  return rows;
}

TEST(ReadCsv, AgreesWithANaiveReaderOnRandomLogs) {
  std::mt19937 random(17);
  std::string text = "JobID,JobName,User\n";
  for (int i = 1; i <= 500; ++i) {
    text += std::to_string(i);
    for (int f = 0; f < 2; ++f) {
      std::string value;
      for (unsigned c = random() % 8; c > 0; --c) value += std::string_view("ab,\"\n x")[random() % 7];
      text += ',';
      if (value.find_first_of(",\"\n") != std::string::npos || random() % 3 == 0) {
        text += '"';
        for (const char c : value) text += c == '"' ? std::string("\"\"") : std::string(1, c);
        text += '"';
      } else {
        text += value;
      }
    }
    text += '\n';
  }
  const auto log = read_log(open_csv, text);
  const auto rows = naive(text);
  ASSERT_EQ(log->rows.size() + 1, rows.size());
  const auto plain = [](std::string s) {
    while (!s.empty() && (s.back() == ' ' || s.back() == '\n')) s.pop_back();
    while (!s.empty() && (s.front() == ' ' || s.front() == '\n')) s.erase(0, 1);
    return s;
  };
  for (std::size_t i = 0; i < log->rows.size(); ++i) {
    EXPECT_EQ(log->row(i).get(Text::job_id), rows[i + 1][0]);
    EXPECT_EQ(log->row(i).get(Text::job_name), plain(rows[i + 1][1]));
    EXPECT_EQ(log->row(i).get(Text::user_name), plain(rows[i + 1][2]));
  }
  expect_same_in_pieces(*log);
}

TEST(ReadCsv, SurvivesDamage) {
  survive_damage(open_csv,
                 "JobID,JobName,User,Submit\n1,\"a, \"\"b\"\"\nc\",ann,2021-05-01T00:00:00\n2,x,bob,\n");
}

}  // namespace
}  // namespace sickbay::workload
