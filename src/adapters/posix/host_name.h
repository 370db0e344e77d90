// SPDX-License-Identifier: Apache-2.0
// What this host calls itself.
#pragma once
#include <string>

namespace sickbay {

/// The host's name, whole.
std::string host_name();
/// Up to its first dot, as Slurm names nodes.
std::string short_host_name();

}  // namespace sickbay
