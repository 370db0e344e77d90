// SPDX-License-Identifier: Apache-2.0
// What is said of a failed job from evidence alone, for every combination of the four columns.
//
// unasked.txt is what the table answers; SB_REWRITE=1 writes it anew.  The tests below it say what must be
// true of any such table.
#include "engine/identify/unasked.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

namespace sickbay::identify::unasked {
namespace {

struct Word {
  std::uint8_t bit;
  const char* name;
};
constexpr Word kEnds[] = {{e_lost, "node lost"},
                          {e_never, "never began"},
                          {e_crashed, "crashed"},
                          {e_exited, "exited"},
                          {e_killed, "killed"}};
constexpr Word kNodes[] = {{n_nothing, "nothing"}, {n_finding, "finding"}, {n_hole, "black hole"}};
constexpr Word kOthers[] = {{o_unknown, "unknown"}, {o_passed, "passed"}, {o_failed, "failed"}};
constexpr Word kKin[] = {{k_unknown, "unknown"}, {k_passes, "passes"}, {k_fails, "fails"}};

void for_all(const std::function<void(const Facts&, const Row&, const std::string&)>& each) {
  for (const Word& end : kEnds)
    for (const Word& node : kNodes)
      for (const Word& others : kOthers)
        for (const Word& kin : kKin) {
          const Facts facts{static_cast<End>(end.bit), static_cast<NodeSays>(node.bit),
                            static_cast<Others>(others.bit), static_cast<Kin>(kin.bit)};
          each(facts, row_for(facts),
               fmt::format("{:<11} | node: {:<10} | others there: {:<7} | its kind elsewhere: {:<7}",
                           end.name, node.name, others.name, kin.name));
        }
}

TEST(Unasked, AnswersAsTheGoldenPage) {
  std::string text =
      "# SPDX-License-Identifier: Apache-2.0\n"
      "# What is said of a failed job without a case, from evidence alone.  Written by unasked_test with "
      "SB_REWRITE=1.\n";
  for_all([&](const Facts&, const Row& row, const std::string& words) {
    text += fmt::format("{}: {} {}, {}\n", words, row.rule, to_string(row.cause), to_string(row.confidence));
  });
  const char* const page = SB_VERDICTS "/unasked.txt";
  if (std::getenv("SB_REWRITE")) std::ofstream(page, std::ios::binary) << text;
  std::ifstream in(page, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, golden) << "SB_REWRITE=1 writes it anew: read the difference before you commit it";
}

TEST(Unasked, EveryRowIsReached) {
  std::set<std::string_view> reached;
  for_all([&](const Facts&, const Row& row, const std::string&) { reached.insert(row.rule); });
  for (const Row& row : rows()) EXPECT_TRUE(reached.contains(row.rule)) << row.rule;
}

TEST(Unasked, NothingIsOfHighConfidence) {
  for_all([](const Facts&, const Row& row, const std::string& words) {
    EXPECT_NE(row.confidence, Confidence::high) << words;
  });
}

// One job that failed is no evidence against its node.
TEST(Unasked, ANodeIsTheCauseOnlyWhereSomethingElseSpeaksAgainstIt) {
  for_all([](const Facts& f, const Row& row, const std::string& words) {
    if (row.cause == Cause::node) {
      EXPECT_TRUE(f.end == e_lost || f.node != n_nothing || f.others == o_failed) << words;
    }
    // Where its kind fails elsewhere as well, only Slurm's own word convicts.
    if (row.cause == Cause::node && f.kin == k_fails) {
      EXPECT_EQ(f.end, e_lost) << words;
    }
    // And what others pass on is not blamed for a finding or for them.
    if (row.cause == Cause::node && f.others == o_passed) {
      EXPECT_TRUE(f.end == e_lost || f.node == n_hole) << words;
    }
  });
}

TEST(Unasked, AProgramIsTheCauseOnlyWhereNothingConvictsItsNode) {
  for_all([](const Facts& f, const Row& row, const std::string& words) {
    if (row.cause != Cause::program) return;
    EXPECT_NE(f.end, e_lost) << words;
    EXPECT_NE(f.node, n_hole) << words;
    EXPECT_TRUE(f.others != o_failed || f.kin != k_passes || f.end == e_crashed) << words;
    if (row.confidence == Confidence::medium) {
      EXPECT_TRUE(f.kin == k_fails && f.others == o_passed) << words;
    }
  });
}

JobOutcome job(const char* state, int exit_code, int exit_signal) {
  JobOutcome made;
  made.job = 17;
  made.start = from_unix_seconds(1000);
  made.nodes = {"n3"};
  made.lived = std::chrono::seconds(4);
  made.failed = true;
  made.state = state;
  made.exit_code = exit_code;
  made.exit_signal = exit_signal;
  return made;
}

TEST(Unasked, ReadsHowAJobEnded) {
  struct Case {
    const char* state;
    int code, signal;
    End end;
  };
  for (const Case& c : {Case{"NODE_FAIL", 0, 0, e_lost},
                        {"BOOT_FAIL", 0, 0, e_lost},
                        {"FAILED", 0, 53, e_never},
                        {"FAILED", 139, 0, e_crashed},
                        {"FAILED", 0, 11, e_crashed},
                        {"FAILED", 134, 0, e_crashed},
                        {"FAILED", 132, 0, e_crashed},
                        {"FAILED", 135, 0, e_killed},  // SIGBUS
                        {"FAILED", 137, 0, e_killed},
                        {"FAILED", 0, 15, e_killed},
                        {"FAILED", 1, 0, e_exited},
                        {"FAILED", 255, 0, e_exited},
                        {"FAILED", 128, 0, e_exited}})
    EXPECT_EQ(end_of(job(c.state, c.code, c.signal)), c.end) << c.state << c.code << ":" << c.signal;
}

TEST(Unasked, SaysWhatItKnowsAndWhatIsMissing) {
  Evidence e;
  e.job = job("FAILED", 1, 0);
  e.holes = {{"n3", "9 jobs of 4 users failed within 5 s"}};
  const Verdict v = judge(e, from_unix_seconds(2000));
  EXPECT_TRUE(v.final);
  EXPECT_EQ(v.cause, Cause::node);
  EXPECT_EQ(v.nodes, std::vector<std::string>{"n3"});
  EXPECT_EQ(v.sentence, "Node n3 seems to be the cause, not the program.");
  EXPECT_EQ(v.missing.size(), 1U);
  ASSERT_EQ(v.why.size(), 3U);
  EXPECT_EQ(v.why[1], "job 17 ended as FAILED, exit code 1, 4 s after its start on n3");
  EXPECT_EQ(v.next.back(), "meanwhile: --exclude=n3");
}

// One other user who fails there may be a bug of his: it takes two.
TEST(Unasked, OneOtherUserConvictsNobody) {
  Evidence e;
  e.job = job("FAILED", 1, 0);
  e.kin_passed = 5;
  e.others_failed = 40;
  e.others_failed_users = 1;
  EXPECT_NE(judge(e, kNoTime).cause, Cause::node);
  e.others_failed_users = 2;
  EXPECT_EQ(judge(e, kNoTime).cause, Cause::node);
  e.others_passed = 1;
  EXPECT_NE(judge(e, kNoTime).cause, Cause::node);
}

TEST(Unasked, EndsThatExplainThemselvesNeedNoTable) {
  for (const auto& [state, cause] :
       {std::pair("OUT_OF_MEMORY", Cause::out_of_memory), std::pair("DEADLINE", Cause::deadline),
        std::pair("TIMEOUT", Cause::inconclusive)}) {
    Evidence e;
    e.job = job(state, 0, 0);
    e.holes = {{"n3", "x"}};
    EXPECT_EQ(judge(e, kNoTime).cause, cause) << state;
    EXPECT_NE(judge(e, kNoTime).confidence, Confidence::high) << state;
  }
}

}  // namespace
}  // namespace sickbay::identify::unasked
