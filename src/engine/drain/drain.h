// SPDX-License-Identifier: Apache-2.0
// The drain engine: what findings and verdicts do to a node, and when it comes back.
//
// A node is out of service while its set of reasons is not empty (decisions.md 24).  A finding that asks for
// a drain and a verdict against the node are reasons; an agent that says the fault is gone, or a deep
// diagnosis that passes, ends them after a stated time.  One breaker per partition bounds how many nodes may
// leave in a window and how many may be out at once (decisions.md 25): a rule that is wrong must not empty a
// cluster. The default is to observe: everything is decided and shown, and nothing is done.
//
// A finding that asks for a reboot drains its node like any other; where a site allows it, the node is
// rebooted once when it is empty, and stays drained when that did not help (reboot.cc).
//
// apply() and decide() as in engine/identify; the subject of a decision is a node.  No I/O, no clock.
// Source: doc/design/diagnose.md, "Out of service".
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"

namespace sickbay::drain {

/// Drains older than this are not counted by any breaker; Policy::window is at most this.
inline constexpr std::chrono::hours kLongestWindow{24};

/// What a site may set (configuration `drain`).
struct Policy {
  bool act = false;                        ///< false: observe only
  bool notify = false;                     ///< somebody wants to be told of findings
  bool examine = false;                    ///< there are agents, so a blamed node can be examined
  bool on_verdict = true;                  ///< a final verdict (b) drains its nodes
  std::chrono::seconds window{3600};       ///< of the breaker
  int most = 5;                            ///< drains per window and partition,
  int most_percent = 5;                    ///< and in percent of its nodes; the smaller, but at least 1
  int most_out_percent = 20;               ///< of a partition's nodes out by us at one time; at least 1
  std::chrono::seconds lift_after{600};    ///< a fault gone for this long: the drain is lifted
  std::chrono::seconds undo_rest{86400};   ///< rules whose drains were undone only observe for this long
  std::chrono::seconds check_every{3600};  ///< a blamed node that failed its deep diagnosis is examined again
  bool reboot = false;                     ///< findings that ask for it reboot their node, once it is empty
  std::chrono::seconds reboot_rest{86400};  ///< and not twice for one rule on one node within this
};

/// A node that Slurm has not shown anew for this long after it was asked to reboot it: people must look.
inline constexpr std::chrono::hours kRebootOverdue{1};

/// Why a node should be out.
struct Reason {
  std::string source;           ///< "f9" the finding, "c17" the case
  std::string rule;             ///< "memory/p2"; "verdict" for a case
  std::string action;           ///< what the finding asks for: "drain", "reboot", "power_off"
  std::string text;             ///< for people
  TimePoint since = kNoTime;    ///< of the first sign
  TimePoint gone_at = kNoTime;  ///< when the fault was last said to be gone; kNoTime: it is there
  bool observed = false;        ///< its rule only observes since an undo
  std::string boot_id{};        ///< of the boot in which the fault was found last
  bool reboot_asked = false;    ///< the one reboot that this reason may have
};

/// A reboot that a rule had.
struct Reboot {
  TimePoint at = kNoTime;
  std::string boot_id;  ///< in which the fault was found: a fault of another boot is there again
};

/// What we know of one node.
struct Node {
  std::vector<std::string> partitions;
  bool seen = false;     ///< Slurm has told of it
  bool drained = false;  ///< as Slurm showed it last
  bool down = false;
  bool ours = false;                      ///< drained by us, and not undone since
  bool pending = false;                   ///< a drain or its lifting is under way
  std::map<std::string, Reason> reasons;  ///< by source
  std::map<std::string, Json> notices;    ///< findings that nobody was told of yet, by source
  /// Commands so far: numbers of their keys, which are given once.  They stay when the node leaves Slurm,
  /// which may have it again.
  struct Numbers {
    int drains = 0, lifts = 0, checks = 0, reboots = 0;
    bool operator==(const Numbers&) const = default;
  } numbers;
  TimePoint drained_at = kNoTime;
  std::string refused;  ///< why Slurm, or an administrator's reason, kept our last command from acting
  TimePoint checked_at = kNoTime;  ///< end of the last deep diagnosis for a verdict
  bool checking = false;
  // Its reboots.
  TimePoint boot = kNoTime;  ///< as Slurm showed it last, while we have the node out
  bool idle = false;         ///< and it has no job, and is not about to boot
  bool rebooting = false;    ///< from the intent until Slurm shows a later boot, or it failed
  TimePoint reboot_at = kNoTime, boot_before = kNoTime;  ///< of the last intent
  std::string reboot_failed;                             ///< why there will be none until somebody acts
  std::map<std::string, Reboot> rebooted;                ///< the last one of each rule
  bool late = false;  ///< it came back from one too late, and Slurm has it DOWN
};

/// A partition's nodes and what left it lately.
struct Partition {
  std::set<std::string> nodes;
  std::deque<std::pair<TimePoint, std::string>> left;  ///< drains in order of time, anybody's
  bool tripped = false;
};

struct State {
  std::map<std::string, Node> nodes;
  std::map<std::string, Partition> partitions;
  std::map<std::string, TimePoint> resting;  ///< rule -> until when it only observes
  std::set<std::string> waiting;             ///< nodes that the breaker keeps in service
  std::set<std::string> away;                ///< nodes with `ours` or `pending`: asked for in every round
};

/// Total.  Gives the nodes about which decide() must be asked again.
std::vector<std::string> apply(State& state, const Event& event);

struct Decision {
  std::vector<Command> commands;  ///< verbs: drain, undrain, reboot, diagnose, notify
  std::vector<Event> records;     ///< breaker_tripped, breaker_reset, reason_ended, reboot_overdue
  TimePoint wake_at = kNever;
};
Decision decide(const State& state, const Policy& policy, const std::string& node, TimePoint now);

/// How a node stands, in one word: "in" (nothing against it), "observed" (reasons, but we only observe),
/// "waits" (the breaker keeps it in), "leaving" (a drain is under way), "out" (drained by us), "rebooting",
/// "returning" (its lifting is under way), "foreign" (reasons, and drained or down by somebody else),
/// "refused" (Slurm would not).
std::string_view standing(const State& state, const Policy& policy, const std::string& node);
/// What becomes of a wish to reboot the node or to power it off, for people; "" where there is none.
std::string wish_text(const State& state, const Policy& policy, const std::string& node, TimePoint now);
/// The member "service" of a node in GET /v1/nodes (doc/formats/api.md).
Json node_view(const State& state, const Policy& policy, const std::string& node, TimePoint now);
/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

/// Whether nodes_seen must tell of a node once more, for what matters only while we have it out: its drain,
/// its boot, and whether it is idle.
bool is_news(const State& state, const std::string& node, bool drained, bool idle, TimePoint boot);
/// Whether the engine needs to see nodes: some are out, leaving or waiting.
bool wants_nodes(const State& state);

// Words of the journal (doc/formats/journal.md).
inline constexpr std::string_view kReasonEnded = "reason_ended";  ///< subject node:n3, body {source, why}
inline constexpr std::string_view kBreakerTripped = "breaker_tripped";  ///< cluster {partition, node, why}
inline constexpr std::string_view kBreakerReset = "breaker_reset";      ///< cluster {partition}
inline constexpr std::string_view kUndoDrains =
    "undo_drains";  ///< cluster {by, nodes, rule, rest_until}; "" is all
inline constexpr std::string_view kOverdue = "reboot_overdue";  ///< node:n3 {why}: it did not come back
inline constexpr std::string_view kVerdictRule = "verdict";     ///< Reason::rule of a case
/// What the reason of our drains begins with in Slurm; only such drains are lifted.
inline constexpr std::string_view kReasonTag = "sickbay:";

}  // namespace sickbay::drain
