// SPDX-License-Identifier: Apache-2.0
// Looks that prove, at real processes: what they see, and what the engine makes of it.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <vector>

#include "adapters/node/connection_test_parts.h"
#include "adapters/ranks/counters.h"
#include "adapters/ranks/look.h"
#include "adapters/ranks/ranks_test_parts.h"
#include "adapters/ranks/returns.h"
#include "engine/hang/standing.h"

namespace sickbay::ranks {
namespace {

using testing::HasSubstr;

// A second look, which watches the calls that the first one found; what is seen of the one rank.
Rank looked_twice(const Target& target) {
  const node::Tree tree("/");
  LookOrder order;
  order.rounds = 3;
  order.every = std::chrono::milliseconds(60);
  order.patience = std::chrono::milliseconds(2000);  // a machine under load stops a thread late
  order.most_stopping = order.most_unwinding = std::chrono::milliseconds(20000);
  order.prove = true;
  Rank rank;
  for (int i = 0; i < 2; ++i) {
    auto look = look_at(tree, target.found(), order, [] { return Status(); });
    EXPECT_TRUE(look && look->ranks.size() == 1);
    if (!look || look->ranks.size() != 1) return {};
    rank = look->ranks[0];
    order.returns.clear();
    const auto watch = [&](std::int64_t tid, std::size_t stack) {
      if (rank.stacks[stack].back != 0) order.returns.push_back({rank.pid, tid, rank.stacks[stack].back});
    };
    if (const RankRound& last = rank.rounds.back(); !last.stacks.empty()) watch(rank.pid, last.stacks[0]);
    for (const OtherThread& other : rank.others)
      if (other.tid != rank.pid && other.stack >= 0) watch(other.tid, static_cast<std::size_t>(other.stack));
  }
  return rank;
}

// On a busy machine others may have all processors for as long as a look takes: that proves nothing, and is
// said.
Rank proved(const Target& target) {
  Rank rank;
  for (int i = 0; i < 200; ++i) {
    rank = looked_twice(target);
    const hang::Seen seen = hang::see(rank);
    if (seen.doubt_text.find("had no processor") == std::string::npos) break;
    EXPECT_EQ(seen.proven, Micros(0));
  }
  return rank;
}

std::set<std::uint64_t> held(const Rank& rank) {
  std::set<std::uint64_t> all;
  for (const RankRound& round : rank.rounds)
    if (!round.stacks.empty()) all.insert(rank.stacks[round.stacks[0]].held);
  return all;
}

// Of a machine without breakpoints nothing is ever proven, and that is said.
bool counts(const Rank& rank) {
  if (rank.returns.empty()) ADD_FAILURE() << "no call was watched";
  if (rank.returns.empty() || rank.returns[0].why.empty()) return !rank.returns.empty();
  const hang::Seen seen = hang::see(rank);
  EXPECT_EQ(to_string(seen.doubt), to_string(Doubt::uncounted));
  EXPECT_THAT(seen.doubt_text, HasSubstr("cannot be counted"));
  return false;
}

TEST(Prove, ACallThatStandsDoesNotReturn) {
  for (const char* program : {SB_PLAIN, SB_STRIPPED}) {
    const Target target(program, "mpi");
    ASSERT_TRUE(target.has_run());
    const Rank rank = proved(target);
    if (!counts(rank)) GTEST_SKIP() << "this machine has no breakpoints: " << rank.returns.at(0).why;
    EXPECT_EQ(rank.returns[0].returns, 0);
    EXPECT_GE(rank.returns[0].counted, Micros(120'000));
    const hang::Seen seen = hang::see(rank);
    EXPECT_EQ(to_string(seen.standing), "waits") << program;
    EXPECT_EQ(to_string(seen.doubt), "none") << seen.doubt_text;
    EXPECT_EQ(seen.proven, rank.returns[0].counted);
  }
}

// Its state lies on the heap: nothing that is copied of it changes.
TEST(Prove, ALoopThatLooksTheSameEachTimeIsSeenToReturn) {
  for (const char* program : {SB_PLAIN, SB_STRIPPED}) {
    const Target target(program, "mpi-heap");
    ASSERT_TRUE(target.has_run());
    const Rank rank = proved(target);
    if (!counts(rank)) GTEST_SKIP() << "this machine has no breakpoints: " << rank.returns.at(0).why;
    EXPECT_EQ(held(rank).size(), 1u) << "it looks the same";
    EXPECT_GE(rank.returns[0].returns, 1);
    EXPECT_LE(rank.returns[0].returns, 10) << "the first one ends the count";
    EXPECT_EQ(to_string(hang::see(rank).standing), "moves") << program;
  }
}

TEST(Prove, AThreadThatSleepsForATimeIsADoubt) {
  const Target target(SB_PLAIN, "mpi-sleeper");
  ASSERT_TRUE(target.has_run());
  const Rank rank = proved(target);
  EXPECT_TRUE(rank.others_seen);
  ASSERT_EQ(rank.others.size(), 2u) << "and the first one, which runs";
  const hang::Seen seen = hang::see(rank);
  EXPECT_EQ(to_string(seen.doubt), "thread");
  EXPECT_THAT(seen.doubt_text, HasSubstr("sleeping_here < sleeper ("));
  EXPECT_EQ(seen.proven, Micros(0));
}

TEST(Prove, ThreadsThatOnlyWaitForOthersOfTheirProcessAreNone) {
  const Target target(SB_PLAIN, "mpi-blocked");
  ASSERT_TRUE(target.has_run());
  const Rank rank = proved(target);
  EXPECT_TRUE(rank.others_seen);
  ASSERT_EQ(rank.others.size(), 1u) << rank.others.at(1).call;
  EXPECT_EQ(rank.others[0].tid, rank.pid) << "the first one alone";
  if (counts(rank)) {
    EXPECT_EQ(to_string(hang::see(rank).doubt), "none");
  }
}

TEST(Prove, ASecondThreadInACallIsCountedToo) {
  const Target target(SB_PLAIN, "mpi-receiver");
  ASSERT_TRUE(target.has_run());
  const Rank rank = proved(target);
  if (!counts(rank)) return;
  EXPECT_EQ(rank.returns.size(), 2u);
  const hang::Seen seen = hang::see(rank);
  EXPECT_EQ(to_string(seen.standing), "waits");
  EXPECT_EQ(to_string(seen.doubt), "none") << seen.doubt_text;
}

// The first thread joins the one that waits.
TEST(Prove, OneWhoseSecondThreadStandsInACall) {
  const Target target(SB_PLAIN, "mpi-joins");
  ASSERT_TRUE(target.has_run() && target.sleeps());
  const Rank rank = proved(target);
  if (!counts(rank)) return;
  const hang::Seen seen = hang::see(rank);
  EXPECT_EQ(to_string(seen.standing), "waits");
  EXPECT_EQ(seen.call, "MPI_Recv");
  EXPECT_THAT(seen.path, HasSubstr("MPI_Recv < exchange < receiver"));
  EXPECT_EQ(to_string(seen.doubt), "none") << seen.doubt_text;
  EXPECT_GT(seen.proven, Micros(0));
}

// So on a busy machine: the first thread gets no processor at once to go back to its wait.
TEST(Prove, OneWhoWasStoppedForALookStillWaits) {
  std::vector<std::unique_ptr<Target>> busy;
  for (long i = 0; i < 4 * ::sysconf(_SC_NPROCESSORS_ONLN); ++i)
    busy.push_back(std::make_unique<Target>(SB_PLAIN, "spinning"));
  const Target target(SB_PLAIN, "mpi-joins");
  ASSERT_TRUE(target.has_run() && target.sleeps());
  for (int i = 0; i < 4; ++i) {
    const Rank rank = proved(target);
    if (!counts(rank)) return;
    for (const OtherThread& other : rank.others) EXPECT_NE(other.tid, rank.pid) << "it only joins";
    const hang::Seen seen = hang::see(rank);
    EXPECT_EQ(to_string(seen.standing), "waits");
    EXPECT_EQ(seen.call, "MPI_Recv");
    EXPECT_EQ(to_string(seen.doubt), "none") << seen.doubt_text;
  }
}

TEST(Prove, WhatIsNoRankIsNotWatched) {
  const Target target(SB_PLAIN, "mpi"), another(SB_PLAIN, "mpi");
  const node::Tree tree("/");
  LookOrder order;
  order.rounds = 1;
  order.prove = true;
  order.returns = {{another.pid(), another.pid(), 0x1000}, {target.pid(), another.pid(), 0x1000}};
  const auto look = look_at(tree, target.found(), order, [] { return Status(); });
  ASSERT_TRUE(look);
  EXPECT_TRUE(look->ranks.at(0).returns.empty());
}

TEST(Prove, WhatGoesOverItsConnections) {
  const node::Connection connection;
  const int client = connection.client, server = connection.server;
  ASSERT_GE(server, 0);
  const node::Tree tree("/");
  const auto carried = [&](const std::vector<std::int64_t>& pids) {
    return carried_bytes(tree, pids, connections_of(tree, ::getpid()));
  };
  const auto before = carried({::getpid()});
  if (!before) GTEST_SKIP() << "this kernel does not tell (sock_diag)";
  std::string bytes(3000, 'x');
  ASSERT_EQ(::send(client, bytes.data(), bytes.size(), 0), 3000);
  ASSERT_EQ(::recv(server, bytes.data(), bytes.size(), MSG_WAITALL), 3000);
  const std::int64_t more = carried({::getpid()}).value_or(-1) - *before;
  EXPECT_GE(more, 3000) << "one end received them";
  EXPECT_LE(more, 6002) << "and the other sent them";
  EXPECT_EQ(carried({::getpid(), -5}), std::nullopt) << "one cannot be listed";
  EXPECT_EQ(carried_bytes(tree, {::getpid()}, std::nullopt), std::nullopt);
}

// By one question, and by the files.
TEST(Prove, WhatIsNotAcknowledgedYet) {
  const node::Connection connection;
  ASSERT_GE(connection.server, 0);
  const node::Tree tree("/");
  const std::string block(std::size_t{1} << 16, 'x');
  while (::send(connection.client, block.data(), block.size(), MSG_DONTWAIT) > 0) {
  }
  const auto unsent = [&](std::int64_t uid, const std::optional<node::TcpBytesByInode>& connections) {
    return unsent_bytes(tree, ::getpid(), uid, connections).value_or(-1);
  };
  const auto all = connections_of(tree, ::getpid());
  if (!all) GTEST_SKIP() << "this kernel does not tell (sock_diag)";
  EXPECT_GT(unsent(::getuid(), all), 0) << "nobody reads what was sent";
  EXPECT_GT(unsent(::getuid(), std::nullopt), 0);
  EXPECT_EQ(unsent(4711, all), 0);
  EXPECT_EQ(unsent(4711, std::nullopt), 0);
}

}  // namespace
}  // namespace sickbay::ranks
