// SPDX-License-Identifier: Apache-2.0
// cpus, machine_checks, load: processors and what they do.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

constexpr std::string_view kCpus = "/sys/devices/system/cpu";

std::optional<std::int64_t> count_in(const Tree& tree, std::string_view file) {
  const auto text = tree.read(fmt::format("{}/{}", kCpus, file));
  if (!text) return std::nullopt;
  return count_list(*text);
}

// How much of its hardware's frequency the slowest processor may reach.  The limit and not the frequency of
// the moment: that is low on an idle node, and reading it can wake every processor.
std::optional<std::int64_t> lowest_frequency_percent(const Tree& tree) {
  std::optional<std::int64_t> lowest;
  // One policy for each clock domain: fewer files than processors.
  for (const std::string& policy : tree.list("/sys/devices/system/cpu/cpufreq")) {
    if (!policy.starts_with("policy")) continue;
    const auto may = tree.number(fmt::format("{}/cpufreq/{}/scaling_max_freq", kCpus, policy));
    const auto can = tree.number(fmt::format("{}/cpufreq/{}/cpuinfo_max_freq", kCpus, policy));
    if (!may || !can || *can <= 0 || *may < 0) continue;
    const std::int64_t percent = percent_of(static_cast<double>(*may), static_cast<double>(*can)).as_int();
    lowest = std::min(lowest.value_or(100), percent);
  }
  return lowest;
}

// Throttling events: each core counts its own, and all of a package count the package's.
std::optional<std::int64_t> throttles(const Tree& tree) {
  std::optional<std::int64_t> sum;
  for (const std::string& cpu : tree.list(kCpus)) {
    if (!cpu.starts_with("cpu") || cpu.size() < 4 || !is_digit(cpu[3])) continue;
    const std::string folder = fmt::format("{}/{}/thermal_throttle", kCpus, cpu);
    const auto core = tree.number(folder + "/core_throttle_count");
    if (!core) {
      if (!sum && cpu == "cpu0") return std::nullopt;  // no driver: one look is enough
      continue;
    }
    // (Bounded, so that garbage cannot overflow the sum.)
    sum = sum.value_or(0) + std::clamp<std::int64_t>(*core, 0, std::int64_t{1} << 40);
  }
  return sum;
}

// Microseconds for which quotas held up process 1's control group and those above it; nothing where no
// control group counts that (a node that is no container).
std::optional<std::int64_t> quota_throttled(const Tree& tree) {
  const auto groups = tree.read("/proc/1/cgroup");
  if (!groups) return std::nullopt;
  std::optional<std::int64_t> sum;
  std::string_view rest = *groups;
  while (const auto one = next_control_group(rest)) {
    std::string group(one->path);
    const bool unified = one->controllers.empty();
    bool cpu = unified;
    for (std::string_view list = one->controllers; !list.empty();) cpu |= next_part(list, ',') == "cpu";
    if (!cpu) continue;
    const std::string base = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    // Each group above may have a quota of its own: whichever is the tightest holds us up.
    for (; group.size() > 1; group.resize(std::min(group.rfind('/'), group.size() - 1))) {
      const auto stat = tree.read(fmt::format("{}{}/cpu.stat", base, group));
      if (!stat) continue;
      std::string_view lines = *stat;
      while (const auto entry = next_line(lines)) {
        std::string_view words = *entry;
        const std::string_view name = next_word(words);
        // Microseconds in the unified hierarchy, nanoseconds in the old one.
        if (name != "throttled_usec" && name != "throttled_time") continue;
        const auto value = to_integer(next_word(words));
        if (!value || *value < 0) continue;
        sum = sum.value_or(0) +
              std::min(name == "throttled_usec" ? *value : *value / 1000, std::int64_t{1} << 52);
      }
    }
  }
  return sum;
}

}  // namespace

OperationEnd cpus(const Call& call) {
  const Tree& tree = *call.tree;
  const auto present = count_in(tree, "present"), online = count_in(tree, "online");
  if (!present || !online || *online == 0)
    return unknown(fmt::format("cannot read {}/present and online", kCpus));
  Json out = Json::object({{"cpus_present", *present},
                           {"cpus_online", *online},
                           {"cpus_offline", std::max<std::int64_t>(*present - *online, 0)},
                           {"cpu_frequency_percent", or_null(lowest_frequency_percent(tree))}});
  const auto count = throttles(tree);
  out.set("cpu_throttles", count ? call.since_last("throttles", *count) : Json());
  const auto held = quota_throttled(tree);
  Json share;
  // Both counts are microseconds: those held up, of those that went by since the last look.
  if (held)
    if (const auto change = call.counters->since_last(call.operation + "\nquota", *held);
        change && change->time.count() > 0)
      share = percent_of(static_cast<double>(change->count), static_cast<double>(change->time.count()));
  out.set("cpu_throttled_percent", share);
  return found(std::move(out));
}

OperationEnd machine_checks(const Call& call) {
  const auto text = call.tree->read("/proc/interrupts");
  if (!text) return unknown(text.error().what);
  const auto count = interrupts_of(*text, "MCE");
  if (!count) return unknown("/proc/interrupts has no row MCE: this kernel does not count machine checks");
  return found(Json::object({{"machine_checks", *count}}));
}

OperationEnd load(const Call& call) {
  const auto text = call.tree->read("/proc/loadavg");
  if (!text) return unknown(text.error().what);
  std::string_view rest = *text;
  const auto one = to_fraction(next_word(rest)), five = to_fraction(next_word(rest)),
             fifteen = to_fraction(next_word(rest));
  const auto sane = [](const std::optional<double>& x) { return x && *x >= 0 && *x < 1e9; };
  if (!sane(one) || !sane(five) || !sane(fifteen)) return unknown("/proc/loadavg holds no three numbers");
  Json out = Json::object({{"load_1", *one}, {"load_5", *five}, {"load_15", *fifteen}});
  const auto online = count_in(*call.tree, "online");
  out.set("load_per_cpu", online && *online > 0 ? Json(*one / static_cast<double>(*online)) : Json());
  Json uptime;
  if (const auto up = call.tree->read("/proc/uptime")) {
    std::string_view words = *up;
    if (const auto seconds = to_fraction(next_word(words)); seconds && *seconds >= 0 && *seconds < 1e12)
      uptime = static_cast<std::int64_t>(*seconds);
  }
  out.set("uptime", uptime);
  return found(std::move(out));
}

}  // namespace sickbay::node
