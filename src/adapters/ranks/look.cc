// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/look.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "adapters/ranks/counters.h"
#include "adapters/ranks/others.h"
#include "adapters/ranks/returns.h"
#include "adapters/ranks/snapshot.h"
#include "adapters/ranks/unwind.h"
#include "adapters/ranks/variables.h"

namespace sickbay::ranks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostThreadsRead = 64;
constexpr double kBusyShare = 0.1;  // of a processor: such a thread does something
constexpr std::chrono::milliseconds kLookForReturns{25};
constexpr std::size_t kLeastCopy = 32768, kMostCopy = 524288;

// The node's own clock: no step of the calendar's makes a rank wait longer than it did.
TimePoint uptime() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return TimePoint(Micros(static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1000));
}

void wait_until(Clock::time_point when) {
  for (auto now = Clock::now(); now < when; now = Clock::now()) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(when - now).count();
    const timespec t{left / 1'000'000'000, left % 1'000'000'000};
    ::nanosleep(&t, nullptr);
  }
}

// A thread that did not stop in time stops later: where it waited for a processor, as soon as it has one.  It
// would stand until the next round, which would then tell of a rank that is stopped: it is let go at once.
void let_go_until(Clock::time_point when) {
  while (let_go() > 0 && Clock::now() < when)
    wait_until(std::min(when, Clock::now() + std::chrono::milliseconds(2)));
}

struct Watched {
  explicit Watched(FoundRank one) : found(std::move(one)), variables(static_cast<pid_t>(found.pid)) {}
  FoundRank found;
  Variables variables;
  std::optional<Mapped> stack;  // of its first thread
  bool stacks = false;          // are taken
  Rank rank;
  std::vector<std::vector<std::size_t>> taken;  // by round: places in `snapshots`, the first thread's first
  std::map<std::int64_t, std::int64_t> ticks;   // of other threads, at the round before
  std::vector<std::optional<std::size_t>> others;  // of Rank::others: places in `snapshots`
};

// A count of returns that is under way.
struct Count {
  std::size_t rank = 0;  // of whose
  CallReturn call;
  Clock::time_point from;
  Result<ReturnCounter> counter;
};

class Look {
 public:
  Look(const node::Tree& tree, FoundRanks found, const LookOrder& order)
      : tree_(tree), order_(order), uid_(found.uid) {
    look_.unread = std::move(found.unread);
    for (FoundRank& one : found.ranks) {
      Watched& w = ranks_.emplace_back(std::move(one));
      w.rank.world = w.found.number.world;
      w.rank.rank = w.found.number.rank;
      w.rank.size = w.found.number.size;
      w.rank.pid = w.found.pid;
      w.rank.name = w.found.name;
    }
    choose();
  }

  void rounds() {
    const auto began = Clock::now();
    std::optional<std::int64_t> first_network;
    count_returns();
    for (std::size_t i = 0; i < order_.rounds; ++i) {
      // From the beginning on, so that a slow round does not move those behind it.
      const auto next = began + order_.every * static_cast<int>(i);
      let_go_until(next);
      end_what_returned_until(next);
      round();
      if (ranks_.empty()) continue;
      const auto network = network_bytes(tree_, ranks_.front().found.pid);
      if (i == 0) first_network = network;
      // (Less than before: a counter began anew.)
      if (network && first_network && *network >= *first_network)
        look_.network_bytes = *network - *first_network;
      if (i + 1 == order_.rounds) {
        const std::int64_t pid = ranks_.front().found.pid;
        connections_ = connections_of(tree_, pid);
        look_.unsent_bytes = unsent_bytes(tree_, pid, uid_, connections_).value_or(-1);
      }
    }
    take_counts();
    sum_up();
    // Nobody is left stopped for a moment longer than the kernel makes us.
    let_go_until(Clock::now() + std::chrono::milliseconds(200));
  }

  RankLook frames() {
    const auto began = Clock::now();
    for (Watched& w : ranks_) {
      name_frames(w, Clock::now() - began > order_.most_unwinding);
      look_.ranks.push_back(std::move(w.rank));
    }
    look_.cpu_us = own_cpu();
    look_.at = at_;
    return std::move(look_);
  }

 private:
  void count_returns() {
    if (!order_.prove) return;
    for (const CallReturn& call : order_.returns) {
      // Only of the job's own ranks: a number may be another process's by now.
      const auto rank = std::ranges::find(ranks_, call.pid, [](const Watched& w) { return w.found.pid; });
      if (rank == ranks_.end() || !tree_.exists(fmt::format("/proc/{}/task/{}", call.pid, call.tid)))
        continue;
      counts_.push_back({static_cast<std::size_t>(rank - ranks_.begin()), call, Clock::now(),
                         ReturnCounter::at(static_cast<pid_t>(call.tid), call.back, CountedBy::either)});
    }
  }

