// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/diagnose/truth.h"

namespace sickbay::diagnose {
namespace {

constexpr std::string_view kOutcomes[] = {"fired", "false", "unknown", "not_admissible", "not_reached"};
using Outcome = Explanation::Outcome;

// "used = 97, path = "/tmp"", long texts cut.
std::string shown(const Json& values) {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const auto& [name, value] : values.members()) {
    std::string text = value.is_null() ? "unknown" : value.dump();
    if (text.size() > kMost) text = fmt::format("{}... ({} bytes)", text.substr(0, kMost), text.size());
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, text);
  }
  return out;
}

std::string why_unknown(const Run& run, const Rules::ConditionRule& c) {
  for (const Index z : c.characteristics)
    if (run.facts[z].state == Fact::State::unknown) return run.facts[z].why;
  return "it could not be evaluated";
}

}  // namespace

std::string_view to_string(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::vector<Explanation> explain(const Run& run) {
  const Rules& rules = *run.rules;
  const Specification& s = rules.specification;
  std::vector<Explanation> all;
  for (Index p = 0; p < rules.productions.size(); ++p) {
    const Index c = rules.productions[p].condition;
    const Rules::ConditionRule& condition = rules.conditions[c];
    Explanation e;
    e.production = s.productions[p].name;
    e.predicate = s.predicates[c].name;
    e.operation = s.operations[rules.productions[p].operation].name;
    // A production that fired did so on the values of then.
    const auto instance = std::ranges::find(run.instances, p, &Instance::production);
    e.values = run.fired[p] && instance != run.instances.end()
                   ? instance->values
                   : values_of(rules, condition.characteristics, run.facts);
    for (const Index z : condition.characteristics)
      if (run.facts[z].state == Fact::State::none) e.missing.push_back(s.characteristics[z].name);
    const std::string given = e.values.size() == 0 ? "" : fmt::format(" ({})", shown(e.values));
    const std::string& when = s.predicates[c].when;
    if (run.fired[p]) {
      e.outcome = Outcome::fired;
      e.text = fmt::format("fired: {} is true{}", when, given);
      if (instance == run.instances.end())
        e.text += fmt::format("; {} had been queued before", e.operation);
      else if (instance->budget_spent || instance->refused)
        e.text += fmt::format("; {} {}", e.operation, instance->text);
    } else if (!e.missing.empty()) {
      e.outcome = Outcome::not_admissible;
      e.text = fmt::format("not fired: nothing gave {} a value", fmt::join(e.missing, ", "));
    } else if (!run.derived.evaluated[c] || run.derived.waits[p]) {
      e.outcome = Outcome::not_reached;
      e.text = fmt::format("not looked at: {}{}", when, given) +
               (run.phase == Phase::over ? "; its phase was over when its characteristics had values" : "");
    } else if (run.truths[c] == Truth::unknown) {
      e.outcome = Outcome::unknown;
      e.text = fmt::format("not fired: {} is unknown{}: {}", when, given, why_unknown(run, condition));
    } else {
      e.outcome = Outcome::no;
      e.text = fmt::format("not fired: {} is false{}", when, given);
    }
    all.push_back(std::move(e));
  }
  return all;
}

Json to_json(const Explanation& e) {
  return Json::object({{"production", e.production},
                       {"outcome", to_string(e.outcome)},
                       {"predicate", e.predicate},
                       {"operation", e.operation},
                       {"values", e.values},
                       {"missing", Json(e.missing)},
                       {"text", e.text}});
}

}  // namespace sickbay::diagnose
