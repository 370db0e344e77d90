// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/waiting.h"

#include <algorithm>
#include <functional>

#include "engine/hang/starving.h"

namespace sickbay::hang {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kBusyShare = 20;  // one part of so many of the time: it wants the processor

// What a thread did since the look before.
struct ThreadStep {
  std::size_t process = 0;
  nanoseconds ran{0}, waited{0};
  const CpuSet* cpus = nullptr;
};

bool is_worse(const ProcessTimes& a, const ProcessTimes& b) {
  const bool much = a.lost_permille() >= kLeastPermille, other = b.lost_permille() >= kLeastPermille;
  if (much != other) return much;
  return a.lost() != b.lost() ? a.lost() > b.lost() : a.ran > b.ran;
}

// Of threads with the same processors: how many they are, and what all threads that may run there ran, the
// longest first.
struct SharedCpus {
  const CpuSet* cpus = nullptr;
  std::size_t count = 1;
  std::vector<nanoseconds> runs;
  nanoseconds beyond{0};  ///< of `runs`, the sum of all but the `count` longest
};

std::vector<SharedCpus> places_of(const std::vector<ThreadStep>& steps) {
  std::map<CpuSet, std::size_t> known;
  std::vector<SharedCpus> places;
  for (const ThreadStep& step : steps)
    if (known.emplace(*step.cpus, places.size()).second)
      places.push_back({step.cpus, std::max<std::size_t>(1, count_cpus(*step.cpus)), {}, {}});
  for (SharedCpus& place : places) {
    for (const ThreadStep& step : steps)
      // (Where it is not known where they may run, they may be in each other's way.)
      if (place.cpus->empty() || step.cpus->empty() || share_cpus(*place.cpus, *step.cpus))
        place.runs.push_back(step.ran);
    std::ranges::sort(place.runs, std::greater<>());
    for (std::size_t i = place.count; i < place.runs.size(); ++i) place.beyond += place.runs[i];
  }
  return places;
}

// How long `step` can have waited for other threads of its own job, at the most.
nanoseconds own_making(const ThreadStep& step, const SharedCpus& place) {
  // Without the thread itself the N-1 that ran most are others where it is one of them.
  const std::size_t last = place.count - 1;  // the first of `runs` that counts, of all threads
  if (last >= place.runs.size()) return nanoseconds(0);
  const bool among_first = step.ran > place.runs[last];
  // The sum of all from `last` on but itself; one of the first: of all from the next on.
  return among_first ? place.beyond : place.beyond + place.runs[last] - step.ran;
}

}  // namespace

void Waiting::begin(Process& process, const ProcessCounts& seen) const {
  process = {};
  process.started = seen.started;
  process.times.pid = seen.pid;
  process.times.name = seen.name;
  process.children = seen.children;
  for (const ThreadCounts& thread : seen.threads) process.threads.emplace(thread.tid, thread);
}

// Of one that has ended.  (What was seen for moments only says nothing, and must not hide another.)
void Waiting::keep(const ProcessTimes& times) {
  if (times.seen >= kLeastSeen && (!ended_ || is_worse(times, *ended_))) ended_ = times;
}

