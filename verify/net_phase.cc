// SPDX-License-Identifier: Apache-2.0
// The network, pair by pair, by MPI: reachability, round trips, bandwidth with checked contents, TCP loss.
//
// No collective call is made: one would go over the very links under test, and hang all for one.  First each
// rank says hello to all its partners at once and waits one limit of time for all of them, so that dead
// links cost that limit once.  Then the live pairs are measured in the rounds of net_plan.  Whoever waits for
// a partner sleeps in small steps, since a spinning rank would take the processor of one that measures.
// A pair that falls silent later is reported and its requests are left behind; the program then ends
// without MPI_Finalize, which would wait for them for ever.
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <tuple>

#include "base/hostlist.h"
#include "beat.h"
#include "kernel_counters.h"
#include "net_plan.h"
#include "pair_numbers.h"
#include "phases.h"
#include "seconds.h"
#include "tcp_counters.h"
#include "withheld.h"

namespace sickbay::verify {
namespace {

constexpr int kTagHello = 1, kTagHeard = 2, kTagReady = 3, kTagPing = 4, kTagBlock = 5, kTagCount = 6;
constexpr std::size_t kNameBytes = 128;
constexpr double kStall = 0.1;    ///< a round trip this long is a lost segment (TCP waits 0.2 s at least)
constexpr int kStallsEnough = 5;  ///< more would only cost time
constexpr std::uint64_t kPlanSeed = 20260101;

volatile std::sig_atomic_t exit_code_of_alarm = 0;

/// FNV-1a over words: the test is for flipped, lost and swapped words, not for forgery.
std::uint64_t checksum(const std::vector<std::uint64_t>& words) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (const std::uint64_t word : words) sum = (sum ^ word) * 0x100000001b3ULL;
  return sum;
}

void fill(std::vector<std::uint64_t>& words, std::uint64_t seed) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::uint64_t& word : words) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    word = x;
  }
}

enum class Waiting { measuring, idle };

/// Completes `request` within `limit` seconds.  While measuring it spins for a moment first.
bool complete(MPI_Request& request, double limit, Waiting how) {
  const double begun = seconds_now();
  for (int done = 0;;) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done) return true;
    const double waited = seconds_now() - begun;
    if (waited > limit) return false;
    tick();
    if (how == Waiting::idle)
      ::usleep(waited < 0.05 ? 200 : 2000);
    else if (waited < 0.001)
      ::sched_yield();
    else
      ::usleep(50);
  }
}

/// One conversation.  A call is false when the peer did not answer in time; its request is then left behind,
/// and so must be the buffer.
struct Line {
  int peer;
  double answer_wait;  ///< seconds

  bool send(const void* bytes, std::size_t size, int tag) const {
    return send(bytes, size, tag, answer_wait, Waiting::measuring);
  }
  bool receive(void* bytes, std::size_t size, int tag) const {
    return receive(bytes, size, tag, answer_wait, Waiting::measuring);
  }
  bool send(const void* bytes, std::size_t size, int tag, double limit, Waiting how) const {
    MPI_Request request;
    return MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request) ==
               MPI_SUCCESS &&
           complete(request, limit, how);
  }
  bool receive(void* bytes, std::size_t size, int tag, double limit, Waiting how) const {
    MPI_Request request;
    return MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request) ==
               MPI_SUCCESS &&
           complete(request, limit, how);
  }
  /// Both ends are here: the leader knocks.
  bool meet(bool leader, char& ready, double limit) const {
    const auto knock = [&] { return send(&ready, 1, kTagReady, limit, Waiting::idle); };
    const auto hear = [&] { return receive(&ready, 1, kTagReady, limit, Waiting::idle); };
    return leader ? knock() && hear() : hear() && knock();
  }
};

/// The counters of what this rank sends, before and after a part of the test: its own connections where it
/// has any that MPI lets us see, else all of the node's.
TcpCounters read_counters() {
  const TcpCounters own = read_own_connections();
  return own.connections > 0 ? own : read_tcp_counters();
}

struct PairTest {
  const Options& options;
  Line line;
  bool leader;  ///< the lower rank: it keeps the clock and decides when enough is enough
  std::uint64_t seed;
  PairNumbers mine{}, theirs{};
  std::vector<std::uint64_t> block;
  std::array<std::uint64_t, 8> ping{};
  char ready = 1;

  bool run() {
    if (!line.meet(leader, ready, options.ready_wait)) return false;
    const TcpCounters before = read_counters();
    const CpuReading cpu = read_cpu();
    mine.from = wall_clock();
    if (!(leader ? lead_pings() : follow_pings())) return false;
    mine.to = wall_clock();
    mine.waited = cpu_loss(cpu, read_cpu()).busy_share();
    const TcpCounters between = read_counters();
    if (!(leader ? lead_blocks() : follow_blocks())) return false;
    const TcpCounters pings = between - before, blocks = read_counters() - between;
    mine.sent = pings.sent;
    mine.sent_again = pings.sent_again;
    mine.needless = pings.needless;
    mine.own_connections = before.connections > 0 ? pings.connections : 0;
    mine.block_sent = blocks.sent;
    mine.block_sent_again = blocks.sent_again;
    return leader
               ? line.send(&mine, sizeof mine, kTagCount) && line.receive(&theirs, sizeof theirs, kTagCount)
               : line.receive(&theirs, sizeof theirs, kTagCount) && line.send(&mine, sizeof mine, kTagCount);
  }

