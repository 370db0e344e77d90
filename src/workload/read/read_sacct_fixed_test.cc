// SPDX-License-Identifier: Apache-2.0
// sacct's own layout: cut names, moved columns, and a naive reader.
#include <fmt/format.h>

#include "base/text.h"
#include "workload/read/reader_test_parts.h"

namespace sickbay::workload {
namespace {

// The shape of a log of PSC Bridges (Slurm 17 to 20), its names made ours.
constexpr const char* kMade =
    "       JobID    JobName  Partition    Account  AllocCPUS      State ExitCode \n"
    "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
    "1933171      long_run_+  RM-shared    abc123p         28    RUNNING      0:0 \n"
    "1933171.ext+     extern               abc123p         28    RUNNING      0:0 \n"
    "1933171.0     pmi_proxy               abc123p          1  COMPLETED      0:0 \n"
    "2055720      relax_it_+         RM    abc123p        112 CANCELLED+     0:15 \n"
    "2055720.bat+      batch               abc123p         28  CANCELLED     0:15 \n"
    "2055721      short_name         RM    abc123p        112     FAILED      1:0 \n"
    "2055722_[1-+      array         RM    abc123p          1    PENDING      0:0 \n";

TEST(ReadSacctFixed, ReadsTheDefaultColumns) {
  const auto log = read_log(open_sacct_fixed, kMade);
  EXPECT_TRUE(log->rejects.empty());
  ASSERT_EQ(log->rows.size(), 7U);
  EXPECT_EQ(text_of(log->row(0)),
            "job_id=1933171\njob_name=long_run_+\naccount=abc123p\npartition=RM-shared\nstate=RUNNING\n"
            "job_id_raw=1933171\ncpus=28\nexit_code=0\nexit_signal=0\nrepairs=1024\n");
  EXPECT_EQ(log->row(0).get(Num::repairs), bit(Repair::text_cut));
  EXPECT_EQ(log->row(1).kind, RowKind::extern_);
  EXPECT_EQ(log->row(1).get(Text::step), "extern");
  EXPECT_FALSE(log->row(1).has(Num::repairs)) << "the id's '+' loses nothing";
  EXPECT_EQ(log->spans[1].job, log->spans[0].job);
  EXPECT_EQ(log->row(3).get(Text::state), "CANCELLED");
  EXPECT_EQ(log->row(4).kind, RowKind::batch);
  EXPECT_FALSE(log->row(5).has(Num::repairs)) << "ten characters fill the column, and nothing is cut";
  EXPECT_EQ(log->row(6).get(Num::array_job_id), 2055722);
  EXPECT_FALSE(log->row(6).has(Num::array_tasks)) << "a cut list says no number";
  EXPECT_TRUE(looks_like_sacct_fixed(log->text, {}));
  ASSERT_EQ(log->opened.notes.size(), 1U);
  EXPECT_NE(log->opened.notes[0].find("JobName at 10"), std::string::npos) << log->opened.notes[0];
  expect_same_in_pieces(*log);
}

TEST(ReadSacctFixed, ReadsOtherColumnsAndCutStates) {
  const auto log = read_log(open_sacct_fixed,
                            "JobID                     Submit      State   AllocCP+      User\n"
                            "------------ ------------------- ---------- ---------- ---------\n"
                            "12_3         2021-05-01T02:00:00 CANCELLED+          4       ann\n"
                            "13.batch                 Unknown OUT_OF_ME+          2\n");
  ASSERT_EQ(log->rows.size(), 2U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(log->row(0).get(Num::submit_time), 1619834400);
  EXPECT_EQ(log->row(0).get(Text::state), "CANCELLED");
  EXPECT_EQ(log->row(0).get(Num::cpus), 4);
  EXPECT_EQ(log->row(0).get(Text::user_name), "ann");
  EXPECT_FALSE(log->row(0).has(Num::repairs));
  EXPECT_EQ(log->row(1).get(Text::state), "OUT_OF_MEMORY");
}

TEST(ReadSacctFixed, CountsCharactersNotBytes) {
  const auto log = read_log(
      open_sacct_fixed, "JobID JobName    State\n----- ------- ---------\n1     Bl\xC3\xA4hung COMPLETED\n");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(log->row(0).get(Text::job_name), "Bl\xC3\xA4hung");
  EXPECT_EQ(log->row(0).get(Text::state), "COMPLETED");
}

TEST(ReadSacctFixed, SkipsHeadersThatComeAgain) {
  const std::string one = "JobID      JobName\n------- ----------\n7             name\n";
  const auto log = read_log(open_sacct_fixed, one + "\n" + one);
  EXPECT_EQ(log->rows.size(), 2U);
  EXPECT_TRUE(log->rejects.empty());
}

TEST(ReadSacctFixed, RejectsWhatCannotBeRead) {
  const std::string head = "JobID      JobName              Submit\n------- ---------- -------------------\n";
  const auto log =
      read_log(open_sacct_fixed, head + "hello, world\n           a\n7               a 2021-05-01T00:00\n" +
                                     std::string("8     \0 x\n", 10) + "9               ok\n");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(log->row(0).get(Text::job_id), "9");
  EXPECT_EQ(log->rejects.size(), 4U);
  const auto opened = open_sacct_fixed("JobID JobName\n1 a\n", true, {});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().remedy_text.find("sacct -P"), std::string::npos);
  EXPECT_FALSE(looks_like_sacct_fixed("a b\n- -\n1 2\n", {}));
}

TEST(ReadSacctFixed, RejectsARecordOverTheLimitAndGoesOn) {
  const auto log = read_log(open_sacct_fixed, "JobID      JobName\n------- ----------\n1 " +
                                                  std::string(kMaxRecord, 'x') + "\n2               b\n");
  EXPECT_EQ(log->rows.size(), 1U);
  expect_rejected(*log, "none may be over");
}

// Columns written at the right or at the left of random widths, and read back by substr.
TEST(ReadSacctFixed, AgreesWithANaiveReaderOnRandomLogs) {
  std::mt19937 random(19);
  for (int round = 0; round < 40; ++round) {
    const std::size_t id_width = 8 + random() % 5, name_width = 4 + random() % 8,
                      state_width = 10 + random() % 5;
    const auto line = [&](const std::string& id, const std::string& name, const std::string& state) {
      return fmt::format("{:<{}} {:>{}} {:>{}} \n", id, id_width, name, name_width, state, state_width);
    };
    std::string text = line("JobID", name_width < 7 ? "JobNam+" : "JobName", "State");
    if (name_width < 7) text = line("JobID", "JobN", "State");
    text += line(std::string(id_width, '-'), std::string(name_width, '-'), std::string(state_width, '-'));
    std::vector<std::string> lines;
    for (int i = 1; i < 40; ++i) {
      std::string name;
      for (unsigned c = 1 + random() % 12; c > 0; --c) name += std::string_view("abc-_.")[random() % 6];
      if (name.size() > name_width) name = name.substr(0, name_width - 1) + "+";
      lines.push_back(line(std::to_string(i), name, random() % 2 != 0 ? "COMPLETED" : "FAILED"));
      text += lines.back();
    }
    const auto log = read_log(open_sacct_fixed, text);
    ASSERT_EQ(log->rows.size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(log->row(i).get(Text::job_id), trimmed(lines[i].substr(0, id_width)));
      const std::string name(trimmed(lines[i].substr(id_width + 1, name_width)));
      if (name_width >= 7) {
        EXPECT_EQ(log->row(i).get(Text::job_name), name);
        EXPECT_EQ(log->row(i).get(Num::repairs), name.back() == '+' ? bit(Repair::text_cut) : 0);
      }
      EXPECT_EQ(log->row(i).get(Text::state),
                trimmed(lines[i].substr(id_width + name_width + 2, state_width)));
    }
    expect_same_in_pieces(*log);
  }
}

TEST(ReadSacctFixed, SurvivesDamage) { survive_damage(open_sacct_fixed, kMade); }

}  // namespace
}  // namespace sickbay::workload
