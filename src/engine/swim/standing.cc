// SPDX-License-Identifier: Apache-2.0
// How members stand: accused, refuted, told of as silent, and how that news travels.
#include <algorithm>
#include <bit>

#include "engine/swim/parts.h"

namespace sickbay::swim {

void Work::spread(SwimIndex member) {
  Peer& p = peer(member);
  if (p.tell == 0) state.news.push_back(member);
  // The news rides on 3 * log2(N) messages: enough that all hear of it with losses (SWIM, 4.1), and then it
  // is dropped.
  p.tell = 3 * static_cast<int>(std::bit_width(members()));
}

void Work::accuse(SwimIndex member) {
  Peer& p = peer(member);
  // Who was never heard may have no agent: nothing says that it lives, so nothing says that it died.
  if (p.accused || !p.known || member == state.self) return;
  p.accused = true;
  // What helpers said before was of another question.
  p.missing.clear();
  p.since = state.clock;
  p.standing = SwimStanding::suspect;
  actions.doubts.push_back(member);
  spread(member);
}

void Work::is_alive(SwimIndex member) {
  Peer& p = peer(member);
  if (member == state.self || (p.standing == SwimStanding::alive && !p.accused)) return;
  const bool was_told = p.accused && p.standing == SwimStanding::silent;
  p.standing = SwimStanding::alive;
  p.accused = false;
  p.since = state.clock;
  p.missing.clear();
  if (was_told) actions.reports.push_back({member, false, {}, Micros(0)});
}

void Work::hear_news(const SwimNews& news) {
  if (news.member >= members()) return;
  Peer& p = peer(news.member);
  if (news.member == state.self) {
    // Only we may say that we live, and say it so that it goes before what is said of us.  (An alive one of a
    // greater incarnation: an earlier run of ours.)
    const bool denied = news.standing != SwimStanding::alive && news.incarnation >= p.incarnation;
    if (!denied && news.incarnation <= p.incarnation) return;
    p.incarnation = news.incarnation + (denied ? 1 : 0);
    return spread(state.self);
  }
  if (news.standing == SwimStanding::alive) {
    if (news.incarnation <= p.incarnation) return;
    p.incarnation = news.incarnation;
    is_alive(news.member);
    return spread(news.member);
  }
  if (news.incarnation < p.incarnation || p.accused) return;
  // Of one incarnation silent goes before suspect before alive; a greater incarnation goes before all.
  const bool newer = news.incarnation > p.incarnation || news.standing > p.standing;
  p.incarnation = news.incarnation;
  if (!newer) return;
  p.standing = news.standing;
  p.since = state.clock;
  spread(news.member);
}

void Work::judge() {
  const Timing& t = state.timing;
  for (SwimIndex member = 0; member < members(); ++member) {
    Peer& p = peer(member);
    if (p.standing == SwimStanding::alive || member == state.self) continue;
    if (!p.accused) {
      // What others say fades: it is asked in its turn like everybody.
      if (state.clock - p.since >= t.hearsay) is_alive(member);
      continue;
    }
    // Time to refute: a member that was slow for a moment says so in this time.
    if (state.clock - p.since < t.suspicion) continue;
    if (p.standing == SwimStanding::silent && state.clock - p.told < t.say_again) continue;
    Report report{member, true, {}, state.clock - p.heard};
    for (const auto& [helper, when] : p.missing)
      // Of one who was told of already each word counts that came since: it is asked just before it is told
      // again.
      if (state.clock - when <= 2 * t.period || p.standing == SwimStanding::silent)
        report.seen_by.push_back(helper);
    // Nobody else can be asked in a group of two; sickbayd knows that.
    if (members() > 2 && (report.seen_by.empty() || in_doubt(state))) continue;
    if (p.standing != SwimStanding::silent) spread(member);
    p.standing = SwimStanding::silent;
    p.told = state.clock;
    p.missing.clear();  // who says it again is told of again
    actions.reports.push_back(std::move(report));
  }
}

}  // namespace sickbay::swim
