// SPDX-License-Identifier: Apache-2.0
// What is mounted (mountinfo), what should be (fstab), and which file systems have their data elsewhere.
//
// Total: whatever the bytes, the parsers give the lines that can be understood and leave the rest out.  For
// the agent, which reads recorded machines as well, and for V, which sees nothing of ours but base.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sickbay {

/// One line of /proc/self/mountinfo (proc_pid_mountinfo(5)); paths without their escapes.
struct Mount {
  std::string root;  ///< what of the file system is mounted: "/", a folder of it, a control group
  std::string place, type, source;
  std::string filesystem_options;  ///< "rw,cpu,cpuacct"
  bool read_only = false;          ///< this mount, or the file system
  bool filesystem_read_only = false;
};
/// In the order of the text: a later mount on the same place covers an earlier one.
std::vector<Mount> parse_mountinfo(std::string_view text);

/// A line of /etc/fstab.
struct FstabLine {
  std::string source, place, type, options;
  bool has(std::string_view option) const;
};
std::vector<FstabLine> parse_fstab(std::string_view text);

/// Whether `wanted` is one of `options` ("rw,noatime").
bool has_option(std::string_view options, std::string_view wanted);

/// Whether `path` is `folder` or lies below it, by their names alone; where `folder` ends with '/', below
/// only.
bool lies_below(std::string_view path, std::string_view folder);

/// Whether the data of a file system of this type is on other machines, which can go away while this one
/// stays.
bool is_from_elsewhere(std::string_view type);

}  // namespace sickbay
