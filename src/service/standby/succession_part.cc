// SPDX-License-Identifier: Apache-2.0
#include "service/standby/succession_part.h"

#include <algorithm>
#include <utility>

#include "service/standby/term_events.h"

namespace sickbay {

SuccessionPart::SuccessionPart(Loop& loop, Setup setup, Listener listener)
    : loop_(loop),
      setup_(std::move(setup)),
      listener_(std::move(listener)),
      desk_(loop, setup_.witnesses,
            [this](std::size_t witness, const LeaseAnswer& answer) {
              took(succession::receive(state_, witness, answer, setup_.clock(), setup_.random));
            }),
      state_(succession::begin(setup_.name, setup_.witnesses.size(), setup_.timing, setup_.journal_term,
                               setup_.prompt, setup_.clock())) {}

void SuccessionPart::Before::take(const Event& event) {
  if (event.kind == kTermBegan)
    *this = {event.body["term"].as_int(), event.body["who"].as_string(), false};
  else if (event.kind == kTermEnded)
    is_over = true;
}

Event SuccessionPart::term_began(std::int64_t term, const std::string& who) {
  return new_event(std::string(kTermSubject), kTermBegan, Json::object({{"term", term}, {"who", who}}));
}

void SuccessionPart::start() {
  if (setup_.yields) succession::step_down(state_, setup_.clock());
  took(succession::tick(state_, setup_.clock(), setup_.random));
}

void SuccessionPart::took(succession::Actions actions) {
  for (auto& [witness, ask] : actions.send) desk_.hand_out(witness, std::move(ask));
  arm(actions.wake_at);
  look();
}

void SuccessionPart::arm(Micros wake_at) {
  if (pairing_) wake_at = std::min(wake_at, pairing_->wake_at());
  loop_.cancel(std::exchange(timer_, 0));
  if (lost_ || wake_at == Micros::max()) return;
  const Micros in = std::max(Micros(0), wake_at - setup_.clock());
  // (A little later, for two clocks that are read one after the other.)
  timer_ =
      loop_.at(loop_.now() + in + Micros(1),
               lifetime_.guard([this] { took(succession::tick(state_, setup_.clock(), setup_.random)); }));
}

// What follows of a change of state.  What it calls may call back: that is looked at when it returns.
void SuccessionPart::look() {
  if (lost_ || std::exchange(looking_, true)) return;
  const bool holds = succession::may_act(state_, setup_.clock());
  if (holds && !preparing_) {
    preparing_ = true;
    listener_.prepare();
  }
  // (The lease may have run out meanwhile: then it begins when it has it again.)
  if (prepared_ && !begun_ && succession::may_act(state_, setup_.clock())) {
    begun_ = true;
    listener_.begin(state_.term);
  }
  looking_ = false;
  if (begun_ && listener_.holds && state_.role == succession::Role::active)
    listener_.holds(succession::lease_until(state_));
  if (begun_ && state_.role != succession::Role::active) {
    lost_ = true;
    held_.clear();
    loop_.cancel(std::exchange(timer_, 0));
    return listener_.lost();
  }
  settle();
}

void SuccessionPart::settle() {
  if (!pairing_ || lost_) return;
  const Micros now = setup_.clock();
  if (succession::is_sole_known(state_) && !state_.sole.name.empty()) pairing_->alone_is_known();
  if (pairing_->tick(now)) return took(succession::say_sole(state_, pairing_->is_alone(), now));
  let_go();
}

void SuccessionPart::let_go() {
  while (!held_.empty() && held_.front().first <= pairing_->counts_up_to() &&
         succession::may_act(state_, setup_.clock(), setup_.longest_act)) {
    const auto then = std::move(held_.front().second);
    held_.pop_front();
    then();
    if (lost_) return;
  }
  // The other has the end of our term, and all before it.
  if (over_at_ > 0 && pairing_->standby_seq() >= over_at_ && !pairing_->is_alone()) step_down();
}

void SuccessionPart::prepared() {
  prepared_ = true;
  took(succession::tick(state_, setup_.clock(), setup_.random));
}

void SuccessionPart::heard_active(std::int64_t term) {
  succession::heard_active(state_, term, setup_.clock());
}
void SuccessionPart::copy_has_term(std::int64_t term) { succession::journal_has(state_, term); }
void SuccessionPart::allow_loss() { succession::allow_loss(state_); }

void SuccessionPart::term_is_kept(std::int64_t seq) {
  succession::journal_has(state_, state_.term);
  kept_ = true;
  pairing_.emplace(setup_.patience);
  pairing_->committed(seq, setup_.clock());
  if (state_.role == succession::Role::active) took(succession::say_sole(state_, true, setup_.clock()));
}

void SuccessionPart::hold(std::int64_t seq, std::function<void()> then) {
  if (lost_) return;
  held_.emplace_back(seq, std::move(then));
  if (begun_ && !kept_) return term_is_kept(seq);
  if (!pairing_) return;
  if (hands_over_ && over_at_ == 0) over_at_ = seq;
  pairing_->committed(seq, setup_.clock());
  took(succession::tick(state_, setup_.clock(), setup_.random));
}

void SuccessionPart::standby_has(std::int64_t seq) {
  if (!pairing_ || lost_) return;
  pairing_->standby_has(seq);
  took(succession::tick(state_, setup_.clock(), setup_.random));
}

Event SuccessionPart::hand_over(const std::string& by) {
  hands_over_ = true;
  return new_event(std::string(kTermSubject), kTermEnded,
                   Json::object({{"term", state_.term}, {"who", setup_.name}, {"by", by}}));
}

void SuccessionPart::step_down() {
  succession::step_down(state_, setup_.clock());
  look();
}

StandbyFeed::Standing SuccessionPart::standing() const {
  return {setup_.name, is_active() ? state_.term : 0};
}

Json SuccessionPart::view() const {
  const Micros left = std::max(Micros(0), succession::lease_until(state_) - setup_.clock());
  Json view = Json::object({{"name", setup_.name},
                            {"role", succession::to_string(state_.role)},
                            {"term", state_.role == succession::Role::active ? state_.term : state_.highest},
                            {"lease_left_us", state_.role == succession::Role::active ? left.count() : 0},
                            {"lacks", state_.lacks},
                            {"witnesses", setup_.witnesses.size()},
                            {"witnesses_here", desk_.present()}});
  if (pairing_) {
    view.set("alone", pairing_->is_alone());
    view.set("standby_seq", pairing_->standby_seq());
    view.set("held", held_.size());
  }
  return view;
}

}  // namespace sickbay
