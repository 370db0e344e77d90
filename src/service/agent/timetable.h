// SPDX-License-Identifier: Apache-2.0
// Timetable: when a node examines itself, out of the periods I.  Pure.
//
// Each period has a grid of ticks `every` apart; each node stands on it at a place of its own, told by its
// name, so that ten thousand agents do not strike at once.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"
#include "engine/diagnose/specification.h"

namespace sickbay::agent {

/// `every` of periods, by "SPECIFICATION/PERIOD", where the site has other wishes.
using Overrides = std::map<std::string, std::chrono::seconds>;

/// The pause between two runs of `period`.
std::chrono::seconds pause_of(const diagnose::Specification& specification, const diagnose::Period& period,
                              const Overrides& overrides);
/// Minutes since local midnight.
std::chrono::minutes time_of_day(TimePoint at);
/// The first tick after `now` of a grid `every` apart, shifted by `name`.  A clock that is set moves the grid
/// along: no tick is ever more than `every` away.
TimePoint next_tick(std::string_view name, std::chrono::seconds every, TimePoint now);
/// A place from 0 up to, not with, `range` that is `name`'s own.
Micros share_of(std::string_view name, Micros range);

}  // namespace sickbay::agent
