// SPDX-License-Identifier: Apache-2.0
// How a node's service reads: what `sickbay nodes` and GET /v1/nodes show of it.  Part of drain.h, which
// whoever shows nodes includes.
#pragma once
#include <cstdint>
#include <limits>
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
/// The member "service" of a node in GET /v1/nodes (doc/formats/api.md); of its reasons at most `most` (at
/// least 1) and how many others there are.  True: it says nothing of the time that goes by, so that it holds
/// as long as view_key() is the same.  Cost: a walk over all reasons.
bool write_node_view(JsonText& text, const Known& known, const std::string& node,
                     std::size_t most = std::numeric_limits<std::size_t>::max());

/// All that write_node_view() goes by, in short: for who keeps what it wrote.
struct ViewKey {
  std::int64_t change = 0;  ///< Node::change
  bool drained = false, down = false, idle = false, claimed = false, waits = false;
  TimePoint boot = kNoTime;
  bool operator==(const ViewKey&) const = default;
};
/// Cost: some look-ups by name.
ViewKey view_key(const Known& known, const std::string& node);

}  // namespace sickbay::drain
