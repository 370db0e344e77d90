// SPDX-License-Identifier: Apache-2.0
// Leave for active checks: what burdens a node, or what nodes share, does not run on all nodes at once.
//
// A run that can come to an active check is set aside until sickbayd lends this node leave, and begins then;
// quick looks do not wait, and what of them needs leave is refused and done in a run of its own, later.  The
// word of each poll says how it stands here (model/active_word.h).  Leave that came is for those who waited
// at that moment; who comes later waits for the next turn, so that one node does not keep it.  It is counted
// from the moment of the question, ends by itself, and with it whatever runs by it.  A sickbayd that says
// nothing of leave is an older one, and knows no bound.  Source: doc/design/diagnose.md, "Active checks".
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/diagnose/leave.h"
#include "model/diagnosis_mode.h"
#include "service/agent/agent.h"

namespace sickbay::agent {
namespace {

constexpr std::size_t kMostHeld = 64;
constexpr std::chrono::minutes kLongestLeave{10};  // whatever sickbayd says

}  // namespace

// What was asked for, else what the initial values say; without either it is a quick one.
std::string Agent::mode_of_order(const Order& wanted) const {
  std::string mode = wanted.asked ? wanted.mode : mode_of(wanted.initial);
  return mode.empty() ? std::string(kDiagnosisModes.front()) : mode;
}

std::string Agent::why_no_leave(const Order& wanted) const {
  // In a prolog, say: on all nodes of a job at once.
  if (wanted.asked && mode_of_order(wanted) == kDiagnosisModes.front()) return "the quick mode was asked for";
  if (sickbayd_ == nullptr) return "no sickbayd is named here (controller.host) that could give leave";
  if (bounded_.value_or(false) && wanted.with_leave && has_leave()) return "";
  if (!bounded_ || loop_.now() - heard_at_ >= kToldAge) return "sickbayd has not been heard of late";
  if (!*bounded_) return "";
  return wanted.with_leave ? "the leave that sickbayd gave is over"
                           : "this node waits for its turn: " + others_;
}

// (Stress beside a job would not run in any case: for that nobody waits.)
bool Agent::lacks_leave_alone(const Order& wanted) const {
  return diagnose::may_need_leave(*rules_[wanted.rules], wanted.initial, permits(wanted));
}

bool Agent::waits_for_leave(const Order& wanted) const {
  if (sickbayd_ == nullptr || only_once_) return false;  // none will ever come
  // Quick looks go on, whatever their rules hold.
  if (!wanted.made_up_for && mode_of_order(wanted) == kDiagnosisModes.front()) return false;
  if (why_no_leave(wanted).empty()) return false;
  return wanted.made_up_for || lacks_leave_alone(wanted);
}

bool Agent::is_ready(const Order& wanted) const {
  return wanted.task != 0 || (period_holds(wanted, false) && lacks_leave_alone(wanted));
}

bool Agent::period_holds(const Order& wanted, bool at_all) const {
  if (wanted.asked) return true;
  const diagnose::Specification& s = rules_[wanted.rules]->specification;
  const auto period = std::ranges::find(s.periods, wanted.period, &diagnose::Period::name);
  if (period == s.periods.end()) return false;
  const diagnose::NodeUse use_of = at_all && period->node != diagnose::NodeUse::any ? period->node : use();
  const auto periods = diagnose::find_periods(s, time_of_day(loop_.now()), use_of);
  return std::ranges::find(periods, &*period) != periods.end();
}

void Agent::hold(Order wanted) {
  wanted.with_leave = false;
  if (wanted.task == 0)
    for (const Order& other : held_)
      if (other.task == 0 && other.rules == wanted.rules && other.asked == wanted.asked &&
          mode_of_order(other) == mode_of_order(wanted) && other.period == wanted.period)
        return;
  if (held_.size() >= kMostHeld) return say("event=run_dropped why=\"too many wait for leave\"");
  say(fmt::format("event=active_check_waits specification={} period={} why={}",
                  rules_[wanted.rules]->specification.name, Json(wanted.period).dump(),
                  Json(why_no_leave(wanted)).dump()));
  held_.push_back(std::move(wanted));
}

void Agent::look_at_held() {
  std::map<std::int64_t, bool> task_waits;  // a task begins as a whole
  for (const Order& one : held_)
    if (one.task != 0) task_waits[one.task] = task_waits[one.task] || waits_for_leave(one);
  std::deque<Order> still, begin;
  for (Order& one : held_) {
    const bool waits = one.task != 0 ? task_waits[one.task] : waits_for_leave(one);
    if (!period_holds(one, true))
      say(fmt::format("event=active_check_dropped specification={} period={} why=\"its hours are over\"",
                      rules_[one.rules]->specification.name, Json(one.period).dump()));
    else
      (waits || !period_holds(one, false) ? still : begin).push_back(std::move(one));
  }
  held_ = std::move(still);
  orders_.insert(orders_.end(), begin.begin(), begin.end());
  next_order();
}

void Agent::begin_held() {
  std::deque<Order> later, now;
  for (Order& one : held_) (is_ready(one) ? now : later).push_back(std::move(one));
  held_ = std::move(later);
  for (Order& one : now) one.with_leave = true;
  orders_.insert(orders_.begin(), now.begin(), now.end());
  next_order();
}

// A quick look that came to an active check: the check is made up for in a run of its own.
void Agent::hold_for_what_was_refused(const Order& wanted, const diagnose::Run& run) {
  if (wanted.asked || wanted.task != 0 || wanted.with_leave || run.stopped || !bounded_.value_or(false))
    return;
  diagnose::Permits permits = this->permits(wanted);
  permits.active.given = true;
  const auto lacked_leave = [&](const diagnose::Instance& one) {
    const diagnose::Rules::OperationRule& rule = run.rules->operations[one.operation];
    return one.refused && rule.active && diagnose::objection_to(rule, permits).empty();
  };
  if (std::ranges::none_of(run.instances, lacked_leave)) return;
  Order again = wanted;
  again.made_up_for = true;
  hold(std::move(again));
}

ActiveWord Agent::active_word() const {
  const auto uses_it = [](const Order& one) { return one.with_leave; };
  if (has_leave() && ((running_ && running_order_.with_leave) || std::ranges::any_of(orders_, uses_it)))
    return ActiveWord::holds;
  if (held_.empty()) return ActiveWord::none;
  if (std::ranges::any_of(held_, [](const Order& one) { return one.task != 0; })) return ActiveWord::ordered;
  const bool ready = std::ranges::any_of(held_, [this](const Order& one) { return is_ready(one); });
  return ready ? ActiveWord::waits : ActiveWord::later;
}

// `said` and `asked`: the word of the question, and its time, from which leave is counted.
void Agent::take_leave(const Json& told, ActiveWord said, TimePoint asked) {
  heard_at_ = loop_.now();
  bounded_ = told["at_once"].as_int() > 0;
  const std::int64_t lent = *bounded_ ? told["leave_us"].as_int() : 0;
  leave_until_ = lent > 0 ? asked + std::min<Micros>(Micros(lent), kLongestLeave) : kNoTime;
  others_ = fmt::format("{} of {} nodes have leave, {} wait", told["holding"].as_int(),
                        told["at_once"].as_int(), told["waiting"].as_int());
  if (has_leave() && said != ActiveWord::holds && !held_.empty()) {
    say(fmt::format("event=leave for_s={} runs={}",
                    std::chrono::duration_cast<std::chrono::seconds>(leave_until_ - loop_.now()).count(),
                    held_.size()));
    begin_held();
  }
  look_at_held();
}

}  // namespace sickbay::agent
