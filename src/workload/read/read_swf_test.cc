// SPDX-License-Identifier: Apache-2.0
// SWF, compared with a reader that takes each line apart with a stream.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "workload/read/reader_test_parts.h"

namespace sickbay::workload {
namespace {

constexpr const char* kSwfHeader =
    "; Version: 2.2\n; Computer: A made one\n; UnixStartTime: 1000000000\n; MaxProcs: 100\n;\n";

// A run whose wait is not known has a length, though no place.
TEST(ReadSwf, KeepsARunOfWhichTheWaitIsNotKnown) {
  const auto log = read_log(open_swf, std::string(kSwfHeader) +
                                          "1 10 -1 3600 4 -1 -1 4 60 -1 1 3 3 -1 1 -1 -1 -1\n"
                                          "2 -1 -1 7200 4 -1 -1 4 60 -1 1 3 3 -1 1 -1 -1 -1\n"
                                          "3 10 -1 -1 4 -1 -1 4 60 -1 5 3 3 -1 1 -1 -1 -1\n");
  ASSERT_EQ(log->rows.size(), 3U);
  EXPECT_EQ(log->row(0).find(Num::elapsed), 3600);
  EXPECT_FALSE(log->row(0).has(Num::start_time));
  EXPECT_EQ(log->row(1).find(Num::elapsed), 7200);
  EXPECT_FALSE(log->row(2).has(Num::elapsed)) << "it never began";
}

TEST(ReadSwf, ReadsAJob) {
  const auto log =
      read_log(open_swf,
               std::string(kSwfHeader) +
                   "   15   599850 192180   3477    4     24.5 2048 8  53940 4096  1  12  13  5 2 1 -1 -1\n");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(
      text_of(log->row(0)),
      "job_id=15\njob_name=executable-5\nuser_name=12\ngroup_name=13\npartition=2\nstate=COMPLETED\n"
      "job_id_raw=15\nsubmit_time=1000599850\nstart_time=1000792030\nend_time=1000795507\nelapsed=3477\n"
      "time_limit=53940\nreq_cpus=8\ncpus=4\ntotal_cpu=98000\nave_rss=2097152\nusage_mem=8388608\n"
      "req_mem_per_cpu=4194304\n");
  EXPECT_TRUE(looks_like_swf(log->text, {}));
}

TEST(ReadSwf, LeavesOutWhatIsMinusOne) {
  const auto log =
      read_log(open_swf, std::string(kSwfHeader) + "1 0 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n");
  EXPECT_EQ(text_of(log->row(0)), "job_id=1\njob_id_raw=1\nsubmit_time=1000000000\n");
}

TEST(ReadSwf, KnowsThatAJobCancelledInTheQueueNeverBegan) {
  const auto log = read_log(open_swf, std::string(kSwfHeader) +
                                          "1 10 50 0 -1 -1 -1 4 60 -1 5 3 3 -1 1 -1 -1 -1\n"
                                          "2 10 50 7 4 -1 -1 4 60 -1 5 3 3 -1 1 -1 -1 -1\n");
  EXPECT_FALSE(log->row(0).has(Num::start_time));
  EXPECT_EQ(log->row(0).get(Num::end_time), 1000000060);
  EXPECT_EQ(log->row(0).get(Text::state), "CANCELLED");
  EXPECT_EQ(log->row(1).get(Num::start_time), 1000000060);
  EXPECT_EQ(log->row(1).get(Num::elapsed), 7);
}

TEST(ReadSwf, ReadsNineteenToTwentyOneColumnsWithoutHeader) {
  const std::string job = "7 100 5 60 2 -1 -1 2 90 -1 0 1 1 1 1 1 -1 -1";
  for (const char* more : {"", " 0.5", " 1 2", " 1 x 3"}) {
    const auto log = read_log(open_swf, job + more + "\n");
    ASSERT_EQ(log->rows.size(), 1U) << more;
    EXPECT_EQ(log->row(0).get(Num::start_time), 105);
    EXPECT_EQ(log->row(0).get(Text::state), "FAILED");
    EXPECT_TRUE(looks_like_swf(log->text, {})) << more;
    ASSERT_FALSE(log->opened.notes.empty());
    EXPECT_NE(log->opened.notes[0].find("1970"), std::string::npos);
  }
  EXPECT_FALSE(looks_like_swf(job + " 1 2 3 4\n", {}));
}

TEST(ReadSwf, RejectsWhatIsNoJob) {
  const auto log = read_log(open_swf, std::string(kSwfHeader) +
                                          "1 2 3\n"
                                          "1 x 50 0 -1 -1 -1 4 60 -1 5 3 3 -1 1 -1 -1 -1\n"
                                          "; a comment\n\n"
                                          "-4 1 50 0 -1 -1 -1 4 60 -1 5 3 3 -1 1 -1 -1 -1\n"
                                          "1 99999999999999999999 5 0 1 1 1 4 60 1 5 3 3 1 1 1 1 1\n"
                                          "1 9223372036854775807 5 0 1 1 1 4 60 1 5 3 3 1 1 1 1 1\n"
                                          "1 5 9223372036854775807 0 1 1 1 4 60 1 1 3 3 1 1 1 1 1\n"
                                          "1 5 6 9223372036854775807 1 1 1 4 6 1 1 3 3 1 1 1 1 1\n");
  EXPECT_EQ(log->rows.size(), 0U);
  ASSERT_EQ(log->rejects.size(), 7U);
  EXPECT_EQ(log->rejects[0], "the line has 3 columns, and SWF has 18");
  EXPECT_EQ(log->rejects[1], "column 2 is 'x', and all columns of SWF are numbers");
}

TEST(ReadSwf, LeavesOutProductsThatOverflow) {
  const auto log = read_log(open_swf,
                            "1 5 6 7 9223372036854775807 9223372036854775807 9223372036854775807 4 6 "
                            "9223372036854775807 9 3 3 1 1 1 1 1\n");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_FALSE(log->row(0).has(Num::total_cpu));
  EXPECT_FALSE(log->row(0).has(Num::usage_mem));
  EXPECT_EQ(log->row(0).get(Num::flaws), bit(Flaw::unknown_state));
}

TEST(ReadSwf, RejectsARecordOverTheLimitAndGoesOn) {
  const auto log =
      read_log(open_swf, std::string(kMaxRecord + 1, '1') + "\n" + "1 5 6 7 1 1 1 4 6 1 1 3 3 1 1 1 1 1\n");
  EXPECT_EQ(log->rows.size(), 1U);
  expect_rejected(*log, "none may be over 16777216");
  // A line without an end never makes a caller hold more than the limit.
  std::vector<RecordSpan> spans;
  EXPECT_EQ(log->opened.reader->split(std::string(kMaxRecord + 1, '1'), false, spans), kMaxRecord + 1);
  EXPECT_EQ(log->opened.reader->split("1 2", false, spans), 0U);
}

// Each line taken apart by a stream, with the definitions of the archive's page.
std::string naive(const std::string& line, std::int64_t begin) {
  std::istringstream in(line);
  std::vector<std::int64_t> v;
  for (std::int64_t n; in >> n;) v.push_back(n);
  std::map<std::string, std::int64_t> out;
  out["submit_time"] = begin + v[1];
  if (v[3] >= 0 && !(v[10] == 5 && v[3] == 0)) out["elapsed"] = v[3];
  if (v[2] >= 0 && !(v[10] == 5 && v[3] <= 0)) {
    out["start_time"] = begin + v[1] + v[2];
    if (v[3] >= 0) {
      out["end_time"] = begin + v[1] + v[2] + v[3];
    }
  } else if (v[2] >= 0) {
    out["end_time"] = begin + v[1] + v[2];
  }
  if (v[4] > 0) out["cpus"] = v[4];
  if (v[4] > 0 && v[5] >= 0) out["total_cpu"] = v[4] * v[5] * 1000;
  if (v[7] > 0) out["req_cpus"] = v[7];
  if (v[8] >= 0) out["time_limit"] = v[8];
  std::string text;
  for (const auto& [name, value] : out) text += name + "=" + std::to_string(value) + "\n";
  return text;
}

TEST(ReadSwf, AgreesWithANaiveReaderOnRandomLogs) {
  std::mt19937 random(3);
  std::string text = kSwfHeader;
  std::vector<std::string> lines;
  for (int i = 0; i < 500; ++i) {
    std::string line = std::to_string(i + 1);
    const auto number = [&](int most) {
      line +=
          std::string(1 + random() % 3, ' ') +
          std::to_string(random() % 4 == 0 ? -1 : static_cast<int>(random() % static_cast<unsigned>(most)));
    };
    line += " " + std::to_string(random() % 1000000);
    for (const int most : {1000, 1000, 64, 500, 4096, 64, 9000, 4096}) number(most);
    line += " " + std::to_string(std::vector<int>{-1, 0, 1, 5}[random() % 4]);
    for (int j = 11; j < 18; ++j) number(9);
    lines.push_back(line);
    text += line + (random() % 9 == 0 ? "\r\n" : "\n");
  }
  const auto log = read_log(open_swf, text);
  ASSERT_EQ(log->rows.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::map<std::string, std::int64_t> out;
    for (const char* name :
         {"submit_time", "start_time", "end_time", "elapsed", "cpus", "total_cpu", "req_cpus", "time_limit"})
      for (const auto& f : kNumFields)
        if (f.name == name && log->row(i).has(f.field)) out[name] = log->row(i).get(f.field);
    std::string all;
    for (const auto& [name, value] : out) all += name + "=" + std::to_string(value) + "\n";
    EXPECT_EQ(all, naive(lines[i], 1000000000)) << lines[i];
  }
  expect_same_in_pieces(*log);
}

TEST(ReadSwf, SurvivesDamage) {
  survive_damage(open_swf, std::string(kSwfHeader) +
                               "1 5 6 7 1 1 1 4 6 1 1 3 3 1 1 1 1 1\n2 5 6 7 1 1 1 4 6 1 1 3 3 1 1 1 1 1\n");
}

}  // namespace
}  // namespace sickbay::workload
