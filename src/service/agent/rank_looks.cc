// SPDX-License-Identifier: Apache-2.0
#include "service/agent/rank_looks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sickbay::agent {
namespace {

constexpr std::size_t kMostJobs = 64;  // of a node
constexpr std::chrono::seconds kAfterFailure{10};

bool somebody_waits(const RankReport& report) {
  return std::ranges::any_of(report.groups, [](const RankGroup& g) {
    return g.standing == Standing::waits || g.standing == Standing::waits_outside;
  });
}

}  // namespace

RankLooks::RankLooks(Loop& loop, LookAtRanks look, std::function<void(Json)> report,
                     std::function<void(const std::string&)> log)
    : loop_(loop), look_(std::move(look)), report_(std::move(report)), log_(std::move(log)) {}

RankLooks::~RankLooks() {
  for (auto& [id, job] : jobs_) loop_.cancel(job->timer);
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
    loop_.cancel(entry.second->timer);
    return true;
  });
  for (const auto& [id, how] : wanted) {
    const auto [entry, is_new] = jobs_.try_emplace(id);
    if (is_new) entry->second = std::make_unique<Job>();
    entry->second->uid = how.first;
    entry->second->pause = how.second;
    if (is_new) entry->second->timer = loop_.at(loop_.now() + how.second, [this, id = id] { look(id); });
  }
}

void RankLooks::look(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  it->second->timer = 0;
  look_(id, it->second->uid, lifetime_.guard([this, id](Result<RankLook> looked) { seen(id, looked); }));
}

void RankLooks::seen(JobId id, const Result<RankLook>& looked) {
  const auto it = jobs_.find(id);
  // (It may have been told anew meanwhile, and looks already.)
  if (it == jobs_.end() || it->second->timer != 0) return;
  Job& job = *it->second;
  RankReport report;
  Micros pause = job.pause;
  if (looked) {
    report = job.history.take(*looked);
    job.failed = false;
    pause = std::max(pause, std::min<Micros>(kLongestPause, Micros(looked->cpu_us) * kBudget));
  } else {
    report.unread.push_back({"the ranks", looked.error().line()});
    pause = std::max<Micros>(pause, kAfterFailure);
    if (!std::exchange(job.failed, true))
      log_(fmt::format("event=ranks_not_read job={} why={}", id, Json(looked.error().line()).dump()));
  }
  const bool waits = somebody_waits(report);
  const TimePoint now = loop_.now();
  if (waits || job.told_wait || job.told_at == kNoTime || now - job.told_at >= kTellAnyway) {
    job.told_at = now;
    job.told_wait = waits;
    report_(Json::object({{"job", id}, {"report", to_json(report)}}));
  }
  job.timer = loop_.at(now + pause, [this, id] { look(id); });
}

}  // namespace sickbay::agent
