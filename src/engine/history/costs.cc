// SPDX-License-Identifier: Apache-2.0
#include "engine/history/costs.h"

#include "model/event_kinds.h"

namespace sickbay::history {
namespace {

void keep(std::vector<JobCosts>& list, JobCosts costs) {
  if (!costs.account.failures.empty() || !costs.checkpoints.empty()) list.push_back(std::move(costs));
}

}  // namespace

JobCosts costs_of(const State& state, const Part& part) {
  JobCosts costs;
  costs.job = part.job;
  costs.account = account_of(state, part);
  for (const auto& [n, op] : part.operations)
    if (op.what == What::checkpoint)
      costs.checkpoints.push_back({op.told.checkpoint, op.restart, op.at, op.told.took});
  return costs;
}

void CostsOfJournal::hear(const Event& event) {
  // The state forgets what is archived; the part of a replay that goes on from it is reckoned as sickbayd
  // did.
  if (event.kind == kArchived)
    if (const auto no = parse_case_name(event.subject))
      if (const auto it = state_.parts.find(*no); it != state_.parts.end())
        keep(archived_, costs_of(state_, it->second));
  apply(state_, event);
}

std::vector<JobCosts> CostsOfJournal::costs() const {
  std::vector<JobCosts> all = archived_;
  for (const auto& [no, part] : state_.parts) keep(all, costs_of(state_, part));
  return all;
}

}  // namespace sickbay::history
