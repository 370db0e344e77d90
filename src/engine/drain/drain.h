// SPDX-License-Identifier: Apache-2.0
// The drain engine: what findings and verdicts do to a node, and when it comes back.
//
// A node is out of service while its set of reasons is not empty (decisions.md 24).  A finding that asks for
// a drain and a verdict against the node are reasons; an agent that says the fault is gone, or a deep
// diagnosis that passes, ends them after a stated time.  The breaker that all engines share
// (engine/cluster/breaker.h) bounds how many nodes leave: a rule that is wrong must not empty a cluster.  A
// node is taken only with a claim on it, which is held until it is back.  The default is to observe:
// everything is decided and shown, and nothing is done.
//
// A finding that asks for a reboot drains its node like any other; where a site allows it, the node is
// rebooted once when it is empty, and stays drained when that did not help (reboot.cc).
//
// A node that leaves for one rule again and again stays out until a person puts it back (flaps.cc).
//
// Where a site asks for gates, a node that boots or that somebody else puts back is out until its quick
// diagnosis has passed (gate.cc).
//
// apply() and decide() as in engine/identify; the subject of a decision is a node.  No I/O, no clock.
// Source: doc/design/diagnose.md, "Out of service".
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cluster/cluster.h"
#include "engine/drain/node_view.h"
#include "model/event.h"

