// SPDX-License-Identifier: Apache-2.0
#include "service/agent/witness/either_sickbayd.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sickbay::agent {
namespace {

// Not here, or not the active one.
constexpr std::array kElsewhere{ErrorCode::daemon_away, ErrorCode::timed_out, ErrorCode::busy};

}  // namespace

void EitherSickbayd::ask(HttpQuestion question, Done<Json> done) {
  const std::size_t asked = *at_;
  each_[asked]->ask(std::move(question), [at = at_, asked, done = std::move(done)](Result<Json> answer) {
    // (Of two questions under way at once the second does not turn back what the first turned.)
    if (!answer && *at == asked && std::ranges::find(kElsewhere, answer.error().code) != kElsewhere.end())
      *at = 1 - asked;
    done(std::move(answer));
  });
}

}  // namespace sickbay::agent
