// SPDX-License-Identifier: Apache-2.0
#include "engine/history/inverses.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/hostlist.h"
#include "model/event_kinds.h"
#include "model/verbs.h"

namespace sickbay::history {
namespace {

constexpr auto kUndos = std::to_array<std::string_view>({"here", "elsewhere", "none", "look"});
static_assert(kUndos.size() == static_cast<std::size_t>(Undo::look) + 1);

constexpr std::string_view kLook = "it only looks";
constexpr std::string_view kOfCase = "it ends with its case: sickbay cancel CASE";

// Every verb has a row: one that is left out would be an act that nobody can ask about (a test goes through
// model/verbs.h).
constexpr auto kInverses = std::to_array<InverseRow>({
    // Runs of a case.
    {verb::kSubmitProgram, Undo::elsewhere, kOfCase},
    {verb::kSubmitVerification, Undo::elsewhere, kOfCase},
    {verb::kRelease, Undo::elsewhere, kOfCase},
    {verb::kCancel, Undo::none, "a job that was ended cannot go on; its owner may submit it again"},
    {verb::kReadOutput, Undo::look, kLook},
    {verb::kFindDependents, Undo::look, kLook},
    {verb::kPrepareRerun, Undo::elsewhere, "the copy of the folder goes with its case: sickbay cancel CASE"},
    {verb::kCleanFolder, Undo::none, "the copy that it removed was of a re-run, and is not kept"},
    // Nodes.
    {verb::kDrain, Undo::here,
     "the reasons against the node are dropped, and the drain is lifted (as undo-drains)"},
    {verb::kUndrain, Undo::none,
     "Sickbay drains for a reason only, and that reason is gone; scontrol drains a node on your own word"},
    {verb::kReboot, Undo::none, "a node that has booted cannot be put back into its boot before"},
    {verb::kDiagnose, Undo::look, kLook},
    {verb::kAskNode, Undo::look, kLook},
    {verb::kSetDown, Undo::none,
     "its jobs have ended with that; the node itself comes back by Slurm (scontrol update state=resume)"},
    {verb::kRestartComponent, Undo::none,
     "a component that was restarted cannot be put back into its state before"},
    {verb::kCheckComponent, Undo::look, kLook},
    {verb::kRequeueJob, Undo::none, "what the job had done since its last checkpoint is gone"},
    {verb::kBeginNow, Undo::none, "the job has begun, or waits for what all others wait for"},
    // Running jobs that lose nodes.
    {verb::kAllocateDonor, Undo::none, "it ends by itself as soon as its nodes have gone over to the job"},
    {verb::kGiveDonor, Undo::none,
     "the job runs on these nodes; to take them away would lose what runs there"},
    {verb::kCancelDonor, Undo::none, "the job asks anew where it still needs a node (smd -r)"},
    {verb::kDropNodes, Undo::none,
     "a node that left a running job cannot come back into it; ask for another (smd -r)"},
    {verb::kSetTimeLimit, Undo::elsewhere,
     "scontrol update jobid=JOB timelimit=MINUTES: the limit that you want"},
    {verb::kFailNode, Undo::elsewhere,
     "scontrol update nodename=NODE state=resume: a node that was called failing"},
    {verb::kUnfailNode, Undo::elsewhere, "smd -d NODE: call it failing again"},
    {verb::kSetSparePool, Undo::elsewhere,
     "the pool follows what was asked for: undo that ('spares:PARTITION')"},
    // People.
    {verb::kNotify, Undo::none, "what was told is told"},
    // Words of operators and owners.
    {kSparesAsked, Undo::here, "the pool is set to the count that it had before"},
    {kUndoDrains, Undo::none, "the reasons were dropped; a fault that is still there drains the node anew"},
    {kPatrolAsked, Undo::here, "the round is stopped; what it has verified stays known"},
    {kRecoveryOpened, Undo::here, "the recovery is stopped; what was restarted stays restarted"},
    {kDetectAsked, Undo::here, "its nodes do not watch each other any more"},
});

Json act_json(const Act& act) {
  const InverseRow* row = inverse_row(act.verb);
  return Json::object({{"act", act.name},
                       {"verb", act.verb},
                       {"at", to_micros(act.at)},
                       {"by", act.by},
                       {"nodes", compress_hostlist(act.nodes)},
                       {"undo", row == nullptr ? "none" : std::string(to_string(row->undo))},
                       {"said", row == nullptr ? "this sickbayd does not know it" : std::string(row->said)}});
}

}  // namespace

std::string_view to_string(Undo undo) { return kUndos[static_cast<std::size_t>(undo)]; }

std::span<const InverseRow> inverse_rows() { return kInverses; }

const InverseRow* inverse_row(std::string_view act) {
  const auto row = std::ranges::find(kInverses, act, &InverseRow::act);
  return row == kInverses.end() ? nullptr : &*row;
}

bool is_act(std::string_view act) {
  const InverseRow* row = inverse_row(act);
  // Looks change nothing, and runs of a case end with it: neither is remembered as an act.
  return row != nullptr && row->undo != Undo::look && row->said != kOfCase;
}

Json acts_view(const State& state) {
  std::vector<const Act*> all;
  for (const auto& [subject, acts] : state.acts)
    for (const Act& act : acts) all.push_back(&act);
  std::ranges::stable_sort(all, [](const Act* a, const Act* b) { return a->at > b->at; });
  Json items = Json::array();
  for (const Act* act : all) items.push(act_json(*act));
  return items;
}

const Act* act_named(const State& state, std::string_view name) {
  for (const auto& [subject, acts] : state.acts)
    for (const Act& act : acts)
      if (act.name == name) return &act;
  return nullptr;
}

}  // namespace sickbay::history