void Waiting::take(const JobCounts& look) {
  const bool first = at_ == kNoTime;
  if (!first && look.at <= at_) return;
  const nanoseconds passed = first ? nanoseconds(0) : nanoseconds(look.at - at_);
  at_ = look.at;
  for (auto& [pid, process] : processes_) process.here = false;
  std::vector<ThreadStep> steps;
  std::vector<Process*> all;
  nanoseconds reaped{0};
  for (const ProcessCounts& seen : look.processes) {
    const auto [it, is_new] = processes_.try_emplace(seen.pid);
    Process& process = it->second;
    const bool began = is_new || process.started != seen.started;
    if (began && !is_new) keep(process.times);
    if (began) begin(process, seen);
    process.here = true;
    all.push_back(&process);
    reaped += std::max(Micros(0), seen.children - process.children);
    process.children = seen.children;
    if (seen.throttled >= 0) {
      if (process.group != seen.group || process.throttled_from < 0) process.throttled_from = seen.throttled;
      process.group = seen.group;
      process.times.throttled =
          std::max(process.times.throttled, Micros(seen.throttled - process.throttled_from));
    }
    std::map<std::int64_t, ThreadCounts> now;
    process.busy = seen.state == 'T';
    for (const ThreadCounts& thread : seen.threads) {
      const auto before = process.threads.find(thread.tid);
      ThreadStep step{all.size() - 1, thread.ran, nanoseconds(0), &thread.cpus};
      if (!began && before != process.threads.end()) {
        step.ran -= before->second.ran;
        step.waited = std::clamp(thread.waited - before->second.waited, nanoseconds(0), passed);
      }
      // (A new one counts with all that it ran, as one of the others.)
      step.ran = std::clamp(step.ran, nanoseconds(0), passed);
      process.busy = process.busy || step.ran * kBusyShare >= passed;
      steps.push_back(step);
      now.emplace(thread.tid, thread);
    }
    process.threads = std::move(now);
    if (began) continue;
    process.times.seen += std::chrono::duration_cast<Micros>(passed);
    ++process.samples;
    if (seen.state == 'T') ++process.stops;
  }
  std::vector<nanoseconds> waited(all.size()), ran(all.size());
  const std::vector<SharedCpus> places = places_of(steps);
  std::map<CpuSet, const SharedCpus*> by_cpus;
  for (const SharedCpus& place : places) by_cpus.emplace(*place.cpus, &place);
  for (const ThreadStep& step : steps) {
    ran[step.process] += step.ran;
    if (step.waited.count() == 0) continue;
    const nanoseconds own = own_making(step, *by_cpus.at(*step.cpus)) + reaped;
    waited[step.process] = std::max(waited[step.process], step.waited - own);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Process& process = *all[i];
    const bool ran_too = ran[i].count() > 0 || process.stops < process.samples;
    nanoseconds stopped{0};
    if (process.samples > 0 && ran_too)
      stopped =
          passed * static_cast<std::int64_t>(process.stops) / static_cast<std::int64_t>(process.samples);
    process.samples = process.stops = 0;
    if (process.times.seen.count() == 0) continue;
    waited[i] = std::min(waited[i], passed - stopped);
    process.times.ran += std::chrono::duration_cast<Micros>(std::min(ran[i], passed - stopped - waited[i]));
    process.times.waited += std::chrono::duration_cast<Micros>(waited[i]);
    process.times.stopped += std::chrono::duration_cast<Micros>(stopped);
  }
  incomplete_ = look.processes.empty();
  std::erase_if(processes_, [this](const auto& entry) {
    if (entry.second.here) return false;
    keep(entry.second.times);
    return incomplete_ = true;
  });
}

void Waiting::sample(const std::vector<std::pair<std::int64_t, char>>& states) {
  for (const auto& [pid, state] : states) {
    const auto it = processes_.find(pid);
    if (it == processes_.end()) continue;
    ++it->second.samples;
    // (Under a debugger it is 't', and somebody wants it so.)
    if (state == 'T') ++it->second.stops;
  }
}

std::vector<std::int64_t> Waiting::to_sample(std::size_t most) {
  std::vector<std::int64_t> busy;
  for (const auto& [pid, process] : processes_)
    if (process.busy) busy.push_back(pid);
  if (busy.size() <= most) return busy;
  std::ranges::rotate(busy, busy.begin() + static_cast<std::ptrdiff_t>(turn_ % busy.size()));
  turn_ += most;
  busy.resize(most);
  return busy;
}

std::optional<ProcessTimes> Waiting::worst(Micros least) const {
  std::optional<ProcessTimes> found;
  const auto consider = [&](const ProcessTimes& times) {
    if (times.seen >= least && (!found || is_worse(times, *found))) found = times;
  };
  if (ended_) consider(*ended_);
  for (const auto& [pid, process] : processes_) consider(process.times);
  return found;
}

}  // namespace sickbay::hang
