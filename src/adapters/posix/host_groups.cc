// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/host_groups.h"

#include <fmt/format.h>
#include <grp.h>

#include <algorithm>

namespace sickbay {
namespace {

Error hangs(const std::string& user) {
  return Error(ErrorCode::timed_out, fmt::format("nobody says in which groups {} is", user))
      .because(
          fmt::format("the host's name service has not answered for {} s", HostGroups::kPatience.count()))
      .remedied_by("look at sssd, nslcd or nscd on this host ('id " + user + "')");
}

}  // namespace

HostGroups::Groups HostGroups::of_host(const std::string& user, std::uint32_t gid) {
  Groups groups(64);
  int count = static_cast<int>(groups.size());
  // Twice at most: the first call says how many there are.
  for (int i = 0; i < 2 && ::getgrouplist(user.c_str(), gid, groups.data(), &count) < 0; ++i)
    groups.resize(static_cast<std::size_t>(count));
  groups.resize(static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(groups.size()))));
  return groups;
}

HostGroups::HostGroups(Loop& loop, LookUp look_up, BlockingWork::Start start)
    : loop_(loop),
      look_up_(std::make_shared<const LookUp>(std::move(look_up))),
      threads_(loop, std::move(start), kAtOnce) {}

void HostGroups::ask(const std::string& user, std::uint32_t gid, Done<Groups> done) {
  const Key key{user, gid};
  const TimePoint now = loop_.now();
  const auto [it, is_new] = entries_.try_emplace(key);
  Entry& entry = it->second;
  // It hangs: who comes now need not wait to see that.
  if (!is_new && now - entry.asked_at >= kPatience)
    return loop_.post(lifetime_.guard([user, done = std::move(done)] { done(fail(hangs(user))); }));
  entry.waiting.push_back(std::move(done));
  if (!is_new) return;
  entry.asked_at = now;
  entry.timer = loop_.at(now + kPatience, lifetime_.guard([this, key] { lose_patience(key); }));
  entry.ticket = threads_.run<Groups>([key, look_up = look_up_] { return (*look_up)(key.first, key.second); },
                                      [this, key](const Groups& groups) { heard(key, groups); });
}

void HostGroups::heard(const Key& key, const Groups& groups) {
  auto entry = entries_.extract(key);
  if (!entry.empty()) {
    loop_.cancel(entry.mapped().timer);
    for (const auto& done : entry.mapped().waiting) done(groups);
  }
}

void HostGroups::lose_patience(const Key& key) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || loop_.now() - it->second.asked_at < kPatience) return;
  it->second.timer = 0;
  const auto waiting = std::exchange(it->second.waiting, {});
  // One that had no thread yet is not asked about any more.
  if (threads_.take_back(it->second.ticket)) entries_.erase(it);
  for (const auto& done : waiting) done(fail(hangs(key.first)));
}

}  // namespace sickbay
