// SPDX-License-Identifier: Apache-2.0
#include "service/agent/diagnosis.h"

#include <algorithm>
#include <array>

namespace sickbay::agent {
namespace {

constexpr auto kAsked = std::to_array<std::string_view>(
    {"builtin:drain", "builtin:notify", "builtin:reboot", "builtin:power_off"});

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
  for (;;) {
    const diagnose::Decision decision = diagnose::decide(run_);
    if (decision.over) {
      if (!std::exchange(over_, true) && hooks_.over) hooks_.over(run_, cpu_);
      return;
    }
    if (decision.start.empty()) return;
    for (const diagnose::InstanceId instance : decision.start) start_instance(instance);
  }
}

void Diagnosis::start_instance(diagnose::InstanceId instance) {
  const TimePoint now = loop_.now();
  diagnose::apply(run_, diagnose::OperationStarted{now, instance});
  const auto& operation = run_.rules->specification.operations[run_.instances[instance].operation];
  const auto later = [self = shared_from_this(), instance](OperationEnd end) {
    self->finish(instance, std::move(end));
  };
  if (operation.kind == diagnose::OperationKind::critical)
    if (const auto finding = diagnose::finding_of(run_, instance); finding && hooks_.found)
      hooks_.found(*finding);
  if (operation.kind == diagnose::OperationKind::repair && hooks_.before_repair)
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
  runner_.run(diagnose::call_of(run_, instance), later);
}

void Diagnosis::finish(diagnose::InstanceId instance, OperationEnd end) {
  cpu_ += end.cpu;
  diagnose::apply(run_, diagnose::OperationFinished{loop_.now(), instance, std::move(end)});
  const auto& operation = run_.rules->specification.operations[run_.instances[instance].operation];
  if (operation.kind == diagnose::OperationKind::repair && hooks_.after_repair)
    hooks_.after_repair(diagnose::repair_of(run_, instance));
  if (operation.kind != diagnose::OperationKind::critical)
    if (const auto finding = diagnose::finding_of(run_, instance); finding && hooks_.found)
      hooks_.found(*finding);
  go_on();
}

}  // namespace sickbay::agent
