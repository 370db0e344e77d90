// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/accounts.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace sickbay {
namespace {

constexpr std::size_t kSpace = 64 << 10;  // of an entry, with all members of a group

std::optional<gid_t> gid_of(const std::string& name) {
  group entry, *found = nullptr;
  std::vector<char> space(kSpace);
  for (int code; (code = ::getgrnam_r(name.c_str(), &entry, space.data(), space.size(), &found)) != 0;) {
    if (code != ERANGE || space.size() > std::size_t{64} << 20) return std::nullopt;
    space.resize(space.size() * 4);
  }
  if (found == nullptr) return std::nullopt;
  return found->gr_gid;
}

}  // namespace

Result<Owner> account_named(const std::string& user) {
  const passwd* entry = ::getpwnam(user.c_str());
  if (entry == nullptr)
    return fail(Error(ErrorCode::not_found, fmt::format("no user '{}' on this host", user))
                    .because("the configuration, or its default, names it")
                    .remedied_by(fmt::format(
                        "make it ('useradd --system {}', with the same uid on all nodes), or name "
                        "another one in the configuration",
                        user)));
  return Owner{user, entry->pw_uid, entry->pw_gid};
}

Person person_of(std::uint32_t uid, std::uint32_t gid, const std::vector<std::string>& groups) {
  Person person;
  std::vector<char> space(kSpace);
  passwd entry, *found = nullptr;
  if (::getpwuid_r(uid, &entry, space.data(), space.size(), &found) != 0 || found == nullptr) return person;
  person.user = found->pw_name;
  if (groups.empty()) return person;
  const gid_t first = gid == People::kAnyGid ? found->pw_gid : gid;
  int count = 256;
  std::vector<gid_t> member(256);
  if (::getgrouplist(person.user.c_str(), first, member.data(), &count) < 0) {
    member.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(person.user.c_str(), first, member.data(), &count) < 0) return person;
  }
  member.resize(static_cast<std::size_t>(count));
  for (const std::string& name : groups)
    if (const auto is = gid_of(name); is && std::ranges::find(member, *is) != member.end())
      person.groups.push_back(name);
  return person;
}

bool belongs_to(const Caller& caller, const std::vector<std::string>& users,
                const std::vector<std::string>& groups) {
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  return is_in(users, caller.user) ||
         std::ranges::any_of(caller.groups, [&](const std::string& group) { return is_in(groups, group); });
}

}  // namespace sickbay