namespace sickbay::drain {

/// Names the engine: in claims, for one.
inline constexpr std::string_view kName = "drain";

/// What a site may set (configuration `drain`).
struct Policy {
  bool act = false;                        ///< false: observe only
  bool notify = false;                     ///< somebody wants to be told of findings
  bool examine = false;                    ///< there are agents, so a blamed node can be examined
  bool on_verdict = true;                  ///< a final verdict (b) drains its nodes
  std::chrono::seconds lift_after{600};    ///< a fault gone for this long: the drain is lifted
  std::chrono::seconds undo_rest{86400};   ///< rules whose drains were undone only observe for this long
  std::chrono::seconds check_every{3600};  ///< a blamed node that failed its deep diagnosis is examined again
  bool reboot = false;                     ///< findings that ask for it reboot their node, once it is empty
  std::chrono::seconds reboot_rest{86400};  ///< and not twice for one rule on one node within this
  int flap_most = 3;                        ///< a node that was drained so often for one rule
  std::chrono::seconds flap_within{
      86400};                           ///< within this stays out until somebody puts it back; 0: none does
  bool gate_boot = false;               ///< a node that boots is examined before it gets jobs
  bool gate_return = false;             ///< so is one that somebody else puts back
  std::chrono::seconds gate_wait{300};  ///< a node that nobody examines within this is let in,
  bool gate_keep = false;               ///< or kept out
  cluster::BreakerPolicy breaker;       ///< of all engines
};

/// A node that Slurm has not shown anew for this long after it was asked to reboot it: people must look.
inline constexpr std::chrono::hours kRebootOverdue{1};

/// What a new slurmctld shows within this long after its start it may have forgotten, and nobody changed.
inline constexpr std::chrono::minutes kFirstLooks{2};

/// After a start of sickbayd who should leave by an older word of his agent waits for a new one: for so long
/// after the agent was heard, in which it takes back what has gone meanwhile,
inline constexpr std::chrono::minutes kFirstWords{1};
/// and after the start where it is not heard at all.
inline constexpr std::chrono::minutes kAgentsBack{5};

/// When a node left for a rule is known for so long, and so often; Policy has no more of either.
inline constexpr std::chrono::hours kLongestFlaps{7 * 24};
inline constexpr std::size_t kMostFlaps = 32;

/// A drain, or the lifting of one, that ended without an answer of Slurm's is said again after this long: the
/// service has tried it for as long as the site lets it.
inline constexpr std::chrono::minutes kSayAgain{10};

/// Why a node should be out.
struct Reason {
  static constexpr int kFields = 11;  ///< base/state_archive.h
  std::string source;                 ///< "f9" the finding, "c17" the case, "jobs" what jobs came to there
  std::string rule;                   ///< "memory/p2"; "verdict" for a case
  std::string action;                 ///< what the finding asks for: "drain", "reboot", "power_off"
  std::string text;                   ///< for people
  TimePoint since = kNoTime;          ///< of the first sign
  TimePoint gone_at = kNoTime;        ///< when the fault was last said to be gone; kNoTime: it is there
  bool observed = false;              ///< its rule only observes since an undo
  std::string boot_id{};              ///< of the boot in which the fault was found last
  bool reboot_asked = false;          ///< the one reboot that this reason may have
  bool of_verdict = false;            ///< a case blames the node; else a finding does
  bool took_out = false;              ///< the node left for this one, and has not been let back since
};

/// A reboot that a rule had.
struct Reboot {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  TimePoint at = kNoTime;
  std::string boot_id;  ///< in which the fault was found: a fault of another boot is there again
};

/// The gate of a node, that is of the reason `kGate`; without that it says nothing.
struct Gate {
  static constexpr int kFields = 5;       ///< base/state_archive.h
  bool booted = false, returned = false;  ///< what shut it
  bool checking = false;                  ///< an examination is under way
  bool sick = false;                      ///< the last one found what takes a node out
  TimePoint tried_at = kNoTime;           ///< its end
};

/// What is known of a node while gates are wished for, whether or not one is shut.
struct Door {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  TimePoint boot = kNoTime;          ///< the last boot that Slurm showed
  bool out = false;                  ///< drained or down, and not by us
  TimePoint passed_at = kNoTime;     ///< end of the last examination for a gate that passed
};

/// What is to be done about one node, and what was.  How it stands in Slurm is in the view; seen() joins
/// both.
struct Node {
  static constexpr int kFields = 24;      ///< base/state_archive.h
  bool ours = false;                      ///< drained by us, and not undone since
  bool pending = false;                   ///< a drain or its lifting is under way, or nobody knows its end:
  TimePoint unanswered = kNoTime;         ///< when it failed because Slurm was away; kNoTime: it has not
  std::map<std::string, Reason> reasons;  ///< by source
  std::map<std::string, Json> notices;    ///< findings that nobody was told of yet, by source: the last
                                          ///< ones, for where nobody wants to be told they stay
  /// Commands so far: numbers of their keys, which are given once.  They stay when the node leaves Slurm,
  /// which may have it again.
  struct Numbers {
    static constexpr int kFields = 5;  ///< base/state_archive.h
    int drains = 0, lifts = 0, checks = 0, reboots = 0, gates = 0;
    bool operator==(const Numbers&) const = default;
  } numbers;
  TimePoint drained_at = kNoTime;
  /// What our last drain or its lifting came to: true until Slurm shows the node anew, for till
  /// then the view is older than our own doing.
  std::optional<bool> drained{};
  std::int64_t left_look = 0;  ///< looks at the time of the last drain: what was shown before is too old
  std::string refused;         ///< why Slurm, or an administrator's reason, kept our last command from acting
  TimePoint checked_at = kNoTime;  ///< end of the last deep diagnosis for a verdict
  bool checking = false;
  // Its reboots.
  bool rebooting = false;  ///< from the intent until Slurm shows a later boot, or it failed
  TimePoint reboot_at = kNoTime, boot_before = kNoTime;  ///< of the last intent
  std::string reboot_failed;                             ///< why there will be none until somebody acts
  std::map<std::string, Reboot> rebooted;                ///< the last one of each rule
  bool late = false;  ///< it came back from one too late, and Slurm has it DOWN
  // Its gate.
  Gate gate{};
  TimePoint let_in = kNoTime;  ///< when a gate opened although nobody had examined it
  std::string said{};          ///< the text of our last drain, where that was for a gate
  // How often it leaves (flaps.cc).
  std::string leaving_for{};                             ///< the source of the reason of our last drain
  std::map<std::string, std::vector<TimePoint>> left{};  ///< rule -> when it left for it, oldest first
  /// Which of State::changes touched it last: with the same number all of it is the same.  Derived; the
  /// canonical text leaves it out.
  std::int64_t change = 0;
};

struct State {
  static constexpr int kFields = 9;  ///< base/state_archive.h
  std::map<std::string, Node> nodes;
  std::map<std::string, TimePoint> resting;  ///< rule -> until when it only observes, on all nodes
  /// Node -> rule -> the same on that node: what is wrong about one node may be right about the next.
  std::map<std::string, std::map<std::string, TimePoint>> resting_on;
  std::int64_t changes = 0;    ///< how often a node was touched
  std::set<std::string> away;  ///< nodes with `ours` or `pending`: asked for in every round
  std::set<std::string> sick;  ///< nodes with reasons: the same
  // Of gates.
  bool gates = false;  ///< boots of all nodes are told, since somebody wishes for gates
  std::map<std::string, Door> doors{};
  std::map<std::string, std::string> boot_ids{};  ///< by node: of the boot that its agent told last
};

/// Total.  `view` has taken in the event before.  Gives the nodes about which decide() must be asked again.
std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event);
/// Raises an event that a version without claims wrote to today's: says which nodes an intent takes, and
/// which drains are ours.  `state` is that before the event.
void raise(const State& state, Event& event);

