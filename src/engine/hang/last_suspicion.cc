// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/last_suspicion.h"

#include <algorithm>

namespace sickbay::hang {

void LastSuspicion::take(const Judgement& judgement, TimePoint now) {
  if (judgement.nobody) return;
  if (judgement.ranks < ranks_ && now - counted_ < kEnding) {
    // What went on before may have been the first glimpse of this end.
    goes_on_.reset();
    return;
  }
  ranks_ = judgement.ranks;
  counted_ = now;
  const Micros stood =
      judgement.word == Word::progress ? Micros(0) : std::max(judgement.held, judgement.nowhere);
  if (stood >= kSuspicious) {
    if (judgement.word == Word::suspicion) last_ = judgement;
    goes_on_.reset();
    return;
  }
  // Who has waited for a few seconds only has gone on before.
  goes_on_ = std::min(goes_on_.value_or(now), now - stood);
  if (now - *goes_on_ >= kGoesOn) last_.reset();
}

}  // namespace sickbay::hang
