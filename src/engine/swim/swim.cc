// SPDX-License-Identifier: Apache-2.0
// Rounds, questions and answers.  What follows from them for a member's standing: standing.cc.
#include "engine/swim/swim.h"

#include <algorithm>
#include <numeric>

#include "engine/swim/parts.h"

namespace sickbay::swim {
namespace {

constexpr std::size_t kMostFavours = 256;    // at one time; a member asks of few
constexpr std::size_t kMostAsked = 3;        // neighbours, in one round
constexpr std::size_t kMeetAgain = 64;       // rounds
constexpr std::size_t kMostQuestions = 512;  // under way and over; an answer may come late
constexpr int kTimesSaid = 4;                // a question; one answer of ten fails at 5 % loss

// The order of the ring is that of a hash: neighbours in a rack, which may lose power together, do not watch
// each other.
std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16, x *= 0x7feb352dU, x ^= x >> 15, x *= 0x846ca68bU, x ^= x >> 16;
  return x;
}

void shuffle(std::vector<SwimIndex>& list, Random& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random() % i]);
}

// Those before us in the ring whom nobody suspects, the nearest first: they watch us.
std::vector<SwimIndex> watchers(const State& s, std::size_t most) {
  std::vector<SwimIndex> found;
  const std::size_t n = s.ring.size();
  for (std::size_t i = 1; i < n && found.size() < most; ++i)
    if (const SwimIndex member = s.ring[(s.place + n - i) % n];
        s.peers[member].standing == SwimStanding::alive)
      found.push_back(member);
  return found;
}

std::optional<SwimIndex> by_chance(State& s, Random& random) {
  // Everybody has a turn before anybody has a second one; twice through the list, for most may be silent.
  for (std::size_t tries = 0; tries < 2 * s.peers.size(); ++tries) {
    if (s.turns.empty()) {
      s.turns = s.ring;
      shuffle(s.turns, random);
    }
    const SwimIndex next = s.turns.back();
    s.turns.pop_back();
    if (next != s.self && s.peers[next].standing == SwimStanding::alive) return next;
  }
  return std::nullopt;
}

void round(Work& w) {
  State& s = w.state;
  const Timing& t = s.timing;
  ++s.rounds;
  // Whom others suspect is asked, too, for they may die before they have told of it.
  std::size_t asked = 0;
  // Along the ring up to the first who is well: of those who died together each is still watched by somebody.
  for (std::size_t i = 1; i < s.ring.size() && asked < kMostAsked; ++i) {
    const SwimIndex next = s.ring[(s.place + i) % s.ring.size()];
    const Peer& p = s.peers[next];
    // (Whom we accuse is asked below, with others.)
    if (p.standing == SwimStanding::silent || p.accused) continue;
    w.question(next, false), ++asked;
    if (p.standing == SwimStanding::alive) break;
  }
  if (s.rounds % 2 == 0 && w.members() > 2)
    if (const auto next = by_chance(s, w.random)) w.question(*next, false);
  // Whom we would watch if our neighbour were gone must be known to us by then.
  if (const std::size_t far = s.rounds % kMeetAgain; (far == 2 || far == 3) && w.members() > far)
    w.question(s.ring[(s.place + far) % s.ring.size()], false);
  for (SwimIndex member = 0; member < w.members(); ++member) {
    const Peer& p = s.peers[member];
    if (!p.accused) continue;
    // One that is silent is asked again shortly before it is told of again, so that the others' word is
    // fresh.
    if (p.standing == SwimStanding::silent && s.clock - p.told < t.say_again - 2 * t.period) continue;
    w.question(member, true);
  }
  // Who hears nobody may yet be heard: those who watch it learn so that it lives.
  if (in_doubt(s))
    for (const SwimIndex watcher : watchers(s, 2)) w.question(watcher, false);
}

// When a question is to be said again: from its beginning; the last time together with the others.
Micros say_again_after(const Question& q, const Timing& t) {
  // With the timing of swim.h: after 70, 140 and 200 ms.
  return q.said + 1 < kTimesSaid ? q.said * t.again : t.answer;
}

// A member that is paused must not be suspected from before its pause on, else its pause and a datagram that
// was lost just before make together what the death of a node is told from.
void end_questions(Work& w) {
  State& s = w.state;
  const Timing& t = s.timing;
  for (std::size_t i = 0; i < s.questions.size(); ++i) {  // (asking others adds none)
    Question& q = s.questions[i];
    if (q.over) continue;
    // By our own clock, which a pause of this member does not move on (pass_time).
    const Micros passed = s.clock - q.sent;
    if (q.said < kTimesSaid && passed >= say_again_after(q, t)) {
      ++q.said;
      w.say(SwimKind::ping, q.target, q.nonce);
    }
    if (!q.asked_others && passed >= t.answer) w.ask_others(q);
    if (passed < t.period) continue;
    q.over = true;
    // Heard since: it lives, though our question or its answer was lost.
    if (const Peer& p = w.peer(q.target); p.known && p.heard > q.sent) continue;
    w.accuse(q.target);
  }
  // An answer that comes late is a sign of life all the same.
  while (!s.questions.empty() && s.questions.front().over &&
         (s.clock - s.questions.front().sent > 2 * t.suspicion || s.questions.size() > kMostQuestions))
    s.questions.pop_front();
}

