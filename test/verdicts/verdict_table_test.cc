// SPDX-License-Identifier: Apache-2.0
// The verdict table answers every combination of its columns, by rules that know nothing of its rows.
//
// table.txt is what it answers, grouped for people; SB_REWRITE=1 writes it anew.  The tests below it say what
// must be true of any such table: whoever changes a row reads the difference and breaks no rule.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>

#include "grouped_table.h"

namespace sickbay::identify {
namespace {

enum Col : std::size_t { A1, C1, A2, C2, L12, A3, C3, L13, L23, Starved };

class VerdictTable : public testing::Test {
 protected:
  static const AllAnswers& all() {
    static const AllAnswers answers;
    return answers;
  }
  static std::string_view name(std::size_t n, Col column) {
    return columns()[column].values[all().value(n, column)].name;
  }
  static bool is(std::size_t n, Col column, std::initializer_list<std::string_view> names) {
    const std::string_view own = name(n, column);
    return std::find(names.begin(), names.end(), own) != names.end();
  }
  static bool ended(std::size_t n) {
    for (std::size_t i = 0; i < columns().size(); ++i)
      if (!columns()[i].values[all().value(n, i)].ended) return false;
    return true;
  }
  static const Row* row(std::size_t n) {
    return all().answer(n) < 0 ? nullptr : &verdict_rows()[static_cast<std::size_t>(all().answer(n))];
  }
  // 0: S1 is not blamed; 1 to 3: with low to high confidence.
  static int guilt(std::size_t n) {
    const Row* r = row(n);
    return r && r->blame != Blame::nobody ? 1 + static_cast<int>(r->confidence) : 0;
  }
  static int against_program(std::size_t n) {
    const Row* r = row(n);
    return r && r->cause == Cause::program ? 1 + static_cast<int>(r->confidence) : 0;
  }
  static bool clear(std::size_t n, Col c) { return is(n, c, {"ok", "unrelated", "full"}); }

