// SPDX-License-Identifier: Apache-2.0
#include "base/mount_table.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/words.h"

namespace sickbay {
namespace {

/// An allowed list: what it does not know is taken for local, and nobody is accused of having lost it.
constexpr auto kFromElsewhere = std::to_array<std::string_view>(
    {"nfs",   "nfs4",     "lustre", "gpfs", "beegfs",    "ceph",           "fuse.ceph",
     "cifs",  "smb3",     "pvfs2",  "afs",  "glusterfs", "fuse.glusterfs", "fuse.sshfs",
     "panfs", "orangefs", "wekafs", "9p",   "virtiofs",  "daos",           "fuse.daos"});

// Paths of mountinfo and fstab have blanks, tabs, line ends and backslashes as \ooo: "\040".
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      const auto code = to_integer(text.substr(i + 1, 3), 8);
      if (code && *code > 0 && *code < 256) {
        plain += static_cast<char>(*code);
        i += 3;
        continue;
      }
    }
    plain += text[i];
  }
  return plain;
}

}  // namespace

bool has_option(std::string_view options, std::string_view wanted) {
  while (!options.empty())
    if (next_part(options, ',') == wanted) return true;
  return false;
}

std::vector<Mount> parse_mountinfo(std::string_view text) {
  // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
  std::vector<Mount> mounts;
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    // Mount id, parent id and device, as in proc(5).
    for (int i = 0; i < 3; ++i) next_word(rest);
    Mount m;
    m.root = unescaped(next_word(rest));
    m.place = unescaped(next_word(rest));
    const std::string_view options = next_word(rest);
    // Any number of optional fields, ended by "-".
    while (!rest.empty() && next_word(rest) != "-") {
    }
    m.type = next_word(rest);
    m.source = unescaped(next_word(rest));
    m.filesystem_options = next_word(rest);
    m.filesystem_read_only = has_option(m.filesystem_options, "ro");
    // Either makes it so: a bind mount that is not writable, or a file system that the kernel turned
    // read-only after an error.
    m.read_only = m.filesystem_read_only || has_option(options, "ro");
    if (!m.place.empty() && !m.type.empty()) mounts.push_back(std::move(m));
  }
  return mounts;
}

bool FstabLine::has(std::string_view option) const { return has_option(options, option); }

std::vector<FstabLine> parse_fstab(std::string_view text) {
  std::vector<FstabLine> lines;
  while (const auto line = next_line(text)) {
    std::string_view rest = trimmed(*line);
    if (rest.empty() || rest.front() == '#') continue;
    FstabLine found;
    found.source = unescaped(next_word(rest));
    found.place = unescaped(next_word(rest));
    found.type = next_word(rest);
    found.options = next_word(rest);
    if (!found.type.empty()) lines.push_back(std::move(found));
  }
  return lines;
}

bool lies_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (folder.ends_with('/') || path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_from_elsewhere(std::string_view type) {
  return std::ranges::find(kFromElsewhere, type) != kFromElsewhere.end();
}

}  // namespace sickbay
