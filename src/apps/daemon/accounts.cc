// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/accounts.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>

namespace sickbay {

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

std::string user_name(std::uint32_t uid) {
  std::vector<char> space(16 << 10);
  passwd entry, *found = nullptr;
  const bool has = ::getpwuid_r(uid, &entry, space.data(), space.size(), &found) == 0 && found != nullptr;
  return has ? found->pw_name : "";
}

bool belongs_to(const Caller& caller, const std::vector<std::string>& users,
                const std::vector<std::string>& groups) {
  if (std::find(users.begin(), users.end(), caller.user) != users.end()) return true;
  if (groups.empty()) return false;
  int count = 256;
  std::vector<gid_t> member(256);
  if (::getgrouplist(caller.user.c_str(), caller.gid, member.data(), &count) < 0) {
    member.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(caller.user.c_str(), caller.gid, member.data(), &count) < 0) return false;
  }
  member.resize(static_cast<std::size_t>(count));
  return std::any_of(groups.begin(), groups.end(), [&](const std::string& name) {
    const group* entry = ::getgrnam(name.c_str());
    return entry != nullptr && std::find(member.begin(), member.end(), entry->gr_gid) != member.end();
  });
}

}  // namespace sickbay
