// SPDX-License-Identifier: Apache-2.0
// Cgroups, both versions.  The lab's groups are BASE/sickbay-lab-NAME/MACHINE; enter_spaces() knows the
// prefix.
#include "lab/cgroups.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;

struct ControllerRow {
  const char* v1;
  const char* v2;
};
constexpr std::array<ControllerRow, 3> kControllers = {
    {{"cpu", "cpu"}, {"memory", "memory"}, {"blkio", "io"}}};

Status put(const std::string& file, const std::string& value) {
  std::ofstream out(file);
  out << value << std::flush;
  if (!out) return fail(os_error(fmt::format("could not write '{}' to {}", value, file)));
  return {};
}

// The folder that holds the hierarchy: version 1 where the controller has one of its own, else version 2.
Result<Cgroup> base_of(Controller controller) {
  const ControllerRow& row = kControllers[static_cast<std::size_t>(controller)];
  const std::string v1 = std::string("/sys/fs/cgroup/") + row.v1;
  if (fs::exists(v1 + "/cgroup.procs") && !fs::exists("/sys/fs/cgroup/cgroup.controllers"))
    return Cgroup{v1, false};
  std::ifstream in("/sys/fs/cgroup/cgroup.controllers");
  for (std::string word; in >> word;)
    if (word == row.v2) return Cgroup{"/sys/fs/cgroup", true};
  return fail(Error(ErrorCode::os, fmt::format("this kernel offers no '{}' control group", row.v1))
                  .because("neither /sys/fs/cgroup/" + std::string(row.v1) + " nor cgroup.controllers has it")
                  .remedied_by("mount the cgroup file system, or run the lab outside of a container"));
}

Status make_group(const Layout& l, const Cgroup& group, Controller controller) {
  if (::access(group.path.c_str(), F_OK) == 0) return {};
  if (auto kept = CleanupList(l.dir()).add({CleanupItem::Kind::cgroup, group.path, {}}); !kept) return kept;
  if (group.v2) {
    const std::string parent = fs::path(group.path).parent_path().string();
    const std::string word = std::string("+") + kControllers[static_cast<std::size_t>(controller)].v2;
    if (auto done = put(parent + "/cgroup.subtree_control", word); !done) return done;
  }
  if (::mkdir(group.path.c_str(), 0755) != 0 && errno != EEXIST)
    return fail(os_error("could not make " + group.path));
  return {};
}

// The process's group in the controller's hierarchy: "/sickbay-lab-x/n1".
std::string group_of(pid_t pid, const Cgroup& group, Controller controller) {
  const std::string name = group.v2 ? "" : kControllers[static_cast<std::size_t>(controller)].v1;
  std::ifstream groups(fmt::format("/proc/{}/cgroup", pid));
  for (std::string line; std::getline(groups, line);) {  // 4:cpu,cpuacct:/path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names.find("," + name + ",") != std::string::npos) return line.substr(second + 1);
  }
  return "";
}

// "254:0" of the whole disk below a file.
Result<std::string> disk_of(const std::string& path) {
  struct stat its {};
  if (::stat(path.c_str(), &its) != 0) return fail(os_error("could not look at " + path));
  const std::string number = fmt::format("{}:{}", major(its.st_dev), minor(its.st_dev));
  const fs::path device = "/sys/dev/block/" + number;
  if (!fs::exists(device))
    return fail(
        Error(ErrorCode::os, fmt::format("{} does not lie on a disk of its own", path))
            .because(fmt::format("its device {} is not a block device (tmpfs, overlay, btrfs, NFS)", number))
            .remedied_by("start the lab with --dir on an ext4 or xfs disk"));
  if (!fs::exists(device / "partition")) return number;
  std::ifstream whole(fs::canonical(device).parent_path() / "dev");  // limits are per disk, not per partition
  std::string disk;
  whole >> disk;
  return disk.empty() ? number : disk;
}

}  // namespace

bool slurm_can_confine_memory() {
  auto base = base_of(Controller::memory);
  return base && !base->v2;
}

