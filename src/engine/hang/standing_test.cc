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
      {"waits for a thread that polls in a call",
       thrice({"futex@libc.so.6 < pthread_join@libc.so.6 < main", 1, 'S', 500'000, 0,
               "poll@mpi < PMPI_Recv@mpi < receive < thread_main"}),
       Standing::waits, "MPI_Recv", "MPI_Recv < receive < thread_main"},
      {"waits for a thread that makes calls",
       {{"futex@libc.so.6 < pthread_join@libc.so.6 < main", 1, 'S'},
        {"futex@libc.so.6 < pthread_join@libc.so.6 < main", 1, 'S', 500'000, 0,
         "poll@mpi < PMPI_Recv@mpi < receive"},
        {"futex@libc.so.6 < pthread_join@libc.so.6 < main", 1, 'S', 500'000, 0,
         "poll@mpi < PMPI_Send@mpi < receive"}},
       Standing::moves,
       "",
       "receive"},
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

// What stands against it that a rank which looks so does wait; the first rows look alike in every stack.
TEST(Standing, WhatProvesAWait) {
  Given steady{kRecv}, loops{kRecv}, helped{kRecv}, progress{kRecv}, timer{kRecv}, own{kRecv};
  const Given asleep{kRecv, 1, 'S', 0};
  Given operation{"add@libphysics.so < reduce@mpi < PMPI_Reduce@mpi < main"};
  loops.returns = 1;
  helped.sleeper = "clock_nanosleep@libc.so.6 < sleep@libc.so.6 < listen < libc.so.6+0x89@libc.so.6";
  progress.sleeper = "epoll_wait@libc.so.6 < ucs_event_set_wait@libucs.so.0 < libc.so.6+0x89@libc.so.6";
  timer.sleeper = "sigwaitinfo@libc.so.6 < libc.so.6+0x89@libc.so.6";
  own.sleeper = "poll@libc.so.6 < serve@libserver.so < libc.so.6+0x89@libc.so.6";
  const struct {
    const char* what;
    Given given;
    Standing standing;
    Doubt doubt;
    const char* text;
  } rows[] = {
      {"stands", steady, Standing::waits, Doubt::none, ""},
      {"comes back to the same", loops, Standing::moves, Doubt::none, ""},
      {"sleeps", asleep, Standing::waits, Doubt::none, ""},
      {"a thread sleeps for a time", helped, Standing::waits, Doubt::thread,
       "thread 6000 in sleep < listen (clock_nanosleep)"},
      {"a thread of the library's", progress, Standing::waits, Doubt::none, ""},
      {"a timer's thread", timer, Standing::waits, Doubt::thread,
       "thread 6000 in sigwaitinfo < libc.so.6+0x89 (clock_nanosleep)"},
      {"an operation of the user's, in a library of his", operation, Standing::waits, Doubt::thread,
       "code of libphysics.so that MPI_Reduce runs"},
      {"a thread of a library of the user's", own, Standing::waits, Doubt::thread,
       "thread 6000 in poll < serve (clock_nanosleep)"},
  };
  for (const auto& row : rows) {
    const Seen seen = see(rank(0, 4, thrice(row.given)));
    EXPECT_EQ(to_string(seen.standing), to_string(row.standing)) << row.what;
    if (row.standing != Standing::waits) continue;
    EXPECT_EQ(to_string(seen.doubt), to_string(row.doubt)) << row.what;
    EXPECT_EQ(seen.doubt_text, row.text) << row.what;
    EXPECT_EQ(seen.proven, Micros(row.doubt == Doubt::none ? 1'400'000 : 0)) << row.what;
  }
}

