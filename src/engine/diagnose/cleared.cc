// SPDX-License-Identifier: Apache-2.0
// Which rules a whole run has found to be well.
//
// A production is well when it did not fire and its predicate is false; or when its predicate lacks
// characteristics, and every production that leads to an operation which gives one of them is well.  The
// second is the greatest set of that kind: all candidates are taken for well, and those that something not
// well leads to are dropped until none is left to drop.  What lies behind a repair that ran is not well: it
// was wanted, so the fault was there; where it says that it failed, nobody verified.
#include <algorithm>

#include "engine/diagnose/findings.h"
#include "engine/diagnose/truth.h"

namespace sickbay::diagnose {
namespace {

class Wellness {
 public:
  explicit Wellness(const Run& run)
      : run_(run),
        rules_(*run.rules),
        facts_(run.facts),
        atoms_(rules_.atoms.size()),
        may_repair_(rules_.find_characteristic(kMayRepair)),
        feeders_(rules_.characteristics.size()),
        well_(rules_.productions.size(), false) {
    // A permission says nothing about the node: what is false by it alone is not well.
    if (may_repair_ != kNone) facts_[may_repair_].state = Fact::State::unknown;
    for (const Rules::OperationRule& operation : rules_.operations)
      for (const auto& [own, z] : operation.outputs)
        feeders_[z].insert(feeders_[z].end(), operation.productions.begin(), operation.productions.end());
    std::vector<Index> hang;  // on others
    for (Index p = 0; p < well_.size(); ++p) {
      if (run_.fired[p]) continue;
      const bool is_false = truth_of(rules_.productions[p].condition) == Truth::no;
      well_[p] = is_false || lacks_only(p);
      if (well_[p] && !is_false) hang.push_back(p);
    }
    while (std::erase_if(hang, [&](Index p) { return drop(p); }) > 0) {
    }
  }
  bool is_well(Index production) const { return well_[production]; }

 private:
  Truth truth_of(Index c) {
    const auto& mentioned = rules_.conditions[c].characteristics;
    if (run_.derived.evaluated[c] && std::ranges::find(mentioned, may_repair_) == mentioned.end())
      return run_.truths[c];
    std::string why;
    return evaluate(rules_, c, facts_, atoms_, why);
  }
  const std::vector<Index>& mentioned_by(Index p) const {
    return rules_.conditions[rules_.productions[p].condition].characteristics;
  }
  bool is(Index z, Fact::State state) const { return run_.facts[z].state == state; }

  // Characteristics without a value are all that keeps it from being looked at: none is unknown.
  bool lacks_only(Index p) const {
    const auto& zs = mentioned_by(p);
    return std::ranges::any_of(zs, [&](Index z) { return is(z, Fact::State::none); }) &&
           std::ranges::none_of(zs, [&](Index z) { return is(z, Fact::State::unknown); });
  }
  // Whether its predicate reads what a repair of this run has said.
  bool by_a_repair(Index p) const {
    return std::ranges::any_of(mentioned_by(p), [&](Index z) {
      const InstanceId source = run_.facts[z].source;
      return source != kNone && rules_.operations[run_.instances[source].operation].repairs;
    });
  }
  // Something on the way to it is not well, or there is no way: then nobody has looked.
  bool drop(Index p) {
    for (const Index z : mentioned_by(p))
      if (is(z, Fact::State::none) && (feeders_[z].empty() || !std::ranges::all_of(feeders_[z], [&](Index q) {
                                         return well_[q] && !by_a_repair(q);
                                       })))
        well_[p] = false;
    return !well_[p];
  }

  const Run& run_;
  const Rules& rules_;
  std::vector<Fact> facts_;
  std::vector<std::optional<Truth>> atoms_;
  const Index may_repair_;
  std::vector<std::vector<Index>> feeders_;  // by characteristic: productions that lead to its value
  std::vector<bool> well_;
};

}  // namespace

std::vector<std::string> cleared_rules(const Run& run) {
  std::vector<std::string> cleared;
  if (run.phase != Phase::over || run.stopped) return cleared;
  const Wellness wellness(run);
  for (Index p = 0; p < run.fired.size(); ++p)
    if (run.rules->operations[run.rules->productions[p].operation].kind == OperationKind::critical &&
        wellness.is_well(p))
      cleared.push_back(run.rules->specification.productions[p].name);
  return cleared;
}

}  // namespace sickbay::diagnose