void end_favours(Work& w) {
  State& s = w.state;
  std::vector<Favour> over;
  std::erase_if(s.favours, [&](const Favour& f) {
    if (s.clock - f.since < s.timing.favour) return false;
    over.push_back(f);
    return true;
  });
  // Nothing came for the other: said as well, for "I do not reach it either" is what a report needs.
  for (const Favour& f : over) {
    const Peer& p = s.peers[f.target];
    w.say(SwimKind::told, f.asker, f.nonce, f.target, p.known && s.clock - p.heard < s.timing.period);
  }
}

Actions finish(Work& w) {
  State& s = w.state;
  const Timing& t = s.timing;
  Micros next = s.next_round;
  // The earliest moment at which anything above would do something.
  for (const Question& q : s.questions) {
    if (q.over) continue;
    next = std::min(next, q.sent + (q.asked_others ? t.period : t.answer));
    if (q.said < kTimesSaid) next = std::min(next, q.sent + say_again_after(q, t));
  }
  for (const Favour& f : s.favours) next = std::min(next, f.since + t.favour);
  for (const Peer& p : s.peers)
    if (p.accused && p.standing == SwimStanding::suspect && s.clock - p.since < t.suspicion)
      next = std::min(next, p.since + t.suspicion);
  w.actions.wake_at = w.at(std::max(next, s.clock));
  return std::move(w.actions);
}

Question* question_of(State& s, std::uint32_t nonce) {
  const auto it = std::ranges::find(s.questions, nonce, &Question::nonce);
  return it == s.questions.end() ? nullptr : &*it;
}

}  // namespace

bool in_doubt(const State& s) { return s.clock - s.last_heard > 2 * s.timing.period; }

void Work::pass_time(TimePoint now) {
  // A step backwards counts nothing, a pause at most one period: who stood still knows nothing of the others
  // in that time.
  const Micros passed = std::clamp<Micros>(now - state.last, Micros(0), state.timing.period);
  state.clock += passed;
  state.last = now;
}

void Work::say(SwimKind kind, SwimIndex to, std::uint32_t nonce, SwimIndex about, bool heard) {
  SwimMessage m;
  m.kind = kind;
  m.group = state.group;
  m.from = state.self, m.to = to;
  m.run = state.run, m.seq = ++state.seq;
  m.nonce = nonce;
  m.about = about, m.heard = heard;
  // Who is suspected must hear of it, whoever talks to him.
  if (const Peer& p = peer(to); p.standing != SwimStanding::alive)
    m.news.push_back({to, p.incarnation, p.standing});
  // What is told to one who may be dead is not used up by it.
  const int used = peer(to).standing == SwimStanding::alive ? 1 : 0;
  for (const SwimIndex member : state.news) {
    if (m.news.size() >= kMostSwimNews) break;
    Peer& p = peer(member);
    if (member != to) m.news.push_back({member, p.incarnation, p.standing});
    p.tell -= used;
  }
  std::erase_if(state.news, [this](SwimIndex member) { return peer(member).tell <= 0; });
  // The next message carries the others.
  if (state.news.size() > kMostSwimNews)
    std::rotate(state.news.begin(), state.news.begin() + kMostSwimNews, state.news.end());
  actions.send.push_back(std::move(m));
}

void Work::question(SwimIndex target, bool at_once) {
  Question q{target, random(), state.clock};
  say(SwimKind::ping, target, q.nonce);
  if (at_once) ask_others(q);
  state.questions.push_back(q);
}

// One of those asked is who watches the member in the ring: who hears nobody calls out to him.
void Work::ask_others(Question& q) {
  q.asked_others = true;
  std::vector<SwimIndex> fit;
  std::optional<SwimIndex> watcher;
  const std::size_t n = state.ring.size();
  // Backwards from the target: the first who is well is the one who asks it in the ring, and so has heard it
  // last.
  const std::size_t place =
      static_cast<std::size_t>(std::ranges::find(state.ring, q.target) - state.ring.begin());
  for (std::size_t i = 1; i < n; ++i) {
    const SwimIndex member = state.ring[(place + n - i) % n];
    if (member == state.self || peer(member).standing != SwimStanding::alive) continue;
    if (!watcher)
      watcher = member;
    else
      fit.push_back(member);
  }
  if (!watcher) return;
  say(SwimKind::ask, *watcher, q.nonce, q.target);
  for (std::size_t i = 0; i + 1 < state.timing.helpers && !fit.empty(); ++i) {
    std::swap(fit[random() % fit.size()], fit.back());
    say(SwimKind::ask, fit.back(), q.nonce, q.target);
    fit.pop_back();
  }
}

