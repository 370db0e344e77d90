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

constexpr std::chrono::milliseconds kLeastPause{500};
constexpr std::size_t kNodesPerSecond = 500;       // reports that all nodes of a job together may send
constexpr std::chrono::milliseconds kGather{200};  // reports that come together are judged once
constexpr std::chrono::milliseconds kGatherMany{1000};
constexpr std::size_t kMany = 1000;
constexpr std::size_t kManyJobs = 64;
constexpr std::size_t kMostWoken = 128;
constexpr std::chrono::seconds kLeastTimesPause{10};
constexpr std::chrono::seconds kGatherTimes{2};  // the nodes of a job tell at about the same time
constexpr std::chrono::seconds kJitter{1};       // reports take their time, some more than others
constexpr std::size_t kMostAsked = 2;            // hosts outside a run that its nodes send packets to
constexpr std::chrono::seconds kLatelyHeard{90};
constexpr int kPatience = 3;  // times the longest wait of all that ended by itself

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
  for (auto& [id, job] : jobs_) {
    loop_.cancel(job.timer);
    loop_.cancel(job.compare_timer);
  }
  loop_.cancel(refresh_timer_);
}

// With each event where jobs are few; where they are many, to ask for all of them costs something.
void RankWatches::refresh_soon() {
  if (std::exchange(refreshing_, true)) return;
  if (jobs_.size() <= kManyJobs) return loop_.post(lifetime_.guard([this] { refresh(); }));
  refresh_timer_ = loop_.at(loop_.now() + kGatherMany, [this] {
    refresh_timer_ = 0;
    refresh();
  });
}

void RankWatches::index(const Job& job, bool is_there) {
  const std::size_t count = job.watched.times ? job.watched.nodes.size() : 0;
  timed_nodes_ = is_there ? timed_nodes_ + count : timed_nodes_ - count;
  for (const std::string& node : job.watched.nodes) {
    std::set<JobId>& jobs = by_node_[node];
    if (is_there)
      jobs.insert(job.watched.job_id);
    else
      jobs.erase(job.watched.job_id);
    if (jobs.empty()) by_node_.erase(node);
  }
}

void RankWatches::refresh() {
  refreshing_ = false;
  std::map<JobId, RanksWatched> wanted;
  for (const auto& seat : controller_.seats().all())
    for (RanksWatched& one : seat->ranks_watched()) wanted[one.job_id] = std::move(one);
  // Agents are told at once where stacks are wanted, or times of a job of few nodes.  Others hear of it with
  // their next poll, as of the end of one whose times they tell: to wake ten thousand agents costs something.
  std::map<std::string, bool> changed;  // node -> at once
  const auto note = [&changed](const RanksWatched& one, bool begins) {
    const bool at_once = one.stacks || (begins && one.nodes.size() <= kMostWoken);
    for (const std::string& node : one.nodes) changed[node] |= at_once;
  };
  std::erase_if(jobs_, [&](auto& entry) {
    const auto still = wanted.find(entry.first);
    if (still != wanted.end() && still->second.run == entry.second.watched.run) return false;
    note(entry.second.watched, false);
    tell_end(entry.second);
    loop_.cancel(entry.second.timer);
    loop_.cancel(entry.second.compare_timer);
    index(entry.second, false);
    return true;
  });
  for (auto& [id, one] : wanted) {
    const auto [entry, is_new] = jobs_.try_emplace(id);
    Job& job = entry->second;
    if (is_new) {
      job.told = one.told;
      job.told_proven = one.proven;
      job.starved = StarvedWatch(one.starved);
      job.lossy = LossyWatch(one.lossy);
    }
    if (!is_new && job.watched.nodes == one.nodes && job.watched.uid == one.uid) continue;
    note(job.watched, false);
    note(one, true);
    if (!is_new) index(job, false);
    job.watched = std::move(one);
    index(job, true);
    job.starved.keep_only(job.watched.nodes);
    job.lossy.keep_only(job.watched.nodes);
    std::erase_if(job.words, [&](const auto& word) { return !has_host(job.watched.nodes, word.first); });
  }
  for (const auto& [node, at_once] : changed) {
    if (by_node_.contains(node))
      versions_[node] = ++last_version_;
    else
      versions_.erase(node);
    if (at_once) wake_(node);
  }
}

Micros RankWatches::pause_of(const Job& job) const {
  const Micros share = std::chrono::seconds(1) * static_cast<std::int64_t>(job.watched.nodes.size()) /
                       static_cast<std::int64_t>(kNodesPerSecond);
  return std::max<Micros>(kLeastPause, share);
}

// All that is told of times together is bounded, and what is told of one job is no more than is of use.
Micros RankWatches::times_pause() const {
  const Micros share = std::chrono::seconds(1) * static_cast<std::int64_t>(timed_nodes_) /
                       static_cast<std::int64_t>(kNodesPerSecond);
  return std::max<Micros>(kLeastTimesPause, share);
}