  // Counts what breaks a rule, and shows the first few.
  static void for_all(const std::function<bool(std::size_t)>& holds) {
    std::size_t broken = 0;
    for (std::size_t n = 0; n < all().size(); ++n)
      if (!holds(n) && ++broken <= 5) ADD_FAILURE() << all().words(n);
    EXPECT_EQ(broken, 0u);
  }
};

TEST_F(VerdictTable, IsThatOfTheGoldenPage) {
  const std::string text = grouped_table(all());
  const char* const page = SB_VERDICTS "/table.txt";
  if (std::getenv("SB_REWRITE")) std::ofstream(page, std::ios::binary) << text;
  std::ifstream in(page, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, golden) << "SB_REWRITE=1 writes it anew: read the difference before you commit it";
  std::cout << all().size() << " combinations, " << std::count(text.begin(), text.end(), '[') << " groups\n";
  RecordProperty("combinations", static_cast<int>(all().size()));
}

TEST_F(VerdictTable, EveryRowIsReached) {
  std::vector<bool> reached(verdict_rows().size());
  for (std::size_t n = 0; n < all().size(); ++n)
    if (all().answer(n) >= 0) reached[static_cast<std::size_t>(all().answer(n))] = true;
  for (std::size_t i = 0; i < reached.size(); ++i) EXPECT_TRUE(reached[i]) << verdict_rows()[i].rule;
}

TEST_F(VerdictTable, WhatHasEndedHasAFinalAnswer) {
  for_all([](std::size_t n) {
    const Row* r = row(n);
    return !ended(n) || (r && (r->stage == Stage::final || r->stage == Stage::waits));
  });
}

// The provisional answers that people wait for: a node that went down, and one on which V fails.
TEST_F(VerdictTable, AConvictionIsSaidAtOnce) {
  for_all([](std::size_t n) {
    const bool suspect =
        is(n, A1, {"node down"}) || (is(n, A1, {"failed"}) && is(n, C1, {"failed", "named"}));
    return !suspect || !is(n, A2, {"open"}) || (row(n) && guilt(n) > 0);
  });
}

TEST_F(VerdictTable, NoNodeIsTheCauseUnlessItWasConvictedOrLost) {
  for_all([](std::size_t n) {
    return guilt(n) == 0 || is(n, A1, {"node down"}) || is(n, C1, {"failed", "named"}) ||
           (is(n, C1, {"full"}) && is(n, A2, {"ok"}) && guilt(n) <= 2) ||
           (is(n, Starved, {"a node"}) && is(n, A2, {"ok"}) && guilt(n) <= 2);
  });
}

// What was seen while the job ran is over when V looks: it names a node where nothing else does, in no case
// but that the job completed elsewhere, and takes nothing from what V or Slurm say.
TEST_F(VerdictTable, AStarvedNodeCountsOnlyWhereTheProgramCompletedElsewhere) {
  for_all([](std::size_t n) {
    if (!is(n, Starved, {"a node"})) return true;
    const std::size_t without = all().with(n, Starved, 0);
    if (all().answer(n) == all().answer(without)) return true;
    return is(n, A1, {"failed"}) && is(n, A2, {"ok"}) && !is(n, C1, {"failed", "named", "open"}) &&
           row(n)->blame == Blame::s1_starved && row(n)->confidence != Confidence::high;
  });
}

// A re-run that other work held up neither acquits the program nor convicts it: it takes the conviction of
// the program away where V convicts the nodes, and changes nothing else.
TEST_F(VerdictTable, AStarvedRerunOnlyLeavesTheNodesConvicted) {
  for_all([](std::size_t n) {
    if (!is(n, Starved, {"the second run"})) return true;
    const std::size_t without = all().with(n, Starved, 0);
    if (all().answer(n) == all().answer(without)) return true;
    return is(n, A1, {"failed"}) && is(n, A2, {"failed"}) && is(n, C1, {"failed", "named"}) &&
           !is(n, L12, {"different"}) && row(n)->blame == Blame::s1 && row(n)->stage == Stage::final &&
           row(n)->confidence == Confidence::medium && against_program(n) == 0;
  });
}

TEST_F(VerdictTable, TheProgramFailedTwiceAlikeAndOnceOnNodesThatAreClear) {
  for_all([](std::size_t n) {
    if (against_program(n) == 0) return true;
    const bool by_second =
        is(n, A2, {"failed"}) && !is(n, L12, {"different"}) && (clear(n, C1) || clear(n, C2));
    const bool by_third =
        is(n, A3, {"failed"}) && !is(n, L13, {"different"}) && (clear(n, C1) || clear(n, C3));
    // Two later runs alike, both on good nodes, are weak: the first may have left them what they fail of.
    const bool by_later = is(n, A2, {"failed"}) && is(n, A3, {"failed"}) && is(n, L23, {"same"}) &&
                          is(n, C2, {"ok"}) && is(n, C3, {"ok"}) && clear(n, C1) && against_program(n) == 1;
    return is(n, A1, {"failed"}) && (by_second || by_third || by_later);
  });
}

TEST_F(VerdictTable, HighAgainstTheProgramNeedsTwoGoodSetsAndOneWay) {
  for_all([](std::size_t n) {
    return against_program(n) < 3 || (is(n, C1, {"ok"}) && is(n, C2, {"ok"}) && is(n, L12, {"same"}));
  });
}

TEST_F(VerdictTable, AProgramThatCompletedIsNotTheCause) {
  for_all([](std::size_t n) {
    if (!is(n, A2, {"ok"}) && !(is(n, A3, {"ok"}) && row(n) && row(n)->stage != Stage::final)) return true;
    return against_program(n) == 0;
  });
}

TEST_F(VerdictTable, ARunThatNeverBeganAllowsLittle) {
  for_all([](std::size_t n) {
    const Row* r = row(n);
    return !is(n, A1, {"never began"}) || r == nullptr ||
           (r->confidence == Confidence::low && r->cause != Cause::program);
  });
}

TEST_F(VerdictTable, TwoRunsThatLoseNodesBlameNone) {
  for_all(
      [](std::size_t n) { return !is(n, A1, {"node down"}) || !is(n, A2, {"node down"}) || guilt(n) == 0; });
}

TEST_F(VerdictTable, APersonsDownIsNobodysFault) {
  for_all([](std::size_t n) {
    return !is(n, A1, {"taken"}) || (row(n)->cause == Cause::cancelled && row(n)->stage == Stage::final);
  });
}

// V's words on S1 from the best to the worst.
TEST_F(VerdictTable, MoreEvidenceNeverMakesANodeLessGuilty) {
  constexpr std::array<std::string_view, 4> kWorse = {"ok", "unrelated", "failed", "named"};
  const auto index = [](std::string_view value) {
    const auto values = columns()[C1].values;
    return static_cast<std::size_t>(
        std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.name == value; }) -
        values.begin());
  };
  for_all([&](std::size_t n) {
    if (!is(n, C1, {"ok"})) return true;
    for (std::size_t i = 1; i < kWorse.size(); ++i)
      if (guilt(all().with(n, C1, index(kWorse[i]))) < guilt(all().with(n, C1, index(kWorse[i - 1]))))
        return false;
    return true;
  });
  // And a node that Slurm lost is as guilty at least as one that V clears.
  for_all([&](std::size_t n) {
    return !is(n, A1, {"failed"}) || !clear(n, C1) || is(n, C1, {"full"}) || !ended(n) ||
           guilt(all().with(n, A1, 4)) >= guilt(n);
  });
}

