// SPDX-License-Identifier: Apache-2.0
#include "engine/blackhole/recent.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace sickbay::blackhole {
namespace {

bool is_run(const Kept& kept, const JobOutcome& outcome) {
  return kept.outcome.job == outcome.job && kept.outcome.start == outcome.start;
}

// Where the run is there already it has the newer word; gives what it had before.
std::optional<JobOutcome> renew(std::deque<Kept>& list, TimePoint at, const JobOutcome& outcome) {
  // From the end: what is told again is mostly young.
  const auto it = std::find_if(list.rbegin(), list.rend(), [&](const Kept& k) { return is_run(k, outcome); });
  if (it == list.rend()) return std::nullopt;
  JobOutcome before = it->outcome;
  // (An end is never replaced by news that the job still lives: looks may come late.)
  if (!it->outcome.ended || outcome.ended) *it = {at, outcome};
  return before;
}

// Of a kind that is full one goes: the oldest on a node that has more than its share, else the oldest of all.
// A black hole that eats a whole array would else leave nothing of what the kind did elsewhere, and with that
// no evidence; and its own part is no more than what is weighed.
void drop_one(std::deque<Kept>& list) {
  static const std::string kNone;
  const auto place = [](const Kept& k) -> const std::string& {
    return k.outcome.nodes.empty() ? kNone : k.outcome.nodes.front();
  };
  std::map<std::string_view, std::size_t> on;
  for (const Kept& kept : list) ++on[place(kept)];
  const auto full =
      std::ranges::find_if(list, [&](const Kept& kept) { return on[place(kept)] > kMostOfKindOnNode; });
  list.erase(full == list.end() ? list.begin() : full);
}

void text_of(std::string& text, const std::deque<Kept>& list) {
  for (const Kept& kept : list)
    text += fmt::format(" {}@{}", kept.outcome.to_json().dump(), to_micros(kept.at));
  text += "\n";
}

Json to_json(const std::deque<Kept>& list, TimePoint now) {
  Json json = Json::array();
  for (const Kept& kept : list)
    if (kept.at + kFresh >= now)
      json.push(Json::object({{"at", to_micros(kept.at)}, {"outcome", kept.outcome.to_json()}}));
  return json;
}

std::deque<Kept> kept_from(const Json& json) {
  std::deque<Kept> list;
  for (const Json& kept : json.items())
    list.push_back({from_micros(kept["at"].as_int()), JobOutcome::from_json(kept["outcome"])});
  return list;
}

}  // namespace

// Into both lists, that of its kind and that of the cluster; in each a run that is there already is renewed
// in its place.
std::optional<JobOutcome> Recent::take(TimePoint at, const JobOutcome& outcome) {
  const Kind kind{outcome.uid, outcome.program};
  if (!kinds_.contains(kind)) make_room_for(kind);
  Slot& slot = kinds_[kind];
  slot.heard = at;
  // The two indexes of users change together: by_heard_ has the pair under the old time.
  if (auto [it, fresh] = heard_.try_emplace(outcome.uid, at); !fresh) {
    by_heard_.erase({it->second, outcome.uid});
    it->second = at;
  }
  by_heard_.emplace(at, outcome.uid);

  std::erase_if(slot.kept, [&](const Kept& k) { return k.at + kFresh < at; });
  std::optional<JobOutcome> before = renew(slot.kept, at, outcome);
  if (!before) {
    if (slot.kept.size() >= kMostOfKind) drop_one(slot.kept);
    slot.kept.push_back({at, outcome});
  }
  if (renew(all_, at, outcome)) return before;
  const auto of_user = [&](const Kept& k) { return k.outcome.uid == outcome.uid; };
  // Who has his share pushes out his own oldest, not another user's.
  if (static_cast<std::size_t>(std::ranges::count_if(all_, of_user)) >= kMostOfUserInAll)
    all_.erase(std::ranges::find_if(all_, of_user));
  else if (all_.size() >= kMostOfAll)
    all_.pop_front();
  all_.push_back({at, outcome});
  return before;
}

const std::deque<Kept>& Recent::of(const Kind& kind) const {
  static const std::deque<Kept> kNone;
  const auto it = kinds_.find(kind);
  return it == kinds_.end() ? kNone : it->second.kept;
}

// Asked by people, one at a time: no index is kept for it.
const Kept* Recent::job(JobId job) const {
  const Kept* last = nullptr;
  for (const auto& [kind, slot] : kinds_)
    for (const Kept& kept : slot.kept)
      if (kept.outcome.job == job && (last == nullptr || kept.outcome.start >= last->outcome.start))
        last = &kept;
  return last;
}

void Recent::make_room_for(const Kind& kind) {
  const auto first = kinds_.lower_bound({kind.uid, ""});
  auto oldest = first;
  std::size_t count = 0;
  // (A user's kinds stand together: Kind is ordered by uid first.)
  for (auto it = first; it != kinds_.end() && it->first.uid == kind.uid; ++it, ++count)
    if (it->second.heard < oldest->second.heard) oldest = it;
  if (count >= kMostKindsOfUser) kinds_.erase(oldest);
  if (count == 0 && heard_.size() >= kMostUsers) drop_user(by_heard_.begin()->second);
}

void Recent::drop_user(std::uint32_t uid) {
  by_heard_.erase({heard_.at(uid), uid});
  heard_.erase(uid);
  for (auto it = kinds_.lower_bound({uid, ""}); it != kinds_.end() && it->first.uid == uid;)
    it = kinds_.erase(it);
}

Json Recent::to_json(TimePoint now) const {
  std::vector<std::map<Kind, Slot>::const_iterator> latest;
  // Those heard of last have the room of a summary first.
  for (auto it = kinds_.begin(); it != kinds_.end(); ++it) latest.push_back(it);
  std::ranges::stable_sort(latest, std::greater<>(), [](const auto& it) { return it->second.heard; });
  Json kinds = Json::array();
  std::size_t count = 0;
  for (const auto& it : latest) {
    Json kept = blackhole::to_json(it->second.kept, now);
    if (kept.size() == 0) continue;
    if ((count += kept.size()) > kMostInSummary) break;
    kinds.push(Json::object({{"uid", it->first.uid},
                             {"program", it->first.program},
                             {"heard", to_micros(it->second.heard)},
                             {"kept", std::move(kept)}}));
  }
  return Json::object({{"kinds", std::move(kinds)}, {"all", blackhole::to_json(all_, now)}});
}

Recent Recent::from_json(const Json& json) {
  Recent recent;
  for (const Json& kind : json["kinds"].items()) {
    const auto uid = static_cast<std::uint32_t>(kind["uid"].as_int());
    const TimePoint heard = from_micros(kind["heard"].as_int());
    recent.kinds_[{uid, kind["program"].as_string()}] = {heard, kept_from(kind["kept"])};
    TimePoint& last = recent.heard_[uid];
    last = std::max(last, heard);
  }
  for (const auto& [uid, heard] : recent.heard_) recent.by_heard_.emplace(heard, uid);
  recent.all_ = kept_from(json["all"]);
  return recent;
}

std::string Recent::canonical_text() const {
  std::string text;
  for (const auto& [kind, slot] : kinds_) {
    text += fmt::format("outcomes {} {} heard={}", kind.uid, kind.program, to_micros(slot.heard));
    text_of(text, slot.kept);
  }
  if (!all_.empty()) {
    text += "outcomes of all";
    text_of(text, all_);
  }
  return text;
}

}  // namespace sickbay::blackhole