State begin(std::uint32_t group, std::size_t members, SwimIndex self, const Timing& timing, TimePoint now,
            Random& random, const HeardBefore& before) {
  SB_CHECK(members >= 2 && members <= kMostSwimMembers && self < members, "checked by who reads the task");
  State s;
  s.group = group;
  s.self = self;
  s.timing = timing;
  s.peers.resize(members);
  s.ring.resize(members);
  std::iota(s.ring.begin(), s.ring.end(), SwimIndex(0));
  std::ranges::sort(s.ring, {}, [&](SwimIndex i) { return std::pair(mixed(group ^ mixed(i + 1)), i); });
  s.place = static_cast<std::size_t>(std::ranges::find(s.ring, self) - s.ring.begin());
  // Another number each time that this member starts: by it others tell a new start from an old datagram.
  s.run = random();
  s.last = now;
  for (const auto& [member, ago] : before)
    if (member < members) s.peers[member].known = true, s.peers[member].heard = -ago;
  // Members that begin together do not ask together.
  s.next_round = Micros(random() % static_cast<std::uint32_t>(timing.period.count()));
  return s;
}

HeardBefore heard(const State& s) {
  HeardBefore list;
  for (SwimIndex member = 0; member < s.peers.size(); ++member)
    if (const Peer& p = s.peers[member]; p.known) list[member] = s.clock - p.heard;
  return list;
}

Actions tick(State& state, TimePoint now, Random& random) {
  Work w{state, random};
  w.pass_time(now);
  // Before anything is judged: an answer that is due now may be what is missing.
  end_favours(w);
  end_questions(w);
  w.judge();
  if (state.clock >= state.next_round) {
    // After a pause one round, not all that were missed.
    state.next_round = std::max(state.next_round + state.timing.period, state.clock);
    round(w);
  }
  return finish(w);
}

Actions receive(State& state, const SwimMessage& m, TimePoint now, Random& random) {
  Work w{state, random};
  w.pass_time(now);
  const std::size_t n = w.members();
  // Its seal is right, and yet numbers may be of a group that has changed since.
  if (m.group != state.group || m.to != state.self || m.from >= n || m.from == state.self || m.about >= n)
    return finish(w);
  Peer& from = w.peer(m.from);
  Question* q = m.kind == SwimKind::ack || m.kind == SwimKind::told ? question_of(state, m.nonce) : nullptr;
  // An answer to a question of ours is fresh, whatever run it is of; anything else is if it goes on from what
  // we know.
  const bool answers =
      q != nullptr && (m.kind == SwimKind::told ? q->target == m.about : q->target == m.from);
  const bool goes_on = !from.met || (m.run == from.run && m.seq > from.seq);
  if (!answers && !goes_on) {
    // Overtaken on its way, or said by one that has started anew, or an old message that somebody sends
    // again: it is answered and counts for nothing.  Which of them it is, only an answer to a question of
    // ours can tell.
    if (m.kind == SwimKind::ping) w.say(SwimKind::ack, m.from, m.nonce);
    if (m.kind == SwimKind::ping && m.run != from.run) w.question(m.from, false);
    return finish(w);
  }
  // (An answer that was overtaken is fresh, but must not set the count back.)
  if (goes_on || m.run != from.run) from.seq = m.seq;
  from.run = m.run;
  from.known = from.met = true;
  from.heard = state.clock;
  state.last_heard = state.clock;
  w.is_alive(m.from);
  // Whoever waits for a word of it has it now.
  std::erase_if(state.favours, [&](const Favour& f) {
    if (f.target != m.from) return false;
    w.say(SwimKind::told, f.asker, f.nonce, f.target, true);
    return true;
  });
  for (const SwimNews& news : m.news) w.hear_news(news);
  switch (m.kind) {
    case SwimKind::ping:
      w.say(SwimKind::ack, m.from, m.nonce);
      break;
    case SwimKind::ack:
      if (answers) q->over = true;
      break;
    case SwimKind::ask:
      if (m.about != state.self && m.about != m.from && state.favours.size() < kMostFavours) {
        state.favours.push_back({m.from, m.about, m.nonce, state.clock});
        w.say(SwimKind::ping, m.about, m.nonce);
      }
      break;
    case SwimKind::told:
      if (!answers) break;
      if (m.heard) {
        q->over = true;
        w.is_alive(m.about);
      } else if (Peer& about = w.peer(m.about); about.standing != SwimStanding::alive || !q->over) {
        // Of one who is well and whose question is over nobody needs to know that a third does not reach him.
        about.missing[m.from] = state.clock;
      }
      break;
  }
  return finish(w);
}

}  // namespace sickbay::swim
