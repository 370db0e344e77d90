// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "engine/identify/rerun.h"
#include "model/pending_facts.h"
#include "model/pending_reason.h"

namespace sickbay::identify {
namespace {

// A prolog may take a while before it fails.  One that lived longer had begun.
constexpr std::chrono::seconds kLaunchTakes{60};
// slurmd refuses at once.
constexpr std::chrono::seconds kEndedAtOnce{2};

struct Refusal {
  std::string node, reason;
};

// Those that Slurm has taken out of service for that.
std::vector<Refusal> refusals_on(const cluster::View& view, const std::vector<std::string>& nodes) {
  std::vector<Refusal> list;
  for (const std::string& name : nodes)
    if (const cluster::Node* node = view.node(name);
        node && node->drained && node->reason && says_no_launch(node->reason->text))
      list.push_back({name, node->reason->text});
  return list;
}

// "Duplicate jobid": a slurmd that still knows a job of a number that slurmctld has forgotten and given
// again.
bool refuses_jobs(std::string_view reason) {
  return says_no_launch(reason) || reason.starts_with("Duplicate jobid");
}

// The refusal may have been over before anybody saw where the job was: then all nodes are told of that it
// could have had, and that refused some job.
std::map<std::string, std::vector<std::string>> drained_by_slurm(const cluster::View& view, const Run& run,
                                                                 const std::vector<std::string>& nodes) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& [name, node] : view.nodes) {
    if (!node.drained || !node.reason) continue;
    const std::string& reason = node.reason->text;
    const auto& in = node.partitions;
    const bool told =
        nodes.empty() ? refuses_jobs(reason) && std::find(in.begin(), in.end(), run.job.partition) != in.end()
                      : is_slurms_reason(reason) && has_host(nodes, name);
    if (told) by_reason[reason].push_back(name);
  }
  return by_reason;
}

// As far as the job itself tells.
bool is_unbegun(const Run& run) {
  const bool ended_so = run.outcome == Outcome::cancelled || run.never_began();
  return ended_so && !run.cancel_wanted && run.job.start != kNoTime &&
         run.job.end - run.job.start <= kLaunchTakes;
}

Verdict blame(const Known& known, const Run& first, const std::vector<Refusal>& refusals) {
  Verdict v;
  v.cause = Cause::node;
  // Who filled its disk, or wrote its prolog, is for people to say.
  v.confidence = Confidence::medium;
  v.at = known.now;
  v.faulty.emplace();
  for (const Refusal& r : refusals) {
    v.nodes.push_back(r.node);
    // Slurm has drained it.
    v.faulty->push_back({r.node, "", first.id.text(), "could not start the job", r.reason, false});
    v.why.push_back(fmt::format("Slurm drained {}: {}", r.node, r.reason));
  }
  v.sentence =
      fmt::format("Node{} {} {} the cause, not the program: Slurm could not start the job there ({}).",
                  v.nodes.size() == 1 ? "" : "s", compress_hostlist(v.nodes),
                  v.nodes.size() == 1 ? "is" : "are", refusals.front().reason);
  return v;
}

std::string filled(const std::string& text, const Run& run) {
  PendingFacts facts;
  facts.job_id = run.job.job_id;
  return fill_in(text, facts);
}

}  // namespace

bool is_held_by_slurm(const Run& run) {
  return run.outcome == Outcome::pending && run.job.held &&
         (run.job.reason == kLaunchFailedHeld || run.job.reason == "JobHoldMaxRequeue");
}

std::string hold_words(const Run& run) {
  if (run.outcome != Outcome::pending || !run.job.held) return "";
  const PendingReason reason = pending_reason(run.job.reason);
  if (reason.about != PendingSubject::hold) return "";
  return filled(reason.meaning + "; " + reason.remedy, run);
}

bool may_be_failed_launch(const Run& first) {
  const JobInfo& job = first.job;
  return first.outcome == Outcome::cancelled && !first.cancel_wanted && job.start != kNoTime &&
         job.end - job.start <= kEndedAtOnce;
}

bool failed_to_launch(const Known& known, const Run& run) {
  return is_unbegun(run) && !refusals_on(known.view, run.nodes).empty();
}

std::optional<Verdict> verdict_of_failed_launch(const Known& known, const Case& c) {
  const Run& first = c.programs.front();
  if (!failed_to_launch(known, first)) return std::nullopt;
  Verdict v = blame(known, first, refusals_on(known.view, first.nodes));
  v.final = true;
  v.rule = kRuleLaunch;
  v.why.insert(v.why.begin(), fmt::format("{} on {} never began: Slurm ended it as {} {} s after its start",
                                          first.id.text(), compress_hostlist(first.nodes), first.job.state,
                                          (first.job.end - first.job.start) / std::chrono::seconds(1)));
  v.next = {"submit it again: Slurm gives no work to " + compress_hostlist(v.nodes) + " now",
            "operators: sickbay nodes " + compress_hostlist(v.nodes) + ", and slurmd's log there"};
  return v;
}

// Slurm's hold does not say what went wrong.  A node of the job that Slurm drained in those words is the
// cause; else what may explain it is told: a restart of slurmctld, and the drained nodes that the job could
// have had.
std::optional<Verdict> verdict_while_held(const Known& known, const Case& c, bool final) {
  const Run& first = c.programs.front();
  if (!is_held_by_slurm(first)) return std::nullopt;
  // Slurm takes its nodes away with the hold.
  const Incarnation* before = first.earlier.empty() ? nullptr : &first.earlier.back();
  const std::vector<std::string>& nodes = before && !before->nodes.empty() ? before->nodes : first.nodes;
  const auto refusals = refusals_on(known.view, nodes);
  Verdict v;
  if (!refusals.empty()) {
    v = blame(known, first, refusals);
  } else {
    v.cause = Cause::inconclusive;
    v.confidence = Confidence::low;
    v.at = known.now;
    v.sentence = fmt::format("Not decided: Slurm could not start job {} and holds it.", first.job.job_id);
    const TimePoint since = before && before->start != kNoTime ? before->start : first.wanted_at;
    // That explains refusals without any fault of a node, so it stands before the list of drained nodes.
    if (known.view.controller_boot > since)
      v.why.push_back(
          "slurmctld was started anew meanwhile: nodes on which a run that it has forgotten goes on refuse "
          "to "
          "start the job a second time, and are not at fault");
    for (const auto& [reason, names] : drained_by_slurm(known.view, first, nodes))
      v.why.push_back(fmt::format("Slurm has drained {}: {}", compress_hostlist(names), reason));
  }
  v.rule = kRuleNotStarted;
  v.final = final;
  v.why.insert(v.why.begin(), first.id.text() + ": " + hold_words(first));
  v.missing = {"a run of the job: it waits in the queue until somebody releases it"};
  v.next = {final
                ? fmt::format("'scancel {0}' and submit it again; 'scontrol release {0}' lets it start, but "
                              "this case is over",
                              first.job.job_id)
                : fmt::format("'scontrol release {}' lets it start again, and the case goes on with that",
                              first.job.job_id)};
  return v;
}

}  // namespace sickbay::identify
