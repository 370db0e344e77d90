// SPDX-License-Identifier: Apache-2.0
// Why the result does not depend on the order in which parallel operations end: within a phase a
// characteristic gets its value once, so what is admissible and what is true only grows, and a phase ends
// only when nothing that could feed its productions is under way.  Where two operations give one
// characteristic, L says so.
#include "engine/diagnose/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/spelling.h"
#include "engine/diagnose/truth.h"

namespace sickbay::diagnose {
namespace {

// The groups of Derived.waiting.
enum Group : std::size_t { kExamine, kRepair, kVerify, kCritical };
Group group_of(OperationKind kind) {
  if (is_examination(kind)) return kExamine;
  return kind == OperationKind::repair ? kRepair : kind == OperationKind::verify ? kVerify : kCritical;
}
// The productions that count in a phase: critical ones from the second step of the first phase on.
bool counts(const Run& run, Group group) {
  switch (run.phase) {
    case Phase::examine:
      return group == kExamine || (group == kCritical && run.step > 1);
    case Phase::repair:
      return group == kRepair;
    case Phase::verify:
      return group == kVerify;
    case Phase::last:
      return group == kCritical;
    case Phase::before:
    case Phase::over:
      break;
  }
  return false;
}

// Of several outputs, one is easily spelled in another way by the operation.
std::string near_name(std::string_view own, const Json& outputs) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : outputs.members()) names.push_back(name);
  const std::string near = did_you_mean(own, names);
  return near.empty() ? "" : fmt::format(", but '{}'", near);
}

class Step {
 public:
  Step(Run& run, TimePoint at) : run_(run), rules_(*run.rules), at_(at) {}

  void note(JournalEntry::Kind kind, std::string name, std::string text, InstanceId instance = kNone) {
    run_.journal.push_back({kind, at_, run_.step, std::move(name), std::move(text), instance});
  }

  void begin(const RunStarted& e) {
    run_.phase = Phase::examine;
    run_.step = 1;
    run_.permits = e.permits;
    for (const auto& [name, runs] : e.spent)
      if (const Index o = rules_.find_operation(name); o != kNone) run_.spent[o] = runs;
    for (const auto& [name, runs] : e.unknown_runs)
      if (const Index o = rules_.find_operation(name); o != kNone) run_.unknown_runs[o] = runs;
    for (Index c = 0; c < rules_.conditions.size(); ++c)
      if (run_.derived.missing[c] == 0) reconsider(c);  // those over no characteristic at all
    for (const auto& [name, value] : e.initial) {
      const Index z = rules_.find_characteristic(name);
      if (z == kNone) {
        note(JournalEntry::Kind::initial, name, "left out: the specification has no such characteristic");
        continue;
      }
      auto fits = value_from_json(sickbay::to_json(value), rules_.specification.characteristics[z].type);
      if (fits)
        give(z, Fact{Fact::State::known, std::move(*fits), "", kNone});
      else
        note(JournalEntry::Kind::initial, name, "left out: it " + fits.error().what);
    }
    settle();
  }

  void start(InstanceId id) {
    Instance& instance = run_.instances[id];
    instance.state = Instance::State::running;
    instance.started = true;
    instance.started_at = at_;
    std::erase(run_.queue, id);
    run_.running.push_back(id);
    for (const Index o : rules_.operations[instance.operation].components) run_.derived.in_use[o] = true;
  }

  void finish(InstanceId id, const OperationEnd& end) {
    Instance& instance = run_.instances[id];
    instance.state = Instance::State::ended;
    instance.ended_at = at_;
    instance.result = end.result;
    instance.text = end.text;
    instance.gave_way = end.ended_early;
    std::erase(run_.running, id);
    for (const Index o : rules_.operations[instance.operation].components) run_.derived.in_use[o] = false;
    ++run_.step;
    give_outputs(id, end);
    settle();
  }

