// SPDX-License-Identifier: Apache-2.0
#include "service/agent/diagnosis.h"

#include <algorithm>
#include <array>

namespace sickbay::agent {
namespace {

constexpr auto kAsked = std::to_array<std::string_view>(
    {"builtin:drain", "builtin:notify", "builtin:restart", "builtin:reboot", "builtin:power_off"});

}  // namespace

Diagnosis::Diagnosis(Loop& loop, OperationRunner& runner, std::shared_ptr<const diagnose::Rules> rules,
                     Hooks hooks)
    : loop_(loop), runner_(runner), run_(std::move(rules)), hooks_(std::move(hooks)) {}

void Diagnosis::start(diagnose::RunStarted began) {
  diagnose::apply(run_, began);
  go_on();
}

void Diagnosis::stop(const std::string& why) {
  diagnose::apply(run_, diagnose::RunStopped{loop_.now(), why});
  go_on();
}

void Diagnosis::go_on() {
  while (!left_) {
    tell_refused();
    const diagnose::Decision decision = diagnose::decide(run_);
    if (decision.over) {
      if (std::exchange(over_, true)) return;
      if (hooks_.found)
        for (const diagnose::Finding& finding : diagnose::unknown_predicates(run_)) hooks_.found(finding);
      if (hooks_.over) hooks_.over(run_, cpu_);
      return;
    }
    if (decision.start.empty()) return;
    for (const diagnose::InstanceId instance : decision.start) start_instance(instance);
  }
}

void Diagnosis::start_instance(diagnose::InstanceId instance) {
  const TimePoint now = loop_.now();
  const diagnose::Index number = run_.instances[instance].operation;
  const diagnose::Rules::OperationRule& rule = run_.rules->operations[number];
  if (rule.repairs || rule.needs_idle || rule.active) {
    const diagnose::Permits permits = hooks_.permits ? hooks_.permits() : diagnose::Permits{};
    if (std::string why = diagnose::objection_to(rule, permits); !why.empty())
      return diagnose::apply(run_, diagnose::OperationRefused{now, instance, std::move(why)});
  }
  diagnose::apply(run_, diagnose::OperationStarted{now, instance});
  const auto& operation = run_.rules->specification.operations[number];
  const auto later = [self = shared_from_this(), instance](OperationEnd end) {
    self->finish(instance, std::move(end));
  };
  if (operation.kind == diagnose::OperationKind::critical)
    if (const auto finding = diagnose::finding_of(run_, instance); finding && hooks_.found)
      hooks_.found(*finding);
  if (rule.repairs && hooks_.before_repair)
    if (const Status noted = hooks_.before_repair(diagnose::repair_of(run_, instance)); !noted) {
      OperationEnd end;
      end.text = "it was not run, for it could not be noted: " + noted.error().line();
      return loop_.post([later, end] { later(end); });
    }
  if (std::ranges::find(kAsked, operation.run) != kAsked.end()) {
    OperationEnd end;
    end.result = OperationEnd::Result::ok;
    end.text = "sickbayd was asked";
    return loop_.post([later, end] { later(end); });
  }
  OperationCall call = diagnose::call_of(run_, instance);
  const bool burdens = rule.needs_idle || rule.active;
  if (burdens) {
    call.early_end = std::make_shared<EarlyEnd>();
    burdens_[instance] = call.early_end;
  }
  runner_.run(std::move(call), later);
  if (burdens && hooks_.burdening) hooks_.burdening();
}

const diagnose::Rules::OperationRule& Diagnosis::rule_of(diagnose::InstanceId instance) const {
  return run_.rules->operations[run_.instances[instance].operation];
}

bool Diagnosis::stresses() const {
  return std::ranges::any_of(burdens_, [this](const auto& one) { return rule_of(one.first).needs_idle; });
}
bool Diagnosis::is_active() const {
  return std::ranges::any_of(burdens_, [this](const auto& one) { return rule_of(one.first).active; });
}

void Diagnosis::end_stress(const std::string& why) {
  end_early(&diagnose::Rules::OperationRule::needs_idle, why);
}
void Diagnosis::end_active(const std::string& why) {
  end_early(&diagnose::Rules::OperationRule::active, why);
}
void Diagnosis::end_early(bool diagnose::Rules::OperationRule::*what, const std::string& why) {
  const auto running = burdens_;  // an end may come at once
  for (const auto& [instance, early_end] : running)
    if (rule_of(instance).*what) early_end->ask(why);
}

// What the engine has refused, or we: no end of an operation will tell of it.
void Diagnosis::tell_refused() {
  for (; told_ < run_.instances.size(); ++told_) {
    const diagnose::Instance& instance = run_.instances[told_];
    if (!instance.refused && instance.state == diagnose::Instance::State::queued) break;
    if (!instance.refused) continue;
    const diagnose::Rules::OperationRule& rule = run_.rules->operations[instance.operation];
    if ((rule.needs_idle || rule.active) && !rule.repairs) left_out_ = instance.text;
    if (!hooks_.found) continue;
    if (const auto finding = diagnose::finding_of(run_, told_)) hooks_.found(*finding);
  }
}

void Diagnosis::finish(diagnose::InstanceId instance, OperationEnd end) {
  cpu_ += end.cpu;
  if (const auto burden = burdens_.extract(instance); !burden.empty() && burden.mapped()->asked()) {
    // Whatever it says: it could not do all that it was to do.
    end.result = OperationEnd::Result::unknown;
    end.ended_early = true;
    end.text = left_out_ = "ended before its time: " + burden.mapped()->why();
  }
  diagnose::apply(run_, diagnose::OperationFinished{loop_.now(), instance, std::move(end)});
  const auto& operation = run_.rules->specification.operations[run_.instances[instance].operation];
  if (run_.rules->operations[run_.instances[instance].operation].repairs && hooks_.after_repair)
    hooks_.after_repair(diagnose::repair_of(run_, instance), run_.instances[instance]);
  if (operation.kind != diagnose::OperationKind::critical)
    if (const auto finding = diagnose::finding_of(run_, instance); finding && hooks_.found)
      hooks_.found(*finding);
  go_on();
}

}  // namespace sickbay::agent
