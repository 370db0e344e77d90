// SPDX-License-Identifier: Apache-2.0
// What the kernel tells of the memory of this node.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sickbay::verify {

/// The line `name` ("MemTotal") of `root`/proc/meminfo, in bytes; 0 where it cannot be read.
std::uint64_t meminfo_bytes(std::string_view name, const std::string& root = "");

}  // namespace sickbay::verify