/// What this sickbayd has heard of agents itself; what was said before it started is the journal's word.  No
/// state: a replay does not bring it back, and nothing but the moment of a leave depends on it.
struct Heard {
  TimePoint started = kNoTime;                ///< kNoTime: no start is known, and nobody is waited for
  std::map<std::string, TimePoint> agents{};  ///< node -> the first word of its agent since
};

struct Decision {
  std::vector<cluster::Claim> claims;  ///< a node is drained only with one
  std::vector<Command> commands;       ///< verbs: drain, undrain, reboot, diagnose, notify
  std::vector<Event> records;          ///< of the breaker, reason_ended, reboot_overdue, claim_released
  TimePoint wake_at = kNever;
};
/// `heard` may be null: then nobody is waited for.
Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const std::string& node, TimePoint now, const Heard* heard = nullptr);

/// All that is looked at to decide or to say something about a node.
struct Known {
  const cluster::Cluster& cluster;
  const State& state;
  const Policy& policy;
  TimePoint now;
  const Heard* heard = nullptr;
};

/// The claims on all nodes that we have out.
std::vector<cluster::Claim> owed(const State& state);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

/// Nodes that must be looked at closely, and the look after which each must be told of once more.
std::map<std::string, std::int64_t> looked_at(const State& state);
/// Whether the engine needs to see nodes: some are out, leaving or waiting, or should leave as soon as they
/// are in service again.
bool wants_nodes(const cluster::Cluster& cluster, const State& state, const Policy& policy);
/// Whether the site asks for gates, so that boots of all nodes must be told.
bool wants_boots(const Policy& policy);

// Words of the journal (doc/formats/journal.md).
inline constexpr std::string_view kReasonEnded =
    "reason_ended";  ///< subject node:n3, body {source, why, unexamined: a gate opened for nobody's word}
inline constexpr std::string_view kAgentSeen =
    "agent_seen";  ///< node:n3 {version, digests, mode, boot_id}: what its agent is, when that is new
inline constexpr std::string_view kVerdictRule =
    "verdict";  ///< Reason::rule of a case: what people and undo_drains call it
/// Reason::rule of a recovery, whose name ("r3") is the source.
inline constexpr std::string_view kRecoveryRule = "recover";
/// Reason::source of a black hole: what jobs of several users came to on the node.
inline constexpr std::string_view kOfJobs = "jobs";
/// Reason::source and Reason::rule of a gate.
inline constexpr std::string_view kGate = "gate";
/// undo_drains.rest: the rules rest on the nodes that were named, or everywhere; without it everywhere.
inline constexpr std::string_view kRestOnNodes = "nodes", kRestInCluster = "cluster";
/// What the reason of our drains begins with in Slurm; only such drains are lifted.
inline constexpr std::string_view kReasonTag = "sickbay:";

}  // namespace sickbay::drain
