// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/hang/hang_test_parts.h"

namespace sickbay::hang {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

const TimePoint kNow = from_micros(1'700'000'000'000'000);

RankGroup group(Standing standing, std::string_view ranks, std::string call, std::string path, Micros held,
                std::int64_t size = 4, std::string world = "step 0") {
  RankGroup g{std::move(world), size, standing, std::move(call), std::move(path), ids(ranks), held};
  if (is_wait(standing)) g.proven = held, g.doubt = Doubt::none;
  return g;
}
RankGroup doubted(RankGroup g, Doubt doubt) {
  g.proven = Micros(0);
  g.doubt = doubt;
  g.doubt_text = "rank 0: thread 17 in sleep < listen (clock_nanosleep)";
  return g;
}
RankGroup counted(RankGroup g, Micros counted) {
  g.proven = counted;
  return g;
}
RankGroup recv(std::string_view ranks, Micros held) {
  return group(Standing::waits, ranks, "MPI_Recv", "MPI_Recv < exchange < main", held);
}
RankGroup reduce(std::string_view ranks, Micros held) {
  return group(Standing::waits, ranks, "MPI_Allreduce", "MPI_Allreduce < main", held);
}

NodeWord word(std::vector<RankGroup> groups, Micros ago = 0s, std::int64_t rate = 0,
              std::int64_t unsent = 0) {
  NodeWord w;
  w.report.groups = std::move(groups);
  w.report.network_rate = rate;
  w.report.unsent_bytes = unsent;
  w.report.calm = 1h;
  w.heard = kNow - ago;
  return w;
}

NodeWord talks(NodeWord w) {
  w.report.socket_rate = 4000;
  return w;
}
NodeWord calm(NodeWord w, Micros since) {
  w.report.calm = since;
  return w;
}

// Two nodes of a job of four ranks.
Judgement of(NodeWord a, NodeWord b, const Policy& policy = {}) {
  return judge({{"n1", std::move(a)}, {"n2", std::move(b)}}, {"n1", "n2"}, policy, kNow);
}

TEST(Judge, SaysOfHowManyRanksItSpeaks) {
  const auto ended = group(Standing::ended, "3", "", "", 9s);
  const auto moves = group(Standing::moves, "3", "", "main", 1s);
  EXPECT_EQ(of(word({reduce("0-1", 9s)}), word({reduce("2-3", 9s)})).ranks, 4u);
  EXPECT_EQ(of(word({reduce("0-1", 9s)}), word({reduce("2", 9s), moves})).ranks, 4u) << "it goes on";
  EXPECT_EQ(of(word({reduce("0-1", 9s)}), word({reduce("2", 9s), ended})).ranks, 3u);
  EXPECT_EQ(of(word({reduce("0-1", 9s)}), word({reduce("2", 9s)})).ranks, 3u) << "one is not seen";
  EXPECT_EQ(of(word({reduce("0-1", 9s)}), word({reduce("2-3", 9s)}, 10min)).ranks, 2u) << "a silent node";
  EXPECT_EQ(of(word({}), word({ended})).ranks, 0u);
}

TEST(Judge, EachCase) {
  const Micros long_ago = 40min;
  const auto other = [&](Standing standing, Micros held) {
    return group(standing, "3", "", standing == Standing::stopped ? "" : "work < main", held);
  };
  const struct {
    const char* what;
    NodeWord a, b;
    Word word;
    Why why;
  } rows[] = {
      {"all wait", word({reduce("0-1", 9s)}), word({reduce("2", 9s), recv("3", 9s)}), Word::hang,
       Why::deadlock},
      {"not long enough", word({reduce("0-1", 9s)}), word({reduce("2", 9s), recv("3", 3s)}), Word::suspicion,
       Why::deadlock},
      {"not at the same time", word({reduce("0-1", 9s)}, 8s), word({reduce("2", 9s), recv("3", 5s)}),
       Word::suspicion, Why::deadlock},
      {"one moves", word({reduce("0-1", 9s)}), word({group(Standing::moves, "2-3", "", "main", 1s)}),
       Word::progress, Why::goes_on},
      {"nobody waits", word({group(Standing::computes, "0-1", "", "main", long_ago)}),
       word({group(Standing::computes, "2-3", "", "main", long_ago)}), Word::progress, Why::goes_on},
      {"a slow rank", word({reduce("0-1", 10min)}),
       word({reduce("2", 10min), other(Standing::computes, 10min)}), Word::suspicion, Why::waits_for},
      {"a loop without end", word({reduce("0-1", long_ago)}),
       word({reduce("2", long_ago), other(Standing::computes, long_ago)}), Word::hang, Why::waits_for},
      {"one that stands", word({reduce("0-1", 10min)}),
       word({reduce("2", 10min), other(Standing::still, 10min)}), Word::suspicion, Why::waits_for},
      {"storage", word({reduce("0-1", 10min)}), word({reduce("2", 10min), other(Standing::disk, 10min)}),
       Word::suspicion, Why::waits_for},
      {"somebody stopped it", word({reduce("0-1", long_ago)}),
       word({reduce("2", long_ago), other(Standing::stopped, long_ago)}), Word::suspicion, Why::waits_for},
      {"no processor", word({reduce("0-1", long_ago)}),
       word({reduce("2", long_ago), other(Standing::starved, long_ago)}), Word::suspicion, Why::waits_for},
      {"one has ended", word({reduce("0-1", 2min)}), word({reduce("2", 2min), other(Standing::ended, 2min)}),
       Word::hang, Why::waits_for},
      {"one has ended just now", word({reduce("0-1", 10min)}),
       word({reduce("2", 10min), other(Standing::ended, 2s)}), Word::suspicion, Why::waits_for},
      {"one cannot be read", word({reduce("0-1", 10min)}),
       word({reduce("2", 10min), other(Standing::unread, 10min)}), Word::suspicion, Why::unread},
      {"one is on no node", word({reduce("0-1", 30s)}), word({reduce("2", 30s)}), Word::suspicion,
       Why::missing},
      {"one has been on no node for long", word({reduce("0-1", 2min)}), word({reduce("2", 2min)}), Word::hang,
       Why::missing},
      {"the program starts",
       word({group(Standing::waits_outside, "0-1", "MPI_Init", "MPI_Init < main", 5min)}),
       word({group(Standing::waits_outside, "2-3", "MPI_Init", "MPI_Init < main", 5min)}), Word::suspicion,
       Why::outside},
      {"data on its way", word({reduce("0-1", 20s)}, 0s, 5'000'000), word({reduce("2-3", 20s)}),
       Word::suspicion, Why::in_doubt},
      {"lost packets", word({reduce("0-1", 20s)}, 0s, 0, 1448), word({reduce("2-3", 20s)}), Word::suspicion,
       Why::in_doubt},
      {"data on its way for too long", word({reduce("0-1", 2min)}, 0s, 5'000'000),
       word({reduce("2-3", 2min)}), Word::hang, Why::in_doubt},
      {"few bytes between the ranks themselves", talks(word({reduce("0-1", 20s)})),
       word({reduce("2-3", 20s)}), Word::suspicion, Why::in_doubt},
      {"it was on its way until now", calm(word({reduce("0-1", 40s)}), 2s), word({reduce("2-3", 40s)}),
       Word::suspicion, Why::deadlock},
      {"it has arrived, and they wait anew", calm(word({reduce("0-1", 40s)}), 5s), word({reduce("2-3", 40s)}),
       Word::hang, Why::deadlock},
      {"no return was counted", word({reduce("0-1", 9s)}),
       word({doubted(reduce("2-3", 9s), Doubt::uncounted)}), Word::suspicion, Why::in_doubt},
      {"none can be counted", word({reduce("0-1", 2min)}),
       word({doubted(reduce("2-3", 2min), Doubt::uncounted)}), Word::hang, Why::in_doubt},
      {"counted too short", word({reduce("0-1", 9s)}), word({counted(reduce("2-3", 9s), 700ms)}),
       Word::suspicion, Why::in_doubt},
      {"a thread may release them", word({reduce("0-1", 10min)}),
       word({doubted(reduce("2-3", 10min), Doubt::thread)}), Word::suspicion, Why::in_doubt},
      {"a thread may, and another job's data is on its way", word({reduce("0-1", 10min)}, 0s, 5'000'000),
       word({doubted(reduce("2-3", 10min), Doubt::thread)}), Word::suspicion, Why::in_doubt},
      {"a thread never does", word({reduce("0-1", 40min)}),
       word({doubted(reduce("2-3", 40min), Doubt::thread)}), Word::hang, Why::in_doubt},
      {"a node says nothing", word({reduce("0-1", 40min)}, 31s), word({reduce("2-3", 40min)}),
       Word::suspicion, Why::unknown},
      {"a node without ranks", word({}), word({reduce("0-3", 9s)}), Word::hang, Why::deadlock},
      {"no ranks yet", word({}), word({}), Word::progress, Why::goes_on},
  };
  for (const auto& row : rows) {
    const Judgement j = of(row.a, row.b);
    EXPECT_EQ(to_string(j.word), to_string(row.word)) << row.what << ": " << j.text;
    EXPECT_EQ(to_string(j.why), to_string(row.why)) << row.what << ": " << j.text;
    const auto again = read_judgement(to_json(j));
    ASSERT_TRUE(again) << row.what;
    EXPECT_EQ(to_json(*again), to_json(j)) << row.what;
  }
}

// Of whatever may end by itself it is never said that nobody can let the ranks go on.
TEST(Judge, OnlyWhatIsProvenMayCostAJobItsLife) {
  const Micros long_ago = 40min;
  const struct {
    const char* what;
    NodeWord a, b;
    bool proven;
    const char* why;
  } rows[] = {
      {"all wait", word({reduce("0-1", 9s)}), word({reduce("2", 9s), recv("3", 9s)}), true, ""},
      {"told of before it is proven", word({reduce("0-1", 9s)}), word({counted(reduce("2-3", 9s), 1400ms)}),
       false, "for 1.4 s only"},
      {"cannot be counted", word({reduce("0-1", 2min)}),
       word({doubted(reduce("2-3", 2min), Doubt::uncounted)}), false, "rank 0: thread 17"},
      {"a thread", word({reduce("0-1", long_ago)}), word({doubted(reduce("2-3", long_ago), Doubt::thread)}),
       false, "it may be released by rank 0: thread"},
      {"a thread, and data on its way", word({reduce("0-1", long_ago)}, 0s, 5'000'000),
       word({doubted(reduce("2-3", long_ago), Doubt::thread)}), false,
       "it may be released by rank 0: thread"},
      {"data on its way", word({reduce("0-1", long_ago)}, 0s, 5'000'000), word({reduce("2-3", long_ago)}),
       false, "still carries data"},
      {"one computes", word({reduce("0-1", long_ago)}),
       word({reduce("2", long_ago), group(Standing::computes, "3", "", "work < main", long_ago)}), false,
       "rank 3: computes in work"},
      {"one stands", word({reduce("0-1", long_ago)}),
       word({reduce("2", long_ago), group(Standing::still, "3", "", "sleep < main", long_ago)}), false,
       "whether that ends"},
      {"one has ended", word({reduce("0-1", 2min)}),
       word({reduce("2", 2min), group(Standing::ended, "3", "", "", 2min)}), true, ""},
      {"one has ended, not counted", word({doubted(reduce("0-1", 2min), Doubt::uncounted)}),
       word({reduce("2", 2min), group(Standing::ended, "3", "", "", 2min)}), false, "rank 0"},
      {"one is on no node", word({reduce("0-1", long_ago)}), word({reduce("2", long_ago)}), false,
       "nobody sees"},
      {"starts", word({group(Standing::waits_outside, "0-1", "MPI_Init", "MPI_Init < main", long_ago)}),
       word({group(Standing::waits_outside, "2-3", "MPI_Init", "MPI_Init < main", long_ago)}), false,
       "other programs"},
  };
  for (const auto& row : rows) {
    const Judgement j = of(row.a, row.b);
    EXPECT_EQ(to_string(j.word), "hang") << row.what << ": " << j.text;
    EXPECT_EQ(j.proven, row.proven) << row.what << ": " << j.unproven;
    EXPECT_THAT(j.unproven, HasSubstr(row.why)) << row.what;
    EXPECT_EQ(j.unproven.empty(), row.proven) << row.what;
  }
  EXPECT_FALSE(of(word({reduce("0-1", 3s)}), word({reduce("2-3", 3s)})).proven) << "it is no hang yet";
}

// All seem to go on, and nothing shows that they do: told of, never held for a hang.
TEST(Judge, WhoeverAsksForWhatDoesNotComeIsSuspected) {
  const auto asks = [](std::string_view ranks, Micros nowhere, Standing standing = Standing::moves) {
    RankGroup g = group(standing, ranks, "MPI_Test", "MPI_Test < serve < main", 2s);
    g.nowhere = nowhere;
    return g;
  };
  const auto judged = [&](RankGroup a, RankGroup b) {
    return of(word({std::move(a)}), word({std::move(b)}));
  };
  const Judgement j = judged(asks("0-1", 40h), asks("2-3", 41h, Standing::computes));
  EXPECT_EQ(to_string(j.word), "suspicion");
  EXPECT_EQ(to_string(j.why), "nowhere");
  EXPECT_EQ(j.call, "MPI_Test");
  EXPECT_EQ(j.nowhere, Micros(40h));
  EXPECT_EQ(j.groups.size(), 2u);
  EXPECT_FALSE(j.proven);
  EXPECT_THAT(j.text, HasSubstr("no call of MPI has returned but tests"));
  RankGroup waits = reduce("2-3", 2min);
  waits.nowhere = 2min;
  EXPECT_EQ(judged(asks("0-1", 2min), waits).why, Why::nowhere);
  EXPECT_EQ(judged(asks("0-1", 59s), asks("2-3", 2min)).word, Word::progress) << "not for long";
  EXPECT_EQ(judged(asks("0-1", 2min), asks("2-3", 0s)).word, Word::progress) << "one gets on";
  EXPECT_EQ(judged(asks("0-1", 2min), asks("2", 2min)).word, Word::progress) << "one is not seen";
  EXPECT_EQ(judge({{"n1", word({asks("0-3", 2min)})}}, {"n1", "n2"}, {}, kNow).word, Word::progress)
      << "a node says nothing";
}

// Of a thread that changes what the ranks hold they seem to wait anew each time.
TEST(Judge, HowLongTheyGetNowhereIsToldOfRanksThatSeemToWaitAnew) {
  RankGroup a = doubted(reduce("0-3", 3s), Doubt::thread);
  a.nowhere = 50s;
  const Judgement j = of(word({a}), word({}));
  EXPECT_EQ(j.word, Word::suspicion);
  EXPECT_EQ(j.nowhere, Micros(50s));
  EXPECT_THAT(j.text,
              HasSubstr("have waited for each other in MPI for 50 s: ranks 0-3 in MPI_Allreduce; it may "
                        "be released by rank 0: thread 17"));
}

TEST(Judge, NamesTheOddRankAndItsCall) {
  const Judgement j = of(word({reduce("0-1", 9s)}), word({reduce("2", 9s), recv("3", 9s)}));
  EXPECT_EQ(j.odd.text(), "3");
  EXPECT_EQ(j.call, "MPI_Recv");
  EXPECT_EQ(j.text,
            "all 4 ranks have waited for each other in MPI for 9 s: rank 3 in MPI_Recv, ranks 0-2 in "
            "MPI_Allreduce");
  ASSERT_EQ(j.groups.size(), 2u);
  EXPECT_EQ(text_of(j.groups[0]), "rank 3: MPI_Recv < exchange < main");
  EXPECT_EQ(text_of(j.groups[1]), "ranks 0-2: MPI_Allreduce < main");
}

TEST(Judge, NobodyIsOddWhereHalfStandsHere) {
  EXPECT_TRUE(of(word({reduce("0-1", 9s)}), word({recv("2-3", 9s)})).odd.empty());
  EXPECT_TRUE(of(word({recv("0-1", 9s)}), word({recv("2-3", 9s)})).odd.empty());
  EXPECT_EQ(of(word({recv("0-1", 9s)}), word({recv("2-3", 9s)})).call, "MPI_Recv");
}

TEST(Judge, NamesWhomTheOthersWaitFor) {
  const Judgement j = of(word({reduce("0-1", 9s)}),
                         word({reduce("2", 9s), group(Standing::computes, "3", "", "work < main", 8s)}));
  EXPECT_EQ(j.odd.text(), "3");
  EXPECT_EQ(j.text, "3 of 4 ranks have waited in MPI for 9 s; rank 3: computes in work < main");
}

TEST(Judge, OfSeveralProgramsOneThatGoesOnIsEnough) {
  const RankGroup second_waits = group(Standing::waits, "0", "MPI_Recv", "MPI_Recv < main", 9s, 1, "step 1");
  const RankGroup second_moves = group(Standing::moves, "0", "", "main", 9s, 1, "step 1");
  EXPECT_EQ(of(word({reduce("0-3", 9s)}), word({second_moves})).word, Word::progress);
  const Judgement both = of(word({reduce("0-3", 9s)}), word({second_waits}));
  EXPECT_EQ(both.word, Word::hang);
  EXPECT_EQ(both.why, Why::no_progress);
}

TEST(Judge, AStepThatIsOverSaysNothingOfTheNext) {
  const RankGroup over = group(Standing::ended, "0-3", "", "", 2min, 4, "step 0");
  const RankGroup next = group(Standing::waits, "0-3", "MPI_Recv", "MPI_Recv < main", 9s, 4, "step 1");
  EXPECT_EQ(of(word({over}), word({next})).why, Why::deadlock);
  EXPECT_EQ(of(word({over}), word({})).word, Word::progress);
}

TEST(Judge, TenThousandRanksGiveBoundedEvidenceInBoundedTime) {
  std::map<std::string, NodeWord> words;
  std::vector<std::string> nodes;
  for (int i = 0; i < 10000; ++i) {
    nodes.push_back(fmt::format("n{:05}", i));
    const std::string id = std::to_string(i);
    // Each tenth stands in a place of its own; odd and even numbers in others.
    const std::string path = i % 10 == 0 ? fmt::format("MPI_Recv < f{} < main", i)
                                         : fmt::format("MPI_Barrier < f{} < main", i % 2);
    words[nodes.back()] =
        word({group(Standing::waits, id, i % 10 == 0 ? "MPI_Recv" : "MPI_Barrier", path, 9s, 10000)});
  }
  const Judgement j = judge(words, nodes, {}, kNow);
  EXPECT_EQ(j.word, Word::hang);
  EXPECT_EQ(j.groups.size(), kMostShown);
  EXPECT_EQ(j.left_out, 1002 - kMostShown);
  EXPECT_LT(to_json(j).dump().size(), 100'000u);
  EXPECT_LT(j.text.size(), 600u);
}

}  // namespace
}  // namespace sickbay::hang
