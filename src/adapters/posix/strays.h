// SPDX-License-Identifier: Apache-2.0
// Strays: processes that a program left behind outside its process group (fork twice, setsid).
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>

namespace sickbay {

inline constexpr std::string_view kFamilyVariable = "SICKBAY_FAMILY=";

/// Makes this process the parent of all below it that lose theirs.  False where the kernel does not.
bool adopt_strays();

/// Kills every child of this process with `family` ("SICKBAY_FAMILY=...") in its environment, and theirs,
/// until there is none, for 100 ms at most; waits for all dead children but `ours`.  How many were killed.
int kill_strays(const std::string& family, std::span<const pid_t> ours);

}  // namespace sickbay
