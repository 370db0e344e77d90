// SPDX-License-Identifier: Apache-2.0
// Users and groups of this host.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "ports/http.h"

namespace sickbay {

/// The account of that name.  Errors: not_found.
Result<Owner> account_named(const std::string& user);
/// The name of a user; "" where he has none.  May ask a directory server.
std::string user_name(std::uint32_t uid);
/// True when `caller` is one of `users` or a member of one of `groups`.
bool belongs_to(const Caller& caller, const std::vector<std::string>& users,
                const std::vector<std::string>& groups);

}  // namespace sickbay
