// SPDX-License-Identifier: Apache-2.0
#include "service/agent/rank_looks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/hang/judge.h"
#include "engine/hang/place.h"
#include "model/mpi_call.h"

namespace sickbay::agent {
namespace {

constexpr std::size_t kMostJobs = 64;  // of a node
constexpr std::chrono::seconds kAfterFailure{10};
constexpr std::size_t kMostGlanced = 64;  // of a program: enough to find one that is outside MPI

bool somebody_waits(const RankReport& report) {
  return std::ranges::any_of(report.groups, [](const RankGroup& g) { return is_wait(g.standing); });
}

bool waits(const RankReport& report, const Rank& rank) {
  return std::ranges::any_of(report.groups, [&](const RankGroup& g) {
    return g.world == rank.world && is_wait(g.standing) && g.ranks.contains(static_cast<TaskId>(rank.rank));
  });
}

// Whether some rank of each program here does not wait, so that these programs do not hang.
bool all_go_on(const RankReport& report) {
  std::map<std::string_view, bool> goes_on;
  for (const RankGroup& g : report.groups)
    goes_on[g.world] |= g.standing == Standing::moves || g.standing == Standing::computes;
  return !goes_on.empty() && std::ranges::all_of(goes_on, [](const auto& one) { return one.second; });
}

// The calls of MPI that the threads of a look's ranks were in, as far as they were told of.
std::vector<CallReturn> calls_of(const RankLook& look) {
  std::vector<CallReturn> calls;
  for (const Rank& rank : look.ranks) {
    // (On a busy machine one does not stop in time for each round.)
    const auto last = std::find_if(rank.rounds.rbegin(), rank.rounds.rend(),
                                   [](const RankRound& round) { return !round.stacks.empty(); });
    std::map<std::int64_t, std::size_t> stacks;  // by thread
    if (last != rank.rounds.rend()) {
      stacks[rank.pid] = last->stacks.front();
      // The first one may only wait for another one, which is in MPI: not to lose a look until that is known.
      for (std::size_t i = 1; i < std::min(last->stacks.size(), last->threads.size()); ++i)
        stacks[last->threads[i]] = last->stacks[i];
    }
    for (const OtherThread& other : rank.others)
      if (other.tid != rank.pid && other.stack >= 0)
        stacks[other.tid] = static_cast<std::size_t>(other.stack);
    for (const auto& [tid, stack] : stacks) {
      const std::uint64_t back = rank.stacks[stack].back;
      if (back != 0 && calls.size() < kMostReturns) calls.push_back({rank.pid, tid, back});
    }
  }
  return calls;
}

// The calls that a rank which goes on was seen in.  Not those that only ask whether something has come: they
// return whether the program gets on or not.
void add_left_calls(const Rank& rank, std::vector<CallReturn>& calls) {
  std::set<std::uint64_t> backs;
  for (const RankRound& round : rank.rounds)
    if (!round.stacks.empty())
      if (const hang::Place place = hang::place_of(rank.stacks[round.stacks.front()]);
          place.in_mpi && place.back != 0 && !is_test(place.call))
        backs.insert(place.back);
  for (const std::uint64_t back : backs)
    if (calls.size() < kMostReturns) calls.push_back({rank.pid, rank.pid, back});
}

// Nothing showed of late that it gets on, whatever it seemed to do.
bool gets_nowhere(const RankReport& report, const Rank& rank) {
  return std::ranges::any_of(report.groups, [&](const RankGroup& g) {
    return g.world == rank.world && g.nowhere > Micros(0) && g.ranks.contains(static_cast<TaskId>(rank.rank));
  });
}

// They may ask for what does not come.
bool all_in_mpi(const RankLook& look) {
  return std::ranges::all_of(look.ranks, [](const Rank& rank) {
    return !rank.rounds.empty() && !rank.rounds.back().stacks.empty() &&
           rank.stacks[rank.rounds.back().stacks.front()].back != 0;
  });
}

// Of the threads that were looked at in a round the first one that is in MPI; null where none is.
const RankStack* in_mpi(const Rank& rank, const RankRound& round) {
  for (const std::uint32_t at : round.stacks)
    if (rank.stacks[at].back != 0) return &rank.stacks[at];
  return nullptr;
}

// Its last two rounds show it in one call, and it holds the same: it may have begun to wait while we looked.
bool may_have_begun_to_wait(const Rank& rank) {
  if (rank.rounds.size() < 2) return false;
  const RankStack *now = in_mpi(rank, rank.rounds.back()), *then = in_mpi(rank, rank.rounds.rbegin()[1]);
  return now != nullptr && then != nullptr && now->back == then->back && now->held == then->held;
}

// The pause after which a next look at ranks that wait ends just when they have waited for long enough to be
// told of: sooner it would be in vain, and the one behind it comes later.  Spare: for nodes that began to
// look later than this one, for all must have seen it for so long at the same time.
Micros until_long_enough(const RankReport& report, const RankLook& look) {
  constexpr std::chrono::milliseconds kMostPause{1800}, kSpare{600};
  Micros held = Micros::max();
  for (const RankGroup& g : report.groups)
    if (is_wait(g.standing)) held = std::min(held, g.held);
  if (held == Micros::max() || look.ranks.empty() || look.ranks.front().rounds.empty()) return Micros(0);
  const auto& rounds = look.ranks.front().rounds;
  const Micros lasts = rounds.back().at - rounds.front().at;
  return std::clamp<Micros>(hang::Policy().soon + kSpare - held - lasts, Micros(0), kMostPause);
}

// A program whose calls did return looked like one that waits, and will again.
bool a_call_returned(const RankLook& look) {
  return std::ranges::any_of(look.ranks, [](const Rank& rank) {
    return std::ranges::any_of(rank.returns, [](const CountedReturn& one) { return one.returns > 0; });
  });
}

}  // namespace

RankLooks::RankLooks(Loop& loop, LookAtRanks look, std::function<void(Json)> report,
                     std::function<void(const std::string&)> log)
    : loop_(loop), look_(std::move(look)), report_(std::move(report)), log_(std::move(log)) {}

RankLooks::~RankLooks() {
  for (auto& [id, job] : jobs_) forget(*job);
}

void RankLooks::forget(Job& job) {
  loop_.cancel(job.timer);
  loop_.cancel(job.telling);
  if (job.looking) job.looking->ask("the job is not watched any more");
}

void RankLooks::take(const Json& told) {
  version_ = told["version"].as_int();
  std::map<JobId, std::pair<std::uint32_t, Micros>> wanted;
  for (const Json& one : told["jobs"].items()) {
    const std::int64_t id = one["job"].as_int(), uid = one["uid"].as_int(-1);
    // Never root's: what is looked at is read with the rights of its owner.
    if (id <= 0 || id > std::numeric_limits<JobId>::max() || uid <= 0 ||
        uid > std::numeric_limits<std::uint32_t>::max() || wanted.size() == kMostJobs) {
      log_("event=ranks_not_watched job=" + std::to_string(id));
      continue;
    }
    const Micros pause =
        std::chrono::milliseconds(std::clamp<std::int64_t>(one["pause_ms"].as_int(), 500, 600'000));
    wanted[static_cast<JobId>(id)] = {static_cast<std::uint32_t>(uid), pause};
  }
  std::erase_if(jobs_, [&](auto& entry) {
    const auto still = wanted.find(entry.first);
    if (still != wanted.end() && still->second.first == entry.second->uid) return false;
    forget(*entry.second);
    return true;
  });
  for (const auto& [id, how] : wanted) {
    const auto [entry, is_new] = jobs_.try_emplace(id);
    if (is_new) entry->second = std::make_unique<Job>();
    entry->second->uid = how.first;
    entry->second->pause = how.second;
    if (is_new)
      entry->second->timer =
          loop_.at(loop_.now() + std::max<Micros>(how.second, kFirstLook), [this, id = id] { look(id); });
  }
}

// From one whole look to the next, of a job that goes on.
Micros RankLooks::whole_every(const Job& job) {
  Micros nowhere = Micros::max();
  for (const RankGroup& g : job.report.groups)
    if (g.standing != Standing::ended) nowhere = std::min(nowhere, g.nowhere);
  // Once it was told of, more looks would only cost.
  if (nowhere > Micros(0) && nowhere < hang::Policy().doubtful) return kWholeInDoubt;
  return std::clamp<Micros>(job.whole_at - job.first_whole_at, kWholeAfterFirst, kWholeEvery);
}

void RankLooks::look(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  Job& job = *it->second;
  job.timer = 0;
  RankLookOrder order;
  order.job = id;
  order.uid = job.uid;
  order.prove = job.prove;
  order.returns = job.returns;
  order.early_end = job.looking = std::make_shared<EarlyEnd>();
  const Micros every = whole_every(job);
  if (!job.ranks.empty() && loop_.now() - job.whole_at < every) {
    order.glance = job.ranks;
    order.seen = job.seen;
    order.calls = job.calls;
    order.again = std::max<Micros>(job.pause, kGoesOnPause);
    order.last = std::max<Micros>(Micros(0), every - (loop_.now() - job.whole_at));
    tell_later(id, job);
  }
  look_(order, lifetime_.guard([this, id](Result<RankLook> looked) { seen(id, looked); }));
}

void RankLooks::take_whole(Job& job, const RankLook& look) {
  job.report = job.history.take(look);
  job.whole_at = loop_.now();
  if (job.whole_looks++ == 0) job.first_whole_at = job.whole_at;
  job.seen = look.at;
  job.ranks.clear();
  job.calls.clear();
  // Who may have begun to wait is looked at again soon, once: a glance would come later, and what comes then
  // is no proof.
  const bool go_on = all_go_on(job.report) && (job.waited > 0 || a_call_returned(look) ||
                                               !std::ranges::all_of(look.ranks, may_have_begun_to_wait));
  job.waited = go_on ? 0 : job.waited + 1;
  if (std::ranges::any_of(look.ranks, &Rank::others_seen)) job.proved_at = job.whole_at;
  job.prove =
      !go_on || a_call_returned(look) || (all_in_mpi(look) && job.whole_at - job.proved_at >= kProveAnyway);
  job.returns = job.prove ? calls_of(look) : std::vector<CallReturn>();
  if (!go_on) return;
  std::map<std::string_view, std::vector<std::int64_t>> programs;
  for (const Rank& rank : look.ranks) {
    auto& pids = programs[rank.world];
    if (pids.size() == kMostGlanced || waits(job.report, rank)) continue;
    pids.push_back(rank.pid);
    if (!gets_nowhere(job.report, rank)) add_left_calls(rank, job.calls);
  }
  for (auto& [world, pids] : programs) job.ranks.push_back(std::move(pids));
}

void RankLooks::seen(JobId id, const Result<RankLook>& looked) {
  const auto it = jobs_.find(id);
  // (It may have been told anew meanwhile, and looks already.)
  if (it == jobs_.end() || it->second->timer != 0) return;
  Job& job = *it->second;
  loop_.cancel(job.telling);
  job.telling = 0;
  job.looking.reset();
  const bool glance = looked && looked->goes_on;
  Micros pause = job.pause;
  if (looked) {
    if (!glance) take_whole(job, *looked);
    job.failed = false;
    const Micros cost(looked->cpu_us);
    if (glance || job.waited == 0) pause = std::max<Micros>(pause, kGoesOnPause);
    if (!glance && job.waited > 0) pause = std::max(pause, until_long_enough(job.report, *looked));
    if (!glance && (job.waited == 0 ? job.whole_looks : job.waited) >= kFirstLooks)
      pause = std::max(pause, std::min<Micros>(kLongestPause, cost * kBudget));
  }
  RankReport report = job.report;
  if (!looked) {
    report = {};
    report.unread.push_back({"the ranks", looked.error().line()});
    pause = std::max<Micros>(pause, kAfterFailure);
    if (!std::exchange(job.failed, true))
      log_(fmt::format("event=ranks_not_read job={} why={}", id, Json(looked.error().line()).dump()));
  }
  const TimePoint now = loop_.now();
  if (somebody_waits(report) || job.told_wait || job.told_at == kNoTime || now - job.told_at >= kTellAnyway)
    tell(id, job, report);
  job.timer = loop_.at(now + pause, [this, id] { look(id); });
}

void RankLooks::tell(JobId id, Job& job, const RankReport& report) {
  job.told_at = loop_.now();
  job.told_wait = somebody_waits(report);
  report_(Json::object({{"job", id}, {"report", to_json(report)}}));
}

// The job goes on as it did, or the glances would have ended: else nobody knew what to think of this node.
void RankLooks::tell_later(JobId id, Job& job) {
  const TimePoint next = job.told_at + std::max<Micros>(kTellAnyway, job.pause);
  job.telling = loop_.at(std::max(loop_.now(), next), [this, id] {
    const auto it = jobs_.find(id);
    if (it == jobs_.end()) return;
    tell(id, *it->second, it->second->report);
    tell_later(id, *it->second);
  });
}

}  // namespace sickbay::agent
