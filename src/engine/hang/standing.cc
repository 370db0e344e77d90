// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>

#include "engine/hang/place.h"
#include "model/mpi_call.h"
#include "model/runtime_library.h"

namespace sickbay::hang {
namespace {

constexpr double kMovingBytes = 1e6;        // a second, by calls: polling reads a few bytes each time
constexpr double kIdleShare = 0.02;         // of a processor: less is none
constexpr Micros kStarvedAfter{1'000'000};  // ticks are hundredths of a second; a busy machine gives some
constexpr std::chrono::minutes kEndedKept{10};
constexpr std::int64_t kCarries = 1'000'000;  // bytes a second of a node: less is what other services send
// Of the ranks' own connections: what a library sends to see whether the others are there is less.
constexpr std::int64_t kSends = 1000;
constexpr std::int64_t kSilent = 64;  // of connections that carry nothing but what keeps them open

// The count of a call's returns; nullptr where there is none.
const CountedReturn* counted(const Rank& rank, std::int64_t tid, std::uint64_t back) {
  const auto it = std::ranges::find_if(
      rank.returns, [&](const CountedReturn& one) { return one.tid == tid && one.back == back; });
  return back != 0 && it != rank.returns.end() ? &*it : nullptr;
}

// A thread that MPI or OpenMP has started: all its code is theirs.  Of the C library's own (a timer's) there
// is none that could be left out, for it calls what the user gave it.
bool is_runtimes_own(const RankStack& stack) {
  if (!stack.whole) return false;
  bool runtime = false;
  for (const RankFrame& frame : stack.frames) {
    const WhoseCode whose = whose_code(frame.module);
    if (frame.program || whose == WhoseCode::users) return false;
    runtime |= whose == WhoseCode::runtime;
  }
  return runtime;
}

void doubt(Seen& seen, Doubt why, std::string text) {
  if (seen.doubt >= why) return;  // a thread says more than a count that is not there yet
  seen.doubt = why;
  seen.doubt_text = text.substr(0, kMostDoubt);
}

// Takes one count of returns into what is known of the rank.  False where the call did return.
bool take_count(Seen& seen, const CountedReturn* count, std::string_view whose) {
  if (count == nullptr)
    doubt(seen, Doubt::uncounted, fmt::format("whether {} returns was not counted yet", whose));
  else if (!count->why.empty())
    doubt(seen, Doubt::uncounted, fmt::format("whether {} returns cannot be counted: {}", whose, count->why));
  else if (count->returns > 0)
    return false;
  else
    seen.proven = std::min(seen.proven, count->counted);
  return true;
}

// Is it proven that a rank that looks like one that waits does wait?  False: one of its calls did return.
// `slept`: its first thread, in all rounds; `ran`: it had processor time meanwhile.
bool prove(const Rank& rank, const std::vector<Place>& places, bool first_waits, bool slept, bool ran,
           Seen& seen) {
  seen.proven = Micros::max();
  bool stays = true;
  // In all rounds it must be the call whose return was counted.
  const std::uint64_t back = places.front().back;
  const bool one_place = std::ranges::all_of(places, [&](const Place& p) { return p.back == back; });
  // (Of a thread that stands for the first one nobody knows the number before it is found below.)
  if (first_waits) stays &= take_count(seen, one_place ? counted(rank, rank.pid, back) : nullptr, "the call");
  // What had no processor cannot have come back, whatever it does.
  if (first_waits && !slept && !ran)
    doubt(seen, Doubt::uncounted, "it had no processor while it was watched");
  // An operation of the user's, say, in a library of his: how long that takes nobody knows.
  for (const Place& place : places)
    if (!place.strange.empty())
      doubt(seen, Doubt::thread, fmt::format("code of {} that {} runs", place.strange, place.call));
  if (!rank.others_seen) doubt(seen, Doubt::uncounted, "its other threads were not looked at");
  if (rank.others_left > 0)
    doubt(seen, Doubt::thread, fmt::format("{} more threads, which were not looked at", rank.others_left));
  for (const OtherThread& other : rank.others) {
    if (other.tid == rank.pid && first_waits) continue;
    const std::string who = fmt::format("thread {}", other.tid);
    if (other.stack < 0) {
      doubt(seen, Doubt::thread, fmt::format("{}, whose stack was not read", who));
      continue;
    }
    const RankStack& stack = rank.stacks[static_cast<std::size_t>(other.stack)];
    const Place place = place_of(stack);
    // One that is in MPI as well waits as the first does, and must be proven to.
    if (place.in_mpi && !place.strange.empty())
      doubt(seen, Doubt::thread, fmt::format("{} in code of {}", who, place.strange));
    else if (place.in_mpi && other.call.empty() && !ran)
      doubt(seen, Doubt::uncounted, who + " had no processor while it was watched");
    else if (place.in_mpi)
      stays &= take_count(seen, counted(rank, other.tid, place.back), who + "'s call of " + place.call);
    else if (!is_runtimes_own(stack))
      doubt(seen, Doubt::thread,
            fmt::format("{} in {} ({})", who, path_text(place.frames),
                        other.call.empty() ? "it runs" : other.call));
  }
  if (seen.doubt != Doubt::none || seen.proven == Micros::max()) seen.proven = Micros(0);
  return stays;
}

// Does nothing show that a rank gets on which seems to?  It changes something while its call does not return:
// another thread does.  Or it asks MPI for what is not there, again and again, and does little else.
bool gets_nowhere(const Rank& rank, const std::vector<Place>& places) {
  if (std::ranges::any_of(places, &Place::copies)) return false;
  const std::uint64_t back = places.front().back;
  if (std::ranges::all_of(places, [&](const Place& p) { return p.in_mpi && p.back == back; })) {
    const CountedReturn* count = counted(rank, rank.pid, back);
    if (count != nullptr && count->why.empty() && count->returns == 0) return true;
  }
  std::size_t asks = 0;
  for (const Place& place : places) {
    if (place.in_mpi && !is_test(place.call)) return false;
    asks += place.in_mpi;
  }
  return asks * 2 > places.size();
}

}  // namespace

bool data_on_its_way(const RankReport& report) {
  return report.network_rate > kCarries || report.unsent_bytes > 0 || report.socket_rate > kSends;
}

// What needs no stack first (ended, stopped, on the disk); then where all rounds stand: outside MPI, in MPI
// on the move, or in one call that was not left.
Seen see(const Rank& rank) {
  Seen seen;
  if (rank.rounds.empty()) {
    seen.path = "no round was made";
    return seen;
  }
  const RankRound &first = rank.rounds.front(), &last = rank.rounds.back();
  seen.first = first.at;
  seen.last = last.at;
  // States are those of /proc/PID/stat, but X, which is: it has ended during the look (model/rank_look.h).
  if (last.state == 'X') {
    seen.standing = Standing::ended;
    return seen;
  }
  if (last.state == 'T' || last.state == 't') {
    seen.standing = Standing::stopped;
    return seen;
  }
  std::vector<Place> places, second;  // of the first thread; of another one within MPI
  std::vector<std::uint64_t> held, second_held;
  std::optional<std::vector<std::string>> users_thread;
  bool slept = true, ready = true;
  std::size_t on_disk = 0;
  std::string why;
  for (const RankRound& round : rank.rounds) {
    slept &= round.state == 'S';
    ready &= round.state == 'R';
    on_disk += round.state == 'D';
    if (!round.why.empty()) why = round.why;
    if (round.stacks.empty()) continue;
    const RankStack& stack = rank.stacks[round.stacks.front()];
    places.push_back(place_of(stack));
    held.push_back(stack.held);
    // Another thread that works in the user's code: the first one only waits for it.
    for (std::size_t i = 1; i < round.stacks.size(); ++i) {
      const RankStack& other = rank.stacks[round.stacks[i]];
      const bool users = std::ranges::any_of(other.frames, &RankFrame::program);
      Place place = place_of(other);
      if (users && !place.in_mpi) users_thread = std::move(place.frames);
      if (place.in_mpi && second.size() < places.size()) {
        second_held.push_back(other.held);
        second.push_back(std::move(place));
      }
    }
  }
  // In most rounds, for a sleep on the disk is short in a healthy program; or where it left no stack to look
  // at.
  if (on_disk * 2 > rank.rounds.size() || (on_disk > 0 && places.empty())) {
    seen.standing = Standing::disk;
    return seen;
  }
  const double seconds = std::chrono::duration<double>(last.at - first.at).count();
  // -1: the counters could not be read.
  const bool io = first.io_bytes >= 0 &&
                  static_cast<double>(last.io_bytes - first.io_bytes) > kMovingBytes * seconds &&
                  last.io_bytes > first.io_bytes;
  if (places.empty()) {
    seen.path = why.empty() ? "no stack was taken" : why;
    if (io) seen.standing = Standing::moves;
    return seen;
  }
  const auto all_same = [](const auto& list) {
    return std::ranges::adjacent_find(list, std::not_equal_to<>()) == list.end();
  };
  // The first thread only waits for another one, which is in MPI: that one stands for the rank.  (In the
  // first round nobody knows yet which threads use the processor.  One that gets little of it, or sleeps in
  // the call, is found by a look that proves.)
  const bool joins = slept && !users_thread && all_same(held) && std::ranges::none_of(places, &Place::in_mpi);
  if (joins && (second.empty() || second.size() + 1 < places.size())) {
    second.clear();
    second_held.clear();
    for (const OtherThread& other : rank.others) {
      if (other.stack < 0 || other.tid == rank.pid || !second.empty()) continue;
      const RankStack& stack = rank.stacks[static_cast<std::size_t>(other.stack)];
      if (Place place = place_of(stack); place.in_mpi) {
        second_held.push_back(stack.held);
        second.push_back(std::move(place));
      }
    }
  }
  const bool stand_in = joins && !second.empty();
  if (stand_in) {
    places.swap(second);
    held.swap(second_held);
  }
  // What all rounds have in common is where it stands; what differs is what it does there.
  std::vector<std::string> path = places.front().frames;
  for (const Place& place : places) path = common(path, place.frames);
  const double cpu = static_cast<double>(last.cpu_us - first.cpu_us);
  const bool same = all_same(held);
  const bool in_mpi = std::ranges::all_of(places, &Place::in_mpi);
  seen.call = in_mpi && !users_thread &&
                      std::ranges::all_of(places, [&](const Place& p) { return p.call == places[0].call; })
                  ? places[0].call
                  : "";
  seen.path = path_text(users_thread ? *users_thread : path.empty() ? places.back().frames : path);
  // Ready in every round and no tick of processor time: others have its processor.
  if (ready && cpu <= 0 && last.at - first.at >= kStarvedAfter) {
    seen.standing = Standing::starved;
  } else if (users_thread || !in_mpi) {
    // Outside MPI, asleep and not a byte changed: it stands still, and may be what the others wait for.
    const bool idle = slept && cpu <= kIdleShare * seconds * 1e6 && same && !io && !users_thread;
    seen.standing = idle ? Standing::still : Standing::computes;
    seen.held = idle ? held.back() : 0;
  } else if (!same || io || seen.call.empty() || std::ranges::any_of(places, &Place::copies)) {
    seen.standing = Standing::moves;
  } else {
    seen.standing =
        what_it_waits_for(seen.call) == MpiWait::outside ? Standing::waits_outside : Standing::waits;
    seen.held = held.back();
    // What stands may be a loop that came back to the same: the count says so.
    if (!prove(rank, places, !stand_in, slept, cpu > 0, seen)) {
      seen.standing = Standing::moves;
      seen.held = 0;
    }
  }
  const bool seems_busy = seen.standing == Standing::moves || seen.standing == Standing::computes;
  seen.nowhere = is_wait(seen.standing) || (seems_busy && !io && !users_thread && gets_nowhere(rank, places));
  return seen;
}

// What the network of the node and the ranks' own connections carried in this look and since the one before.
void History::take_traffic(const RankLook& look, TimePoint begin, TimePoint end, RankReport& report) {
  report.unsent_bytes = look.unsent_bytes;
  const auto rate = [&](std::int64_t bytes) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) /
                                     std::chrono::duration<double>(end - begin).count());
  };
  if (look.network_bytes >= 0 && end > begin) report.network_rate = rate(look.network_bytes);
  // From look to look, so that nothing between them is missed.  (Less than before: one was closed.)
  if (look.socket_bytes >= 0) {
    if (socket_bytes_ >= 0 && end > socket_at_)
      report.socket_rate =
          static_cast<std::int64_t>(static_cast<double>(std::abs(look.socket_bytes - socket_bytes_)) /
                                    std::chrono::duration<double>(end - socket_at_).count());
    socket_bytes_ = look.socket_bytes;
    socket_at_ = end;
  }
  // What was on its way may have arrived and let ranks go on: since then they have to wait anew.
  if (data_on_its_way(report)) calm_since_ = end;
  if (begin < end) {
    if (calm_since_ == kNoTime) calm_since_ = begin;
    report.calm = end - calm_since_;
  }
  // (What is not known neither speaks for silence nor against it.)
  if (data_on_its_way(report) || report.socket_rate > kSilent)
    silent_since_ = kNoTime;
  else if (report.socket_rate >= 0 && silent_since_ == kNoTime)
    silent_since_ = end;
}

