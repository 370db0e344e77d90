// SPDX-License-Identifier: Apache-2.0
// Injecting and healing faults of a running lab.
//
// An active fault is a file LAB/faults/ID, written before anything is broken, so that `heal` can put right
// what a crash left half done; every effect can be healed twice.  Three things can stand behind a fault:
// the effect alone (loss, crash), a watcher that waits for job steps (rank-kill, bitflip, and every kind with
// --probability), and a timer (--for).  Watchers and timers are processes in the cleanup list.
// What is injected, what fires and what is healed goes into the ground truth (truth.h).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lab/child.h"
#include "lab/fault_spec.h"
#include "lab/layout.h"

namespace sickbay::lab {

/// A fault that was injected and is not healed.
struct ActiveFault {
  std::string id;  ///< f1, f2, ...
  FaultSpec spec;
  bool fired = true;                         ///< false while a watcher waits for its moment
  std::map<std::string, Process> processes;  ///< "watcher", "timer", "hog": ended by heal
  std::map<std::string, std::string> notes;  ///< what heal must know ("host_pid")
  /// "f1 n3 loss=5%"
  std::string line() const { return id + " " + spec.node + " " + spec.text() + (fired ? "" : " (waiting)"); }
};

/// LAB/faults/ID as text, and back.  Errors: bad_input.
std::string print_active(const ActiveFault& fault);
Result<ActiveFault> parse_active(const std::string& id, const std::string& text);
/// By number.  Files that do not parse are left out.
std::vector<ActiveFault> active_faults(const Layout& layout);
Status save_active(const Layout& layout, const ActiveFault& fault);

/// Breaks something.  Returns the fault's id.  Errors: usage, not_found (machine), conflict (the same kind is
/// active there, or the lab is not running), and those of the effect, with cause and remedy; the machine is
/// as before then.
Result<std::string> inject_fault(const Layout& layout, const FaultSpec& spec);

/// Which active faults `heal` means.
struct HealWish {
  std::string node;  ///< empty: all
  std::string kind;  ///< "loss" or "loss=5%"; empty: all
};
/// Heals them; the ids that were healed.  Errors: not_found when there is none (but for a wish for all).
Result<std::vector<std::string>> heal_faults(const Layout& layout, const HealWish& wish);
/// Heals one, without error when it is gone.  The caller holds the lock.
Status heal_fault(const Layout& layout, const std::string& id);

}  // namespace sickbay::lab
