// SPDX-License-Identifier: Apache-2.0
// Drives runs by what a rule test says, and compares.
#include "engine/diagnose/rule_tests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/duration.h"
#include "engine/diagnose/explain.h"

namespace sickbay::diagnose {
namespace {

std::string joined(const std::vector<std::string>& names) {
  return names.empty() ? "(nothing)" : fmt::format("{}", fmt::join(names, " "));
}

class TestedRun {
 public:
  TestedRun(const std::shared_ptr<const Rules>& rules, const RuleRun& given, std::string label,
            std::vector<std::string>& differences)
      : rules_(rules),
        s_(rules->specification),
        given_(given),
        label_(std::move(label)),
        differences_(differences),
        run_(rules) {}

  Run play(const std::vector<RepairRun>& history, const std::map<std::string, int>& unknown_runs) {
    if (begin(history, unknown_runs)) drive();
    compare();
    return std::move(run_);
  }

 private:
  void differ(const std::string& what) { differences_.push_back(label_ + what); }

  // False where the test itself is wrong.
  bool begin(const std::vector<RepairRun>& history, const std::map<std::string, int>& unknown_runs) {
    RunStarted started;
    started.unknown_runs = unknown_runs;
    started.at = now_ = TimePoint(given_.at);
    started.spent = spent_budgets(s_, history, now_);
    if (given_.period.empty() && given_.initial.empty() && !s_.periods.empty()) {
      // Without initial values little fires, and a test that expects nothing would pass whatever the rules
      // do.
      const Period* period = default_period(s_);
      if (period == nullptr) {
        differ("it names neither a period nor initial values, and the specification has several periods");
        return false;
      }
      started.initial = period->initial;
    }
    if (!given_.period.empty()) {
      const auto period = std::ranges::find(s_.periods, given_.period, &Period::name);
      if (period == s_.periods.end()) {
        differ(fmt::format("the specification has no period '{}'", given_.period));
        return false;
      }
      started.initial = period->initial;
    }
    for (const auto& [name, json] : given_.initial) {
      const Index z = rules_->find_characteristic(name);
      if (z == kNone) {
        differ(fmt::format("initial: there is no characteristic '{}'", name));
        return false;
      }
      auto value = value_from_json(json, s_.characteristics[z].type);
      if (!value) {
        differ(fmt::format("initial: '{}' {}", name, value.error().what));
        return false;
      }
      const auto other = std::ranges::find(started.initial, name, &std::pair<std::string, Value>::first);
      if (other == started.initial.end())
        started.initial.emplace_back(name, std::move(*value));
      else
        other->second = std::move(*value);
    }
    permit(started);
    for (const auto& [name, answers] : given_.answers)
      if (rules_->find_operation(name) == kNone) {
        differ(fmt::format("answers: there is no operation '{}'", name));
        return false;
      }
    apply(run_, started);
    return true;
  }

  // As the agent does: the strictest wins, and the characteristic says what came of it.
  void permit(RunStarted& started) const {
    Permit& repair = started.permits.repair;
    repair = {given_.repair, "the test does not permit it"};
    for (auto& [name, value] : started.initial) {
      if (name != kMayRepair) continue;
      if (repair.given && value == Value(false)) repair = {false, "its initial value 'repair' is false"};
      if (!repair.given && value == Value(true)) value = false;
    }
    started.permits.stress = {given_.idle, "the test has a job on the node"};
    started.permits.active = {true, ""};  // how many other nodes there are is not the rules' concern
  }

  void drive() {
    std::size_t next_end = 0;
    for (Decision d = decide(run_); !d.over; d = decide(run_)) {
      for (const InstanceId id : d.start) {
        apply(run_, OperationStarted{now_, id});
        ends_at_[id] = now_ + answer_of(id).takes;
      }
      InstanceId ended = kNone;
      if (next_end < given_.ends.size()) {
        for (const InstanceId id : run_.running)
          if (operation(id) == given_.ends[next_end] && ended == kNone) ended = id;
        if (ended == kNone) {
          differ(
              fmt::format("ends: '{}' does not run; running: {}", given_.ends[next_end], joined(running())));
          return;
        }
        ++next_end;
      } else {
        for (const InstanceId id : run_.running)
          if (ended == kNone || ends_at_[id] < ends_at_[ended]) ended = id;
      }
      now_ = std::max(now_, ends_at_[ended]);
      OperationEnd end = answer_of(ended).end;
      // Of an output that the test does not speak of nothing is known; that is no slip of the operation.
      for (const auto& [own, z] : rules_->operations[run_.instances[ended].operation].outputs)
        if (!is_reserved_output(own) && !end.outputs.has(own)) end.outputs.set(own, Json());
      apply(run_, OperationFinished{now_, ended, std::move(end)});
    }
    if (next_end < given_.ends.size()) differ(fmt::format("ends: '{}' never ran", given_.ends[next_end]));
  }

  const std::string& operation(InstanceId id) const {
    return s_.operations[run_.instances[id].operation].name;
  }
  std::vector<std::string> running() const {
    std::vector<std::string> names;
    for (const InstanceId id : run_.running) names.push_back(operation(id));
    return names;
  }

  // The answer to this run of the operation; one that the test says nothing of is ok and gives nothing, which
  // is right for actions and makes the outputs of others unknown.
  const RuleAnswer& answer_of(InstanceId id) {
    static const RuleAnswer kNothing = [] {
      RuleAnswer answer;
      answer.end.result = OperationEnd::Result::ok;
      return answer;
    }();
    const auto known = given_.answers.find(operation(id));
    if (known == given_.answers.end()) return kNothing;
    std::size_t turn = 0;
    for (InstanceId before = 0; before < id; ++before)
      turn += run_.instances[before].operation == run_.instances[id].operation ? 1 : 0;
    return known->second[std::min(turn, known->second.size() - 1)];
  }

