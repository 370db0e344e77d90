// SPDX-License-Identifier: Apache-2.0
// Users and groups of this host.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "ports/http.h"
#include "ports/people.h"

namespace sickbay {

/// The account of that name.  Errors: not_found.
Result<Owner> account_named(const std::string& user);
/// Who `uid` is (ports/people.h), and in which of `groups`, of those and of `gid`.  May ask a directory
/// server, and wait for it: not on the loop.  Any number of threads may call it.
Person person_of(std::uint32_t uid, std::uint32_t gid, const std::vector<std::string>& groups);
/// True when `caller` is one of `users` or a member of one of `groups`, as it has been looked up.
bool belongs_to(const Caller& caller, const std::vector<std::string>& users,
                const std::vector<std::string>& groups);

}  // namespace sickbay
