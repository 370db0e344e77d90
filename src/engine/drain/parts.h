// SPDX-License-Identifier: Apache-2.0
// What the files of the drain engine share; for them only.
//
// apply.cc takes events in and decide.cc answers; reboot.cc has both halves of what concerns reboots.
#pragma once
#include <string>
#include <string_view>

#include "engine/drain/drain.h"

namespace sickbay::drain {

/// Ends the key of a command that tells somebody; before it stands the key of Node::notices.
inline constexpr std::string_view kNotifyEnd = ":notify";

// --- apply.cc

/// Counts a node as leaving its partitions at `at`.
void note_leaving(State& state, const std::string& name, const Node& node, TimePoint at);

// --- decide.cc

/// Whether the reason may move us at all.
bool counts(const Policy& policy, const Reason& reason);
/// "sickbay:f9 memory/p2: a memory bank is lost": what an administrator reads in sinfo -R.
std::string slurm_reason(const Reason& reason);
/// Why the breaker of a partition lets nothing happen; "" where it does.
struct Held {
  std::string why;
  TimePoint until = kNever;  ///< when it is worth asking again
};
/// Of the nodes that left a partition within the window.
Held held_by_recent(const Policy& policy, const Partition& partition, TimePoint now);
Event record(std::string subject, std::string_view kind, Json body);
/// The command `number` of its verb for a node, of which `letter` is in the key.
Command command(const std::string& name, std::string_view verb, char letter, int number, Json args);

// --- reboot.cc

/// Takes in what Slurm shows of the boot of a node; before its drain is looked at.  True: it shows no drain
/// of ours any more, and Slurm itself took it away, as it does when a node is not back in time from a reboot.
bool see_boot(Node& node, const std::string& name, const Json& group, bool drained);
void on_reboot_intent(State& state, const std::string& name, Node& node, const Event& event);
void on_reboot_end(Node& node, const std::string& name, const Event& event);
void on_reboot_overdue(Node& node, const std::string& name, const Event& event);
/// What has been tried for this finding's rule and did not help, for who is told of it; "" for nothing.
std::string tried_before(const Node& node, const std::string& rule, const std::string& boot_id);
/// Reboots a node that we have out, when a reason asks for it and all that must hold holds.
void let_reboot(const State& state, const Policy& policy, const std::string& name, const Node& node,
                TimePoint now, Decision& decision);

}  // namespace sickbay::drain