  void refuse(InstanceId id, const std::string& why) {
    std::erase(run_.queue, id);
    ++run_.step;
    close_refused(run_.instances[id], why);
    // It was permitted when the run began: what changed since is that somebody else needs the node.
    const Rules::OperationRule& rule = rules_.operations[run_.instances[id].operation];
    run_.instances[id].gave_way = (rule.needs_idle || rule.active) && !rule.repairs;
    tell_refused(id);
    settle();
  }

  void stop(const std::string& why) {
    run_.stopped = true;
    note(JournalEntry::Kind::stopped, "", why);
    for (const InstanceId id : run_.queue) {
      run_.instances[id].state = Instance::State::ended;
      run_.instances[id].text = "not run: " + why;
    }
    run_.queue.clear();
    settle();
  }

 private:
  // Values ------------------------------------------------------------------------------------------------
  Fact output(const std::string& own, ValueType type, InstanceId id, const OperationEnd& end) const {
    Fact fact{Fact::State::unknown, Value(), "", id};
    const auto known = [&](Value value) {
      fact.state = Fact::State::known;
      fact.value = std::move(value);
      return fact;
    };
    if (own == kBudgetSpentOutput) return known(false);
    const std::string& name = rules_.specification.operations[run_.instances[id].operation].name;
    if (run_.instances[id].refused) {
      fact.why = fmt::format("{} was {}", name, end.text);
      return fact;
    }
    if (end.result == OperationEnd::Result::unknown) {
      fact.why = fmt::format("{} ended unknown: {}", name, end.text.empty() ? "it gave no reason" : end.text);
      return fact;
    }
    if (own == kFaultOutput) return known(end.result == OperationEnd::Result::fault);
    const Json& given = end.outputs[own];
    if (given.is_null()) {
      fact.why = fmt::format("{} gave no '{}'{}", name, own,
                             end.outputs.has(own) ? "" : near_name(own, end.outputs));
      return fact;
    }
    auto value = value_from_json(given, type);
    if (value) return known(std::move(*value));
    fact.why = fmt::format("{} gave a wrong '{}': it {}", name, own, value.error().what);
    return fact;
  }

  void give_outputs(InstanceId id, const OperationEnd& end) {
    Instance& instance = run_.instances[id];
    const Rules::OperationRule& rule = rules_.operations[instance.operation];
    Index unknown_runs = kNone;
    for (const auto& [own, z] : rule.outputs) {
      if (own == kUnknownRunsOutput) {
        unknown_runs = z;
        continue;
      }
      // Another instance may have been out of budget: that stays true.
      if (own == kBudgetSpentOutput && is_true(z)) continue;
      Fact fact = output(own, rules_.specification.characteristics[z].type, id, end);
      // (One that it says to be null it knows not to know.)
      if (fact.state == Fact::State::unknown && !instance.refused &&
          end.result != OperationEnd::Result::unknown &&
          !(end.outputs.has(own) && end.outputs[own].is_null()))
        instance.lacks += (instance.lacks.empty() ? "" : "; ") + fact.why;
      give(z, std::move(fact));
    }
    if (unknown_runs == kNone) return;
    int& runs = run_.unknown_runs[instance.operation];
    const bool unknown = end.result == OperationEnd::Result::unknown || !instance.lacks.empty();
    // (Who was not run, or not to its end, has not been asked: jobs that come are no broken check.)
    if (!instance.refused && !instance.gave_way) runs = unknown ? runs + 1 : 0;
    give(unknown_runs, Fact{Fact::State::known, static_cast<std::int64_t>(runs), "", id});
  }