  // Comparison -------------------------------------------------------------------------------------------
  void compare_lists(std::string_view what, const std::optional<std::vector<std::string>>& wanted,
                     const std::vector<std::string>& got) {
    if (wanted && *wanted != got)
      differ(fmt::format("{}: expected {}, got {}", what, joined(*wanted), joined(got)));
  }

  void compare() {
    const RuleExpectation& e = given_.expect;
    std::vector<std::string> journal, budget_spent, actions;
    std::vector<std::vector<std::string>> steps;
    int step = -1;
    for (const JournalEntry& entry : run_.journal) {
      if (entry.kind == JournalEntry::Kind::budget_spent) budget_spent.push_back(entry.name);
      if (entry.kind != JournalEntry::Kind::predicate && entry.kind != JournalEntry::Kind::operation)
        continue;
      journal.push_back(entry.name);
      if (entry.step != step) steps.emplace_back();
      step = entry.step;
      steps.back().push_back(entry.name);
    }
    const std::vector<Finding> findings = findings_of(run_);
    for (const Finding& f : findings)
      if (f.result != OperationEnd::Result::unknown)
        actions.push_back(f.action + (f.to.empty() ? "" : " " + f.to));
    compare_lists("journal", e.journal, journal);
    if (e.steps && *e.steps != steps) {
      const auto shown = [](const std::vector<std::vector<std::string>>& all) {
        std::string out;
        for (const auto& one : all) out += (out.empty() ? "" : " | ") + joined(one);
        return out.empty() ? "(nothing)" : out;
      };
      differ(fmt::format("steps: expected {}, got {}", shown(*e.steps), shown(steps)));
    }
    compare_lists("actions", e.actions, actions);
    compare_lists("cleared", e.cleared, cleared_rules(run_));
    compare_lists("budget_spent", e.budget_spent, budget_spent);
    compare_findings(findings);
    compare_productions();
    compare_values();
  }

  void compare_findings(const std::vector<Finding>& got) {
    if (!given_.expect.findings) return;
    const auto& wanted = *given_.expect.findings;
    for (std::size_t i = 0; i < std::max(wanted.size(), got.size()); ++i) {
      if (i >= wanted.size()) {
        differ(fmt::format("findings: one more than expected: {}", to_json(got[i]).dump()));
      } else if (i >= got.size()) {
        differ(fmt::format("findings: there is no number {}: {}", i + 1, wanted[i].dump()));
      } else {
        const Json have = to_json(got[i]);
        for (const auto& [key, value] : wanted[i].members())
          if (!(have[key] == value))
            differ(fmt::format("findings: '{}' of number {}: expected {}, got {}", key, i + 1, value.dump(),
                               have[key].dump()));
      }
    }
  }

  void compare_productions() {
    const std::vector<Explanation> all = explain(run_);
    const auto check = [&](const std::string& name, bool wanted) {
      const auto at = std::ranges::find(all, name, &Explanation::production);
      if (at == all.end())
        differ(fmt::format("there is no production '{}'", name));
      else if ((at->outcome == Explanation::Outcome::fired) != wanted)
        differ(fmt::format("production '{}': expected {}, but {}", name, wanted ? "to fire" : "not to fire",
                           at->text));
    };
    for (const std::string& name : given_.expect.fired) check(name, true);
    for (const std::string& name : given_.expect.not_fired) check(name, false);
  }

  void compare_values() {
    for (const auto& [name, wanted] : given_.expect.values) {
      const Index z = rules_->find_characteristic(name);
      if (z == kNone) {
        differ(fmt::format("values: there is no characteristic '{}'", name));
        continue;
      }
      const Fact& fact = run_.facts[z];
      if (fact.state == Fact::State::none)
        differ(fmt::format("values: '{}' has none, expected {}", name, wanted.dump()));
      else
        compare_value(name, wanted, fact, s_.characteristics[z].type);
    }
  }

  void compare_value(const std::string& name, const Json& wanted, const Fact& fact, ValueType type) {
    const Json got = fact.state == Fact::State::known ? sickbay::to_json(fact.value) : Json();
    const auto as_typed = value_from_json(wanted, type);  // 2 is 2.0 where it is a fraction
    if (got == (as_typed ? sickbay::to_json(*as_typed) : wanted)) return;
    differ(fmt::format("values: '{}': expected {}, got {}{}", name,
                       wanted.is_null() ? "unknown" : wanted.dump(), got.is_null() ? "unknown" : got.dump(),
                       fact.why.empty() ? "" : ": " + fact.why));
  }

  const std::shared_ptr<const Rules>& rules_;
  const Specification& s_;
  const RuleRun& given_;
  std::string label_;
  std::vector<std::string>& differences_;
  Run run_;
  TimePoint now_ = kNoTime;
  std::map<InstanceId, TimePoint> ends_at_;
};

}  // namespace

RuleTestResult run_rule_test(const std::shared_ptr<const Rules>& rules, const RuleTest& test) {
  RuleTestResult result;
  std::vector<RepairRun> history;
  std::map<std::string, int> unknown_runs;
  for (std::size_t i = 0; i < test.runs.size(); ++i) {
    const std::string label = test.runs.size() == 1 ? "" : fmt::format("run {}: ", i + 1);
    result.runs.push_back(
        TestedRun(rules, test.runs[i], label, result.differences).play(history, unknown_runs));
    unknown_runs = unknown_runs_of(result.runs.back());
    for (RepairRun& repair : repairs_of(result.runs.back())) history.push_back(std::move(repair));
  }
  return result;
}

}  // namespace sickbay::diagnose
