// SPDX-License-Identifier: Apache-2.0
// The journal as text: one event on each line, as `sickbay journal --json` prints it.
#pragma once
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace sickbay {

/// Calls `each` for the events in their order; empty lines are none.  Gives their number.
/// Errors: bad_input, with the line.
Result<std::size_t> for_each_event(std::string_view lines, const std::function<void(const Event&)>& each);
/// The same of a journal that need not fit into memory.
Result<std::size_t> for_each_event(std::istream& lines, const std::function<void(const Event&)>& each);

}  // namespace sickbay
