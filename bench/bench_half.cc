// SPDX-License-Identifier: Apache-2.0
// Half of a cluster turns sick at once: 10,000 nodes, of which 5,000 have a fault within 30 s.
//
// With the breaker opened all of them leave; with the breaker as it is shipped few do, and the rest is told.
// Controller, engines, effects and journal (SQLite, synchronous=FULL) are the real ones; Slurm is the
// simulator's and answers at once.  A decision is the time from a finding that is taken in to the intent of
// its drain in the journal.  It is reckoned, not waited for: findings come 6 ms apart in the simulator's
// time, each task of the loop is timed for real, and a task that finds the loop busy waits for it (a queue
// with one server, in the order of arrival).
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "adapters/sqlite/journal.h"
#include "figure.h"
#include "model/event_kinds.h"
#include "model/ids.h"
#include "test/sim_runner/sim_world.h"

namespace {

using namespace sickbay;
using namespace sickbay::sim;
using bench::figure;
using bench::require;
using namespace std::chrono_literals;

constexpr int kNodes = 10'000, kSick = 5'000;
constexpr Micros kApart = 6ms;

Event finding(int n) {
  return new_event(finding_name(n), kFinding,
                   Json::object({{"node", "n" + std::to_string(2 * n)},
                                 {"specification", "node"},
                                 {"rule", "disk"},
                                 {"result", "fault"},
                                 {"action", "drain"},
                                 {"text", "the disk answers with errors"},
                                 {"boot_id", "b"},
                                 {"n", 1}}));
}

void story(bool opened) {
  char folder[] = "/var/tmp/sickbay-bench-XXXXXX";
  require(::mkdtemp(folder) != nullptr, "no folder for the journal");
  {
    auto journal = open_journal(std::string(folder) + "/journal.db");
    require(journal.has_value(), "the journal does not open");
    Config config;
    config.verify.folder = "/shared/verify";
    config.drain.act = true;
    if (opened) {
      config.drain.breaker.most = kNodes;
      config.drain.breaker.most_percent = 100;
      config.drain.breaker.most_out_percent = 100;
    }
    SimWorld world({.partitions = {{"batch", "n[1-10000]"}}, .write_outputs = false}, config, journal->get());
    // When the loop would be free again, in the simulator's time.
    TimePoint free_at = kNoTime;
    double busy_s = 0, longest_ms = 0;
    world.on_work = [&](std::string_view, std::chrono::nanoseconds took) {
      free_at = std::max(free_at, world.loop().now()) + std::chrono::duration_cast<Micros>(took);
      busy_s += std::chrono::duration<double>(took).count();
      longest_ms = std::max(longest_ms, std::chrono::duration<double, std::milli>(took).count());
    };
    std::map<std::string, TimePoint> told;
    std::vector<double> ms;
    std::set<std::string> out;
    std::int64_t tripped = 0;
    world.on_event = [&](const Event& event) {
      if (event.kind == kIntent && event.body["verb"].as_string() == "drain")
        if (const auto it = told.find(event.body["args"]["node"].as_string()); it != told.end())
          ms.push_back(
              std::chrono::duration<double, std::milli>(std::max(free_at, world.loop().now()) - it->second)
                  .count());
      if (event.kind == kDone && event.body["verb"].as_string() == "drain") out.insert(event.subject);
      tripped += event.kind == kBreakerTripped;
    };
    world.start_sickbayd();
    world.loop().run_until(world.loop().now() + 10s);
    busy_s = longest_ms = 0;
    const TimePoint began = world.loop().now();
    for (int n = 1; n <= kSick; ++n)
      world.loop().at(began + kApart * n, [&, n] {
        told["n" + std::to_string(2 * n)] = world.loop().now();
        world.controller().take({finding(n)});
      });
    world.loop().run_until(began + 120s);
    std::sort(ms.begin(), ms.end());
    require(!ms.empty(), "nodes leave");
    const std::string with = opened ? "opened_" : "shipped_";
    const auto tell = [&](const char* name, double value, const char* unit) {
      figure((with + name).c_str(), value, unit);
    };
    if (opened) require(out.size() == kSick, "all that are sick leave");
    tell("nodes_out", static_cast<double>(out.size()), "nodes");
    tell("decision_p50", ms[ms.size() / 2], "ms");
    tell("decision_p90", ms[ms.size() * 9 / 10], "ms");
    tell("decision_max", ms.back(), "ms");
    tell("breaker_events", static_cast<double>(tripped), "events");
    tell("longest_task", longest_ms, "ms");
    tell("loop_busy", busy_s, "s");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

int main() {
  story(true);
  story(false);
  return 0;
}
