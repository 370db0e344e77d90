// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/http_places.h"

#include <algorithm>
#include <utility>

namespace sickbay {

bool HttpPlaces::fits(const std::string& address, std::uint32_t uid) const {
  if (uid == 0) return true;
  const auto own = of_uid_.find({address, uid});
  if (own != of_uid_.end() && own->second >= limits_.of_peer) return false;
  if (of_others_ >= without_roots(limits_.all)) return false;
  const auto at = addresses_.find(address);
  return at == addresses_.end() || at->second.of_others < without_roots(limits_.of_address);
}

// From now on it is counted by uid, and gives way to nobody.
void HttpPlaces::settle(Id id, Holder& holder, std::uint32_t uid) {
  strangers_.erase(id);
  if (!holder.address.empty()) addresses_[holder.address].strangers.erase(id);
  holder.uid = uid;
  ++of_uid_[{holder.address, uid}];
  if (uid == 0) return;
  ++of_others_;
  if (!holder.address.empty()) ++addresses_[holder.address].of_others;
}

void HttpPlaces::unsettle(Id id, Holder& holder) {
  if (!holder.uid) return;
  const std::uint32_t uid = *std::exchange(holder.uid, std::nullopt);
  if (const auto own = of_uid_.find({holder.address, uid}); --own->second == 0) of_uid_.erase(own);
  if (!holder.address.empty()) {
    strangers_.insert(id);
    addresses_[holder.address].strangers.insert(id);
  }
  if (uid == 0) return;
  --of_others_;
  if (!holder.address.empty()) --addresses_[holder.address].of_others;
}

HttpPlaces::Admission HttpPlaces::refuse(Id id, std::string address, std::string peer) {
  Admission admission;
  if (refused_ >= limits_.refused) {
    const auto most =
        std::ranges::max_element(refused_by_, {}, [](const auto& one) { return one.second.size(); });
    admission.gives_way = *most->second.begin();  // he has had time to hear it
    left(*admission.gives_way);
  }
  ++refused_;
  refused_by_[peer].insert(id);
  holders_.emplace(id, Holder{std::move(address), std::nullopt, std::move(peer)});
  return admission;
}

HttpPlaces::Admission HttpPlaces::come(Id id, std::uint32_t uid) {
  if (places_ >= limits_.all || !fits("", uid)) return refuse(id, "", std::to_string(uid));
  ++places_;
  settle(id, holders_[id], uid);
  return {true, std::nullopt};
}

HttpPlaces::Admission HttpPlaces::come(Id id, const std::string& address,
                                       const std::function<bool(Id)>& may_go) {
  Admission admission;
  const auto oldest = [&](const std::set<Id>& strangers) {
    const auto it = std::ranges::find_if(strangers, may_go);
    return it == strangers.end() ? std::nullopt : std::optional(*it);
  };
  const auto at = addresses_.find(address);
  // First the strangers of his own address: a host that floods us is its own victim.
  const bool is_full_there = at != addresses_.end() && at->second.places >= limits_.of_address;
  if (is_full_there || places_ >= limits_.all) {
    admission.gives_way = oldest(is_full_there ? at->second.strangers : strangers_);
    if (!admission.gives_way) return refuse(id, address, address);
    left(*admission.gives_way);
  }
  ++places_;
  Address& here = addresses_[address];
  ++here.places;
  here.strangers.insert(id);
  strangers_.insert(id);
  holders_[id].address = address;
  admission.has_place = true;
  return admission;
}

bool HttpPlaces::is(Id id, std::uint32_t uid) {
  const auto it = holders_.find(id);
  if (it == holders_.end() || !it->second.refused_peer.empty()) return false;
  if (it->second.uid == uid) return true;
  // (One connection may speak for several users, one after the other: it counts for the last.)
  unsettle(id, it->second);
  if (!fits(it->second.address, uid)) return false;
  settle(id, it->second, uid);
  return true;
}

void HttpPlaces::left(Id id) {
  const auto it = holders_.find(id);
  if (it == holders_.end()) return;
  Holder& holder = it->second;
  if (!holder.refused_peer.empty()) {
    --refused_;
    const auto by = refused_by_.find(holder.refused_peer);
    by->second.erase(id);
    if (by->second.empty()) refused_by_.erase(by);
  } else {
    unsettle(id, holder);
    --places_;
    strangers_.erase(id);
    if (const auto at = addresses_.find(holder.address); at != addresses_.end()) {
      at->second.strangers.erase(id);
      if (--at->second.places == 0) addresses_.erase(at);
    }
  }
  holders_.erase(it);
}

}  // namespace sickbay
