// SPDX-License-Identifier: Apache-2.0
// Diagnosis: drives one run of the engine through an OperationRunner, to its end.
//
// Whether an operation may run at all is the engine's to decide, and is asked a second time where it is
// started: a repair that nobody permitted must pass two gates, not one.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "engine/diagnose/findings.h"
#include "engine/diagnose/run.h"
#include "ports/loop.h"
#include "ports/operation_runner.h"

namespace sickbay::agent {

class Diagnosis : public std::enable_shared_from_this<Diagnosis> {
 public:
  struct Hooks {
    /// Called before a repair is started; an Error keeps it from running, and its result is then unknown.
    std::function<Status(const diagnose::RepairRun&)> before_repair;
    /// What is permitted at this moment: asked once more before a repair, stress or another active check is
    /// started, for a queue may be long and a job may have come.  Where it is empty nothing is.
    std::function<diagnose::Permits()> permits;
    /// Called when an operation was started that may have to end before its time: stress (it needs an idle
    /// node), or another active check.
    std::function<void()> burdening;
    /// Called when a repair that was started has ended, whatever came of it.
    std::function<void(const diagnose::RepairRun&, const diagnose::Instance&)> after_repair;
    /// What the run says as it goes: a critical operation that is started, an operation that ended unknown.
    std::function<void(const diagnose::Finding&)> found;
    std::function<void(const diagnose::Run&, Micros cpu)> over;
  };
  /// `loop` and `runner` must outlive it.  Operations that ask sickbayd to act (builtin:drain, notify,
  /// restart, reboot, power_off) are done by their finding.
  Diagnosis(Loop& loop, OperationRunner& runner, std::shared_ptr<const diagnose::Rules> rules, Hooks hooks);

  void start(diagnose::RunStarted began);
  /// Nothing more is started; what runs is waited for.
  void stop(const std::string& why);
  /// Whether an operation runs that needs an idle node, or that is active.
  bool stresses() const;
  bool is_active() const;
  /// Ends those; they are unknown, and the run goes on.
  void end_stress(const std::string& why);
  void end_active(const std::string& why);
  /// Forgets its owner and the runner: no hook is called any more, and nothing more is started.
  void leave() {
    hooks_ = {};
    left_ = true;
  }
  const diagnose::Run& run() const { return run_; }
  /// Why a test that needs an idle node or leave was not made, or not to its end; "" where none was left out.
  const std::string& left_out() const { return left_out_; }

 private:
  void go_on();
  void start_instance(diagnose::InstanceId instance);
  void tell_refused();
  void finish(diagnose::InstanceId instance, OperationEnd end);
  const diagnose::Rules::OperationRule& rule_of(diagnose::InstanceId instance) const;
  /// Ends those that run and have this of their rule.
  void end_early(bool diagnose::Rules::OperationRule::*what, const std::string& why);

  Loop& loop_;
  OperationRunner& runner_;
  diagnose::Run run_;
  Hooks hooks_;
  Micros cpu_{0};
  bool over_ = false, left_ = false;
  std::string left_out_;
  diagnose::InstanceId told_ = 0;  ///< up to here, those that were refused have been told
  std::map<diagnose::InstanceId, std::shared_ptr<EarlyEnd>> burdens_;  ///< that run
};

}  // namespace sickbay::agent
