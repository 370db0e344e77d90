// SPDX-License-Identifier: Apache-2.0
// What each kind of fault does to a machine, and how that is undone: one row per kind.
#pragma once
#include "lab/faults.h"
#include "lab/machines.h"

namespace sickbay::lab {

/// Where an effect works.  Effects that start a process add it to fault.processes before it may begin.
struct Target {
  const Layout& layout;
  Machine machine;
  Process holder;
  ActiveFault& fault;
};

struct EffectRow {
  FaultKind kind;
  Status (*check)(const Target&);  ///< whether it can be done here; null: always
  Status (*inject)(Target&);       ///< null: the kind lives in its watcher
  Status (*heal)(Target&);         ///< safe to repeat, and after half an inject
};
const EffectRow& effect_row(FaultKind kind);

/// Brings the machine of an active fault together.  Error: conflict when the lab does not run.
Result<Target> target_of(const Layout& layout, ActiveFault& fault);

/// Runs `work` as a process on the machine (in all its namespaces, and with `groups` in its cgroups) until it
/// is ended; recorded as fault.processes[name] and in the cleanup list.
Status start_on_machine(Target& target, const std::string& name, bool groups,
                        const std::function<int()>& work);

}  // namespace sickbay::lab
