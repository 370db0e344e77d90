// SPDX-License-Identifier: Apache-2.0
#include "service/agent/job_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/hang/starving.h"

namespace sickbay::agent {
namespace {

constexpr std::size_t kMostTimedJobs = 64;  // of a node
constexpr int kFirstLooks = 3;              // that search: the processes of a step begin one after the other
constexpr std::chrono::seconds kLongestLookPause{60};
constexpr std::chrono::milliseconds kLeastReport{1000}, kMostReport{600'000};

}  // namespace

JobTimes::JobTimes(Loop& loop, TimesSource source, std::function<void(Json)> report,
                   std::function<void(const std::string&)> log)
    : loop_(loop), source_(std::move(source)), report_(std::move(report)), log_(std::move(log)) {}

JobTimes::~JobTimes() {
  for (auto& [id, job] : jobs_) loop_.cancel(job->timer);
}

void JobTimes::take(const Json& told) {
  std::map<JobId, std::pair<std::uint32_t, Micros>> wanted;
  for (const Json& one : told.items()) {
    const std::int64_t id = one["job"].as_int(), uid = one["uid"].as_int(-1);
    // Never root's: in a job they are Slurm's own.
    if (id <= 0 || id > std::numeric_limits<JobId>::max() || uid <= 0 ||
        uid > std::numeric_limits<std::uint32_t>::max() || wanted.size() == kMostTimedJobs)
      continue;
    const Micros pause =
        std::clamp<Micros>(std::chrono::milliseconds(one["pause_ms"].as_int()), kLeastReport, kMostReport);
    wanted[static_cast<JobId>(id)] = {static_cast<std::uint32_t>(uid), pause};
  }
  std::erase_if(jobs_, [&](auto& entry) {
    const auto still = wanted.find(entry.first);
    if (still != wanted.end() && still->second.first == entry.second->uid) return false;
    loop_.cancel(entry.second->timer);
    source_.forget(entry.first);
    return true;
  });
  for (const auto& [id, how] : wanted) {
    const auto [entry, is_new] = jobs_.try_emplace(id);
    if (is_new) entry->second = std::make_unique<Job>();
    entry->second->uid = how.first;
    entry->second->pause = how.second;
    if (is_new) step(id);
  }
}

// A look, then so many samples of states, then a look again.
void JobTimes::step(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  Job& job = *it->second;
  if (job.samples_left > 0) {
    --job.samples_left;
    if (const auto pids = job.waiting.to_sample(kMostSampled); !pids.empty())
      job.waiting.sample(source_.states(pids));
  } else {
    look(id, job);
  }
  job.timer = loop_.at(loop_.now() + job.step, [this, id] { step(id); });
}

void JobTimes::look(JobId id, Job& job) {
  const TimePoint now = loop_.now();
  // (What is incomplete is searched for, but not at each look where there is nothing to be found.)
  const bool search = job.looks < kFirstLooks || now - job.searched_at >= kSearchEvery ||
                      (job.waiting.incomplete() && now - job.searched_at >= 2 * kEvery);
  if (search) job.searched_at = now;
  ++job.looks;
  const auto counts = source_.count(id, job.uid, search);
  Micros pause = kEvery;
  if (counts) {
    job.waiting.take(*counts);
    pause = std::clamp<Micros>(counts->cost * kBudget, kEvery, kLongestLookPause);
    tell(id, job);
  } else if (!std::exchange(job.failed, true)) {
    log_(fmt::format("event=times_not_read job={} why={}", id, Json(counts.error().line()).dump()));
  }
  job.samples_left = kSamples - 1;
  job.step = pause / kSamples;
}

// The first word, and then while there is something to tell; else now and then, since it is what the words of
// other nodes are compared with.
void JobTimes::tell(JobId id, Job& job) {
  const auto worst = job.waiting.worst(hang::kLeastSeen);
  if (!worst) return;
  const TimePoint now = loop_.now();
  const Micros since = job.told_at == kNoTime ? Micros::max() : Micros(now - job.told_at);
  const Micros pause =
      worst->lost_permille() >= kWorthTelling ? job.pause : std::max<Micros>(job.pause, kTellAnyway);
  if (since < pause) return;
  job.told_at = now;
  report_(Json::object({{"job", id}, {"times", to_json(*worst)}}));
}

}  // namespace sickbay::agent
