// SPDX-License-Identifier: Apache-2.0
// How a node's service reads: what `sickbay nodes` and GET /v1/nodes show of it.  Part of drain.h, which
// whoever shows nodes includes.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"

namespace sickbay {
class JsonText;
}

namespace sickbay::drain {

struct Known;
struct Node;
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
/// What becomes of its gate, for people; "" where there is nothing to say.
std::string gate_text(const Known& known, const std::string& node);
/// Why it stays out until a person puts it back, for people; "" where it does not.
std::string kept_text(const Known& known, const std::string& node);
/// The member "service" of a node in GET /v1/nodes (doc/formats/api.md).  `reasons`: what write_reasons()
/// gave for it, where somebody has kept that; "": it is written anew.
void write_node_view(JsonText& text, const Known& known, const std::string& node,
                     std::string_view reasons = {});
/// The reasons of a node, as they stand there.
void write_reasons(JsonText& text, const Node& node);

}  // namespace sickbay::drain