  void give(Index z, Fact fact) {
    Fact& old = run_.facts[z];
    Run::Derived& d = run_.derived;
    const bool first = old.state == Fact::State::none;
    const bool same = !first && old.state == fact.state && old.value == fact.value;
    const std::string& name = rules_.specification.characteristics[z].name;
    if (fact.state == Fact::State::unknown) note(JournalEntry::Kind::unknown, name, fact.why, fact.source);
    if (!first && !same && fact.source != kNone && old.source != kNone &&
        (d.given_in[z] == run_.phase || is_critical(old.source) || is_critical(fact.source)))
      note(JournalEntry::Kind::overwritten, name,
           fmt::format("{} gave it another value than {}: which one came last is chance",
                       operation_name(fact.source), operation_name(old.source)),
           fact.source);
    d.given_in[z] = run_.phase;
    old = std::move(fact);
    if (same) return;
    for (const Index a : rules_.characteristics[z].atoms) d.atoms[a].reset();
    for (const Index c : rules_.characteristics[z].conditions) {
      d.evaluated[c] = false;
      if (first) --d.missing[c];
      if (d.missing[c] == 0) reconsider(c);
    }
  }
  bool is_true(Index z) const {
    return run_.facts[z].state == Fact::State::known && run_.facts[z].value == Value(true);
  }
  bool is_critical(InstanceId id) const {
    return rules_.operations[run_.instances[id].operation].kind == OperationKind::critical;
  }
  const std::string& operation_name(InstanceId id) const {
    return rules_.specification.operations[run_.instances[id].operation].name;
  }
  void reconsider(Index condition) {
    for (const Index p : rules_.conditions[condition].productions) {
      if (run_.fired[p] || run_.derived.waits[p]) continue;
      run_.derived.waits[p] = true;
      run_.derived.waiting[group_of(rules_.operations[rules_.productions[p].operation].kind)].push_back(p);
    }
  }

  // Interpretation ----------------------------------------------------------------------------------------
  void settle() {
    if (!run_.stopped) interpret();
    while (run_.phase != Phase::over && !busy()) {
      run_.phase = run_.stopped ? Phase::over : static_cast<Phase>(static_cast<int>(run_.phase) + 1);
      interpret();
    }
  }

  // Whether something is under way that the phase must see the end of.
  bool busy() const {
    if (run_.stopped) return !run_.running.empty();
    return std::ranges::any_of(run_.queue, [&](InstanceId id) { return holds_up(id); }) ||
           std::ranges::any_of(run_.running, [&](InstanceId id) { return holds_up(id); });
  }
  bool holds_up(InstanceId id) const {
    const Rules::OperationRule& o = rules_.operations[run_.instances[id].operation];
    return run_.phase == Phase::last || o.kind != OperationKind::critical || feeds_this_phase(o);
  }
  bool feeds_this_phase(const Rules::OperationRule& o) const {
    for (const auto& [own, z] : o.outputs)
      for (const Index c : rules_.characteristics[z].conditions)
        for (const Index p : rules_.conditions[c].productions) {
          const Group group = group_of(rules_.operations[rules_.productions[p].operation].kind);
          if (!run_.fired[p] && (counts(run_, group) || (run_.phase == Phase::examine && group == kCritical)))
            return true;
        }
    return false;
  }

  void interpret() {
    std::vector<Index> todo;
    while (take_waiting(todo)) {
      std::vector<InstanceId> queued;
      for (const Index p : todo) {
        if (truth_of(rules_.productions[p].condition) != Truth::yes) continue;
        run_.fired[p] = true;
        const Index c = rules_.productions[p].condition;
        if (!run_.derived.seen_true[c]) {
          run_.derived.seen_true[c] = true;
          const Condition& condition = rules_.specification.predicates[c];
          note(JournalEntry::Kind::predicate, condition.name, condition.description);
        }
        if (const InstanceId id = enqueue(p); id != kNone) queued.push_back(id);
      }
      std::ranges::stable_sort(queued, {}, [&](InstanceId id) { return priority(id); });
      for (const InstanceId id : queued) {
        const OperationSpec& o = rules_.specification.operations[run_.instances[id].operation];
        if (run_.instances[id].refused) {
          tell_refused(id);
        } else if (run_.instances[id].budget_spent) {
          note(JournalEntry::Kind::budget_spent, o.name, run_.instances[id].text, id);
          give_spent(id);
        } else {
          note(JournalEntry::Kind::operation, o.name, o.description, id);
        }
      }
    }
  }

