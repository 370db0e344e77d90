// SPDX-License-Identifier: Apache-2.0
#include "service/agent/job_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/hang/lossy.h"
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
  std::map<JobId, const Json*> asks;
  for (const Json& one : told.items()) {
    const std::int64_t id = one["job"].as_int(), uid = one["uid"].as_int(-1);
    // Never root's: in a job they are Slurm's own.
    if (id <= 0 || id > std::numeric_limits<JobId>::max() || uid <= 0 ||
        uid > std::numeric_limits<std::uint32_t>::max() || wanted.size() == kMostTimedJobs)
      continue;
    const Micros pause =
        std::clamp<Micros>(std::chrono::milliseconds(one["pause_ms"].as_int()), kLeastReport, kMostReport);
    wanted[static_cast<JobId>(id)] = {static_cast<std::uint32_t>(uid), pause};
    asks[static_cast<JobId>(id)] = &one["ask"];
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
    ask(*entry->second, *asks.at(id));
    if (is_new) step(id);
  }
}

// A look, then so many samples of states, then a look again.
void JobTimes::step(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  Job& job = *it->second;
  step_echoes(job);
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
    const Micros more = look_at_network(job);
    pause = std::clamp<Micros>((counts->cost + more) * kBudget, kEvery, kLongestLookPause);
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
  TcpLosses losses = job.losing.told();
  losses.echoes = job.echoed;
  const bool is_worth = worst->lost_permille() >= kWorthTelling || hang::may_be_lossy(losses);
  const TimePoint now = loop_.now();
  const Micros since = job.told_at == kNoTime ? Micros::max() : Micros(now - job.told_at);
  const Micros pause = is_worth ? job.pause : std::max<Micros>(job.pause, kTellAnyway);
  if (since < pause) return;
  job.told_at = now;
  Json report = Json::object({{"job", id}, {"times", to_json(*worst)}});
  if (losses.seen > Micros(0)) report.set("network", to_json(losses));
  report_(std::move(report));
}

// What it cost.
Micros JobTimes::look_at_network(Job& job) {
  if (!source_.connections || job.network_failed) return Micros(0);
  const auto look = source_.connections();
  if (look) {
    job.losing.take(*look);
    return look->cost;
  }
  job.network_failed = true;
  log_(fmt::format("event=network_not_read why={}", Json(look.error().line()).dump()));
  return Micros(0);
}

// Once for each job: which of two ends loses is no matter of the minute.
void JobTimes::ask(Job& job, const Json& addresses) {
  if (job.asked || addresses.size() == 0 || !source_.echo) return;
  job.asked = true;
  for (const std::string& address : addresses.as_strings()) {
    if (job.echoes.size() == kMostEchoes) break;
    if (auto opened = source_.echo(address))
      job.echoes.push_back(std::move(*opened));
    else
      log_(fmt::format("event=not_asked address={} why={}", Json(address).dump(),
                       Json(opened.error().line()).dump()));
  }
  job.echoes_left = kEchoes;
}

// Some at a time: a burst of all would be lost in a queue, and not on a link.
void JobTimes::step_echoes(Job& job) {
  if (job.echoes.empty()) return;
  std::vector<EchoCount> counts;
  for (const auto& echo : job.echoes) counts.push_back(echo->count());
  if (job.echoes_left == 0) {
    // (The last ones had a step's time to come back.)
    job.echoed = std::move(counts);
    job.echoes.clear();
    job.told_at = kNoTime;  // told with the next look
    return;
  }
  const std::size_t some = std::min(job.echoes_left, kEchoesAStep);
  job.echoes_left -= some;
  for (const auto& echo : job.echoes) echo->send(some);
}

}  // namespace sickbay::agent