Json RankWatches::news(const std::string& node, std::int64_t version) const {
  const auto known = versions_.find(node);
  const std::int64_t now = known == versions_.end() ? 0 : known->second;
  if (now == version) return Json();
  Json stacks = Json::array(), times = Json::array();
  const auto order = [](const Job& job, Micros pause) {
    return Json::object(
        {{"job", job.watched.job_id}, {"uid", job.watched.uid}, {"pause_ms", pause.count() / 1000}});
  };
  if (const auto its = by_node_.find(node); its != by_node_.end())
    for (const JobId id : its->second) {
      const Job& job = jobs_.at(id);
      if (job.watched.stacks) stacks.push(order(job, pause_of(job)));
      if (!job.watched.times) continue;
      Json wanted = order(job, times_pause());
      if (has_host(job.asking, node)) wanted.set("ask", job.asked);
      times.push(std::move(wanted));
    }
  return Json::object({{"version", now}, {"jobs", std::move(stacks)}, {"times", std::move(times)}});
}

Status RankWatches::take(const std::string& node, const Json& body) {
  const std::int64_t number = body["job"].as_int();
  const auto it = number > 0 && number <= std::numeric_limits<JobId>::max()
                      ? jobs_.find(static_cast<JobId>(number))
                      : jobs_.end();
  if (it == jobs_.end() || !has_host(it->second.watched.nodes, node))
    return fail(Error(ErrorCode::not_found, "the ranks of that job are not looked at on " + node)
                    .because("it has ended"));
  if (body.has("times")) {
    auto times = read_process_times(body["times"]);
    if (!times) return fail(std::move(times.error()));
    Job& job = it->second;
    if (!job.watched.times) return {};  // (the site has switched it off meanwhile)
    if (body.has("network")) {          // (older agents do not tell)
      auto losses = read_tcp_losses(body["network"]);
      if (!losses) return fail(std::move(losses.error()));
      job.lossy.take(node, std::move(*losses));
    }
    job.starved.take(node, std::move(*times));
    if (job.compare_timer == 0)
      job.compare_timer = loop_.at(loop_.now() + kGatherTimes, [this, id = it->first] { compare(id); });
    return {};
  }
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
  job.suspected.take(now, loop_.now());
  // (Told again where it has become certain: only then may it cost the run its life.)
  if (now.word == hang::Word::hang && (!job.told || (now.proven && !job.told_proven))) {
    job.told = true;
    job.told_proven = now.proven;
    tell(job, kHangSeen, Json::object({{"judgement", to_json(now)}}));
  } else if (now.word == hang::Word::progress && !now.nobody && job.told) {
    // (That all have ended is no progress: a limit of time or a person ends ranks that hang.)
    job.told = job.told_proven = false;
    tell(job, kHangOver, Json::object({{"held_us", job.ended_wait.count()}}));
  }
}

// The engine says whether it ended badly.
void RankWatches::tell_end(const Job& job) {
  if (const auto& suspected = job.suspected.standing(); suspected && !job.told)
    tell(job, kHangSuspected, Json::object({{"judgement", to_json(*suspected)}}));
}

void RankWatches::tell(const Job& job, std::string_view kind, Json body) {
  body.set("run", job.watched.run);
  body.set("job_id", job.watched.job_id);
  controller_.take({new_event(job.watched.subject, kind, std::move(body))});
}

void RankWatches::compare(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  job.compare_timer = 0;
  for (const hang::StarvedNode& one : job.starved.news(job.watched.nodes.size()))
    tell(job, kStarvedSeen, to_json(one));
  if (const auto lossy = job.lossy.news()) tell(job, kLossySeen, to_json(*lossy));
  if (!job.lossy.in_doubt().empty() && job.asked.empty()) ask_others(job);
}

void RankWatches::heard(const std::string& node, const std::string& address) {
  heard_[node] = {address, loop_.now()};
}

// Both ends of a bad pair ask the same hosts, so that these are held against each other: other nodes of the
// cluster, for they are on the same network, and their kernels answer whatever runs there.  Once for each
// job; where no other agent has spoken lately, when one has.
void RankWatches::ask_others(Job& job) {
  for (const auto& [node, from] : heard_) {
    if (job.asked.size() == kMostAsked) break;
    if (!has_host(job.watched.nodes, node) && from.second + kLatelyHeard > loop_.now())
      job.asked.push_back(from.first);
  }
  if (job.asked.empty()) return;
  job.asking = job.lossy.in_doubt();
  for (const std::string& node : job.asking) {
    versions_[node] = ++last_version_;
    wake_(node);
  }
}

Json RankWatches::of(JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() || !it->second.judged ? Json() : hang::to_json(*it->second.judged);
}

}  // namespace sickbay
