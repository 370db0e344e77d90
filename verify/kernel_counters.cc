// SPDX-License-Identifier: Apache-2.0
// A table of files with one number each, summed over processors, memory controllers and devices.
#include "kernel_counters.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace sickbay::verify {
namespace {

namespace fs = std::filesystem;

/// In each folder of `folder` whose name begins with `prefix`: the number in `file`.
struct Place {
  const char* name;
  const char* folder;
  std::string_view prefix;
  const char* file;
  bool only_devices = false;  ///< network: bridges and pairs of containers have no `device`
};
constexpr Place kPlaces[] = {
    {"core_throttles", "/sys/devices/system/cpu", "cpu", "thermal_throttle/core_throttle_count"},
    {"package_throttles", "/sys/devices/system/cpu", "cpu", "thermal_throttle/package_throttle_count"},
    {"memory_errors_corrected", "/sys/devices/system/edac/mc", "mc", "ce_count"},
    {"memory_errors", "/sys/devices/system/edac/mc", "mc", "ue_count"},
    {"nic_receive_errors", "/sys/class/net", "", "statistics/rx_errors", true},
    {"nic_transmit_errors", "/sys/class/net", "", "statistics/tx_errors", true},
    {"nic_missed", "/sys/class/net", "", "statistics/rx_missed_errors", true},
};

/// Rows of /proc/interrupts that are machine checks: "MCE:" and the threshold interrupts of AMD and Intel.
void add_machine_checks(const std::string& root, KernelCounters& counters) {
  std::ifstream in(root + "/proc/interrupts");
  for (std::string line; std::getline(in, line);) {
    std::istringstream row(line);
    std::string name;
    if (!(row >> name) || (name != "MCE:" && name != "THR:")) continue;
    double sum = 0;
    for (double count; row >> count;) sum += count;
    counters["machine_checks"] += sum;
  }
}

/// The second column of softnet_stat, in hexadecimal: packets for which the queue had no room.
void add_queue_drops(const std::string& root, KernelCounters& counters) {
  std::ifstream in(root + "/proc/net/softnet_stat");
  for (std::string line; std::getline(in, line);) {
    std::istringstream row(line);
    std::string processed, dropped;
    if (row >> processed >> dropped)
      counters["receive_queue_drops"] += static_cast<double>(std::strtoull(dropped.c_str(), nullptr, 16));
  }
}

}  // namespace

KernelCounters read_kernel_counters(const std::string& root) {
  KernelCounters counters;
  for (const Place& place : kPlaces) {
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(root + place.folder, failed)) {
      const std::string name = entry.path().filename();
      if (name.rfind(place.prefix, 0) != 0) continue;
      if (place.only_devices && !fs::exists(entry.path() / "device", failed)) continue;
      std::ifstream in(entry.path() / place.file);
      double count = 0;
      if (in >> count) counters[place.name] += count;
    }
  }
  add_machine_checks(root, counters);
  add_queue_drops(root, counters);
  return counters;
}

std::string what_rose(const KernelCounters& before, const KernelCounters& after) {
  std::string text;
  for (const auto& [name, count] : after) {
    const auto then = before.find(name);
    const double rose = count - (then == before.end() ? 0 : then->second);
    // What appeared only now (a device that was plugged in) did not rise.
    if (then == before.end() || rose <= 0) continue;
    text += fmt::format("{}{:.0f} {}", text.empty() ? "" : ", ", rose, name);
  }
  return text;
}

}  // namespace sickbay::verify
