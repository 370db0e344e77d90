// SPDX-License-Identifier: Apache-2.0
// What comes next for a replacement: a donor, a look at its nodes, the handing over, and the failing nodes'
// leave.
//
// Idle nodes first, then the partition's spares, then the queue.  There is one command at a time, so at each
// moment it is known what may be left behind: between the intent of a donor's allocation and the end of its
// handing over, or of its cancelling, there may be one job with the key `donor_key`, and never two.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/nonstop/parts.h"
#include "model/verbs.h"

namespace sickbay::nonstop {
namespace {

using Step = Request::Step;
using Source = Request::Source;

constexpr std::string_view kQuick = "quick";

Json donor_of(const Request& request) {
  return Json::object({{"donor", request.donor},
                       {"donor_submit", to_micros(request.donor_submit)},
                       {"key", request.donor_key},
                       {"nodes", request.donor_nodes}});
}

void cancel(const Job& job, const Request& request, Decision& decision) {
  decision.commands.push_back(command(job, request, verb::kCancelDonor, "cancel", donor_of(request)));
}

void refuse(const Job& job, const Request& request, std::string why, Decision& decision) {
  decision.records.push_back(answered(job, request, Code::enodereplacefail, std::move(why)));
}

void allocate(const Known& k, const Job& job, const Request& request, Decision& decision) {
  // Ten donors that died or were no good: something is wrong that one more will not cure.
  if (request.attempts >= k.policy.most_attempts)
    return refuse(job, request,
                  fmt::format("{} replacements were lost before they could join: the last one {}",
                              request.attempts, request.why.empty() ? "went away" : request.why),
                  decision);
  // One donor at a time: that of an earlier request, which was given up, may still have to go.
  for (const auto& [n, other] : job.requests)
    if (n < request.n && other.what == Request::What::replace && other.lives()) return;
  if (rests(k, request, decision)) return;
  // It may have come back by itself while nothing was done for it.
  for (const std::string& node : request.nodes)
    if (!job.faulty.contains(node))
      return decision.records.push_back(
          answered(job, request, Code::enodenotfail, fmt::format("{} is not faulty any more", node)));

  Source source = request.source;
  Draw draw;
  // No spare, no detour: an empty pool goes straight to the queue.
  if (source == Source::pool) {
    draw = spares_for(k, job, request);
    if (draw.nodes.empty()) source = Source::queue;
  }
  // The job's own nodes too: Slurm would give CPUs of theirs that are free to the donor.
  std::vector<std::string> exclude(request.bad.begin(), request.bad.end());
  for (const Share& share : job.nodes) exclude.push_back(share.node);
  for (const auto& [node, faulty] : job.faulty) exclude.push_back(node);
  // The donor asks on each node for what the lost one had there: the job's steps were made for that.
  Json cpus = Json::array();
  for (const std::string& node : request.nodes) cpus.push(job.faulty.at(node).cpus);
  Json args = Json::object({{"attempt", request.attempts + 1},
                            {"nodes", request.nodes.size()},
                            {"cpus", std::move(cpus)},
                            {"exclude", sorted_hosts(std::move(exclude))},
                            {"reservation", draw.reservation},
                            {"node_list", draw.nodes},
                            {"immediate", source != Source::queue}});
  decision.commands.push_back(command(job, request, verb::kAllocateDonor, "donor", std::move(args)));
}

// Spares may have come back since it began to wait.  Then it tries anew, and whoever comes first has them.
bool may_leave_queue(const Known& k, const Job& job, const Request& request) {
  return k.state.spares_version > request.spares_version && !spares_for(k, job, request).nodes.empty();
}

// A donor has its nodes: true when they may join.
bool examined(const Known& k, const Job& job, const Request& request, Decision& decision) {
  // An agent that does not answer within the limit is no objection: the job waits.
  const TimePoint until = request.checked_from + k.policy.examine_limit;
  if (!k.policy.examine || k.now >= until) return true;
  bool all = true;
  for (const std::string& node : request.donor_nodes) {
    const auto check = request.checks.find(node);
    if (check == request.checks.end()) {
      Command made = command(job, request, verb::kDiagnose, "check." + node,
                             Json::object({{"node", node}, {"mode", kQuick}}));
      decision.commands.push_back(std::move(made));
    }
    all = all && check != request.checks.end() && check->second == "ok";
  }
  if (!all) decision.wake_at = std::min(decision.wake_at, until);
  return all;
}

void use_donor(const Known& k, const Job& job, const Request& request, Decision& decision) {
  const auto is_bad = [&](const std::string& node) {
    const auto check = request.checks.find(node);
    return k.cluster.view.is_down(node) || (check != request.checks.end() && check->second == "bad");
  };
  // One bad node gives the whole donor back: all nodes of a request come at once or none does.
  if (std::ranges::any_of(request.donor_nodes, is_bad)) return cancel(job, request, decision);
  if (!examined(k, job, request, decision)) return;
  decision.commands.push_back(command(job, request, verb::kGiveDonor, "give", donor_of(request)));
}

// What was failing under the job, and is still in it.
void let_leave(const Known& k, const Job& job, const Request& request, Decision& decision) {
  if (rests(k, request, decision)) return;
  std::vector<std::string> inside;
  for (const std::string& node : request.nodes)
    if (job.share(node) != nullptr) inside.push_back(node);
  if (inside.empty()) return conclude(k, job, request, true, decision);
  Json args = Json::object({{"nodes", inside}});
  decision.commands.push_back(command(job, request, verb::kDropNodes, "drop", std::move(args)));
}

}  // namespace

void go_on_replacing(const Known& k, const Job& job, const Request& request, Decision& decision) {
  if (!has_job(k, job, fmt::format("{} is being replaced", compress_hostlist(request.nodes)), decision))
    return;
  switch (request.step) {
    case Step::wanted:
      return allocate(k, job, request, decision);
    case Step::waiting:
      if (may_leave_queue(k, job, request)) cancel(job, request, decision);
      return;
    case Step::has_nodes:
      return use_donor(k, job, request, decision);
    case Step::giving:
      // It had no answer: it is said again, and finds what was done.
      if (!rests(k, request, decision))
        decision.commands.push_back(command(job, request, verb::kGiveDonor, "give", donor_of(request)));
      return;
    case Step::joined:
    case Step::leaving:
      return let_leave(k, job, request, decision);
    case Step::clearing:
      if (!rests(k, request, decision)) cancel(job, request, decision);
      return;
    default:
      return;
  }
}

}  // namespace sickbay::nonstop
