// SPDX-License-Identifier: Apache-2.0
// A scenario: a cluster, what happens to it, and the timeline that must come of it, as one text.
//
//   # What this shows.
//   cluster n[1-6] slurmd-timeout=20s
//   config  {"identify": {"verification_wait": "30m"}}
//   job solve nodes=2 limit=10m deliver does run=30s exit=1
//   at 12s n3 rank-kill=SIGBUS
//   at 20s slurmctld killed for=3s
//   show claims
//   until 2h
//   ----
//   (the timeline, written by `sickbay-sim --rewrite`; its diff is for people to judge)
//
// Claims, and who waits no more for the breaker, are in the timeline only where `show claims` asks for them:
// most stories are about something else.  The words of each line are in the tables of scenario.cc; an unknown
// word is an error with its line. What a program does is said after `does`, in the words of
// adapters/sim/sim_behaviour.h.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "test/sim_runner/sim_world.h"

namespace sickbay::sim {

struct ScenarioJob {
  std::string name, user = "alice", does;
  std::vector<std::string> sbatch_options;
  Json options = Json::object();  ///< of the case
  Micros at{0};
};

/// One thing that happens: its text as written, and what it does.
struct ScenarioAct {
  Micros at{0};
  std::string text;
  std::function<Status(class ScenarioRun&)> act;
};

struct Scenario {
  std::string given;     ///< the text up to and with the line of dashes
  std::string expected;  ///< the text after it
  SimOptions cluster;
  Config config;
  SimBackground background;
  std::vector<ScenarioJob> jobs;
  std::vector<ScenarioAct> acts;
  Micros until{std::chrono::hours(12)};
  bool show_claims = false;
};

/// Errors: bad_input with the line.
Result<Scenario> parse_scenario(std::string_view text);

/// The timeline of a scenario, and what broke the rules that hold for all of them: a key that was started
/// twice, a job of ours that outlived its case, a replay that gives another state.
struct ScenarioResult {
  std::string timeline;
  std::vector<std::string> broken;
};
ScenarioResult run_scenario(const Scenario& scenario);

}  // namespace sickbay::sim
