// SPDX-License-Identifier: Apache-2.0
// What sickbayd says on standard error: one key=value line per decision or act, which an operator can grep.
#pragma once
#include <string>

#include "model/event.h"

namespace sickbay {

/// Prints one line.
void say(const std::string& line);
/// Says a committed event that is an act or a decision; others are for the journal alone.
void log_event(const Event& event);

}  // namespace sickbay