TEST(Standing, WhatWasNotCountedOrNotReadIsADoubt) {
  const auto doubt_of = [](const auto& change) {
    Rank r = rank(0, 4, thrice({kRecv}));
    change(r);
    return see(r);
  };
  EXPECT_EQ(doubt_of([](Rank& r) { r.returns.clear(); }).doubt, Doubt::uncounted);
  EXPECT_EQ(doubt_of([](Rank& r) { r.returns[0].back += 8; }).doubt, Doubt::uncounted) << "of another call";
  EXPECT_EQ(doubt_of([](Rank& r) { r.returns[0].tid += 1; }).doubt, Doubt::uncounted) << "of another thread";
  EXPECT_EQ(doubt_of([](Rank& r) { r.others_seen = false; }).doubt, Doubt::uncounted);
  EXPECT_EQ(doubt_of([](Rank& r) { r.returns[0].why = "Permission denied"; }).doubt_text,
            "whether the call returns cannot be counted: Permission denied");
  EXPECT_EQ(doubt_of([](Rank& r) { r.others_left = 3; }).doubt, Doubt::thread);
  EXPECT_EQ(doubt_of([](Rank& r) { r.others.push_back({9, "poll", -1}); }).doubt, Doubt::thread);
  // Another thread in a call of MPI waits, too, where that does not return either.
  const auto second = [](Rank& r) {
    r.others.push_back({9, "", static_cast<std::int64_t>(r.stacks.size())});
    r.stacks.push_back(stack("poll@mpi < PMPI_Wait@mpi < listen < start@libc.so.6"));
  };
  EXPECT_EQ(doubt_of(second).doubt, Doubt::uncounted);
  const auto with_count = [&](std::int64_t returns) {
    return doubt_of([&](Rank& r) {
      second(r);
      r.returns.push_back({9, r.stacks.back().back, Micros(1'000'000), returns, ""});
    });
  };
  EXPECT_EQ(with_count(0).doubt, Doubt::none);
  EXPECT_EQ(with_count(0).proven, Micros(1'000'000)) << "the shortest";
  EXPECT_EQ(to_string(with_count(1).standing), "moves");
  // Others had the processor: that it did not come back says nothing.
  const auto without = [](Rank& r) {
    r.rounds[1].state = 'S';
    for (RankRound& round : r.rounds) round.cpu_us = 0;
  };
  EXPECT_EQ(doubt_of(without).doubt_text, "it had no processor while it was watched");
  EXPECT_EQ(doubt_of(without).proven, Micros(0));
  EXPECT_EQ(doubt_of([&](Rank& r) {
              without(r);
              for (RankRound& round : r.rounds) round.state = 'S';
              second(r);
              r.returns.push_back({9, r.stacks.back().back, Micros(1'000'000), 0, ""});
            }).doubt_text,
            "thread 9 had no processor while it was watched");
}