  // The productions to look at now, in the order of the specification.
  bool take_waiting(std::vector<Index>& todo) {
    todo.clear();
    for (const Group group : {kExamine, kRepair, kVerify, kCritical}) {
      auto& waiting = run_.derived.waiting[group];
      if (!counts(run_, group) || waiting.empty()) continue;
      todo.insert(todo.end(), waiting.begin(), waiting.end());
      waiting.clear();
    }
    std::ranges::sort(todo);
    for (const Index p : todo) run_.derived.waits[p] = false;
    return !todo.empty();
  }

  Truth truth_of(Index c) {
    Run::Derived& d = run_.derived;
    if (!d.evaluated[c]) {
      std::string why;
      run_.truths[c] = evaluate(rules_, c, run_.facts, d.atoms, why);
      run_.failed_predicates.erase(c);
      if (!why.empty()) {
        note(JournalEntry::Kind::unknown, rules_.specification.predicates[c].name, why);
        run_.failed_predicates[c] = why;
      }
      d.evaluated[c] = true;
    }
    return run_.truths[c];
  }

  int priority(InstanceId id) const {
    return kind_row(rules_.operations[run_.instances[id].operation].kind).priority;
  }

  // The new instance; kNone where an examination was queued before.
  InstanceId enqueue(Index p) {
    const Index o = rules_.productions[p].operation;
    const OperationSpec& spec = rules_.specification.operations[o];
    const bool once = is_examination(spec.kind);
    if (once && run_.derived.examination[o] != kNone) return kNone;
    const auto id = static_cast<InstanceId>(run_.instances.size());
    Instance& instance = run_.instances.emplace_back();
    instance.operation = o;
    instance.production = p;
    instance.phase = run_.phase;
    instance.values =
        values_of(rules_, rules_.conditions[rules_.productions[p].condition].characteristics, run_.facts);
    if (once) run_.derived.examination[o] = id;
    // Before the budget, which counts what ran.
    if (const std::string why = objection_to(rules_.operations[o], run_.permits); !why.empty()) {
      close_refused(instance, why);
      return id;
    }
    if (spec.budget && run_.spent[o]++ >= spec.budget->runs) {
      instance.budget_spent = true;
      instance.state = Instance::State::ended;
      instance.ended_at = at_;
      instance.result = OperationEnd::Result::fault;
      instance.text = fmt::format("not run: its budget of {} runs in {} is used up", spec.budget->runs,
                                  format_duration(spec.budget->window));
      return id;
    }
    run_.queue.insert(
        std::ranges::upper_bound(run_.queue, priority(id), {}, [&](InstanceId q) { return priority(q); }),
        id);
    return id;
  }

  void close_refused(Instance& instance, const std::string& why) {
    instance.state = Instance::State::ended;
    instance.refused = true;
    instance.ended_at = at_;
    instance.result = OperationEnd::Result::unknown;
    instance.text = "not run: " + why;
  }
  // What it would have given is unknown: nobody has looked, or tried.
  void tell_refused(InstanceId id) {
    const Instance& instance = run_.instances[id];
    note(JournalEntry::Kind::refused, rules_.specification.operations[instance.operation].name, instance.text,
         id);
    OperationEnd end;
    end.text = instance.text;
    give_outputs(id, end);
  }

  // A repair whose budget is used up: a fault of which the specification can make something.
  void give_spent(InstanceId id) {
    for (const auto& [own, z] : rules_.operations[run_.instances[id].operation].outputs)
      if (own == kBudgetSpentOutput || own == kFaultOutput) give(z, Fact{Fact::State::known, true, "", id});
  }

  Run& run_;
  const Rules& rules_;
  TimePoint at_;
};

bool is_in(const Run& run, InstanceId id, Instance::State state) {
  return id < run.instances.size() && run.instances[id].state == state;
}

}  // namespace