Result<std::string> make_memory_group(const Layout& l, const Machine& m) {
  auto group = base_of(Controller::memory);
  if (!group) return tl::unexpected(group.error());
  for (const std::string& part : {"/sickbay-lab-" + l.wishes.name, "/" + m.name}) {
    group->path += part;
    if (auto made = make_group(l, *group, Controller::memory); !made) return tl::unexpected(made.error());
  }
  return group->path;
}

Status check_controller(Controller controller) {
  auto base = base_of(controller);
  if (!base) return tl::unexpected(base.error());
  return {};
}

Result<Cgroup> machine_cgroup(const Layout& l, const Machine& m, Controller controller) {
  auto group = base_of(controller);
  if (!group) return group;
  group->path += "/sickbay-lab-" + l.wishes.name;
  if (auto made = make_group(l, *group, controller); !made) return tl::unexpected(made.error());
  group->path += "/" + m.name;
  if (auto made = make_group(l, *group, controller); !made) return tl::unexpected(made.error());
  auto holder = holder_of(l, m.name);
  if (!holder) return tl::unexpected(holder.error());
  // The holder first: what enters the machine from now on reads its groups.  Then the rest, twice, for what
  // was born meanwhile in a group that its parent had not left yet.
  if (auto done = put(group->path + "/cgroup.procs", std::to_string(holder->pid)); !done)
    return tl::unexpected(done.error());
  const std::string mine = group->path.substr(group->path.find("/sickbay-lab-")) + "/";
  for (int round = 0; round < 2; ++round)
    for (const Process& p : processes_of(*holder))
      // Who sits in a group of its own below ours (a step of Slurm, one slowed process) stays there.
      if (group_of(p.pid, *group, controller).rfind(mine, 0) != 0)
        (void)put(group->path + "/cgroup.procs", std::to_string(p.pid));
  return group;
}

Result<Cgroup> process_cgroup(const Layout& l, const Machine& m, const Process& process,
                              Controller controller) {
  auto group = base_of(controller);
  if (!group) return group;
  // Beside the machine's group, not below it: version 2 allows processes in leaves only.
  group->path += "/sickbay-lab-" + l.wishes.name;
  if (auto made = make_group(l, *group, controller); !made) return tl::unexpected(made.error());
  group->path += fmt::format("/{}-pid-{}", m.name, process.pid);
  if (auto made = make_group(l, *group, controller); !made) return tl::unexpected(made.error());
  if (auto done = put(group->path + "/cgroup.procs", std::to_string(process.pid)); !done)
    return tl::unexpected(done.error());
  return group;
}

Status limit_cpu(const Cgroup& group, double share) {
  // 100 ms is the kernel's own period; shorter ones cost more than they smooth.
  const auto quota = static_cast<std::int64_t>(share * 1000);
  if (group.v2)
    return put(group.path + "/cpu.max", share > 0 ? fmt::format("{} 100000", quota) : "max 100000");
  if (auto done = put(group.path + "/cpu.cfs_period_us", "100000"); !done) return done;
  return put(group.path + "/cpu.cfs_quota_us", share > 0 ? std::to_string(quota) : "-1");
}

Status limit_memory(const Cgroup& group, std::int64_t bytes) {
  if (group.v2) return put(group.path + "/memory.max", bytes > 0 ? std::to_string(bytes) : "max");
  return put(group.path + "/memory.limit_in_bytes", bytes > 0 ? std::to_string(bytes) : "-1");
}

Status limit_disk(const Cgroup& group, const std::string& path, std::int64_t rate) {
  auto disk = disk_of(path);
  if (!disk) return tl::unexpected(disk.error());
  if (group.v2) {
    const std::string limit = rate > 0 ? std::to_string(rate) : "max";
    return put(group.path + "/io.max", fmt::format("{} rbps={} wbps={}", *disk, limit, limit));
  }
  for (const char* file : {"/blkio.throttle.read_bps_device", "/blkio.throttle.write_bps_device"})
    if (auto done = put(group.path + file, fmt::format("{} {}", *disk, rate)); !done) return done;
  return {};
}

}  // namespace sickbay::lab
