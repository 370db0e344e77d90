// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/losing.h"

#include <algorithm>

namespace sickbay::hang {

void Losing::add(Counts& sum, const Connection& c) {
  sum.sent += std::max<std::int64_t>(0, c.last.sent - c.at_first.sent);
  sum.again += std::max<std::int64_t>(0, c.last.again - c.at_first.again);
  sum.needless += std::max<std::int64_t>(0, c.last.needless - c.at_first.needless);
}

void Losing::take(const TcpLook& look) {
  if (last_ != kNoTime && look.at <= last_) return;
  const bool begins = first_ == kNoTime;
  if (begins) first_ = look.at;
  last_ = look.at;
  std::set<std::uint64_t> here;
  for (const TcpConnection& one : look.connections) {
    if (own_.size() < kMostOwnTold) own_.insert(one.own);
    here.insert(one.id);
    const Counts now{one.sent, one.again, one.needless};
    const auto [it, is_new] = open_.try_emplace(one.id);
    if (is_new) it->second = {one.peer, begins ? now : Counts{}, now};
    it->second.last = now;
  }
  std::erase_if(open_, [&](const auto& entry) {
    if (here.contains(entry.first)) return false;
    if (gone_.size() < kMostAddresses || gone_.contains(entry.second.peer))
      add(gone_[entry.second.peer], entry.second);
    return true;
  });
}

TcpLosses Losing::told() const {
  TcpLosses told;
  if (first_ == last_) return told;
  told.seen = last_ - first_;
  told.own.assign(own_.begin(), own_.end());
  std::map<std::string, Counts> sums = gone_;
  for (const auto& [id, connection] : open_) add(sums[connection.peer], connection);
  for (const auto& [address, sum] : sums) {
    // (What arrived twice is told by the other end a moment after it was sent again.)
    const std::int64_t lost = std::clamp<std::int64_t>(sum.again - sum.needless, 0, sum.sent);
    if (sum.sent > 0) told.peers.push_back({address, sum.sent, lost});
  }
  std::ranges::stable_sort(told.peers, [](const PeerLosses& a, const PeerLosses& b) {
    return a.lost != b.lost ? a.lost > b.lost : a.sent > b.sent;
  });
  // (A few show that a node is well.)
  const std::size_t most = told.lost() > 0 ? kMostPeersTold : kFewPeersTold;
  if (told.peers.size() > most) told.peers.resize(most);
  return told;
}

}  // namespace sickbay::hang
