// SPDX-License-Identifier: Apache-2.0
// Ground truth: what was really broken, when, so that verdicts can be scored.
//
// LAB/truth.db is a journal (ports/journal.h) of its own, apart from sickbayd's.  Subject "node:n3"; kinds:
//   lab_fault  {fault, kind, value, text, probability, ...}   a fault was ordered; active unless `waiting`
//   lab_fired  {fault, step}                                  a waiting fault struck, or a rank was killed
//   lab_rested {fault, step}                                  a fault with a probability went away again
//   lab_heal   {fault, kind}                                  it is over
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "lab/layout.h"
#include "model/event.h"

namespace sickbay::lab {

/// Appends one event, stamped now.  Safe between processes, which wait for each other.
Status write_truth(const Layout& layout, const std::string& machine, const std::string& kind, Json body);
/// All events in order.  Errors: storage_broken, bad_input.
Result<std::vector<Event>> read_truth(const Layout& layout);

}  // namespace sickbay::lab
