// SPDX-License-Identifier: Apache-2.0
// sickbayd at size: 10,000 nodes and 100,000 live jobs, and ten and five times as many; 1,000 cases under way
// at once.
//
// The controller, the engine, the effects and the journal (SQLite, synchronous=FULL) are the real ones, the
// cluster is the simulator's, so that slurmctld's time is not in the figures.  A round is one decision round
// with its commit; a refresh is what the controller makes of one snapshot.  Memory is this whole process, the
// simulator and all jobs' bookkeeping included: simulator_rss is what it held before sickbayd
// started.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "adapters/sqlite/journal.h"
#include "figure.h"
#include "test/sim_runner/sim_world.h"

namespace {

using namespace sickbay;
using namespace sickbay::sim;
using bench::figure;
using bench::require;
using std::chrono::seconds;

constexpr int kCases = 1000;

struct Size {
  std::string prefix;
  std::size_t nodes, live_jobs;
};

double memory_mib(const std::string& field) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field)) return std::stod(line.substr(field.size() + 1)) / 1024;
  return 0;
}

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

void print_times(const std::string& name, std::vector<double>& ms) {
  require(!ms.empty(), "nothing was measured");
  std::sort(ms.begin(), ms.end());
  figure((name + "_p50").c_str(), ms[ms.size() / 2], "ms");
  figure((name + "_p99").c_str(), ms[ms.size() * 99 / 100], "ms");
  figure((name + "_max").c_str(), ms.back(), "ms");
}

Submission submission(int n) {
  Submission p;
  p.owner = {"user" + std::to_string(n % 50), static_cast<std::uint32_t>(1000 + n % 50), 1000};
  p.script = "#!/bin/sh\n#SIM run=10m exit=1\nsrun ./solve\n";
  p.script_name = "solve.sh";
  p.sbatch_options = {"--nodes=2", "--time=30", "--no-requeue"};
  p.work_dir = "/shared/" + p.owner.user;
  return p;
}

// What a figure is called tells the size; that of 10,000 nodes has no prefix, as ever.
void story(const Size& size) {
  const auto named = [&](std::string_view name) { return size.prefix + std::string(name); };
  char folder[] = "/var/tmp/sickbay-bench-XXXXXX";
  require(::mkdtemp(folder) != nullptr, "no folder for the journal");
  {
    auto journal = open_journal(std::string(folder) + "/journal.db");
    require(journal.has_value(), "the journal does not open");
    Config config;
    config.verify.folder = "/shared/verify";
    SimWorld world({.partitions = {{"batch", fmt::format("n[1-{}]", size.nodes)}}, .write_outputs = false},
                   config, journal->get());
    world.cluster().add_background(
        {.live_jobs = size.live_jobs - kCases, .busy_nodes = size.nodes / 2, .nodes_per_job = 4});
    require(world.cluster().live_jobs() == size.live_jobs - kCases, "the cluster has its jobs");
    figure(named("simulator_rss").c_str(), memory_mib("VmRSS:"), "MiB");

    std::map<std::string, std::vector<double>, std::less<>> times;
    world.on_work = [&](std::string_view work, std::chrono::nanoseconds took) {
      times[std::string(work)].push_back(static_cast<double>(took.count()) * 1e-6);
    };
    std::int64_t events = 0;
    world.on_event = [&](const Event&) { ++events; };
    const double cpu_before = processor_seconds();
    world.start_sickbayd();
    // Five a second: all 1,000 are under way before the first one ends.
    std::size_t most_open = 0;
    for (int n = 0; n < kCases; ++n)
      world.loop().at(world.loop().now() + std::chrono::milliseconds(200 * n), [&, n] {
        world.submit(submission(n), Json::object(), [&](Result<std::int64_t> no) {
          require(no.has_value(), "a case is opened");
          most_open = std::max(most_open, world.controller().seats().cases().state().open.size());
        });
      });
    const auto closed = [&] {
      const auto& state = world.controller().seats().cases().state();
      return state.cases.size() == kCases && state.open.empty();
    };
    require(world.loop().run_while([&] { return !closed(); }, world.loop().now() + seconds(6 * 3600)),
            "all cases close");
    for (const auto& [no, subject] : world.controller().seats().cases().state().cases)
      require(subject.verdict && subject.verdict->cause == identify::Cause::program, "each verdict is (a)");

    figure(named("cases_at_once").c_str(), static_cast<double>(most_open), "cases");
    print_times(named("round"), times["task"]);
    print_times(named("refresh"), times["refresh"]);
    const double virtual_s = std::chrono::duration<double>(world.loop().elapsed()).count();
    figure(named("events").c_str(), static_cast<double>(events), "events");
    figure(named("virtual_time").c_str(), virtual_s, "s");
    figure(named("processor_share").c_str(), 100 * (processor_seconds() - cpu_before) / virtual_s,
           "%_of_a_core");
    figure(named("rss_max").c_str(), memory_mib("VmHWM:"), "MiB");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

int main() {
  for (const Size& size : std::initializer_list<Size>{{"", 10'000, 100'000}, {"large_", 100'000, 500'000}}) {
    // A process for each: the memory that one has used says nothing of the next.
    const pid_t child = ::fork();
    require(child >= 0, "no process");
    if (child == 0) {
      story(size);
      std::fflush(stdout);
      ::_exit(0);
    }
    int status = 0;
    require(::waitpid(child, &status, 0) == child && status == 0, "the story ends well");
  }
  return 0;
}
