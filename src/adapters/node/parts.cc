// SPDX-License-Identifier: Apache-2.0
// parts: what this node has, against what a site says that it must have.
//
// A part that fell off the bus leaves no trace in the operations that look at parts: without an adapter they
// have nothing to ask, and are unknown.  Here the number is the answer, and 0 is one as well.
#include <fmt/format.h>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "base/size.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

constexpr std::size_t kMostList = 250;  // of a text of 256
constexpr std::string_view kAdapters = "/sys/class/infiniband", kNetwork = "/sys/class/net";

class Missing {
 public:
  /// `there`: nothing where nobody can tell; then nothing is said of it.
  void compare(std::int64_t expected, std::optional<std::int64_t> there, std::string_view noun) {
    if (expected <= 0 || !there || *there >= expected) return;
    count_ += expected - *there;
    name(fmt::format("{} of {} {}", expected - *there, expected, noun));
  }
  void lacks(std::string what) {
    ++count_;
    name(std::move(what));
  }
  std::int64_t count() const { return count_; }
  const std::string& list() const { return list_; }

 private:
  void name(const std::string& what) {
    // 7: the separator, and the dots that may have to follow.
    if (list_.size() + what.size() + 7 > kMostList) {
      if (!list_.ends_with(" ...")) list_ += " ...";
      return;
    }
    list_ += (list_.empty() ? "" : ", ") + what;
  }
  std::int64_t count_ = 0;
  std::string list_;
};

// Of the memory that is expected, the kernel shows less: firmware and the kernel itself keep up to 6 percent.
bool is_short(std::int64_t expected, std::optional<std::int64_t> modules,
              std::optional<std::int64_t> kernel) {
  if (expected <= 0) return false;
  if (modules) return *modules < expected;
  return kernel && static_cast<double>(*kernel) < 0.9 * static_cast<double>(expected);
}

}  // namespace

std::int64_t infiniband_adapters_of(const Tree& tree) {
  return static_cast<std::int64_t>(tree.list(kAdapters).size());
}

OperationEnd parts(const Call& call) {
  const Tree& tree = *call.tree;
  if (!tree.exists("/proc") || !tree.exists("/sys")) return unknown("there is no /proc and /sys");
  const auto table = tree.read("/sys/firmware/dmi/tables/DMI");
  const auto modules = table ? smbios_memory_modules(*table) : std::nullopt;
  const auto installed = table ? smbios_memory(*table) : std::nullopt;
  const auto meminfo = tree.read("/proc/meminfo");
  const auto kernel = meminfo ? field_of(*meminfo, "MemTotal") : std::nullopt;
  const auto online = tree.word("/sys/devices/system/cpu/online");
  const auto processors = online ? count_list(*online) : std::nullopt;
  // Of these a folder that is not there says 0, not "unknown": the driver's folder goes with the last device.
  const std::int64_t disks = disks_of(tree), gpus = gpus_on_the_bus(tree),
                     adapters = infiniband_adapters_of(tree);
  Missing missing;
  missing.compare(call.integer("processors"), processors, "processors");
  missing.compare(call.integer("memory_modules"), modules, "memory modules");
  if (const std::int64_t expected = call.integer("memory"); is_short(expected, installed, kernel))
    missing.lacks(fmt::format("memory ({} of {})", describe_size({installed ? *installed : *kernel}),
                              describe_size({expected})));
  missing.compare(call.integer("disks"), disks, "disks");
  missing.compare(call.integer("gpus"), gpus, "GPUs");
  missing.compare(call.integer("infiniband"), adapters, "InfiniBand adapters");
  // By name, where the number does not say it: the right number of the wrong ones.
  const auto by_name = [&](std::string_view names, std::string_view folder, std::string_view noun) {
    while (!names.empty()) {
      const std::string name(trimmed(next_part(names, ',')));
      if (!name.empty() && !tree.exists(fmt::format("{}/{}", folder, name)))
        missing.lacks(fmt::format("{} {}", noun, name));
    }
  };
  by_name(call.text("infiniband_devices"), kAdapters, "InfiniBand adapter");
  by_name(call.text("network_devices"), kNetwork, "network device");
  return found(Json::object({{"parts_missing", missing.count()},
                             {"parts_missing_list", missing.list()},
                             {"parts_processors", or_null(processors)},
                             {"parts_memory", or_null(installed)},
                             {"parts_memory_modules", or_null(modules)},
                             {"parts_disks", disks},
                             {"parts_gpus", gpus},
                             {"parts_infiniband", adapters}}));
}

}  // namespace sickbay::node
