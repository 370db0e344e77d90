// SPDX-License-Identifier: Apache-2.0
// Findings: what one run has to tell the cluster.  A critical operation is a wish that sickbayd judges; an
// operation that ended unknown is a fact that never drains.  Who keeps and sends them: service/agent.
// Source: doc/design/diagnose.md, "Findings".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/diagnose/run.h"

namespace sickbay::diagnose {

/// What a run says; node, boot, number and time are the agent's to add.
struct Finding {
  std::string specification, rule;  ///< rule: the production
  OperationEnd::Result result = OperationEnd::Result::fault;
  std::string action;  ///< of the builtin: "drain", "notify", "restart", "reboot", "power_off"; "none"
  std::string to;      ///< of notify: "operator" or "user"
  std::string component, fault_class;  ///< of restart: which component, and "component" or "network"
  std::vector<std::string> components;
  std::string text;              ///< the predicate's description, then the operation's
  Json values = Json::object();  ///< of the predicate and of the operation's inputs
  bool for_a_job = false;        ///< unknown only since a test that needs an idle node gave way meanwhile
};

/// What this instance asks for when it is started (critical), or says when it has ended (unknown); else
/// nothing. A critical operation that is an executable acts by itself: action none.
std::optional<Finding> finding_of(const Run& run, InstanceId instance);
/// Predicates of a run whose characteristics are known and which yet have no truth (0/0), each once: rule is
/// their first production.
std::vector<Finding> unknown_predicates(const Run& run);
/// For RunStarted.unknown_runs of the next run.
std::map<std::string, int> unknown_runs_of(const Run& run);
/// Of all instances, in their order.
std::vector<Finding> findings_of(const Run& run);
/// Members as in doc/design/diagnose.md; `component` and `class` only where the action is restart.
Json to_json(const Finding& finding);

/// Productions with a critical operation that a whole run passed without, because the node is well: what they
/// once found is gone.  Their predicate is false; or nothing gave its characteristics a value since all that
/// leads there is false in the same way (nothing to localise, no repair to verify).  Not those whose way
/// there was fired, unknown, refused, out of budget or false by the permission to repair alone: who did not
/// look does not know.  Empty while the run is not over, or when it was stopped.
std::vector<std::string> cleared_rules(const Run& run);

/// One run of a repair, for the count of its budget.
struct RepairRun {
  std::string operation;
  TimePoint at = kNoTime;
  std::string rule = {};  ///< the production that wanted it
};
/// What `instance` of a run is for that count: a repair that was started.
RepairRun repair_of(const Run& run, InstanceId instance);
/// RunStarted.spent: how many of `runs` lie in the window that ends now, by operation with a budget.
std::map<std::string, int> spent_budgets(const Specification& specification,
                                         const std::vector<RepairRun>& runs, TimePoint now);
/// The repairs of this run that count, for the history of later ones.
std::vector<RepairRun> repairs_of(const Run& run);

}  // namespace sickbay::diagnose