  // Whoever came back pays at each return for what still stands there.
  void end_what_returned_until(Clock::time_point when) {
    for (auto now = Clock::now(); now < when; now = Clock::now()) {
      std::vector<ReturnCounter*> returned;
      bool some_stand = false;
      for (Count& count : counts_) {
        if (!count.counter || count.counter->ended()) continue;
        if (count.counter->count().value_or(0) > 0)
          returned.push_back(&*count.counter);
        else
          some_stand = true;
      }
      end_counts(returned);
      wait_until(some_stand ? std::min(when, now + kLookForReturns) : when);
    }
  }

  void take_counts() {
    for (const Count& count : counts_) {
      CountedReturn told{count.call.tid, count.call.back, Micros(0), 0, ""};
      if (!count.counter) {
        told.why = count.counter.error().what;
      } else if (const auto returns = count.counter->count()) {
        told.counted = std::chrono::duration_cast<Micros>(Clock::now() - count.from);
        told.returns = *returns;
      } else {
        told.why = "the kernel does not tell the count";
      }
      ranks_[count.rank].rank.returns.push_back(std::move(told));
    }
    std::vector<ReturnCounter*> all;
    for (Count& count : counts_)
      if (count.counter) all.push_back(&*count.counter);
    end_counts(all);
    counts_.clear();
  }

  void sum_up() {
    if (!order_.prove || ranks_.empty()) return;
    std::vector<std::int64_t> pids;
    for (const Watched& w : ranks_)
      if (w.rank.rounds.back().state != 'X') pids.push_back(w.found.pid);
    look_.socket_bytes = carried_bytes(tree_, pids, connections_).value_or(-1);
  }

  // Whose stacks are taken, where they are too many: evenly spread, others at each look.
  void choose() {
    if (!order_.stacks || ranks_.empty()) return;
    const std::size_t all = ranks_.size(), wanted = std::min(all, order_.most_stacks);
    const std::size_t first = wanted == all ? 0 : std::random_device{}() % all;
    for (std::size_t i = 0; i < wanted; ++i) ranks_[(first + i * all / wanted) % all].stacks = true;
    // Memory is shared out over all snapshots: frames are named only after the last round.
    copy_ = std::clamp(order_.most_bytes / std::max<std::size_t>(1, wanted * order_.rounds), kLeastCopy,
                       kMostCopy);
  }

  void round() {
    const auto began = Clock::now();
    at_ = uptime();
    for (Watched& w : ranks_) {
      RankRound now = count(tree_, w.found, at_ = uptime());
      // A stopped one that we have let go waits for a processor to stop again: it has done nothing since.
      if (now.state == 'R' && !w.rank.rounds.empty() && w.rank.rounds.back().state == 'T' &&
          w.rank.rounds.back().cpu_us == now.cpu_us)
        now.state = 'T';
      std::vector<std::size_t> taken;
      if (now.state != 'X' && order_.stacks) {
        if (!w.stacks)
          now.why = fmt::format("of this many ranks only the stacks of {} are taken", order_.most_stacks);
        else if (Clock::now() - began > order_.most_stopping)
          now.why = "the time for this round was used up by others";
        else
          taken = stacks(w, now);
        // At the end, so that what they do is seen behind what the calls did.
        if (order_.prove && w.stacks && w.taken.size() + 1 == order_.rounds)
          see_others(w, taken.empty() ? std::nullopt : std::optional(taken.front()));
      }
      w.taken.push_back(std::move(taken));
      w.rank.rounds.push_back(std::move(now));
    }
  }

  std::vector<std::size_t> stacks(Watched& w, RankRound& now) {
    std::vector<std::size_t> taken;
    // A thread that has not run since stands where it stood.
    // By its count of switches: what has not run need not be stopped.
    if (now.state == 'S' && !w.taken.empty() && !w.taken.back().empty() &&
        w.rank.rounds.back().switches == now.switches && w.rank.rounds.back().state == 'S') {
      taken.push_back(w.taken.back().front());
    } else if (now.state == 'D') {
      now.why = "it is in the kernel's uninterruptible sleep, as for storage that does not answer";
    } else {
      Snapshot s = take_snapshot(static_cast<pid_t>(w.found.pid), copy_, order_.patience, w.stack);
      now.why = s.why;
      // After our own stop it waits for a processor to go back to its sleep: the stop found it asleep.
      if (now.state == 'R' && s.interrupted) now.state = 'S';
      s.data = w.variables.digest();
      if (s.why.empty()) taken.push_back(keep(std::move(s)));
    }
    if (taken.empty()) return taken;
    // Others that work: of a thread that a rank only waits for nothing is seen in its first one.
    std::map<std::int64_t, std::int64_t> before = std::move(w.ticks);
    w.ticks.clear();
    const bool first = w.rank.rounds.empty();
    std::vector<ThreadTicks> busy;
    const double least = kBusyShare * std::chrono::duration<double>(order_.every).count() *
                         static_cast<double>(ticks_per_second());
    for (const ThreadTicks& t : other_threads(tree_, w.found.pid, kMostThreadsRead)) {
      w.ticks[t.tid] = t.ticks;
      // (Of one that is new all of its time is since.)
      if (!first && static_cast<double>(t.ticks - before[t.tid]) >= least) busy.push_back(t);
    }
    std::ranges::sort(busy, [&](const ThreadTicks& a, const ThreadTicks& b) {
      return a.ticks - before[a.tid] > b.ticks - before[b.tid];
    });
    for (std::size_t i = 0; i < busy.size() && taken.size() < kMostThreads; ++i) {
      Snapshot s = take_snapshot(static_cast<pid_t>(busy[i].tid), copy_, order_.patience);
      if (s.why.empty()) taken.push_back(keep(std::move(s)));
    }
    return taken;
  }

