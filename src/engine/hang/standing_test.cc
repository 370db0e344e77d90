// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/standing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/hang/hang_test_parts.h"

namespace sickbay::hang {
namespace {

const std::string kRecv(kInRecv), kAllreduce(kInAllreduce);

TEST(Standing, EachWayToStand) {
  const struct {
    const char* what;
    std::vector<Given> rounds;
    Standing standing;
    const char *call, *path;
  } rows[] = {
      {"polls in one call", thrice({kRecv}), Standing::waits, "MPI_Recv", "MPI_Recv < exchange < main"},
      {"sleeps in one call", thrice({kRecv, 1, 'S', 0}), Standing::waits, "MPI_Recv",
       "MPI_Recv < exchange < main"},
      {"Fortran", thrice({"poll@mpi < PMPI_Recv@mpi < mpi_recv_@mpifort < ring_ < MAIN__ < main"}),
       Standing::waits, "MPI_Recv", "MPI_Recv < ring_ < MAIN__"},
      {"no symbols", thrice({"poll@mpi < PMPI_Recv@mpi < a.out+0x11d0 < a.out+0x1300"}), Standing::waits,
       "MPI_Recv", "MPI_Recv < a.out+0x11d0 < a.out+0x1300"},
      {"inner frames change",
       {{"a@mpi < PMPI_Recv@mpi < main"}, {"b@mpi < c@mpi < PMPI_Recv@mpi < main"}},
       Standing::waits,
       "MPI_Recv",
       "MPI_Recv < main"},
      {"came back to the same call",
       {{kRecv, 1}, {kRecv, 2}, {kRecv, 3}},
       Standing::moves,
       "MPI_Recv",
       "MPI_Recv < exchange < main"},
      {"another call", {{kRecv, 1}, {kAllreduce, 1}}, Standing::moves, "", "main"},
      {"copies a long message",
       {{kRecv}, {"__memcpy_avx@libc < copy@mpi < PMPI_Recv@mpi < exchange < main"}},
       Standing::moves,
       "MPI_Recv",
       "MPI_Recv < exchange < main"},
      {"reads a file within MPI", thrice({kRecv, 1, 'R', 500'000, 5'000'000}), Standing::moves, "MPI_Recv",
       "MPI_Recv < exchange < main"},
      {"starts", thrice({"poll@mpi < PMPI_Init@mpi < main"}), Standing::waits_outside, "MPI_Init",
       "MPI_Init < main"},
      {"writes by MPI", thrice({"poll@mpi < PMPI_File_write_all@mpi < dump < main"}), Standing::waits_outside,
       "MPI_File_write_all", "MPI_File_write_all < dump < main"},
      {"ends", thrice({"poll@mpi < PMPI_Finalize@mpi < main"}), Standing::waits, "MPI_Finalize",
       "MPI_Finalize < main"},
      {"computes", {{"work < main"}, {"work < main"}}, Standing::computes, "", "work < main"},
      {"computes here and there",
       {{"f < work < main"}, {"g < h < work < main"}},
       Standing::computes,
       "",
       "work < main"},
      {"out of MPI once", {{kRecv}, {"exchange < main"}, {kRecv}}, Standing::computes, "", "exchange < main"},
      {"its own function, called by MPI", thrice({"add < reduce@mpi < PMPI_Reduce@mpi < main"}),
       Standing::computes, "", "add < reduce < PMPI_Reduce < main"},
      {"another thread computes", thrice({kRecv, 1, 'S', 500'000, 0, "loop < thread_main"}),
       Standing::computes, "", "loop < thread_main"},
      {"another thread polls for MPI", thrice({kRecv, 1, 'S', 500'000, 0, "poll@mpi < progress@mpi"}),
       Standing::waits, "MPI_Recv", "MPI_Recv < exchange < main"},
      {"sleeps outside",
       thrice({"clock_nanosleep@libc < nanosleep@libc < sleep@libc < pause < main", 1, 'S', 0}),
       Standing::still, "", "sleep < pause < main"},
      {"reads slowly", thrice({"read@libc < load < main", 1, 'S', 10'000, 9'000'000}), Standing::computes, "",
       "read < load < main"},
      {"waits for its disk", thrice({"", 1, 'D', 0}), Standing::disk, "", ""},
      {"is stopped", thrice({kRecv, 1, 'T', 0}), Standing::stopped, "", ""},
      {"has ended", {{kRecv}, {"", 1, 'X'}}, Standing::ended, "", ""},
      {"gets no processor", thrice({kRecv, 1, 'R', 0}), Standing::starved, "MPI_Recv",
       "MPI_Recv < exchange < main"},
      {"cannot be read", thrice({""}), Standing::unread, "", "no"},
      {"was not looked at", {}, Standing::unread, "", "no round was made"},
  };
  for (const auto& row : rows) {
    const Seen seen = see(rank(0, 4, row.rounds));
    EXPECT_EQ(to_string(seen.standing), to_string(row.standing)) << row.what;
    EXPECT_EQ(seen.call, row.call) << row.what;
    EXPECT_EQ(seen.path, row.path) << row.what;
  }
}

TEST(Standing, APathIsShort) {
  std::string deep = "poll@mpi < PMPI_Recv@mpi";
  for (int i = 0; i < 40; ++i) deep += fmt::format(" < f{}", i);
  const Seen seen = see(rank(0, 1, thrice({deep + " < main"})));
  EXPECT_EQ(seen.path, "MPI_Recv < f0 < f1 < f2 < f3 < f4 < f5 < f6 < ... < f38 < f39 < main");
}

RankLook look_of(std::vector<Rank> ranks) {
  RankLook look;
  look.ranks = std::move(ranks);
  look.network_bytes = 1400;
  look.unsent_bytes = 3;
  return look;
}

TEST(History, RanksThatStandAlikeAreOneGroup) {
  History history;
  std::vector<Rank> ranks;
  for (int i = 0; i < 8; ++i) ranks.push_back(rank(i, 8, thrice({i == 3 ? kRecv : kAllreduce})));
  const RankReport report = history.take(look_of(std::move(ranks)));
  ASSERT_EQ(report.groups.size(), 2u);
  EXPECT_EQ(text_of(report.groups[0]), "ranks 0-2,4-7: MPI_Allreduce < solve < main");
  EXPECT_EQ(text_of(report.groups[1]), "rank 3: MPI_Recv < exchange < main");
  EXPECT_EQ(report.groups[0].held, Micros(1'400'000));
  EXPECT_EQ(report.network_rate, 1000);
  EXPECT_EQ(report.unsent_bytes, 3);
}

TEST(History, HowLongItHasStoodSo) {
  const TimePoint begin = from_micros(1'000'000'000);
  const auto held_after = [&](Rank second) {
    History history;
    (void)history.take(look_of({rank(0, 2, thrice({kRecv, 5}), begin)}));
    const RankReport report = history.take(look_of({std::move(second)}));
    return report.groups.back().held;
  };
  const TimePoint later = begin + Micros(4'000'000);
  const Micros anew(1'400'000), since_then(5'400'000);
  EXPECT_EQ(held_after(rank(0, 2, thrice({kRecv, 5}), later)), since_then);
  EXPECT_EQ(held_after(rank(0, 2, thrice({kRecv, 6}), later)), anew) << "it left the call";
  EXPECT_EQ(held_after(rank(0, 2, thrice({kAllreduce, 5}), later)), anew) << "another call";
  EXPECT_EQ(held_after(rank(1, 2, thrice({kRecv, 5}), later)), anew) << "another rank";
  Rank again = rank(0, 2, thrice({kRecv, 5}), later);
  again.pid = 5;
  EXPECT_EQ(held_after(again), anew) << "another process";
}

TEST(History, ARankThatIsGoneIsToldOfForAWhile) {
  const TimePoint begin = from_micros(1'000'000'000);
  History history;
  (void)history.take(look_of({rank(0, 2, thrice({kRecv}), begin), rank(1, 2, thrice({kRecv}), begin)}));
  const auto later = [&](Micros after) {
    return history.take(look_of({rank(0, 2, thrice({kRecv}), begin + after)}));
  };
  const RankReport first = later(Micros(3'000'000));
  ASSERT_EQ(first.groups.size(), 2u);
  EXPECT_EQ(text_of(first.groups[1]), "rank 1: has ended");
  EXPECT_EQ(first.groups[1].held, Micros(0)) << "nobody saw when";
  EXPECT_EQ(later(Micros(63'000'000)).groups.at(1).held, Micros(60'000'000));
  EXPECT_EQ(later(Micros(700'000'000)).groups.size(), 1u);
}

TEST(History, AReportIsBounded) {
  History history;
  std::vector<Rank> ranks;
  for (int i = 0; i < 2000; ++i) ranks.push_back(rank(i, 2000, thrice({fmt::format("f{} < main", i)})));
  const RankReport report = history.take(look_of(std::move(ranks)));
  EXPECT_LE(report.groups.size(), kMostGroups);
  std::size_t all = 0;
  for (const RankGroup& g : report.groups) all += g.ranks.size();
  EXPECT_EQ(all, 2000u);
  EXPECT_TRUE(read_rank_report(to_json(report)));
}

}  // namespace
}  // namespace sickbay::hang
