// SPDX-License-Identifier: Apache-2.0
// Truth of a predicate under what is known: Kleene's three values above, compiled atoms below.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/diagnose/run.h"

namespace sickbay::diagnose {

/// What predicate `condition` is under `facts`, each of whose characteristics has a value or is unknown.
/// `atoms` keeps what was evaluated; `why` is set where an atom could not be, which is unknown, too.
Truth evaluate(const Rules& rules, Index condition, const std::vector<Fact>& facts,
               std::vector<std::optional<Truth>>& atoms, std::string& why);

/// Values by name: unknown ones are null, those without a value are left out.
Json values_of(const Rules& rules, std::span<const Index> characteristics, const std::vector<Fact>& facts);

}  // namespace sickbay::diagnose