  bool lead_pings() {
    const double begun = seconds_now();
    double best = 1e9, sum = 0;
    for (bool last = false; !last;) {
      const double now = seconds_now();
      last = mine.trips + 1 >= options.pings || now - begun > options.pair_budget ||
             mine.stalls >= kStallsEnough;
      ping = {static_cast<std::uint64_t>(mine.trips), last};
      if (!line.send(ping.data(), sizeof ping, kTagPing) || !line.receive(ping.data(), sizeof ping, kTagPing))
        return false;
      const double trip = seconds_now() - now;
      if (ping[0] != static_cast<std::uint64_t>(mine.trips)) ++mine.wrong_blocks;
      best = std::min(best, trip);
      sum += trip;
      ++mine.trips;
      mine.stalls += trip > kStall;
    }
    mine.best_us = best * 1e6 / 2;
    mine.mean_us = sum / mine.trips * 1e6 / 2;
    return true;
  }

  bool follow_pings() {
    do {
      if (!line.receive(ping.data(), sizeof ping, kTagPing) || !line.send(ping.data(), sizeof ping, kTagPing))
        return false;
    } while (!ping[1]);
    return true;
  }

  /// Blocks go there and come back changed; each end compares with what it can compute itself.
  bool lead_blocks() {
    std::vector<std::uint64_t> expected(block.size());
    const double begun = seconds_now();
    double spent = 0;
    int sent = 0;
    for (bool last = false; !last; ++sent) {
      last = sent + 1 >= options.net_blocks || seconds_now() - begun > options.pair_budget;
      fill(block, seed + static_cast<std::uint64_t>(sent));
      block[0] = last;
      expected = block;
      for (std::uint64_t& word : expected) word = ~word;
      const double now = seconds_now();
      if (!line.send(block.data(), bytes(), kTagBlock) || !line.receive(block.data(), bytes(), kTagBlock))
        return false;
      spent += seconds_now() - now;
      note_block(checksum(block) == checksum(expected), sent);
    }
    mine.mb_s = 2.0 * sent * static_cast<double>(bytes()) / spent * 1e-6;
    return true;
  }

  bool follow_blocks() {
    std::vector<std::uint64_t> expected(block.size());
    for (int received = 0;; ++received) {
      fill(expected, seed + static_cast<std::uint64_t>(received));
      if (!line.receive(block.data(), bytes(), kTagBlock)) return false;
      const bool last = block[0] == 1;
      expected[0] = last;
      note_block(checksum(block) == checksum(expected), received);
      for (std::uint64_t& word : block) word = ~word;
      if (!line.send(block.data(), bytes(), kTagBlock)) return false;
      if (last) return true;
    }
  }

  void note_block(bool right, int number) {
    if (!right && mine.wrong_blocks++ == 0) mine.first_wrong = number;
  }
  std::size_t bytes() const { return block.size() * sizeof block[0]; }
};

/// Names of all ranks' nodes before anybody has answered: with one task per node, rank i runs on the i-th
/// node of the step.
std::vector<std::string> announced_names(int ranks) {
  const char* text = std::getenv("SLURM_STEP_NODELIST");
  if (auto names = expand_hostlist(text ? text : ""); names && static_cast<int>(names->size()) == ranks)
    return std::move(*names);
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank) names.push_back(fmt::format("rank {}", rank));
  return names;
}

/// One partner during the hello.
struct Greeting {
  int peer = 0;
  char mine[kNameBytes] = {}, theirs[kNameBytes] = {};
  char heard = 1, was_heard = 0;
  MPI_Request hello_out = MPI_REQUEST_NULL, hello_in = MPI_REQUEST_NULL;
  MPI_Request heard_out = MPI_REQUEST_NULL, heard_in = MPI_REQUEST_NULL;
  bool got_hello = false, got_heard = false;

  bool settled() const { return got_hello && got_heard; }
};

void open_greeting(Greeting& g, const std::string& name) {
  std::strncpy(g.mine, name.c_str(), kNameBytes - 1);
  MPI_Irecv(g.theirs, kNameBytes, MPI_BYTE, g.peer, kTagHello, MPI_COMM_WORLD, &g.hello_in);
  MPI_Irecv(&g.was_heard, 1, MPI_BYTE, g.peer, kTagHeard, MPI_COMM_WORLD, &g.heard_in);
  MPI_Isend(g.mine, kNameBytes, MPI_BYTE, g.peer, kTagHello, MPI_COMM_WORLD, &g.hello_out);
}

