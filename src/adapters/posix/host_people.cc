// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/host_people.h"

#include <algorithm>

namespace sickbay {

HostPeople::HostPeople(Loop& loop, LookUp look_up, BlockingWork::Start start)
    : loop_(loop),
      look_up_(std::make_shared<const LookUp>(std::move(look_up))),
      threads_(loop, std::move(start), kAtOnce) {}

HostPeople::~HostPeople() = default;

bool HostPeople::is_fresh(const Entry& entry, TimePoint now) const {
  return entry.said_at != kNoTime && now - entry.said_at < kFresh;
}

Person HostPeople::known(const Entry& entry, TimePoint now) const {
  return entry.said_at != kNoTime && now - entry.said_at < kOldest ? entry.person : Person{};
}

void HostPeople::ask(std::uint32_t uid, std::uint32_t gid, std::function<void(const Person&)> then) {
  const TimePoint now = loop_.now();
  const Key key{uid, gid};
  if (!entries_.contains(key)) make_room();
  Entry& entry = entries_[key];
  if (is_fresh(entry, now)) return then(Person(entry.person));
  if (!entry.asking) {
    entry.asking = true;
    entry.asked_at = now;
    loop_.at(now + kPatience, lifetime_.guard([this, key, now] { lose_patience(key, now); }));
    entry.waiting.push_back(std::move(then));
    threads_.run<Person>([key, look_up = look_up_] { return (*look_up)(key.first, key.second); },
                         [this, key](Person person) { heard(key, std::move(person)); });
    return;
  }
  // It hangs: who comes now need not wait to see that.
  if (now - entry.asked_at >= kPatience) return then(known(entry, now));
  entry.waiting.push_back(std::move(then));
}

std::string HostPeople::name_now(std::uint32_t uid) {
  const TimePoint now = loop_.now();
  for (auto it = entries_.lower_bound({uid, 0}); it != entries_.end() && it->first.first == uid; ++it)
    if (is_fresh(it->second, now)) return it->second.person.user;
  ask(uid, kAnyGid, [](const Person&) {});
  return known(entries_[{uid, kAnyGid}], now).user;
}

void HostPeople::heard(const Key& key, Person person) {
  if (const auto it = entries_.find(key); it != entries_.end()) {
    Entry& entry = it->second;
    entry.person = std::move(person);
    entry.said_at = loop_.now();
    entry.asking = false;
    const Person said = entry.person;
    for (const auto& then : std::exchange(entry.waiting, {})) then(said);
  }
}

void HostPeople::lose_patience(const Key& key, TimePoint asked_at) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second.asking || it->second.asked_at != asked_at) return;
  const Person so_far = known(it->second, loop_.now());
  for (const auto& then : std::exchange(it->second.waiting, {})) then(so_far);
}

// Those that are not being asked about go, the oldest half of them: all are asked for again when they come.
void HostPeople::make_room() {
  if (entries_.size() < kMostKept) return;
  std::vector<TimePoint> times;
  for (const auto& [key, entry] : entries_)
    if (!entry.asking) times.push_back(entry.said_at);
  if (times.empty()) return;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(entries_,
                [&](const auto& item) { return !item.second.asking && item.second.said_at <= *middle; });
}

}  // namespace sickbay
