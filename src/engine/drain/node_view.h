// SPDX-License-Identifier: Apache-2.0
// How a node's service reads: what `sickbay nodes` and GET /v1/nodes show of it.  Part of drain.h, which
// whoever shows nodes includes.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"

namespace sickbay::drain {

struct Known;
struct State;

/// How a node stands, in one word: "in" (nothing against it), "observed" (reasons, but we only observe),
/// "waits" (the breaker keeps it in), "leaving" (a drain is under way), "out" (drained by us), "rebooting",
/// "returning" (its lifting is under way), "foreign" (reasons, and drained or down by somebody else),
/// "refused" (Slurm would not), "claimed" (another part of Sickbay is at work on it).
std::string_view standing(const Known& known, const std::string& node);
/// All these words.
std::span<const std::string_view> standings();
/// What becomes of a wish to reboot the node or to power it off, for people; "" where there is none.
std::string wish_text(const Known& known, const std::string& node);
/// The member "service" of a node in GET /v1/nodes (doc/formats/api.md).
Json node_view(const Known& known, const std::string& node);

}  // namespace sickbay::drain
