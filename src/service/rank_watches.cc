// SPDX-License-Identifier: Apache-2.0
#include "service/rank_watches.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "model/event_kinds.h"
#include "model/ids.h"

namespace sickbay {
namespace {

constexpr std::chrono::milliseconds kLeastPause{1500};
constexpr std::size_t kNodesPerSecond = 500;       // reports that all nodes of a job together may send
constexpr std::chrono::milliseconds kGather{200};  // reports that come together are judged once
constexpr std::chrono::milliseconds kGatherMany{1000};
constexpr std::size_t kMany = 1000;
constexpr std::chrono::seconds kJitter{1};  // reports take their time, some more than others
constexpr int kPatience = 3;                // times the longest wait of all that ended by itself

}  // namespace

RankWatches::RankWatches(Loop& loop, Controller& controller, const hang::Policy& policy,
                         std::function<void(const std::string&)> wake)
    : loop_(loop),
      controller_(controller),
      policy_(policy),
      wake_(std::move(wake)),
      last_version_(to_micros(loop.now())) {  // agents have versions of the sickbayd before
  controller_.on_committed(lifetime_.guard([this](const Event&) { refresh_soon(); }));
  refresh_soon();
}

RankWatches::~RankWatches() {
  for (auto& [id, job] : jobs_) loop_.cancel(job.timer);
}

void RankWatches::refresh_soon() {
  if (std::exchange(refreshing_, true)) return;
  loop_.post(lifetime_.guard([this] { refresh(); }));
}

void RankWatches::refresh() {
  refreshing_ = false;
  std::map<JobId, RanksWatched> wanted;
  for (const auto& seat : controller_.seats().all())
    for (RanksWatched& one : seat->ranks_watched()) wanted[one.job_id] = std::move(one);
  std::set<std::string> changed;
  std::erase_if(jobs_, [&](auto& entry) {
    const auto still = wanted.find(entry.first);
    if (still != wanted.end() && still->second.run == entry.second.watched.run) return false;
    changed.insert(entry.second.watched.nodes.begin(), entry.second.watched.nodes.end());
    loop_.cancel(entry.second.timer);
    return true;
  });
  for (auto& [id, one] : wanted) {
    const auto [entry, is_new] = jobs_.try_emplace(id);
    Job& job = entry->second;
    if (is_new) job.told = one.told;
    if (!is_new && job.watched.nodes == one.nodes && job.watched.uid == one.uid) continue;
    changed.insert(job.watched.nodes.begin(), job.watched.nodes.end());
    changed.insert(one.nodes.begin(), one.nodes.end());
    job.watched = std::move(one);
    std::erase_if(job.words, [&](const auto& word) { return !has_host(job.watched.nodes, word.first); });
  }
  for (const std::string& node : changed) {
    const bool any = std::ranges::any_of(
        jobs_, [&](const auto& entry) { return has_host(entry.second.watched.nodes, node); });
    if (any)
      versions_[node] = ++last_version_;
    else
      versions_.erase(node);
    wake_(node);
  }
}

Micros RankWatches::pause_of(const Job& job) const {
  const Micros share = std::chrono::seconds(1) * static_cast<std::int64_t>(job.watched.nodes.size()) /
                       static_cast<std::int64_t>(kNodesPerSecond);
  return std::max<Micros>(kLeastPause, share);
}

Json RankWatches::news(const std::string& node, std::int64_t version) const {
  const auto known = versions_.find(node);
  const std::int64_t now = known == versions_.end() ? 0 : known->second;
  if (now == version) return Json();
  Json list = Json::array();
  for (const auto& [id, job] : jobs_)
    if (has_host(job.watched.nodes, node))
      list.push(
          Json::object({{"job", id}, {"uid", job.watched.uid}, {"pause_ms", pause_of(job).count() / 1000}}));
  return Json::object({{"version", now}, {"jobs", std::move(list)}});
}

Status RankWatches::take(const std::string& node, const Json& body) {
  const std::int64_t number = body["job"].as_int();
  const auto it = number > 0 && number <= std::numeric_limits<JobId>::max()
                      ? jobs_.find(static_cast<JobId>(number))
                      : jobs_.end();
  if (it == jobs_.end() || !has_host(it->second.watched.nodes, node))
    return fail(Error(ErrorCode::not_found, "the ranks of that job are not looked at on " + node)
                    .because("it has ended"));
  auto report = read_rank_report(body["report"]);
  if (!report) return fail(std::move(report.error()));
  Job& job = it->second;
  job.words[node] = {std::move(*report), loop_.now()};
  judge_soon(job);
  return {};
}

void RankWatches::judge_soon(Job& job) {
  if (job.timer != 0) return;
  const auto gather = job.watched.nodes.size() > kMany ? kGatherMany : kGather;
  job.timer = loop_.at(loop_.now() + gather, [this, id = job.watched.job_id] { judge(id); });
}

void RankWatches::judge(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  job.timer = 0;
  hang::Policy policy = policy_;
  policy.soon = std::max(policy.soon, job.ended_wait * kPatience);
  policy.fresh = std::max(policy.fresh, pause_of(job) * 3);
  job.judged = hang::judge(job.words, job.watched.nodes, policy, loop_.now());
  const hang::Judgement& now = *job.judged;
  const bool all_wait = now.why == hang::Why::deadlock || now.why == hang::Why::in_doubt;
  // Who waits less long than a moment ago has gone on between.
  if (!all_wait || now.held + kJitter < job.waiting) job.ended_wait = std::max(job.ended_wait, job.waiting);
  job.waiting = all_wait ? now.held : Micros(0);
  const auto tell = [&](std::string_view kind, Json body) {
    body.set("run", job.watched.run);
    body.set("job_id", id);
    controller_.take({new_event(job.watched.subject, kind, std::move(body))});
  };
  if (now.word == hang::Word::hang && !job.told) {
    job.told = true;
    tell(kHangSeen, Json::object({{"judgement", to_json(now)}}));
  } else if (now.word == hang::Word::progress && job.told) {
    job.told = false;
    tell(kHangOver, Json::object({{"held_us", job.ended_wait.count()}}));
  }
}

Json RankWatches::of(JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() || !it->second.judged ? Json() : hang::to_json(*it->second.judged);
}

}  // namespace sickbay
