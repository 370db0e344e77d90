// SPDX-License-Identifier: Apache-2.0
// A handful of files to names and values.
#include "adapters/node/fleet_facts.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <set>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "adapters/node/tree.h"
#include "base/mount_table.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay {
namespace {

using node::Tree;

constexpr std::size_t kMostMounts = 64, kMostLinks = 16;

/// File systems on this machine, or on disks that it shares, that a site mounts.  An allowed list: what the
/// kernel, containers and desktops mount besides grows with every release.
constexpr auto kLocalTypes =
    std::to_array<std::string_view>({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "vfat", "zfs",
                                     "bcachefs", "tmpfs", "ocfs2", "gfs2"});
/// Places that come and go with logins, jobs and containers, whatever is mounted there.
constexpr auto kPassing =
    std::to_array<std::string_view>({"/dev", "/proc", "/sys", "/run", "/snap", "/media", "/var/lib/docker",
                                     "/var/lib/containers", "/var/lib/kubelet", "/var/run", "/tmp/"});

/// Whether a site mounts this type; what a user mounts for himself (sshfs) comes and goes with him.
bool is_a_sites(std::string_view type) {
  return std::ranges::find(kLocalTypes, type) != kLocalTypes.end() ||
         (is_from_elsewhere(type) && type != "fuse.sshfs");
}

void add_mounts(const Tree& tree, Json& facts) {
  const auto text = tree.read("/proc/self/mountinfo");
  if (!text) return;
  const std::vector<Mount> mounts = parse_mountinfo(*text);
  std::set<std::string, std::less<>> automounted;
  for (const Mount& m : mounts)
    if (m.type == "autofs") automounted.insert(m.place);
  const auto stays = [&](const Mount& m) {
    return is_a_sites(m.type) &&
           std::ranges::none_of(kPassing,
                                [&](std::string_view folder) { return lies_below(m.place, folder); }) &&
           std::ranges::none_of(automounted,
                                [&](const std::string& folder) { return lies_below(m.place, folder); });
  };
  std::size_t told = 0;
  for (const Mount& m : mounts)  // (a later mount on the same place covers an earlier one)
    if (stays(m) && told++ < kMostMounts) facts.set("mount:" + m.place, m.type);
}

/// Real devices that are up: those of containers and bridges have no `device`.
void add_links(const Tree& tree, Json& facts) {
  std::size_t told = 0;
  for (const std::string& name : tree.list("/sys/class/net")) {
    const std::string folder = "/sys/class/net/" + name;
    // Speed is told only where the link is up: a device that is down says -1, or fails to be read.
    if (!tree.exists(folder + "/device") || tree.word(folder + "/operstate") != "up") continue;
    const auto speed = tree.number(folder + "/speed");
    if (speed && *speed > 0 && told++ < kMostLinks) facts.set("link:" + name, std::to_string(*speed));
  }
}

void add_processor(const Tree& tree, Json& facts) {
  const auto text = tree.read("/proc/cpuinfo");
  if (!text) return;
  std::string model;
  std::int64_t count = 0;
  std::string_view rest = *text;
  while (const auto line = next_line(rest)) {
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = trimmed(line->substr(0, colon)), value = trimmed(line->substr(colon + 1));
    count += name == "processor";
    // x86, LoongArch; POWER; ARM, where it is a number.
    if (model.empty() &&
        (name == "model name" || name == "Model Name" || name == "cpu" || name == "CPU part"))
      model = value;
  }
  if (!model.empty()) facts.set("cpu", model);
  if (count > 0) facts.set("cores", std::to_string(count));
}

/// Devices that can fall off the bus.  That there is none is told as well: the node whose only one is gone
/// differs from its likes by nothing else.
void add_devices(const Tree& tree, Json& facts) {
  // Without these folders nobody can say that there is none.
  if (!tree.exists("/sys/bus/pci") && !tree.exists("/sys/block")) return;
  const auto gpus = std::max(static_cast<std::int64_t>(tree.list("/proc/driver/nvidia/gpus").size()),
                             node::gpus_on_the_bus(tree));
  facts.set("gpus", std::to_string(gpus));
  facts.set("infiniband", std::to_string(node::infiniband_adapters_of(tree)));
  facts.set("disks", std::to_string(node::disks_of(tree)));
  if (const auto table = tree.read("/sys/firmware/dmi/tables/DMI"))
    if (const auto modules = node::smbios_memory_modules(*table))
      facts.set("memory_modules", std::to_string(*modules));
}

}  // namespace

Json read_fleet_facts(std::string_view root) {
  const Tree tree(root);
  Json facts = Json::object();
  add_processor(tree, facts);
  if (const auto text = tree.read("/proc/meminfo"))
    if (const auto bytes = node::field_of(*text, "MemTotal"))
      facts.set("memory_mib", std::to_string(*bytes >> 20));
  add_devices(tree, facts);
  if (const auto kernel = tree.word("/proc/sys/kernel/osrelease")) facts.set("kernel", *kernel);
  if (const auto arch = tree.word("/proc/sys/kernel/arch")) {
    facts.set("arch", *arch);
  } else if (utsname name{};
             tree.is_this_machine() && ::uname(&name) == 0) {  // the file is there from 6.1 on
    facts.set("arch", std::string(name.machine));
  }
  if (const auto release = tree.read("/etc/os-release"))
    // The version first, so that "ID" finds it and puts itself before it: "rocky 9.3".  The line end before a
    // field keeps BUILD_ID= and its like apart.
    for (const std::string_view field : {"VERSION_ID=", "ID="})
      if (const std::size_t at = ("\n" + *release).find("\n" + std::string(field)); at != std::string::npos) {
        std::string_view value = std::string_view(*release).substr(at + field.size());
        value = value.substr(0, value.find('\n'));
        std::string plain;
        for (const char c : value)
          if (c != '"') plain += c;
        facts.set("os", facts["os"].is_string() ? plain + " " + facts["os"].as_string() : plain);
      }
  add_links(tree, facts);
  add_mounts(tree, facts);
  return facts;
}

}  // namespace sickbay
