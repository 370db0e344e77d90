// SPDX-License-Identifier: Apache-2.0
// filesystem, mount, read_only_mounts, remount.  Only `filesystem` touches a file system, on a thread.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "base/mount_table.h"
#include "base/text.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

bool is_path(std::string_view path) {
  return path.starts_with('/') && path.find('\0') == std::string_view::npos;
}
OperationEnd no_path(const std::string& path) {
  return unknown(fmt::format("{} is no absolute path", quote_for_message(path)));
}

// Of what mountinfo says last: a later mount covers an earlier one.
const Mount* mount_at(const std::vector<Mount>& mounts, std::string_view place) {
  while (place.size() > 1 && place.back() == '/') place.remove_suffix(1);
  const Mount* last = nullptr;
  for (const Mount& m : mounts)
    if (m.place == place) last = &m;
  return last;
}

// File systems on a local disk that are meant to be written.
constexpr auto kWritable = std::to_array<std::string_view>(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "vfat", "ntfs3", "bcachefs"});

}  // namespace

OperationEnd filesystem(const Call& call) {
  const std::string path = call.text("path");
  if (!is_path(path)) return no_path(path);
  struct statvfs fs {};
  if (::statvfs(call.tree->path(path).c_str(), &fs) != 0)
    return unknown(
        fmt::format("cannot ask the file system at {}: {}", quote_for_message(path), std::strerror(errno)));
  const auto block = static_cast<std::int64_t>(fs.f_frsize);
  const auto bytes = [block](fsblkcnt_t blocks) {
    // The blocks are bounded before they are multiplied.
    return static_cast<std::int64_t>(
               std::min<fsblkcnt_t>(blocks, kMostInteger / std::max<std::int64_t>(block, 1))) *
           block;
  };
  // As df: of what users other than root can have.
  const double used = static_cast<double>(fs.f_blocks - fs.f_bfree);
  // Some file systems (btrfs) make inodes as they need them, and say 0.
  const bool counts_inodes = fs.f_files > 0;
  const auto count = [counts_inodes](fsfilcnt_t files) {
    return counts_inodes ? Json(static_cast<std::int64_t>(std::min<fsfilcnt_t>(files, fsfilcnt_t{1} << 53)))
                         : Json();
  };
  return found(Json::object(
      {{"filesystem_size", bytes(fs.f_blocks)},
       {"filesystem_free", bytes(fs.f_bavail)},
       {"filesystem_used", bytes(fs.f_blocks - fs.f_bfree)},
       {"filesystem_used_percent", percent_up(used, used + static_cast<double>(fs.f_bavail))},
       {"inodes_free", count(fs.f_favail)},
       {"inodes", count(fs.f_files)},
       {"inodes_used", count(fs.f_files - fs.f_ffree)},
       {"inodes_used_percent", counts_inodes ? percent_up(static_cast<double>(fs.f_files - fs.f_ffree),
                                                          static_cast<double>(fs.f_files))
                                             : Json()}}));
}

OperationEnd mount(const Call& call) {
  const std::string path = call.text("path");
  if (!is_path(path)) return no_path(path);
  const auto text = call.tree->read("/proc/self/mountinfo");
  if (!text) return unknown(text.error().what);
  const auto mounts = parse_mountinfo(*text);
  if (mounts.empty()) return unknown("/proc/self/mountinfo lists no mount");
  const Mount* m = mount_at(mounts, path);
  if (m == nullptr)
    return found(
        Json::object({{"mount_present", false}, {"mount_read_only", nullptr}, {"mount_type", nullptr}}));
  return found(Json::object(
      {{"mount_present", true}, {"mount_read_only", m->read_only}, {"mount_type", m->type.substr(0, 250)}}));
}

OperationEnd read_only_mounts(const Call& call) {
  const auto text = call.tree->read("/proc/self/mountinfo");
  if (!text) return unknown(text.error().what);
  const auto mounts = parse_mountinfo(*text);
  if (mounts.empty()) return unknown("/proc/self/mountinfo lists no mount");
  const auto fstab = parse_fstab(call.tree->read("/etc/fstab").value_or(""));
  std::int64_t count = 0;
  bool root = false;
  std::string places;
  for (const Mount& m : mounts) {
    const bool disk =
        std::find(kWritable.begin(), kWritable.end(), m.type) != kWritable.end() && m.source.starts_with('/');
    // The file system itself: a bind mount that is read-only alone is somebody's wish (systemd makes many).
    if (!disk || !m.filesystem_read_only || mount_at(mounts, m.place) != &m) continue;
    const auto line =
        std::find_if(fstab.begin(), fstab.end(), [&](const FstabLine& l) { return l.place == m.place; });
    // Without a line somebody mounted it by hand, as they wanted it; the root alone needs none.
    if (m.place != "/" && line == fstab.end()) continue;
    if (line != fstab.end() && line->has("ro")) continue;
    ++count;
    root |= m.place == "/";
    if (places.size() < 65536) places += (places.empty() ? "" : "\n") + m.place;
  }
  return found(
      Json::object({{"read_only_mounts", count}, {"read_only_places", places}, {"root_read_only", root}}));
}

ChildPlan remount(const Call& call) {
  const std::string path = call.text("path");
  if (!is_path(path)) return {{}, {}, no_path(path)};
  const auto fstab = parse_fstab(call.tree->read("/etc/fstab").value_or(""));
  if (std::none_of(fstab.begin(), fstab.end(), [&](const FstabLine& l) { return l.place == path; }))
    return {{},
            {},
            unknown(fmt::format("/etc/fstab has no line for {}: nothing says how to mount it",
                                quote_for_message(path)))};
  const auto mounts = parse_mountinfo(call.tree->read("/proc/self/mountinfo").value_or(""));
  std::vector<std::string> argv = {"mount"};
  // Mounted already (read-only, after an error): without `remount` it would be mounted once more above
  // itself.
  if (mount_at(mounts, path) != nullptr) argv.insert(argv.end(), {"-o", "remount"});
  argv.push_back(path);
  ChildPlan plan;
  plan.programs.push_back(program_spec(call, std::move(argv)));
  plan.read = [path](const std::vector<Result<ProcessOutcome>>& outcomes) {
    if (auto missing = no_answer("mount", outcomes[0])) return *missing;
    const bool done = outcomes[0]->exit_code == 0;
    Json out = Json::object({{"mount_done", done}});
    if (done) return found(std::move(out), fmt::format("mounted {} as /etc/fstab says", path));
    return failed(std::move(out), fmt::format("mount ended with exit code {}: {}", outcomes[0]->exit_code,
                                              quote_for_message(trimmed(outcomes[0]->err), 200)));
  };
  return plan;
}

}  // namespace sickbay::node