void advance(Greeting& g) {
  int done = 0;
  if (!g.got_hello && MPI_Test(&g.hello_in, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done) {
    g.got_hello = true;
    MPI_Isend(&g.heard, 1, MPI_BYTE, g.peer, kTagHeard, MPI_COMM_WORLD, &g.heard_out);
  }
  done = 0;
  if (!g.got_heard && MPI_Test(&g.heard_in, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done)
    g.got_heard = true;
}

/// Greets all partners at once; true when all answered.
bool greet(std::list<Greeting>& greetings, const std::string& name, double limit) {
  for (Greeting& g : greetings) open_greeting(g, name);
  const double begun = seconds_now();
  for (;;) {
    bool all = true;
    for (Greeting& g : greetings) {
      if (!g.settled()) advance(g);
      all = all && g.settled();
    }
    if (all || seconds_now() - begun > limit) {
      // MPI_Finalize wants no request left open; what a settled partner was sent ends at once.
      for (Greeting& g : greetings) {
        if (!g.settled()) continue;
        all = complete(g.hello_out, limit, Waiting::idle) && all;
        all = complete(g.heard_out, limit, Waiting::idle) && all;
      }
      return all;
    }
    tick();
    ::usleep(500);
  }
}

}  // namespace

int run_net(const Options& options, const Baseline& baseline, int* argc, char*** argv) {
  const Beat beat(node_name(), rank_of_slurm(), options.beat);  // (from before MPI_Init, which waits for all)
  MPI_Init(argc, argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Reporter reporter(node_name(), rank, baseline);
  reporter.start("net");
  const KernelCounters counted = read_kernel_counters();

  const std::vector<Round> plan = net_plan(ranks, options.random_rounds, kPlanSeed);
  std::vector<std::string> names = announced_names(ranks);
  std::map<int, Greeting*> partners;
  auto& greetings = *new std::list<Greeting>;  // never freed: a request may still point into it at the end
  for (const Round& round : plan)
    for (const auto& [low, high] : round) {
      if ((low != rank && high != rank) || partners.count(low + high - rank)) continue;
      greetings.emplace_back().peer = low + high - rank;
      partners[low + high - rank] = &greetings.back();
    }
  bool clean = greet(greetings, reporter.node(), options.hello_wait);
  for (const Greeting& g : greetings) {
    if (g.got_hello) names[g.peer] = std::string(g.theirs, ::strnlen(g.theirs, kNameBytes));
    if (g.settled()) continue;
    const char* what = g.got_hello ? "it does not hear this node" : "nothing was heard from it";
    reporter.report({.phase = "net",
                     .ok = false,
                     .unit = "MB/s",
                     .peer = names[g.peer],
                     .detail = fmt::format("no connection within {:.0f} s: {}", options.hello_wait, what)});
  }

  std::map<int, bool> tested;
  for (const Round& round : plan) {
    for (const auto& [low, high] : round) {
      const int peer = low + high - rank;
      if ((low != rank && high != rank) || tested[peer] || !partners[peer]->settled()) continue;
      tested[peer] = true;
      auto test = std::make_unique<PairTest>(
          PairTest{.options = options,
                   .line = {peer, options.answer_wait},
                   .leader = rank == low,
                   .seed = static_cast<std::uint64_t>(low) * 1000003 + static_cast<std::uint64_t>(high),
                   .block = std::vector<std::uint64_t>(options.net_block / sizeof(std::uint64_t))});
      if (test->run()) {
        const auto& [clock, other] =
            test->leader ? std::tie(test->mine, test->theirs) : std::tie(test->theirs, test->mine);
        reporter.report(judge_pair(clock, other, options, names[peer]));
      } else {
        reporter.report({.phase = "net",
                         .ok = false,
                         .unit = "MB/s",
                         .peer = names[peer],
                         .detail = "the connection fell silent during the test"});
        clean = false;
        (void)test.release();  // its buffers belong to requests that never ended
      }
    }
  }
  const int code = reporter.done(what_rose(counted, read_kernel_counters()));
  if (!clean) ::_exit(code);
  // A partner that gave up on somebody else does not come to the end with us: a limit.
  MPI_Request all_done;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_done);
  if (!complete(all_done, options.ready_wait, Waiting::idle)) ::_exit(code);
  // MPICH 4.0.2 over UCX hangs in MPI_Finalize when ranks enter it some milliseconds apart (the first blocks
  // in PMI while the others wait for it to answer a flush).  All has been said by now: leave after a second.
  exit_code_of_alarm = code;
  std::signal(SIGALRM, [](int) { ::_exit(exit_code_of_alarm); });
  ::alarm(1);
  MPI_Barrier(MPI_COMM_WORLD);  // brings the ranks together within microseconds
  MPI_Finalize();
  ::alarm(0);
  return code;
}

}  // namespace sickbay::verify
