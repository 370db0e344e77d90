// SPDX-License-Identifier: Apache-2.0
// The kinds of events that more than one room knows.
//
// A kind that only one engine writes and reads stays in that engine's header.  What a second room needs to
// know of comes here, so that no room includes another for a word.  What the bodies hold:
// doc/formats/journal.md.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

namespace sickbay {

// Seen in Slurm by service/watch.h.
inline constexpr std::string_view kNodesSeen = "nodes_seen";  ///< cluster: engine/cluster/node_group.h
inline constexpr std::string_view kControllerSeen = "controller_seen";  ///< cluster {boot}: of slurmctld
inline constexpr std::string_view kJobSeen = "job_seen";  ///< c17 {run, job}: a watched job has changed
inline constexpr std::string_view kJobLost = "job_lost";  ///< c17 {run, job_id}: nobody knows it any more
inline constexpr std::string_view kArraySeen =
    "array_seen";  ///< c17 {run, tasks, running, ended, failed}: tasks of a watched job array have ended
inline constexpr std::string_view kJobsEnded =
    "jobs_ended";  ///< jobs {outcomes}: what jobs of the whole cluster came to (model/job_outcome.h)
inline constexpr std::string_view kJobsKept =
    "jobs_kept";  ///< jobs: all that is kept of jobs_ended before it, in whose place it stands

inline constexpr std::string_view kQueueSeen =
    "queue_seen";  ///< cluster {partitions}: jobs wait there that free nodes could start

// Submissions of users, by `sickbay submit`.
inline constexpr std::string_view kCaseOpened = "case_opened";  ///< c17 {owner, script_name, work_dir, ...}
inline constexpr std::string_view kJobBound = "job_bound";  ///< c17 {run, job_id}: the job that came of it

// Said by an engine or an agent, and heard by others.
inline constexpr std::string_view kFinding = "finding";  ///< f9: what an agent found
inline constexpr std::string_view kVerdict = "verdict";  ///< c17: what a case comes to
inline constexpr std::string_view kFleetOdd =
    "fleet_odd";  ///< fleet {key, what, fact, value, usual, nodes, severity, text} or {key, over}
inline constexpr std::string_view kCaseClosed = "case_closed";
inline constexpr std::string_view kHangSeen =
    "hang_seen";  ///< c17 {run, job_id, judgement}: the ranks of a run do not go on
inline constexpr std::string_view kHangOver = "hang_over";  ///< c17 {run, job_id, held_us}: they do again
inline constexpr std::string_view kHangSuspected =
    "hang_suspected";  ///< c17 {run, job_id, judgement}: a run that has ended looked so, to the last
inline constexpr std::string_view kStarvedSeen =
    "starved_seen";  ///< c17 {run, job_id, node, ...}: its processes wait for processors there
inline constexpr std::string_view kLossySeen =
    "lossy_seen";  ///< c17 {run, job_id, node, nodes, ...}: its network loses packets
inline constexpr std::string_view kNonstopClosed =
    "nonstop_closed";  ///< j17 {why}: the job runs no more, and nothing is under way for it
inline constexpr std::string_view kArchived = "archived";  ///< left by a compaction in the place of a subject

inline constexpr std::string_view kBlackHole =
    "black_hole";  ///< node:n3 {sentence, ...}: whatever starts there fails; also its rule, to people
inline constexpr std::string_view kBlackHoleOver = "black_hole_over";  ///< node:n3 {why}
inline constexpr std::string_view kBlackHoleSuspected =
    "black_hole_suspected";  ///< node:n3 {sentence, ...}: it may be one, but nothing elsewhere can tell

inline constexpr std::string_view kOverdue = "reboot_overdue";  ///< node:n3 {why}: it did not come back

// Of rounds of verification (engine/patrol).
inline constexpr std::string_view kVerified =
    "verified";  ///< p3 {run, began, alone, results}: V's words on nodes, outside of any case
inline constexpr std::string_view kPatrolBlames =
    "patrol_blames";  ///< p3 {run, faulty}: nodes that V fails on, while it has passed on another
inline constexpr std::string_view kPatrolClosed = "patrol_closed";  ///< p3 {why, ...}: the round is over

// Of recoveries (engine/recover), and what they are made from.
inline constexpr std::string_view kRecoveryOpened =
    "recovery_opened";  ///< r3 {class, node, component, source, text, rule, job}: a fault to be cured by a
                        ///< restart
inline constexpr std::string_view kLeaveWanted =
    "leave_wanted";  ///< r3 {node, action: "reboot" or "drain", text}: to the drain engine
inline constexpr std::string_view kRecoveryClosed =
    "recovery_closed";  ///< r3 {outcome: "cured", "given_up", "refused" or "gone", node, component, why, ...}
inline constexpr std::string_view kComponentsSeen =
    "components_seen";  ///< node:n3 {components [{name, needs, takes_us}]}: what its agent can restart
inline constexpr std::string_view kNodesDepend =
    "nodes_depend";  ///< cluster {sets [hostlist], by}: nodes that are restarted together; replaces those
                     ///< before

// Said by people.
inline constexpr std::string_view kSparesAsked = "spares_asked";  ///< spares {partition, count, by}
inline constexpr std::string_view kPatrolAsked = "patrol_asked";  ///< p3 {by, nodes, budget, suspects}: a new
                                                                  ///< round
inline constexpr std::string_view kDetectAsked = "detect_asked";  ///< job:17 {detect, uid, by}: fast or slurm
inline constexpr std::string_view kUndoDrains = "undo_drains";    ///< cluster {by, nodes, rule, rest_until}

// Shared state of all engines (engine/cluster).
inline constexpr std::string_view kClaimed = "claimed";  ///< node:n3, job:17 {holder, by, reason, until, out}
inline constexpr std::string_view kClaimReleased = "claim_released";  ///< node:n3, job:17 {holder, why}
inline constexpr std::string_view kBreakerTripped =
    "breaker_tripped";                                              ///< cluster {partition, node, why, by}
inline constexpr std::string_view kBreakerReset = "breaker_reset";  ///< cluster {partition}
inline constexpr std::string_view kBreakerWaitEnded = "breaker_wait_ended";  ///< cluster {by}

// The controller's own.
inline constexpr std::string_view kIntent = "intent";  ///< {key, verb, args, draws}: before the effect
inline constexpr std::string_view kDone = "done";      ///< {key, verb, result}
inline constexpr std::string_view kFailed = "failed";  ///< {key, verb, error{code, what, cause}}
inline constexpr std::string_view kParked = "parked";  ///< {engine, why}: an engine does not settle on it

/// The newest version of a kind's body, where it is not 1.  What an older one lacks depends on the state
/// before it, so the engine that knows that state raises it at the replay (Seat::raise).
inline constexpr int kIntentVersion = 2;      ///< 2: `draws` says which nodes it takes out of service
inline constexpr int kNodesSeenVersion = 2;   ///< 2: claims say whose drains they are
inline constexpr int kUndoDrainsVersion = 2;  ///< 2: decide() says who waits no more
struct KindVersion {
  std::string_view kind;
  int newest;
};
inline constexpr auto kKindVersions = std::to_array<KindVersion>({
    {kIntent, kIntentVersion},
    {kNodesSeen, kNodesSeenVersion},
    {kUndoDrains, kUndoDrainsVersion},
});
/// The version that this program writes, and the newest that it reads.
constexpr int newest_version(std::string_view kind) {
  const auto row = std::ranges::find(kKindVersions, kind, &KindVersion::kind);
  return row == kKindVersions.end() ? 1 : row->newest;
}

/// After an event of such a kind nothing more will be done for its subject: it holds no claim, and its
/// commands are history.
inline constexpr auto kClosingKinds =
    std::to_array<std::string_view>({kCaseClosed, kNonstopClosed, kPatrolClosed, kRecoveryClosed, kArchived});
constexpr bool closes_subject(std::string_view kind) {
  return std::ranges::find(kClosingKinds, kind) != kClosingKinds.end();
}

}  // namespace sickbay
