// SPDX-License-Identifier: Apache-2.0
#include "model/pending_reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/duration.h"
#include "base/hostlist.h"
#include "model/job.h"
#include "model/pending_facts.h"
#include "model/pending_limits.h"

namespace sickbay {
namespace {

using enum PendingCure;
using enum PendingSubject;

struct Row {
  std::string_view slurm_name, word;
  PendingCure cure;
  bool lasting;
  PendingSubject about;
  std::string_view meaning, remedy;
};

constexpr std::string_view kAskAgain = "ask again in a minute: slurmctld has not said more yet";
constexpr std::string_view kOldEnd =
    "it goes back to the queue and starts again by itself; 'sacct -j {job} --duplicates' shows the runs "
    "before";
constexpr std::string_view kAskOperators = "ask the operators: 'scontrol show job {job}' is what they need";

// In the order of slurm.h.  The words at the end of a run stand here too: a job that was requeued shows the
// last one until the scheduler looks at it.
constexpr auto kRows = std::to_array<Row>({
    {"WAIT_NO_REASON", "None", time, false, nodes, "the scheduler has not looked at it yet", kAskAgain},
    {"WAIT_PRIORITY", "Priority", time, false, nodes,
     "jobs with a higher priority are before it in partition {partition}",
     "it starts when its turn has come, or earlier where it fits between the others: a shorter time limit "
     "and "
     "fewer nodes fit more often"},
    {"WAIT_DEPENDENCY", "Dependency", time, false, dependency,
     "it depends on other jobs ({dependency}), and they are not that far",
     "it starts after them; 'scontrol update jobid={job} dependency=' makes it wait for none"},
    {"WAIT_RESOURCES", "Resources", time, false, nodes,
     "it is among the first in partition {partition}, and the nodes it needs are in use",
     "it starts when enough running jobs have ended"},
    {"WAIT_PART_NODE_LIMIT", "PartitionNodeLimit", user, true, partition,
     "it asks for {nodes}, which is outside what partition {partition} allows or has",
     "ask for another number ('scontrol update jobid={job} numnodes=MIN-MAX') or take another partition"},
    {"WAIT_PART_TIME_LIMIT", "PartitionTimeLimit", user, true, partition,
     "its time limit ({time_limit}) is longer than partition {partition} allows ({partition_time_limit})",
     "lower it: 'scontrol update jobid={job} timelimit=...', or take another partition"},
    {"WAIT_PART_DOWN", "PartitionDown", operators, true, partition,
     "operators have set partition {partition} down: no job starts there",
     "operators set it up again; or take another partition: 'scontrol update jobid={job} partition=...'"},
    {"WAIT_PART_INACTIVE", "PartitionInactive", operators, true, partition,
     "operators have set partition {partition} inactive: it takes no jobs and starts none",
     "operators set it up again; or take another partition: 'scontrol update jobid={job} partition=...'"},
    {"WAIT_HELD", "JobHeldAdmin", operators, true, hold, "an operator holds it",
     "an operator releases it: 'scontrol release {job}'"},
    {"WAIT_TIME", "BeginTime", time, false, begin, "it is not to start before {begin}",
     "'scontrol update jobid={job} starttime=now' lets it start earlier (not where it was requeued a moment "
     "ago)"},
    {"WAIT_LICENSES", "Licenses", time, false, other,
     "other jobs, or a reservation, hold licences that it asks for ({licenses})",
     "it starts when they are free: 'scontrol show licenses' shows how many are in use"},
    {"WAIT_ASSOC_JOB_LIMIT", "AssociationJobLimit", time, false, other,
     "as many jobs of account {account} run as may run at one time", "it starts when one of them has ended"},
    {"WAIT_ASSOC_RESOURCE_LIMIT", "AssociationResourceLimit", time, false, other,
     "account {account} has reached a limit on what its jobs may use",
     "it starts when enough of them have ended, or when operators raise the limit"},
    {"WAIT_ASSOC_TIME_LIMIT", "AssociationTimeLimit", operators, true, other,
     "account {account} has reached a limit on the time that its jobs may use",
     "operators can raise the limit"},
    {"WAIT_RESERVATION", "Reservation", time, false, nodes,
     "the reservation that it asks for ({reservation}) cannot be used yet, or another one is in its way",
     "it starts when its own has begun and has room, and the others leave it enough nodes: 'scontrol show "
     "reservations'"},
    {"WAIT_NODE_NOT_AVAIL", "ReqNodeNotAvail", operators, false, nodes,
     "nodes that it needs are out of service or kept for a reservation",
     "it starts when they come back; where other nodes would do, name others or none: 'scontrol update "
     "jobid={job} reqnodelist='"},
    {"WAIT_HELD_USER", "JobHeldUser", user, true, hold, "its owner holds it",
     "release it: 'scontrol release {job}'"},
    {"WAIT_FRONT_END", "FrontEndDown", operators, true, other,
     "the host that starts jobs on these nodes is down", "operators bring it back"},
    {"FAIL_DEFER", "SchedDefer", time, false, nodes, "it is scheduled with the others, not by itself",
     kAskAgain},
    {"FAIL_DOWN_PARTITION", "PartitionDown", operators, true, partition,
     "operators have set partition {partition} down: no job starts there",
     "operators set it up again; or take another partition: 'scontrol update jobid={job} partition=...'"},
    {"FAIL_DOWN_NODE", "NodeDown", time, false, nodes, "a node failed under its last run", kOldEnd},
    {"FAIL_BAD_CONSTRAINTS", "BadConstraints", user, true, nodes,
     "no set of nodes that this cluster has is what it asks for",
     "change what it asks for ('scontrol update jobid={job} ...'), then 'scontrol release {job}'"},
    {"FAIL_SYSTEM", "SystemFailure", operators, false, other, "Slurm itself failed when it was to start",
     kAskOperators},
    {"FAIL_LAUNCH", "JobLaunchFailure", operators, true, hold,
     "it could not be started on its nodes, and was put back on hold",
     "when the operators have found out why (slurmd's log on those nodes): 'scontrol release {job}'"},
    {"FAIL_EXIT_CODE", "NonZeroExitCode", time, false, other, "its last run ended with an error", kOldEnd},
    {"FAIL_TIMEOUT", "TimeLimit", time, false, other, "its last run reached its time limit", kOldEnd},
    {"FAIL_INACTIVE_LIMIT", "InactiveLimit", time, false, other, "its last run was idle for too long",
     kOldEnd},
    {"FAIL_ACCOUNT", "InvalidAccount", user, true, other, "there is no account {account} that it could use",
     "give it another: 'scontrol update jobid={job} account=...'; 'sacctmgr show associations user=$USER' "
     "lists yours"},
    {"FAIL_QOS", "InvalidQOS", user, true, other, "there is no QOS {qos} that it could use",
     "give it another: 'scontrol update jobid={job} qos=...'"},
    {"WAIT_QOS_THRES", "QOSUsageThreshold", time, false, other,
     "account {account} has used too much lately for QOS {qos}",
     "it starts when that use has faded; or take another QOS: 'scontrol update jobid={job} qos=...'"},
    {"WAIT_QOS_JOB_LIMIT", "QOSJobLimit", time, false, other,
     "as many jobs of QOS {qos} run as may run at one time", "it starts when one of them has ended"},
    {"WAIT_QOS_RESOURCE_LIMIT", "QOSResourceLimit", time, false, other,
     "QOS {qos} has reached a limit on what its jobs may use", "it starts when enough of them have ended"},
    {"WAIT_QOS_TIME_LIMIT", "QOSTimeLimit", operators, true, other,
     "QOS {qos} has reached a limit on the time that its jobs may use", "operators can raise the limit"},
    {"WAIT_BLOCK_MAX_ERR", "BlockMaxError", operators, true, other,
     "too many parts of the machine that it needs have failed", kAskOperators},
    {"WAIT_BLOCK_D_ACTION", "BlockFreeAction", time, false, other,
     "the part of the machine that it needs is being freed", kAskAgain},
    {"WAIT_CLEANING", "Cleaning", time, false, other, "its last run is still being cleaned up on its nodes",
     "it goes on when that is done; when it takes long, a node of the last run is stuck"},
    {"WAIT_PROLOG", "Prolog", time, false, other, "its nodes are being made ready (the site's prolog runs)",
     "it starts when that is done"},
    {"WAIT_QOS", "QOSNotAllowed", user, true, partition,
     "its QOS ({qos}) may not be used in partition {partition} or by account {account}",
     "take another QOS or partition: 'scontrol update jobid={job} qos=...'"},
    {"WAIT_ACCOUNT", "AccountNotAllowed", user, true, partition,
     "its account ({account}) may not be used in partition {partition}",
     "take another account or partition: 'scontrol update jobid={job} account=...'"},
    {"WAIT_DEP_INVALID", "DependencyNeverSatisfied", user, true, dependency,
     "a job that it depends on ({dependency}) did not end as it had to, and will not do so any more",
     "cancel it ('scancel {job}'), or let it run all the same: 'scontrol update jobid={job} dependency='"},
    {"WAIT_MAX_REQUEUE", "JobHoldMaxRequeue", operators, true, hold,
     "it was put back into the queue so often that Slurm holds it now",
     "find out why its runs fail ('sacct -j {job} --duplicates'), then an operator releases it: 'scontrol "
     "release {job}'"},
    {"WAIT_ARRAY_TASK_LIMIT", "JobArrayTaskLimit", time, false, other,
     "the job array {array} runs {throttle} of its tasks at one time, and that many run",
     "it starts when one of them has ended; 'scontrol update jobid={array} arraytaskthrottle=...' allows "
     "more"},
    {"WAIT_BURST_BUFFER_RESOURCE", "BurstBufferResources", time, false, other,
     "the burst buffer space that it asks for is in use", "it starts when enough of it is free"},
    {"WAIT_BURST_BUFFER_STAGING", "BurstBufferStageIn", time, false, other,
     "its files are being copied to the burst buffer", "it starts when that is done"},
    {"FAIL_BURST_BUFFER_OP", "BurstBufferOperation", operators, true, hold,
     "an operation on its burst buffer failed, and it is held",
     "'scontrol show job {job}' says what failed; then 'scontrol release {job}'"},
    {"WAIT_POWER_NOT_AVAIL", "PowerNotAvail", time, false, other,
     "the cluster may not draw more power now than it does", "it starts when other jobs draw less"},
    {"WAIT_POWER_RESERVED", "PowerReserved", time, false, other, "the power that it would draw is reserved",
     "it starts when that reservation has ended"},
    {"FAIL_DEADLINE", "DeadLine", user, true, other,
     "it cannot end before its deadline ({deadline}) any more",
     "move the deadline or shorten the time limit: 'scontrol update jobid={job} deadline=... timelimit=...'"},
    {"WAIT_PART_CONFIG", "PartitionConfig", user, true, partition,
     "it asks for something that partition {partition} does not allow",
     "'scontrol show partition {partition}' shows what it allows; or take another partition"},
    {"WAIT_ACCOUNT_POLICY", "AccountingPolicy", operators, true, other,
     "a limit of account {account} or QOS {qos} keeps it from running; Slurm does not say which",
     kAskOperators},
    {"WAIT_FED_JOB_LOCK", "FedJobLock", time, false, other,
     "the clusters that share it are agreeing on which runs it", kAskAgain},
    {"FAIL_OOM", "OutOfMemory", time, false, other, "its last run used more memory than it had asked for",
     kOldEnd},
    {"WAIT_PN_MEM_LIMIT", "MaxMemPerLimit", user, true, partition,
     "it asks for more memory on a node or for a CPU ({memory}) than the site allows a job",
     "ask for less: 'scontrol update jobid={job} minmemorynode=...', or take another partition"},
    {"WAIT_RESV_DELETED", "ReservationDeleted", user, true, hold,
     "the reservation that it was submitted to has been removed, and it is held",
     "take it out of that reservation and release it: 'scontrol update jobid={job} reservationname=', then "
     "'scontrol release {job}'"},
    // Slurm's reason is JobHeldUser, which is its owner's hold, too; src/adapters/slurm tells them apart.
    {"", kLaunchFailedHeld, operators, true, hold,
     "it could not be started on its nodes, and Slurm put it back and holds it",
     "'scontrol release {job}' tries again; when it comes back, operators look into slurmd's log on its "
     "nodes"},
    {"", kExpediteHeld, user, true, hold,
     "its last run failed and no epilog did, so Slurm takes it for its own fault and holds it "
     "(--requeue=expedite)",
     "look into its output for the cause; 'scontrol release {job}' then runs it again, 'scancel {job}' ends "
     "it"},
    {"", kExitHeld, user, true, hold,
     "its last run ended with an exit code for which this site holds jobs (SPECIAL_EXIT)",
     "look into its output for the cause; 'scontrol release {job}' then runs it again, 'scancel {job}' ends "
     "it"},
    // After 22.05.
    {"", "ReservationInvalid", user, true, other,
     "the reservation {reservation} that it asks for cannot be used by it",
     "take another or none: 'scontrol update jobid={job} reservationname='"},
    {"", "Constraints", user, true, nodes, "no set of nodes that this cluster has is what it asks for",
     "change what it asks for: 'scontrol update jobid={job} ...'"},
    {"", "RaisedSignal", time, false, other, "its last run was ended by a signal", kOldEnd},
});

PendingReason reason_of(const Row& row) {
  return {.slurm_name = row.slurm_name,
          .word = std::string(row.word),
          .meaning = std::string(row.meaning),
          .remedy = std::string(row.remedy),
          .cure = row.cure,
          .lasting = row.lasting,
          .about = row.about};
}

const std::map<std::string, PendingReason, std::less<>>& by_word() {
  static const auto all = [] {
    std::map<std::string, PendingReason, std::less<>> made;
    // Of two rows with one word (PartitionDown) the first stands.
    for (PendingReason& reason : pending_reasons()) made.try_emplace(reason.word, reason);
    return made;
  }();
  return all;
}

std::string minutes_text(std::int64_t seconds) {
  return seconds == 0 ? "no limit" : describe_duration(std::chrono::seconds(seconds));
}

// Each place holder and its fact; an empty fact is replaced by the words beside it.
struct HolderRow {
  std::string_view name;
  std::string (*fact)(const PendingFacts& facts);
  std::string_view without;
};
constexpr auto kHolders = std::to_array<HolderRow>({
    {"{job}", [](const PendingFacts& f) { return std::to_string(f.job_id); }, ""},
    {"{partition}", [](const PendingFacts& f) { return f.partition_names; }, "(unknown)"},
    {"{partition_time_limit}",
     [](const PendingFacts& f) {
       std::int64_t most = 0;
       for (const PendingPartition& p : f.partitions) {
         // 0 is no limit, which none of the others can be above.
         if (p.max_time_s == 0) return minutes_text(0);
         most = std::max(most, p.max_time_s);
       }
       return minutes_text(most);
     },
     ""},
    {"{account}", [](const PendingFacts& f) { return f.request.account; }, "(none)"},
    {"{qos}", [](const PendingFacts& f) { return f.request.qos; }, "(none)"},
    {"{time_limit}", [](const PendingFacts& f) { return minutes_text(f.request.time_limit_s); }, ""},
    {"{nodes}",
     [](const PendingFacts& f) {
       return fmt::format("{} node{}", f.request.min_nodes, f.request.min_nodes == 1 ? "" : "s");
     },
     ""},
    {"{begin}",
     [](const PendingFacts& f) {
       return f.request.begin == kNoTime ? std::string() : format_time(f.request.begin);
     },
     "its begin time"},
    {"{deadline}",
     [](const PendingFacts& f) {
       return f.request.deadline == kNoTime ? std::string() : format_time(f.request.deadline);
     },
     "not told"},
    {"{dependency}", [](const PendingFacts& f) { return f.request.dependency; }, "not told"},
    {"{licenses}", [](const PendingFacts& f) { return f.request.licenses; }, "not told"},
    {"{reservation}", [](const PendingFacts& f) { return f.request.reservation; }, "none"},
    {"{memory}",
     [](const PendingFacts& f) {
       return f.request.memory_mib == 0 ? std::string() : fmt::format("{} MiB", f.request.memory_mib);
     },
     "not told"},
    {"{array}",
     [](const PendingFacts& f) {
       return std::to_string(f.request.array_job != 0 ? f.request.array_job : f.job_id);
     },
     ""},
    {"{throttle}",
     [](const PendingFacts& f) {
       return f.request.array_throttle == 0 ? std::string() : std::to_string(f.request.array_throttle);
     },
     "some"},
});

}  // namespace

std::string_view to_string(PendingCure cure) {
  constexpr std::array<std::string_view, 3> kNames = {"time", "user", "operators"};
  return kNames[static_cast<std::size_t>(cure)];
}

bool waits_for_nodes(std::string_view word) {
  const PendingReason reason = pending_reason(word);
  // A word that nobody here knows may well be that.  What waits for nodes that are out of service waits for
  // operators, and more of the others start it no sooner.
  return !reason.known || (reason.about == PendingSubject::nodes && reason.cure == PendingCure::time);
}

std::vector<PendingReason> pending_reasons() {
  std::vector<PendingReason> all;
  for (const Row& row : kRows) all.push_back(reason_of(row));
  for (PendingReason& limit : pending_limits()) all.push_back(std::move(limit));
  return all;
}

PendingReason pending_reason(std::string_view word) {
  if (const auto found = by_word().find(word); found != by_word().end()) return found->second;
  PendingReason reason;
  reason.word = word;
  reason.meaning = fmt::format("Slurm gives the reason '{}', which this Sickbay does not know", word);
  reason.remedy = "'man squeue', under JOB REASON CODES, may have it: " + std::string(kAskOperators);
  reason.known = false;
  return reason;
}

std::string fill_in(std::string_view text, const PendingFacts& facts) {
  std::string out;
  // A fact comes from users and may hold a brace: what was put in is not looked at again.
  for (std::size_t at = 0; at < text.size();) {
    const HolderRow* holder = nullptr;
    for (const HolderRow& row : kHolders)
      if (text.substr(at).starts_with(row.name)) holder = &row;
    if (holder == nullptr) {
      out += text[at++];
      continue;
    }
    const std::string fact = holder->fact(facts);
    out += fact.empty() ? holder->without : std::string_view(fact);
    at += holder->name.size();
  }
  return out;
}

}  // namespace sickbay
