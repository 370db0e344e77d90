// SPDX-License-Identifier: Apache-2.0
// What a node tells of itself for the comparison of the fleet (engine/fleet): names and values, as texts.
#pragma once
#include <string_view>

#include "base/json.h"

namespace sickbay {

/// An object of texts: arch, cpu, cores, memory_mib, gpus, kernel, os, `link:DEVICE` in Mbit/s and
/// `mount:PLACE` with its file system type.  Of mounts those that stay: no kernel's own, none of a container
/// or a login, and none below an automounter, which come and go.  What cannot be read is left out.
///
/// Reads files of /proc, /sys and /etc alone, and touches no file system that is mounted.  About 1 ms.  At
/// most 128 facts.  `root`: "/" or the folder of a recorded machine.
Json read_fleet_facts(std::string_view root = "/");

}  // namespace sickbay