// A thread that gets little of the processor is found where all threads are looked at.
TEST(Standing, AThreadInACallStandsForOneThatJoinsIt) {
  Rank r = rank(0, 4, thrice({"futex@libc.so.6 < pthread_join@libc.so.6 < main", 1, 'S', 0}));
  EXPECT_EQ(to_string(see(r).standing), "still");
  r.others.push_back({9, "epoll_wait", static_cast<std::int64_t>(r.stacks.size())});
  r.stacks.push_back(stack("poll@mpi < PMPI_Recv@mpi < receive < thread_main", 7));
  EXPECT_EQ(to_string(see(r).standing), "waits");
  EXPECT_EQ(see(r).held, 7u);
  EXPECT_EQ(to_string(see(r).doubt), "uncounted");
  r.returns.push_back({9, r.stacks.back().back, Micros(1'000'000), 0, ""});
  EXPECT_EQ(see(r).call, "MPI_Recv");
  EXPECT_EQ(see(r).proven, Micros(1'000'000));
  // Where the first one sleeps for a time, it does not only join.
  r.others.push_back({r.pid, "nanosleep", 0});
  EXPECT_EQ(to_string(see(r).doubt), "thread");
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

// Who seems to go on, and gets nowhere.
TEST(Standing, WhoOnlyAsksGetsNowhere) {
  const std::string test = "poll@mpi < PMPI_Test@mpi < serve < main",
                    probe = "PMPI_Iprobe@mpi < serve < main";
  Given loop{kRecv}, touched{kRecv};
  loop.returns = 1;
  const struct {
    const char* what;
    std::vector<Given> rounds;
    Standing standing;
    bool nowhere;
  } rows[] = {
      {"waits", thrice({kRecv}), Standing::waits, true},
      {"asks", {{test, 1}, {test, 2}, {test, 3}}, Standing::moves, true},
      {"asks this and that", {{test, 1}, {probe, 2}, {test, 3}}, Standing::moves, true},
      {"asks, and counts between", {{test, 1}, {"serve < main", 2}, {test, 3}}, Standing::computes, true},
      {"asks now and then", {{"work < main", 1}, {test, 2}, {"work < main", 3}}, Standing::computes, false},
      {"asks and receives", {{test, 1}, {kRecv, 2}, {test, 3}}, Standing::moves, false},
      {"receives again and again", thrice(loop), Standing::moves, false},
      {"another thread changes what it holds", {{kRecv, 1}, {kRecv, 1}, {kRecv, 2}}, Standing::moves, true},
      {"computes", thrice({"work < main"}), Standing::computes, false},
      {"reads between", thrice({test, 1, 'R', 500'000, 5'000'000}), Standing::moves, false},
      {"sleeps", thrice({"sleep@libc.so.6 < main", 1, 'S', 0}), Standing::still, false},
  };
  for (const auto& row : rows) {
    const Seen seen = see(rank(0, 4, row.rounds));
    EXPECT_EQ(to_string(seen.standing), to_string(row.standing)) << row.what;
    EXPECT_EQ(seen.nowhere, row.nowhere) << row.what;
  }
}

TEST(History, HowLongNobodyGetsAnywhere) {
  TimePoint at = from_micros(1'000'000'000);
  History history;
  const auto next = [&](std::string_view path, std::int64_t sockets) {
    static std::uint64_t held = 0;
    const std::string place(path);
    RankLook look = look_of({rank(0, 2, {{place, ++held}, {place, ++held}, {place, ++held}}, at)});
    look.network_bytes = look.unsent_bytes = 0;
    look.socket_bytes = sockets;
    at += Micros(3'000'000);
    return history.take(look).groups.at(0).nowhere;
  };
  const char* const test = "PMPI_Test@mpi < serve < main";
  EXPECT_EQ(next(test, 500), Micros(0)) << "nobody knows whether something is sent";
  EXPECT_EQ(next(test, 500), Micros(0)) << "from now on";
  EXPECT_EQ(next(test, -1), Micros(3'000'000));
  EXPECT_EQ(next(test, 520), Micros(6'000'000)) << "next to nothing";
  EXPECT_EQ(next("work < main", 520), Micros(0));
  EXPECT_EQ(next(test, 520), Micros(1'400'000)) << "anew";
  EXPECT_EQ(next(test, 2000), Micros(0)) << "something was sent";
  EXPECT_EQ(next(test, 2000), Micros(0));
  EXPECT_EQ(next(test, 2000), Micros(3'000'000));
}

// From the last doubt on: what was counted before it says nothing.
TEST(History, HowLongItIsProven) {
  TimePoint at = from_micros(1'000'000'000);
  History history;
  Given helped{kRecv};
  helped.sleeper = "poll < listen";
  const auto next = [&](const Given& given) {
    const RankReport report = history.take(look_of({rank(0, 2, thrice(given), at)}));
    at += Micros(3'000'000);
    return report.groups.at(0);
  };
  EXPECT_EQ(next({kRecv}).proven, Micros(1'400'000));
  EXPECT_EQ(next({kRecv}).proven, Micros(2'800'000));
  const RankGroup doubted = next(helped);
  EXPECT_EQ(doubted.proven, Micros(0));
  EXPECT_EQ(doubted.doubt, Doubt::thread);
  EXPECT_EQ(doubted.doubt_text, "rank 0: thread 6000 in poll < listen (clock_nanosleep)");
  EXPECT_EQ(next({kRecv}).proven, Micros(1'400'000)) << "anew";
  EXPECT_EQ(next({kRecv, 2}).proven, Micros(1'400'000)) << "it left the call";
  EXPECT_EQ(next({kRecv, 2}).proven, Micros(2'800'000));
}

TEST(History, SinceWhenNothingIsOnItsWay) {
  TimePoint at = from_micros(1'000'000'000);
  History history;
  const auto next = [&](std::int64_t network, std::int64_t unsent, std::int64_t sockets) {
    RankLook look = look_of({rank(0, 2, thrice({kRecv}), at)});
    look.network_bytes = network;
    look.unsent_bytes = unsent;
    look.socket_bytes = sockets;
    at += Micros(3'000'000);
    return history.take(look).calm;
  };
  EXPECT_EQ(next(0, 0, 7'000'000), Micros(1'400'000)) << "before it began";
  EXPECT_EQ(next(-1, -1, -1), Micros(4'400'000)) << "nobody knows: then nothing is held against it";
  EXPECT_EQ(next(0, 0, 7'012'000), Micros(0)) << "small messages between the ranks, since the first look";
  EXPECT_EQ(next(0, 0, 7'012'400), Micros(3'000'000)) << "what shows that the others are there";
  EXPECT_EQ(next(0, 8, 7'012'400), Micros(0));
  EXPECT_EQ(next(9'000'000, 0, 7'012'400), Micros(0));
  EXPECT_EQ(next(100'000, 0, -1), Micros(3'000'000)) << "of other jobs";
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
