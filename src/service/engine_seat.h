// SPDX-License-Identifier: Apache-2.0
// EngineSeat: an engine's place in the controller's round.
//
// An engine is two pure functions over its state (ARCHITECTURE.md).  A seat holds that state, knows which of
// its subjects something happened to, and asks the engine about one of them.  A new engine is a new seat:
// the controller knows them only as a list, and commits, starts and answers for all of them alike.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "engine/drain/drain.h"
#include "engine/identify/identify.h"

namespace sickbay {

class EngineSeat {
 public:
  struct Turn {
    std::vector<Command> commands;
    std::vector<Event> records;
    TimePoint wake_at = kNever;
  };
  virtual ~EngineSeat() = default;

  /// Takes in one event, at replay and after, and notes whom it touches.
  virtual void apply(const Event& event) = 0;
  /// Notes every subject that is not at rest: after a start nobody knows what has passed.
  virtual void touch_all() = 0;
  /// What the engine wants for `subject`, given all commands so far.
  virtual Turn decide(const std::string& subject, TimePoint now) = 0;

  /// The subjects noted since the last call.
  std::set<std::string> take_touched() { return std::exchange(touched_, {}); }
  void touch(std::string subject) { touched_.insert(std::move(subject)); }

 protected:
  std::set<std::string> touched_;
};

/// Cases ("c17").
class IdentifySeat final : public EngineSeat {
 public:
  explicit IdentifySeat(const identify::Policy& policy) : policy_(policy) {}
  void apply(const Event& event) override;
  void touch_all() override;
  Turn decide(const std::string& subject, TimePoint now) override;
  const identify::State& state() const { return state_; }

 private:
  const identify::Policy& policy_;
  identify::State state_;
};

/// Nodes ("node:n3") and their service.
class DrainSeat final : public EngineSeat {
 public:
  explicit DrainSeat(const drain::Policy& policy) : policy_(policy) {}
  void apply(const Event& event) override;
  void touch_all() override;
  Turn decide(const std::string& subject, TimePoint now) override;
  const drain::State& state() const { return state_; }
  const drain::Policy& policy() const { return policy_; }

 private:
  const drain::Policy& policy_;
  drain::State state_;
};

}  // namespace sickbay
