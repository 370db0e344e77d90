// SPDX-License-Identifier: Apache-2.0
// What agents tell, read word by word and made into what the journal keeps.
//
// An agent is root on its node, and its node may be sick: nothing of what it sends is taken for granted, not
// types, not sizes, not words.  Pure; who may tell how much, and what was told before, is agents.cc's.
// Source: doc/design/diagnose.md, "Findings".
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/event.h"

namespace sickbay {

inline constexpr std::size_t kMostFindingBytes = 65536;  ///< of one finding

/// The body of the event `finding` that an item is.  Errors: bad_input, with what is wrong with it.
Result<Json> finding_body(const std::string& node, const Json& item);

/// The jobs on the node when the fault was found, with the names of their users, which `name_of` (may be
/// empty) gives; those that cannot be read are left out, for the finding is what matters.
Json jobs_of(const Json& item, const std::function<std::string(std::uint32_t)>& name_of);

/// The event of a repair that has ended; nothing where the item is a finding.  Errors: bad_input.
Result<std::optional<Event>> repair_event(const std::string& node, const Json& item);

/// What an agent's hello tells of its node, and that its clock is `ahead`; null where it tells nothing, or no
/// texts.
Json facts_of(const Json& body, Micros ahead);

}  // namespace sickbay
