// SPDX-License-Identifier: Apache-2.0
// The watch over a step: its judgement by lines and made-up time, and its srun by real processes.
#include "watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "beat.h"
#include "seconds.h"

namespace sickbay::verify {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string line(int rank, const std::string& phase, const std::string& more = "") {
  return fmt::format(R"({{"sickbay_verify":1,"node":"n{}","rank":{},"phase":"{}"{}}})", rank, rank, phase,
                     more);
}
std::string start(int rank, const std::string& mode = "node") {
  return line(rank, "start", fmt::format(R"(,"mode":"{}")", mode));
}
std::string alive(int rank, int ticks) { return line(rank, "alive", fmt::format(R"(,"ticks":{})", ticks)); }

constexpr WatchLimits kLimits{30, 120, 90};

std::string names(const Watch& watch) {
  std::string text;
  for (const Gone& gone : watch.gone()) text += gone.node + " ";
  return text;
}

TEST(Watch, ShowsAllButBeats) {
  Watch watch(1, kLimits);
  EXPECT_TRUE(watch.hear(start(0)));
  EXPECT_FALSE(watch.hear(alive(0, 1)));
  for (const char* text :
       {"Lmod loaded", "", "{", R"({"sickbay_verify":2,"phase":"alive"})", R"({"phase":"alive"})"})
    EXPECT_TRUE(watch.hear(text)) << text;
}

TEST(Watch, EndsWhenNobodyUnfinishedGoesOn) {
  Watch watch(3, kLimits);
  for (int rank = 0; rank < 3; ++rank) watch.hear(start(rank));
  watch.hear(line(0, "done"));
  for (int i = 1; i <= 20; ++i) {  // n2 is stopped, n1 works on
    watch.pass(2);
    watch.hear(alive(1, i));
  }
  EXPECT_FALSE(watch.in_vain()) << "n1 is not held up by n2";
  watch.hear(line(1, "done"));
  EXPECT_TRUE(watch.in_vain());
  ASSERT_EQ(names(watch), "n2 ");
  EXPECT_EQ(watch.gone()[0].detail,
            "nothing was heard of it for 40 s in its first phase, while 2 of 3 came to the end");
}

TEST(Watch, WaitsForWhoBeats) {
  struct Row {
    std::string_view what;
    double seconds;
    bool beats, works;
    bool in_vain;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"silent, not yet", 29, false, false, false},
           {"silent", 30, false, false, true},
           {"a busy machine, slow as it may be", 3600, true, true, false},
           {"a disk that holds up a sync, not yet", 118, true, false, false},
           {"a disk that never answers", 124, true, false, true},
       }) {
    Watch watch(2, kLimits);
    watch.hear(start(0));
    watch.hear(start(1));
    watch.hear(line(0, "done"));
    watch.hear(line(1, "memory"));
    watch.hear(alive(1, 5));
    for (double at = 0; at < row.seconds; ++at) {
      watch.pass(1);
      if (row.beats) watch.hear(alive(1, row.works ? 6 + static_cast<int>(at) : 5));
    }
    EXPECT_EQ(watch.in_vain(), row.in_vain) << row.what;
    EXPECT_EQ(names(watch), row.in_vain ? "n1 " : "") << row.what;
    if (row.in_vain) {
      EXPECT_THAT(watch.gone()[0].detail, HasSubstr("after phase memory")) << row.what;
    }
  }
}

TEST(Watch, WhoWasNeverHeardMayYetCome) {
  Watch nobody(2, kLimits);
  nobody.pass(1000);
  EXPECT_FALSE(nobody.in_vain()) << "to start them may take long";
  Watch watch(2, kLimits);
  watch.hear(start(0));
  watch.hear(line(0, "done"));
  watch.pass(59);
  EXPECT_FALSE(watch.in_vain());
  watch.pass(1);
  EXPECT_TRUE(watch.in_vain());
  EXPECT_EQ(names(watch), "") << "and nothing is said of it";
}

TEST(Watch, WhoNeverSaidAWordIsNamedWhereNodesAreKnown) {
  Watch watch(3, kLimits, {"n0", "n1", "n2"});
  for (int rank = 0; rank < 2; ++rank) watch.hear(start(rank)), watch.hear(line(rank, "done"));
  watch.pass(59);
  EXPECT_FALSE(watch.in_vain());
  watch.pass(1);
  EXPECT_TRUE(watch.in_vain());
  ASSERT_EQ(names(watch), "n2 ");
  EXPECT_EQ(watch.gone()[0].rank, 2);
  EXPECT_EQ(watch.gone()[0].mode, "node");
  EXPECT_EQ(watch.gone()[0].detail,
            "it did not say its first word within 60 s, while 2 of 3 came to the end");

  // Tried by itself, with nobody beside it.
  Watch alone(1, kLimits, {"n2"});
  alone.pass(89);
  EXPECT_FALSE(alone.in_vain());
  alone.pass(1);
  EXPECT_TRUE(alone.in_vain());
  EXPECT_EQ(names(alone), "n2 ");
  alone.hear(alive(2, 0));
  EXPECT_FALSE(alone.in_vain()) << "it came after all";
}