TEST_F(VerdictTable, TheLessAlikeTheLessAgainstTheProgram) {
  for_all([](std::size_t n) {
    for (const Col column : {L12, L13}) {
      if (!is(n, column, {"same"}) || !ended(n)) continue;
      // A second failure that differs brings in the third run, which may speak by itself.
      if (column == L12 && is(n, A3, {"failed"})) {
        if (against_program(all().with(n, column, 1)) > against_program(n)) return false;
        continue;
      }
      for (std::size_t less = 1; less < 3; ++less)
        if (against_program(all().with(n, column, less)) > against_program(all().with(n, column, less - 1)))
          return false;
    }
    return true;
  });
}

// A full file system says nothing that V's "ok" would not, but where the program completed elsewhere; and
// then it is not sure.
TEST_F(VerdictTable, AFullFileSystemIsTheCauseOnlyWhereNothingElseIsLeft) {
  for_all([](std::size_t n) {
    if (!is(n, C1, {"full"})) return true;
    return guilt(n) == 0 || is(n, A1, {"node down"}) || (is(n, A2, {"ok"}) && guilt(n) == 2);
  });
}

// What comes later may make an answer final, and never takes back one that is.  One row is excepted: where
// the output names the node that V convicts the case is closed at once, and hears no more.
TEST_F(VerdictTable, AFinalAnswerDoesNotDependOnWhatIsOpen) {
  for_all([](std::size_t n) {
    const Row* r = row(n);
    if (!r || r->stage != Stage::final || is(n, C1, {"named"})) return true;
    for (std::size_t i = 0; i < columns().size(); ++i) {
      if (columns()[i].values[all().value(n, i)].ended) continue;
      for (std::size_t v = 0; v < columns()[i].values.size(); ++v)
        if (all().answer(all().with(n, i, v)) != all().answer(n)) return false;
    }
    return true;
  });
}

TEST_F(VerdictTable, AThirdRunIsWantedOnlyWhereItCanDecide) {
  for_all([](std::size_t n) {
    const Row* r = row(n);
    if (!r || r->stage != Stage::third) return true;
    // Not before the second has failed or lost a node, and not where the answer would be the same whatever
    // came of it.
    if (!is(n, A2, {"failed", "node down"})) return false;
    const int without = all().answer(all().with(n, A3, 1));
    const std::size_t failed_alike = all().with(all().with(all().with(n, A3, 3), C3, 2), L13, 0);
    return all().answer(all().with(n, A3, 2)) != without || all().answer(failed_alike) != without;
  });
}

