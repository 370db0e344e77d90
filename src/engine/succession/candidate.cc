// SPDX-License-Identifier: Apache-2.0
#include "engine/succession/candidate.h"

#include <algorithm>
#include <array>
#include <functional>

namespace sickbay::succession {
namespace {

std::size_t majority(const State& s) { return s.witnesses.size() / 2 + 1; }

void send(State& s, Actions& out, std::size_t witness, bool look, std::int64_t term, Micros length,
          Micros now) {
  LeaseAsk ask{++s.serial, look, term, s.self, length, {}};
  // Who only wants to begin has nothing to say of who has all: what the witnesses know must last.
  if (s.role == Role::active && s.sole.term == s.term) ask.sole = s.sole;
  s.sent[ask.serial] = {witness, now, length, term, ask.sole.change, look};
  out.send.emplace_back(witness, std::move(ask));
}

void send_all(State& s, Actions& out, bool look, std::int64_t term, Micros length, Micros now) {
  // An answer that is older than a lease can prolong nothing any more.
  std::erase_if(s.sent, [&](const auto& entry) { return entry.second.at + s.timing.lease < now; });
  for (std::size_t i = 0; i < s.witnesses.size(); ++i) send(s, out, i, look, term, length, now);
}

void wait(State& s, Micros now, const Random& random) {
  s.role = Role::waiting;
  const auto pause = s.timing.pause.count();
  s.next_round = now + Micros(pause + random() % (pause + 1));
}

void start_round(State& s, Actions& out, Role role, Micros now) {
  s.role = role;
  s.round_began = now;
  // Never a term twice: an answer of a round before cannot be taken for one of this.
  s.term = s.highest + 1;
  if (role == Role::asking) s.highest = s.term;
  for (State::Place& place : s.witnesses) {
    place.answer.reset();
    if (role == Role::asking) place = {};
  }
  send_all(s, out, role == Role::looking, s.term, s.timing.first_lease, now);
}

// What those who grant know of who has all.  They are a majority, so one of them knows the newest.
bool has_all(const State& s) {
  if (s.may_lose) return true;
  return (s.sole.name.empty() || s.sole.name == s.self) && s.journal_term >= s.sole.term;
}

void begin_to_act(State& s, Actions& out, Micros now) {
  s.role = Role::active;
  s.prompt = true;  // should it lose the lease, it is still the one that was active last
  s.may_lose = s.lacks = false;
  s.next_renewal = now + s.timing.renew;
  send_all(s, out, false, s.term, s.timing.lease, now);
}

void take_round_answer(State& s, Actions& out, std::size_t witness, const LeaseAnswer& answer, Micros now,
                       const Random& random) {
  s.witnesses[witness].answer = answer;
  const auto granting =
      std::ranges::count_if(s.witnesses, [](const State::Place& p) { return p.answer && p.answer->granted; });
  if (static_cast<std::size_t>(granting) < majority(s)) return;
  s.lacks = !has_all(s);
  if (s.lacks) return wait(s, now, random);
  if (s.role == Role::looking) return start_round(s, out, Role::asking, now);
  if (now < lease_until(s)) begin_to_act(s, out, now);
}

Actions woken(const State& s, Actions out) {
  switch (s.role) {
    case Role::waiting:
      out.wake_at = s.prompt ? s.next_round : std::max(s.next_round, s.heard + s.timing.silence);
      break;
    case Role::looking:
    case Role::asking:
      out.wake_at = s.round_began + s.timing.answer;
      break;
    case Role::active:
      out.wake_at = std::min(s.next_renewal, lease_until(s));
      break;
  }
  return out;
}

}  // namespace

std::string_view to_string(Role role) {
  static constexpr std::array<std::string_view, 4> kNames{"waiting", "looking", "asking", "active"};
  return kNames[static_cast<std::size_t>(role)];
}

State begin(std::string self, std::size_t witnesses, const Timing& timing, std::int64_t journal_term,
            bool prompt, Micros now) {
  SB_CHECK(witnesses % 2 == 1, "an even number of witnesses has no more majorities than one less");
  SB_CHECK(timing.lease <= kLongestLease, "a witness grants no longer lease");
  State s;
  s.self = std::move(self);
  s.timing = timing;
  s.highest = s.journal_term = journal_term;
  s.prompt = prompt;
  s.witnesses.resize(witnesses);
  s.heard = s.next_round = now;
  return s;
}

Actions tick(State& s, Micros now, const Random& random) {
  Actions out;
  if (s.role == Role::active && now >= lease_until(s)) wait(s, now, random);
  if ((s.role == Role::looking || s.role == Role::asking) && now >= s.round_began + s.timing.answer)
    wait(s, now, random);
  if (s.role == Role::waiting && now >= s.next_round && (s.prompt || now >= s.heard + s.timing.silence))
    start_round(s, out, Role::looking, now);
  if (s.role == Role::active && now >= s.next_renewal) {
    s.next_renewal = now + s.timing.renew;
    send_all(s, out, false, s.term, s.timing.lease, now);
  }
  return woken(s, std::move(out));
}

Actions receive(State& s, std::size_t witness, const LeaseAnswer& answer, Micros now, const Random& random) {
  Actions out;
  const auto known = s.sent.find(answer.serial);
  if (known == s.sent.end() || known->second.witness != witness) return woken(s, std::move(out));
  const State::Sent sent = known->second;
  s.sent.erase(known);
  s.highest = std::max(s.highest, answer.term);
  if (s.role != Role::active && answer.sole.is_newer_than(s.sole)) s.sole = answer.sole;
  const bool of_now = sent.term == s.term && s.role != Role::waiting;
  if (answer.granted && !sent.look && of_now && s.role != Role::looking) {
    State::Place& place = s.witnesses[witness];
    place.until = std::max(place.until, sent.at + sent.length - sent.length / kDrift);
    place.knows_change = std::max(place.knows_change, sent.change);
  }
  if (of_now && ((s.role == Role::looking && sent.look) || (s.role == Role::asking && !sent.look)))
    take_round_answer(s, out, witness, answer, now, random);
  return woken(s, std::move(out));
}

void heard_active(State& s, std::int64_t term, Micros now) {
  s.highest = std::max(s.highest, term);
  if (s.role == Role::active || s.role == Role::asking) return;
  s.heard = now;
  s.prompt = s.lacks = false;  // the other was active last
  if (s.role == Role::looking) s.role = Role::waiting;
}

void journal_has(State& s, std::int64_t term) {
  s.journal_term = std::max(s.journal_term, term);
  s.highest = std::max(s.highest, term);
}

Micros lease_until(const State& s) {
  std::vector<Micros> until;
  for (const State::Place& place : s.witnesses) until.push_back(place.until);
  const auto least = until.begin() + static_cast<std::ptrdiff_t>(majority(s) - 1);
  std::nth_element(until.begin(), least, until.end(), std::greater<>());
  return *least;
}

bool may_act(const State& s, Micros now, Micros longest) {
  return s.role == Role::active && now + longest < lease_until(s);
}

Actions say_sole(State& s, bool alone, Micros now) {
  Actions out;
  SB_CHECK(s.role == Role::active, "only the active knows who has all");
  s.sole = {s.term, s.sole.term == s.term ? s.sole.change + 1 : 1, alone ? s.self : ""};
  s.next_renewal = now + s.timing.renew;
  send_all(s, out, false, s.term, s.timing.lease, now);
  return woken(s, std::move(out));
}

bool is_sole_known(const State& s) {
  const auto know = std::ranges::count_if(
      s.witnesses, [&](const State::Place& p) { return p.knows_change >= s.sole.change; });
  return s.role == Role::active && s.sole.term == s.term && static_cast<std::size_t>(know) >= majority(s);
}

void step_down(State& s, Micros now) {
  s.role = Role::waiting;
  s.prompt = false;
  s.heard = now;
  s.next_round = now + 2 * s.timing.lease;
}

void allow_loss(State& s) { s.may_lose = true; }

}  // namespace sickbay::succession
