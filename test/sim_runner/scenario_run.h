// SPDX-License-Identifier: Apache-2.0
// ScenarioRun: a scenario on its way: submits the jobs, does the acts, writes the timeline, and at the end
// looks whether the rules that hold for all scenarios were kept.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "test/sim_runner/scenario.h"
#include "test/sim_runner/timeline.h"

namespace sickbay::sim {

/// A scenario on its way: what its acts work on.
class ScenarioRun {
 public:
  explicit ScenarioRun(const Scenario& scenario)
      : scenario_(scenario), world(scenario.cluster, scenario.config), start_(world.loop().now()) {}

  ScenarioResult result();
  void submit(const ScenarioJob& job);
  /// The job of a run: "" is the user's own, "r2" or "v1" the latest of that run.
  std::optional<JobId> job_of(const std::string& name, const std::string& run);
  void say(const std::string& text) { timeline_ += clock_text(world.loop().elapsed()) + "  " + text + "\n"; }

 private:
  Result<std::string> with_ids(const std::string& dependency) const;
  void check_rules(ScenarioResult& result);

  const Scenario& scenario_;

 public:
  SimWorld world;
  std::map<std::string, JobId> jobs;           ///< by the scenario's name
  std::map<std::string, std::int64_t> cases;   ///< likewise
  std::map<std::string, std::string> folders;  ///< likewise
  int findings = 0;                            ///< so far

 private:
  TimePoint start_;
  std::string timeline_;
  std::map<JobId, std::string> strangers_;  ///< jobs without a case, which only the cluster tells of
};

}  // namespace sickbay::sim