// The rows that issue 10 mends, as they stand there.
TEST_F(VerdictTable, AnswersTheRowsThatWereWrong) {
  const struct {
    const char* what;
    Facts facts;
    Cause cause;
    Confidence confidence;
    Blame blame;
  } rows[] = {
      {"A1 fail, C1 failed, A2 fail, C2 ok",
       {a_fail, c_failed, a_fail, c_ok, l_same, a_open, c_open, l_open, l_open},
       Cause::program,
       Confidence::medium,
       Blame::nobody},
      {"A1 fail, C1 ok, A2 fail, C2 failed, A3 ok",
       {a_fail, c_ok, a_fail, c_failed, l_different, a_ok, c_open, l_open, l_open},
       Cause::non_deterministic,
       Confidence::medium,
       Blame::nobody},
      {"the same, A3 fail, C3 failed",
       {a_fail, c_ok, a_fail, c_failed, l_different, a_fail, c_failed, l_same, l_different},
       Cause::inconclusive,
       Confidence::low,
       Blame::nobody},
      {"the same, A2 down, A3 down",
       {a_fail, c_ok, a_down, c_failed, l_open, a_down, c_failed, l_open, l_open},
       Cause::inconclusive,
       Confidence::medium,
       Blame::nobody},
      {"A1 down, A2 fail, C2 failed",
       {a_down, c_unknown, a_fail, c_failed, l_different, a_open, c_open, l_open, l_open},
       Cause::node,
       Confidence::medium,
       Blame::s1},
      {"A1 fail, C1 unknown, A2 fail, C2 failed",
       {a_fail, c_unknown, a_fail, c_failed, l_same, a_open, c_open, l_open, l_open},
       Cause::inconclusive,
       Confidence::low,
       Blame::nobody},
      {"A1 down, A2 fail, C2 ok",
       {a_down, c_unknown, a_fail, c_ok, l_different, a_open, c_open, l_open, l_open},
       Cause::node,
       Confidence::low,
       Blame::s1},
      {"A1 down, A2 fail, C2 ok, alike",
       {a_down, c_unknown, a_fail, c_ok, l_same, a_open, c_open, l_open, l_open},
       Cause::inconclusive,
       Confidence::low,
       Blame::nobody},
      {"A1 down, A2 none",
       {a_down, c_unknown, a_none, c_open, l_open, a_open, c_open, l_open, l_open},
       Cause::node,
       Confidence::medium,
       Blame::s1},
      {"A1 never began, A2 fail, C2 ok",
       {a_never, c_ok, a_fail, c_ok, l_same, a_open, c_open, l_open, l_open},
       Cause::inconclusive,
       Confidence::low,
       Blame::nobody},
      {"an abort, then twice a lock that it left",
       {a_fail, c_ok, a_fail, c_ok, l_different, a_fail, c_ok, l_different, l_same},
       Cause::program,
       Confidence::low,
       Blame::nobody},
      {"the same, the last nodes not acquitted",
       {a_fail, c_ok, a_fail, c_ok, l_different, a_fail, c_unknown, l_different, l_same},
       Cause::inconclusive,
       Confidence::low,
       Blame::nobody},
      {"a bus error, then a folder that is there",
       {a_fail, c_ok, a_fail, c_ok, l_different, a_none, c_open, l_open, l_open},
       Cause::inconclusive,
       Confidence::low,
       Blame::nobody},
  };
  for (const auto& wrong : rows) {
    const identify::Row* answer = row_for(wrong.facts);
    ASSERT_NE(answer, nullptr) << wrong.what;
    EXPECT_EQ(to_string(answer->cause), to_string(wrong.cause)) << wrong.what;
    EXPECT_EQ(to_string(answer->confidence), to_string(wrong.confidence)) << wrong.what;
    EXPECT_EQ(answer->blame, wrong.blame) << wrong.what;
    EXPECT_EQ(answer->stage == Stage::final || answer->stage == Stage::waits, true) << wrong.what;
  }
  // And the one that must not end the experiment.
  const identify::Row* open = row_for({.a1 = a_fail, .c1 = c_failed, .a2 = a_open});
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open->stage, Stage::open);
  EXPECT_EQ(row_for({.a1 = a_fail, .c1 = c_unrelated, .a2 = a_open}), nullptr);
  EXPECT_EQ(row_for({.a1 = a_fail, .c1 = c_named, .a2 = a_open})->stage, Stage::final);
}

}  // namespace
}  // namespace sickbay::identify