// The others beat, and stand in MPI_Init, which is collective.
TEST(Watch, WhoWaitsInMpiForOneThatNeverBeganIsNotNamed) {
  for (const bool known : {false, true}) {
    Watch watch(3, kLimits, known ? std::vector<std::string>{"n0", "n1", "n2"} : std::vector<std::string>());
    for (int rank = 0; rank < 2; ++rank) watch.hear(start(rank, "net"));
    for (int i = 0; i < 119; ++i) {
      watch.pass(1);
      for (int rank = 0; rank < 2; ++rank) watch.hear(alive(rank, 0));
    }
    EXPECT_FALSE(watch.in_vain());
    watch.pass(1);
    EXPECT_TRUE(watch.in_vain());
    EXPECT_EQ(names(watch), known ? "n2 " : "");
  }
}

TEST(Watch, WhoWaitsInMpiWaitsForTheSilentOne) {
  Watch watch(3, kLimits);
  for (int rank = 0; rank < 3; ++rank) watch.hear(alive(rank, 0));
  for (int i = 0; i < 125; ++i) {
    watch.pass(1);
    watch.hear(alive(0, 0));
    watch.hear(alive(1, 0));
  }
  EXPECT_TRUE(watch.in_vain());
  EXPECT_EQ(names(watch), "n2 ");
}

// --- real processes

constexpr WatchLimits kShort{3, 9};  // (a loaded machine may keep a shell from its next line for a second)

struct Watched {
  int code;
  std::string out;
};
Watched watched(const std::string& script, int ranks = 2, double grace = 20) {
  ::testing::internal::CaptureStdout();
  const int code = run_watched(Watch(ranks, kShort), grace, {"sh", "-c", script});
  return {code, ::testing::internal::GetCapturedStdout()};
}

TEST(RunWatched, HandsOnLinesAndTheExitCode) {
  const auto end = watched(fmt::format("echo '{}'; echo '{}'; echo '{}'; printf 'no end of line'; exit 3",
                                       start(0), alive(0, 1), line(0, "done")));
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(end.out, start(0) + "\n" + line(0, "done") + "\nno end of line");
  EXPECT_EQ(watched("kill -9 $$").code, 128 + 9);
  EXPECT_EQ(run_watched(Watch(1, kShort), 1, {"/no/such/srun"}), 127);
}

TEST(RunWatched, TellsWhoIsSilentAndEndsItsCommand) {
  const std::string said =
      fmt::format("echo '{}'; echo '{}'; echo '{}'; ", start(0), start(1), line(0, "done"));
  const auto end = watched(said + "trap 'echo ended; kill $!; exit 0' TERM; sleep 300 & wait");
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, HasSubstr(line(0, "done") + "\n"));
  EXPECT_THAT(end.out, HasSubstr(R"("node":"n1","rank":1,"phase":"silent","mode":"node","ok":false)"));
  EXPECT_THAT(end.out, HasSubstr("ended\n"));
  // One that does not heed SIGTERM.
  EXPECT_EQ(watched(said + "trap '' TERM; while :; do sleep 1; done", 2, 0.2).code, 1);
}

TEST(RunWatched, AStoppedRankIsSilentAndOneThatWorksIsNot) {
  // Both beat; n1 stops itself in the middle.
  const auto end = watched(fmt::format(R"(echo '{}'; echo '{}'
    (i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo '{{"sickbay_verify":1,"node":"n0","rank":0,"phase":"alive","ticks":'$i'}}'; sleep 0.1; done; echo '{}') &
    sh -c 'echo "$1"; kill -STOP $$' sh '{}' &
    stopped=$!
    trap 'kill -KILL $stopped; exit 0' TERM
    wait)",
                                       start(0), start(1), line(0, "done"), alive(1, 1)));
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, HasSubstr(line(0, "done")));
  EXPECT_THAT(end.out, HasSubstr(R"("node":"n1","rank":1,"phase":"silent")"));
  EXPECT_THAT(end.out, Not(HasSubstr(R"("node":"n0","rank":0,"phase":"silent")")));
}

TEST(RunWatched, NamesARankThatStandsBeforeItsFirstWord) {
  ::testing::internal::CaptureStdout();
  const int code = run_watched(
      Watch(1, {3, 9, 2}, {"n7"}), 20,
      {"sh", "-c",
       "sh -c 'kill -STOP $$' & p=$!; trap 'kill -KILL $p; exit 0' TERM; while :; do wait; done"});
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(out, HasSubstr(R"("node":"n7","rank":0,"phase":"silent","mode":"node","ok":false)"));
}

TEST(Beat, SaysThatItGoesOn) {
  ::testing::internal::CaptureStdout();
  {
    const Beat none("n1", 0, 0);
    const Beat beat("n1", 4, 0.01);
    const double until = seconds_now() + 10;
    for (const auto before = ticks(); seconds_now() < until && ticks() < before + 3;) tick();
  }
  Watch watch(1, kLimits);
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_FALSE(watch.hear(out.substr(0, out.find('\n')))) << out;
}

}  // namespace
}  // namespace sickbay::verify