  // (Of the first thread the stack is there: it is one of them where it stands outside MPI.)
  void see_others(Watched& w, std::optional<std::size_t> first) {
    const Others others = other_threads_that_may_go_on(tree_, w.found.pid);
    // On a busy machine a thread that was stopped for a look runs for a while before it waits again: it does
    // what it did when it was stopped.  Nothing: it waits for its own process alone.
    const auto call_of = [&](const Other& one, const Snapshot& s) -> std::optional<std::string> {
      if (!one.call.empty() || !s.interrupted) return one.call;
      return may_go_on(*s.interrupted, others.own);
    };
    w.rank.others_seen = true;
    w.rank.others_left = others.all ? 0 : 1;
    for (const Other& one : others.threads) {
      if (w.rank.others.size() == kMostOthers) {
        w.rank.others_left += static_cast<std::int64_t>(others.threads.size() - kMostOthers);
        break;
      }
      if (one.tid == w.found.pid) {
        const auto call = first ? call_of(one, snapshots_[*first]) : one.call;
        if (!call) continue;
        w.rank.others.push_back({one.tid, *call, -1});
        w.others.push_back(first);
        continue;
      }
      Snapshot s = take_snapshot(static_cast<pid_t>(one.tid), copy_, order_.patience);
      const auto call = call_of(one, s);
      if (!call) continue;
      std::optional<std::size_t> place;
      if (s.why.empty()) place = keep(std::move(s));
      // It has ended meanwhile.
      if (!place && !tree_.exists(fmt::format("/proc/{}/task/{}", w.found.pid, one.tid))) continue;
      w.rank.others.push_back({one.tid, *call, -1});
      w.others.push_back(place);
    }
  }

  std::size_t keep(Snapshot s) {
    snapshots_.push_back(std::move(s));
    return snapshots_.size() - 1;
  }

  void name_frames(Watched& w, bool too_late) {
    const bool any = std::ranges::any_of(w.taken, [](const auto& one) { return !one.empty(); });
    std::string why = too_late ? "the time for reading frames was used up by other ranks" : "";
    std::unique_ptr<Unwinder> unwinder;
    if (any && !too_late) {
      auto opened = Unwinder::of(static_cast<pid_t>(w.found.pid));
      if (opened)
        unwinder = std::move(*opened);
      else
        why = opened.error().what;
    }
    // Equal stacks are kept once: most rounds show the same.
    std::map<std::size_t, std::uint32_t> known;  // snapshot -> place in rank.stacks
    const auto named = [&](std::size_t at) {
      auto place = known.find(at);
      if (place == known.end()) {
        RankStack stack = unwinder->frames(snapshots_[at]);
        const auto same = std::ranges::find(w.rank.stacks, stack);
        place = known.emplace(at, static_cast<std::uint32_t>(same - w.rank.stacks.begin())).first;
        if (same == w.rank.stacks.end()) w.rank.stacks.push_back(std::move(stack));
      }
      return place->second;
    };
    for (std::size_t i = 0; i < w.rank.rounds.size(); ++i) {
      RankRound& round = w.rank.rounds[i];
      if (!unwinder) {
        if (round.why.empty() && round.state != 'X') round.why = why;
        continue;
      }
      if (i >= w.taken.size()) continue;
      for (const std::size_t at : w.taken[i]) {
        round.stacks.push_back(named(at));
        round.threads.push_back(snapshots_[at].tid);
      }
    }
    for (std::size_t i = 0; i < w.others.size() && unwinder; ++i)
      if (w.others[i]) w.rank.others[i].stack = named(*w.others[i]);
  }

  const node::Tree& tree_;
  const LookOrder& order_;
  const std::int64_t uid_;
  TimePoint at_ = kNoTime;  // now, in this round
  std::size_t copy_ = kLeastCopy;
  std::vector<Watched> ranks_;
  std::vector<Snapshot> snapshots_;
  std::vector<Count> counts_;
  std::optional<node::TcpBytesByInode> connections_;  // at the last round
  RankLook look_;
};

}  // namespace

Result<RankLook> look_at(const node::Tree& tree, FoundRanks found, const LookOrder& order,
                         const std::function<Status()>& between) {
  Look look(tree, std::move(found), order);
  look.rounds();
  // Between the two the caller gives up root: what follows reads files of the user.
  if (Status given_up = between(); !given_up) return fail(std::move(given_up.error()));
  return look.frames();
}

}  // namespace sickbay::ranks
