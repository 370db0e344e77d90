// SPDX-License-Identifier: Apache-2.0
// What the files of the drain engine share; for them only.
//
// apply.cc takes events in and decide.cc answers; reboot.cc has both halves of what concerns reboots, gate.cc
// of gates, flaps.cc of nodes that leave again and again;
// node_view.cc puts into words what the two say of a node.
#pragma once
#include <string>
#include <string_view>

#include "engine/drain/drain.h"

namespace sickbay::drain {

/// Ends the key of a command that tells somebody; before it stands the key of Node::notices.
inline constexpr std::string_view kNotifyEnd = ":notify";

// --- apply.cc

/// What nobody hears is kept of so many findings of a node, for who is to be told later; a replay knows no
/// policy, and cannot tell whether anybody listens.
inline constexpr std::size_t kMostNotices = 100;
/// Keeps what people are to be told under the key of Node::notices; the oldest go.
void keep_notice(Node& node, const std::string& key, Json finding);

/// Whether a rule only observes on the node, since somebody has undone what it did.
bool rests(const State& state, const std::string& name, const std::string& rule, TimePoint now);
/// A node as the engine takes it to stand: Slurm's word, and where ours is newer, ours.
struct Seen {
  bool known = false;  ///< Slurm has it
  bool drained = false, down = false;
  // Only what was shown since we drained it: before, jobs may have started unseen.
  bool idle = false;
  TimePoint boot = kNoTime;
};
Seen seen(const cluster::View& view, const std::string& name, const Node& node);

// --- decide.cc

/// Whether the reason may move us at all.
bool counts(const Policy& policy, const Reason& reason);
inline constexpr std::size_t kReasonBytes = 200;  // what `sinfo -R` can show in one look
/// "sickbay:f9 memory/p2: a memory bank is lost": what an administrator reads in sinfo -R.
std::string slurm_reason(const Reason& reason);
/// How a node stands; each word is told in node_view.h.
enum class Standing : std::uint8_t {
  in,
  observed,
  waits,
  leaving,
  out,
  rebooting,
  returning,
  foreign,
  refused,
  claimed
};
Standing standing_of(const Known& known, const std::string& name);
/// The command `number` of its verb for a node, of which `letter` is in the key.
Command command(const std::string& name, std::string_view verb, char letter, int number, Json args);

// --- reboot.cc

/// Takes in what Slurm shows of a node that we are rebooting; before its drain is looked at.  True: it shows
/// no drain of ours any more, and Slurm itself took it away, as it does when a node is not back in time from
/// a reboot.
bool see_boot(Node& node, const std::string& name, const cluster::Node& shown, bool news);
void on_reboot_intent(Node& node, const Event& event);
void on_reboot_end(Node& node, const std::string& name, const Event& event);
void on_reboot_overdue(Node& node, const std::string& name, const Event& event);
/// What has been tried for this finding's rule and did not help, for who is told of it; "" for nothing.
std::string tried_before(const Node& node, const std::string& rule, const std::string& boot_id);
/// What becomes of the wish to reboot a node, or to power it off.
struct Wish {
  enum class What : std::uint8_t {
    none,
    power_off,       ///< which people do
    late,            ///< it came back too late for Slurm, which keeps it down
    failed,          ///< the reboot, and nothing is tried again until somebody acts
    asked,           ///< Slurm was asked and has not shown it done
    in_vain,         ///< the fault is there again, and it is too soon for another reboot
    done,            ///< by us; the fault is not yet said to be gone
    done_by_others,  ///< the same
    left_to_people,  ///< the site allows us no reboots
    observed,        ///< nor anything else
    not_ours,        ///< the drain must be ours
    busy,            ///< a job is on it
    rests,           ///< another reason of the rule had its reboot lately
    waits_for_breaker,
    at_once
  };
  What what = What::none;
  TimePoint at = kNoTime;  ///< of the reboot that it is about
  std::string why;         ///< the words of Slurm or of the breaker
};
Wish reboot_wish(const Known& known, const std::string& name);
/// Reboots a node that we have out, when a reason asks for it and all that must hold holds.
void let_reboot(const Known& known, const std::string& name, const Node& node, Decision& decision);

// --- gate.cc

/// Takes in what Slurm shows of a node, after all else; `ours`: it was drained by us, or a command was under
/// way, before.  True: its gate is shut.
bool see_door(State& state, const cluster::View::Change& change, const cluster::Node& shown, bool ours,
              TimePoint at);
/// The same for the boot that its agent tells.
bool hear_boot(State& state, const std::string& name, const std::string& boot_id, TimePoint at);
/// Whether the key is of an examination for a gate, and no other.
bool is_gate_check(std::string_view key);
void on_gate_check(State& state, const std::string& name, Node& node, const Event& event);
/// A finding that takes the node out was heard, and is a reason of its own from here on.
void on_finding_at_gate(Node& node);
/// Has the node examined for its gate.  True: the gate ends by a record, and nothing else is decided before.
bool tend_gate(const Known& known, const std::string& name, const Node& node, Decision& decision);
/// Whether Slurm must be told `reason`, since the drain was said for a gate and there is more to say by now.
bool says_too_little(const Known& known, const Node& node, const Reason& reason, Decision& decision);
/// Whether a reason in Slurm is a gate's.
bool is_of_gate(std::string_view reason);
std::string canonical_gates(const State& state);

// --- flaps.cc

/// Takes in that a drain for `reason`, the text in Slurm, is under way,
void note_leaving(Node& node, std::string_view reason);
/// that it has taken the node away,
void note_left(Node& node, TimePoint at);
/// that it was lifted,
void note_back(Node& node);
/// and that a person thinks better of what `rule` did ("": of all rules): it counts from anew.
void forget_flaps(Node& node, const std::string& rule);
/// Whether the node left for this reason, and so often for its rule, that only a person puts it back.
bool is_kept(const Policy& policy, const Node& node, const Reason& reason);
/// slurm_reason(), and that the node stays out where it will.  `leaves`: this drain takes the node away.
std::string told_reason(const Known& known, const Node& node, const Reason& reason, bool leaves);
std::string canonical_flaps(const Node& node);

// --- node_view.cc

/// "3 min ago".
std::string ago(TimePoint then, TimePoint now);

}  // namespace sickbay::drain