std::string objection_to(const Rules::OperationRule& operation, const Permits& permits) {
  if (operation.repairs && !permits.repair.given) return "repair not permitted: " + permits.repair.why;
  if (operation.needs_idle && !permits.stress.given)
    return "stress of the node not permitted: " + permits.stress.why;
  if (operation.active && !permits.active.given) return "active check not permitted: " + permits.active.why;
  return "";
}

Run::Run(std::shared_ptr<const Rules> r) : rules(std::move(r)) {
  facts.resize(rules->characteristics.size());
  truths.assign(rules->conditions.size(), Truth::unknown);
  fired.assign(rules->productions.size(), false);
  derived.missing.reserve(rules->conditions.size());
  for (const Rules::ConditionRule& c : rules->conditions)
    derived.missing.push_back(static_cast<Index>(c.characteristics.size()));
  derived.evaluated.assign(rules->conditions.size(), false);
  derived.seen_true.assign(rules->conditions.size(), false);
  derived.waits.assign(rules->productions.size(), false);
  derived.atoms.resize(rules->atoms.size());
  derived.in_use.assign(rules->specification.components.size(), false);
  derived.examination.assign(rules->operations.size(), kNone);
  derived.given_in.assign(rules->characteristics.size(), Phase::before);
}

void apply(Run& run, const RunEvent& event) {
  if (const auto* e = std::get_if<RunStarted>(&event.what)) {
    if (run.phase == Phase::before) Step(run, e->at).begin(*e);
  } else if (const auto* s = std::get_if<OperationStarted>(&event.what)) {
    if (is_in(run, s->instance, Instance::State::queued)) Step(run, s->at).start(s->instance);
  } else if (const auto* r = std::get_if<OperationRefused>(&event.what)) {
    if (is_in(run, r->instance, Instance::State::queued)) Step(run, r->at).refuse(r->instance, r->why);
  } else if (const auto* f = std::get_if<OperationFinished>(&event.what)) {
    if (is_in(run, f->instance, Instance::State::running)) Step(run, f->at).finish(f->instance, f->end);
  } else if (const auto* stop = std::get_if<RunStopped>(&event.what)) {
    if (run.phase != Phase::over && !run.stopped) Step(run, stop->at).stop(stop->why);
  }
}

Decision decide(const Run& run) {
  Decision decision;
  decision.over = run.phase == Phase::over;
  std::vector<bool> in_use = run.derived.in_use;
  for (const InstanceId id : run.queue) {
    const auto& components = run.rules->operations[run.instances[id].operation].components;
    const bool waits = std::ranges::any_of(components, [&](Index o) { return in_use[o]; });
    // Also of one that waits: else those behind it, who need less, would go first one after the other.
    for (const Index o : components) in_use[o] = true;
    if (!waits) decision.start.push_back(id);
  }
  return decision;
}

OperationCall call_of(const Run& run, InstanceId instance) {
  const Index o = run.instances[instance].operation;
  OperationCall call = call_of_helper(*run.rules, o);
  const OperationSpec& spec = run.rules->specification.operations[o];
  call.inputs = values_of(*run.rules, run.rules->operations[o].inputs, run.facts);
  if (spec.peer)
    call.peer = OperationCall::Peer{run.rules->specification.name, spec.peer->runs, spec.peer->node};
  return call;
}

OperationCall call_of_helper(const Rules& rules, Index operation) {
  const OperationSpec& spec = rules.specification.operations[operation];
  OperationCall call;
  call.operation = spec.name;
  call.kind = to_string(spec.kind);
  call.run = spec.run;
  call.components = spec.components;
  call.input_names = spec.inputs;
  call.listens = spec.listens;
  call.arguments = spec.arguments;
  call.time_limit = spec.timeout;
  call.memory_limit = static_cast<std::size_t>(spec.memory);
  call.output_limit = static_cast<std::size_t>(spec.output);
  return call;
}

}  // namespace sickbay::diagnose
