// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/http_budget.h"

#include <algorithm>
#include <utility>

namespace sickbay {

bool BodyBudget::fits(const std::string& peer, bool is_root, std::size_t more) const {
  // A peer's share is root's alone: users may fill the rest, and its agents and commands still come through.
  const std::size_t most = is_root ? all_ : all_ - std::min(all_, of_peer_);
  if (used_ > most || more > most - used_) return false;
  if (is_root) return true;
  const auto it = by_peer_.find(peer);
  const std::size_t own = it == by_peer_.end() ? 0 : it->second;
  return own <= of_peer_ && more <= of_peer_ - own;
}

BodyShare::BodyShare(BodyShare&& other) noexcept
    : budget_(std::move(other.budget_)),
      peer_(std::move(other.peer_)),
      is_root_(other.is_root_),
      held_(std::exchange(other.held_, 0)) {}

bool BodyShare::hold(std::size_t bytes) {
  if (bytes == held_) return true;
  if (bytes > held_ && !budget_->fits(peer_, is_root_, bytes - held_)) return false;
  budget_->used_ += bytes - held_;  // (unsigned: less is what it comes to)
  std::size_t& own = budget_->by_peer_[peer_];
  own += bytes - held_;
  if (own == 0) budget_->by_peer_.erase(peer_);
  held_ = bytes;
  return true;
}

}  // namespace sickbay
