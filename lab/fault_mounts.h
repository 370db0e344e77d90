// SPDX-License-Identifier: Apache-2.0
// Effects of faults on the file systems of a machine, all in its own mount namespace.  See fault_effects.h.
#pragma once
#include "lab/fault_effects.h"

namespace sickbay::lab {

Status check_path(const Target& target);     ///< the path is a folder
Status check_mounted(const Target& target);  ///< the path is a mount point of the machine
Status inject_disk_full(Target& target);
Status heal_disk_full(Target& target);
Status inject_read_only(Target& target);
Status heal_read_only(Target& target);
Status inject_unmount(Target& target);  ///< storage-away too: of LAB/home
Status heal_unmount(Target& target);

/// One line of /proc/self/mountinfo.
struct MountPoint {
  std::string path;
  std::string root;     ///< what of its file system is mounted: "/", or a folder of it for a bind mount
  std::string options;  ///< of this mount
  std::string source;
};
/// In order of mounting.  Octal escapes are resolved.  Pure.
std::vector<MountPoint> parse_mountinfo(const std::string& text);

}  // namespace sickbay::lab