// Joins this look with the one before: a rank that stands as it did has done so since then.  Then ranks that
// stand alike become groups, so that a node with many ranks sends a short report.
RankReport History::take(const RankLook& look) {
  RankReport report;
  std::map<std::pair<std::string, std::int64_t>, Known> now;
  TimePoint begin = kNever, end = look.at;
  for (const Rank& rank : look.ranks) {
    Known known{rank.pid, rank.size, see(rank), kNoTime, Micros(0)};
    known.since = known.seen.first;
    known.proven = known.seen.proven;
    if (known.seen.nowhere) known.nowhere_since = known.seen.first;
    const std::pair key{rank.world, rank.rank};
    const auto before = known_.find(key);
    if (before != known_.end()) {
      const Known& old = before->second;
      // It may have left the call between two looks only where it holds something else now.
      // The same process, or it is another run of that rank: a wait is not carried over a restart.
      if (old.pid == known.pid && old.seen.standing == known.seen.standing &&
          old.seen.held == known.seen.held && old.seen.path == known.seen.path) {
        known.since = old.since;
        // From the last doubt on: what was counted before it says nothing of what the doubt stood for.
        if (known.seen.doubt == Doubt::none) known.proven += old.proven;
      }
      if (old.pid == known.pid && known.seen.nowhere && old.nowhere_since != kNoTime)
        known.nowhere_since = old.nowhere_since;
    }
    if (known.seen.first != kNoTime) begin = std::min(begin, known.seen.first);
    end = std::max(end, known.seen.last);
    now.emplace(key, std::move(known));
  }
  take_traffic(look, begin, end, report);
  // Gone since, with its process: when, nobody saw; it is counted from this look.
  for (auto& [key, known] : known_) {
    if (now.contains(key) || now.size() >= kMostRanksOfNode) continue;
    if (known.seen.standing != Standing::ended) {
      known.seen = Seen{};
      known.seen.standing = Standing::ended;
      known.seen.first = known.since = end;
    }
    known.seen.last = std::max(known.seen.last, end);
    if (known.seen.last - known.since < kEndedKept) now.emplace(key, std::move(known));
  }
  for (const auto& [key, known] : now) {
    const std::string& world = key.first;  // (Clang 14 lets no lambda have a structured binding.)
    const std::int64_t rank = key.second;
    const Seen& seen = known.seen;
    // Who moves data is somewhere else in each look: by place each rank would be a group.
    const bool path_matters = seen.standing != Standing::moves;
    const auto group = std::ranges::find_if(report.groups, [&](const RankGroup& g) {
      if (g.world != world || g.standing != seen.standing) return false;
      // Beyond the bound those that go on are one: who they are says enough.
      if (!path_matters || (report.groups.size() >= kMostGroups / 2 && g.standing == Standing::computes))
        return true;
      return g.call == seen.call && g.path == seen.path;
    });
    const Micros held = seen.last - known.since;
    const bool nowhere = known.nowhere_since != kNoTime && silent_since_ != kNoTime;
    const Micros gone =
        nowhere ? std::max(Micros(0), seen.last - std::max(known.nowhere_since, silent_since_)) : Micros(0);
    const auto number = static_cast<TaskId>(rank);
    if (group != report.groups.end()) {
      group->ranks.add(number);
      group->size = std::max(group->size, known.size);
      // The shortest: since then all of the group have waited.
      group->held = std::min(group->held, held);
      group->proven = std::min(group->proven, known.proven);
      group->nowhere = std::min(group->nowhere, gone);
      if (is_wait(seen.standing) && seen.doubt > group->doubt) {
        group->doubt = seen.doubt;
        group->doubt_text = fmt::format("rank {}: {}", number, seen.doubt_text);
      }
    } else if (report.groups.size() < kMostGroups) {
      RankGroup made{world, known.size, seen.standing, seen.call, seen.path, {}, held};
      made.ranks.add(number);
      made.nowhere = gone;
      if (is_wait(seen.standing)) {
        made.proven = known.proven;
        made.doubt = seen.doubt;
        if (seen.doubt != Doubt::none) made.doubt_text = fmt::format("rank {}: {}", number, seen.doubt_text);
      }
      report.groups.push_back(std::move(made));
    }
  }
  known_ = std::move(now);
  report.unread = look.unread;
  return report;
}

}  // namespace sickbay::hang
