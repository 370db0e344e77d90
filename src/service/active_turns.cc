// SPDX-License-Identifier: Apache-2.0
#include "service/active_turns.h"

#include <algorithm>
#include <utility>

namespace sickbay {
namespace {

constexpr std::chrono::minutes kForgetEvery{1};
constexpr std::chrono::hours kTurnsKept{24 * 7};  // longer ago is as good as never

}  // namespace

void ActiveTurns::hear(const std::string& node, ActiveWord word, TimePoint now) {
  const auto lease = leases_.find(node);
  if (word == ActiveWord::holds) {
    leave_line(node);
    // (One that is not known was lent by the sickbayd before this one: whatever the bound, it is in use.)
    Lease& held = lease != leases_.end() ? lease->second : leases_[node];
    if (held.since == kNoTime) held.since = now;
    held.used = true;
    held.until = now + kLease;
    return;
  }
  if (lease != leases_.end()) {
    // The answer that told of the leave may be what was lost: it is told again, and lasts no longer for that.
    const bool wants = word == ActiveWord::waits || word == ActiveWord::ordered;
    if (wants && !lease->second.used && now < lease->second.until) return;
    // Who gives it back unused since a job came has had no turn.  (One that wants nothing more may have been
    // so quick that it never said that it uses it.)
    end_lease(lease, lease->second.used || word != ActiveWord::later, now);
  }
  if (word == ActiveWord::none)
    leave_line(node);
  else
    join(node, word, now);
}

void ActiveTurns::still_there(const std::string& node, TimePoint now) {
  if (const auto at = waiting_.find(node); at != waiting_.end()) at->second.heard = now;
}

void ActiveTurns::join(const std::string& node, ActiveWord word, TimePoint now) {
  const auto [at, is_new] = waiting_.try_emplace(node);
  Waiting& waiting = at->second;
  if (is_new) {
    const auto last = last_turn_.find(node);
    waiting.place = {last == last_turn_.end() ? kNoTime : last->second, ++came_, node};
    waiting.since = now;
  }
  waiting.heard = now;
  const Line line = word == ActiveWord::ordered ? kOrdered : kPeriods;
  if (line != waiting.line) set_ready(waiting, false);
  waiting.line = line;
  set_ready(waiting, word != ActiveWord::later);
}

void ActiveTurns::leave_line(const std::string& node) {
  const auto at = waiting_.find(node);
  if (at == waiting_.end()) return;
  set_ready(at->second, false);
  waiting_.erase(at);
}

void ActiveTurns::set_ready(Waiting& waiting, bool ready) {
  if (std::exchange(waiting.ready, ready) == ready) return;
  if (ready)
    ready_[waiting.line].insert(waiting.place);
  else
    ready_[waiting.line].erase(waiting.place);
}

void ActiveTurns::end_lease(std::map<std::string, Lease>::iterator lease, bool was_turn, TimePoint now) {
  if (was_turn) last_turn_[lease->first] = now;
  leases_.erase(lease);
}

void ActiveTurns::lend(const std::string& node, TimePoint now) {
  leave_line(node);
  Lease& lease = leases_[node];
  if (lease.since == kNoTime) lease.since = now;
  lease.until = now + kLease;
}

const ActiveTurns::Waiting* ActiveTurns::first_of(Line line, TimePoint now) {
  while (!ready_[line].empty()) {
    Waiting& first = waiting_.at(ready_[line].begin()->node);
    if (now < first.heard + kSilent) return &first;
    set_ready(first, false);  // its next word puts it back to its place
  }
  return nullptr;
}

std::vector<std::string> ActiveTurns::give(TimePoint now) {
  // A clock that was set back must keep nobody waiting for longer than a lease.
  started_ = std::min(started_, now);
  for (auto& [node, lease] : leases_) lease.until = std::min(lease.until, now + kLease);
  for (auto lease = leases_.begin(); lease != leases_.end();) {
    const auto one = lease++;
    if (now >= one->second.until) end_lease(one, true, now);  // used or not, it kept others waiting
  }
  forget(now);
  std::vector<std::string> given;
  if (now < started_ + kLease) return given;
  while (leases_.size() < static_cast<std::size_t>(most_)) {
    const Line other = turn_of_ == kPeriods ? kOrdered : kPeriods;
    const Waiting* first = first_of(turn_of_, now);
    if (first == nullptr) first = first_of(other, now);
    if (first == nullptr) break;
    turn_of_ = first->line == kPeriods ? kOrdered : kPeriods;
    const std::string node = first->place.node;
    leave_line(node);
    leases_[node] = {now, now + kLease, false};
    given.push_back(node);
  }
  return given;
}

void ActiveTurns::forget(TimePoint now) {
  if (swept_ != kNoTime && now < swept_ + kForgetEvery) return;
  swept_ = now;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto one = at++;
    if (now >= one->second.heard + kForget) leave_line(std::string(one->first));
  }
  std::erase_if(last_turn_, [&](const auto& entry) { return now >= entry.second + kTurnsKept; });
}

bool ActiveTurns::is_news(const std::string& node, TimePoint now) const {
  const auto lease = leases_.find(node);
  return lease != leases_.end() && !lease->second.used && now < lease->second.until;
}

Micros ActiveTurns::tell(const std::string& node, TimePoint now) {
  const auto lease = leases_.find(node);
  if (lease == leases_.end() || now >= lease->second.until) return Micros(0);
  if (lease->second.used) lease->second.until = now + kLease;
  return lease->second.until - now;
}

ActiveTurns::View ActiveTurns::view(const std::string& node) const {
  if (const auto lease = leases_.find(node); lease != leases_.end()) return {"holds", lease->second.since};
  if (const auto at = waiting_.find(node); at != waiting_.end())
    return {at->second.ready ? "waits" : "later", at->second.since};
  return {};
}

TimePoint ActiveTurns::next(TimePoint now) const {
  TimePoint next = kNever;
  for (const auto& [node, lease] : leases_) next = std::min(next, lease.until);
  if (!waiting_.empty() && now < started_ + kLease) next = std::min(next, started_ + kLease);
  return next;
}

}  // namespace sickbay
