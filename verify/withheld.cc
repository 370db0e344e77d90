// SPDX-License-Identifier: Apache-2.0
// Readers of schedstat, /proc/stat and the cgroup files, and the split of lost time.
#include "withheld.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/mount_table.h"

namespace sickbay::verify {
namespace {

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// The number after `key` in a file of "key value" lines.
std::optional<double> keyed_number(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  std::string name;
  double value = 0;
  while (in >> name >> value)
    if (name == key) return value;
  return std::nullopt;
}

std::optional<double> first_number(const std::string& path) {
  std::ifstream in(path);
  double value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

struct CgroupPlace {
  std::string mount;  ///< where the hierarchy is mounted
  std::string path;   ///< of this process below it, "" for its top
  bool v2 = false;
};

/// The hierarchies that can throttle this process: v1's "cpu", and v2 where its cpu controller is there.
std::vector<CgroupPlace> cgroup_places(const std::string& root) {
  std::string path_v1, path_v2;
  bool in_v1 = false, in_v2 = false;
  std::ifstream membership(root + "/proc/self/cgroup");
  for (std::string line; std::getline(membership, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      path_v2 = line.substr(second + 1);
      in_v2 = true;
    } else if (has_option(controllers, "cpu")) {
      path_v1 = line.substr(second + 1);
      in_v1 = true;
    }
  }
  std::vector<CgroupPlace> places;
  std::ifstream in(root + "/proc/self/mountinfo");
  std::ostringstream text;
  text << in.rdbuf();
  for (const Mount& m : parse_mountinfo(text.str())) {
    const bool v2 = m.type == "cgroup2" && in_v2;
    const bool v1 = m.type == "cgroup" && in_v1 && has_option(m.filesystem_options, "cpu");
    if (!v1 && !v2) continue;
    std::string path = v2 ? path_v2 : path_v1;
    if (m.root != "/" && path.rfind(m.root, 0) == 0) path.erase(0, m.root.size());
    if (path == "/") path.clear();
    places.push_back({root + m.place, path, v2});
  }
  return places;
}

std::optional<double> quota_of(const std::string& folder, bool v2) {
  double quota = 0, period = 0;
  if (v2) {
    std::ifstream in(folder + "/cpu.max");
    std::string word;
    if (!(in >> word >> period) || word == "max") return std::nullopt;
    quota = std::atof(word.c_str());
  } else {
    quota = first_number(folder + "/cpu.cfs_quota_us").value_or(-1);
    period = first_number(folder + "/cpu.cfs_period_us").value_or(0);
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

/// Idle and stolen time of the processors this thread may use, from /proc/stat.
void read_allowed_processors(const std::string& root, CpuReading& reading) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::ifstream in(root + "/proc/stat");
  const double tick = 1 / static_cast<double>(sysconf(_SC_CLK_TCK));
  for (std::string line; std::getline(in, line) && line.rfind("cpu", 0) == 0;) {
    std::istringstream row(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(row >> name >> user >> nice >> system >> idle) || name.size() < 4) continue;
    const int cpu = std::atoi(name.c_str() + 3);
    if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed)) continue;
    reading.idle = reading.idle.value_or(0) + idle * tick;
    reading.used = reading.used.value_or(0) + (user + nice + system) * tick;
    ++reading.processors;
    if (row >> iowait >> irq >> softirq >> steal) reading.stolen = reading.stolen.value_or(0) + steal * tick;
  }
}

}  // namespace

CgroupCpu read_cgroup_cpu(const std::string& root) {
  CgroupCpu found;
  for (const CgroupPlace& place : cgroup_places(root)) {
    for (std::string path = place.path;; path.erase(path.rfind('/'))) {
      const std::string folder = place.mount + path;
      const auto throttled = place.v2 ? keyed_number(folder + "/cpu.stat", "throttled_usec")
                                      : keyed_number(folder + "/cpu.stat", "throttled_time");
      if (throttled)
        found.throttled = std::max(found.throttled.value_or(0), *throttled * (place.v2 ? 1e-6 : 1e-9));
      if (const auto quota = quota_of(folder, place.v2); quota && *quota < found.quota_cores.value_or(1e9)) {
        found.quota_cores = quota;
        found.quota_path = path.empty() ? "/" : path;
      }
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  return found;
}

CpuReading read_cpu(const std::string& root) {
  CpuReading reading;
  reading.throttled = read_cgroup_cpu(root).throttled;
  read_allowed_processors(root, reading);
  std::ifstream schedstat(root + "/proc/thread-self/schedstat");
  double ran = 0, waited = 0;
  if (schedstat >> ran >> waited) reading.waited = waited * 1e-9;
  reading.ran = seconds(CLOCK_THREAD_CPUTIME_ID);
  reading.wall = seconds(CLOCK_MONOTONIC);
  return reading;
}

CpuLoss cpu_loss(const CpuReading& before, const CpuReading& after) {
  CpuLoss loss;
  loss.wall = after.wall - before.wall;
  loss.ran = after.ran - before.ran;
  const double lost = std::max(0.0, loss.wall - loss.ran);
  // Without schedstat all lost time is waiting, as far as anybody can tell: nobody is blamed for it.
  double waited = lost;
  if (before.waited && after.waited) waited = std::clamp(*after.waited - *before.waited, 0.0, lost);
  loss.stopped = lost - waited;
  if (before.used && after.used && after.processors > 0 && loss.wall > 0)
    loss.foreign =
        std::clamp((*after.used - *before.used - loss.ran) / (loss.wall * after.processors), 0.0, 1.0);
  // The sum over all processors it may use: more than this thread lost by it, and never blamed on the node.
  if (before.stolen && after.stolen)
    loss.stolen = std::clamp(*after.stolen - *before.stolen, 0.0, loss.stopped);
  loss.stopped -= loss.stolen;
  if (before.throttled && after.throttled) {
    // cpu.stat counts each processor's share of the group: never more of it than this thread waited.
    loss.throttled = std::clamp(*after.throttled - *before.throttled, 0.0, waited);
    loss.by_cgroup = true;
  } else if (before.idle && after.idle && before.waited && after.waited) {
    // Nobody waits behind others while a processor it may use stands idle.
    loss.throttled = std::clamp(*after.idle - *before.idle, 0.0, waited);
  }
  loss.waited = waited - loss.throttled;
  return loss;
}

}  // namespace sickbay::verify
