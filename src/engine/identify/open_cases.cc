// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/open_cases.h"

#include "engine/identify/suspects.h"

namespace sickbay::identify {

void set_open(State& state, const Case& subject) {
  if (!state.open.insert(subject.no).second) return;
  ++state.open_of[subject.owner.uid];
  index_suspects(state, subject);
}

void set_closed(State& state, const Case& subject) {
  if (state.open.erase(subject.no) == 0) return;
  drop_suspects(state, subject);
  const auto own = state.open_of.find(subject.owner.uid);
  if (own != state.open_of.end() && --own->second == 0) state.open_of.erase(own);
}

std::size_t open_cases_of(const State& state, std::uint32_t uid) {
  const auto own = state.open_of.find(uid);
  return own == state.open_of.end() ? 0 : own->second;
}

}  // namespace sickbay::identify
