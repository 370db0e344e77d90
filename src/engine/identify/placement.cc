// SPDX-License-Identifier: Apache-2.0
// Two wishes pull against each other: a second run proves most on nodes that share none with the first, and a
// re-run that Slurm cannot place proves nothing.  So nodes are given back only as far as they must be.
#include "engine/identify/placement.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/hostlist.h"
#include "engine/identify/fingerprints.h"
#include "engine/identify/further.h"

namespace sickbay::identify {
namespace {

// `partitions` as Slurm has it for a job: "main,long" lets it start in either.  Nodes of other partitions are
// neither a place for the re-run nor, for V's control, proof of anything.
bool shares_partition(const cluster::Node& node, std::string_view partitions) {
  if (partitions.empty()) return true;
  for (const std::string& name : node.partitions) {
    for (std::size_t at = 0; at <= partitions.size();) {
      const std::size_t comma = std::min(partitions.find(',', at), partitions.size());
      if (partitions.substr(at, comma - at) == name) return true;
      at = comma + 1;
    }
  }
  return false;
}

// V's last word on the node, in any case, unless it is too old to hold (doc/design/identify.md).
bool known_bad(const Known& known, const NodeRecord& node) {
  return node.failed_at != kNoTime && node.failed_at > node.passed_at &&
         known.now - node.failed_at < known.policy.control_age;
}

// V's word is worth more than that of the program's output.
bool passed_since(const Known& known, const std::string& name, const Run& run) {
  const NodeRecord& node = known.record(name);
  return node.passed_at > run.ended_at && node.passed_at > node.failed_at;
}

// One by one, then four times as many each time, then all: a job of four nodes gives up none too many, and
// one of a thousand is not refused a thousand times.
std::size_t given_back_for(int refusals) {
  if (refusals >= kMostRefusals) return SIZE_MAX / 2;
  return refusals <= 4 ? static_cast<std::size_t>(std::max(0, refusals))
                       : std::size_t{4} << (2 * (refusals - 4));
}

// A further run: the suspects that it shall include by their names, the others kept away.
Placement place_chosen(const Known& known, const Case& subject, int n, int refusals) {
  const std::string& reservation = subject.programs.front().job.reservation;
  const Suspicion s = suspicion_of(known, subject);
  const further::NextRun next = next_nodes(s.record, known.policy.prior, room_for(known, subject));
  Placement place;
  for (const int i : next.in)
    // For one that is out of service Slurm would let it wait.
    if (const std::string& name = s.names[static_cast<std::size_t>(i)]; serves(known.view, name, reservation))
      place.include.push_back(name);

  std::set<std::string> bad;
  for (const auto& [name, node] : known.state.records)
    if (known_bad(known, node) && !has_host(s.names, name)) bad.insert(name);
  for (int i = 2; i <= n; ++i)
    if (const Run* run = subject.program(i))
      for (std::string& name : run->never_began_on()) bad.insert(std::move(name));
  // Where Slurm finds too few others, the least suspected come back first.
  const further::Posterior now = posterior(s.record, known.policy.prior);
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < s.names.size(); ++i)
    if (!has_host(place.include, s.names[i])) left.push_back(i);
  std::stable_sort(left.begin(), left.end(),
                   [&](std::size_t a, std::size_t b) { return now.nodes[a] < now.nodes[b]; });
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::string& name = s.names[left[i]];
    (i < given_back_for(refusals) && !bad.contains(name) ? place.reused : place.exclude).push_back(name);
  }
  place.reused = sorted_hosts(std::move(place.reused));
  place.exclude.insert(place.exclude.end(), bad.begin(), bad.end());
  place.exclude = hosts_without(sorted_hosts(std::move(place.exclude)), place.include);
  return place;
}

}  // namespace

std::vector<std::string> others_for(const Known& known, const Case& subject) {
  const Run& first = subject.programs.front();
  std::vector<std::string> others;
  for (const auto& [name, node] : known.view.nodes)
    if (shares_partition(node, first.job.partition) && takes_job(node, first.job.reservation) &&
        !has_host(first.nodes, name) && !known_bad(known, known.record(name)))
      others.push_back(name);
  return others;
}

bool takes_job(const cluster::Node& node, const std::string& reservation) {
  return reservation.empty() ? node.usable : node.only_reserved();
}

bool serves(const cluster::View& view, const std::string& name, const std::string& reservation) {
  const cluster::Node* node = view.node(name);
  return node != nullptr && (node->usable || takes_job(*node, reservation));
}

const NodeRecord& Known::record(const std::string& node) const {
  static const NodeRecord kNothing;
  const auto it = state.records.find(node);
  return it == state.records.end() ? kNothing : it->second;
}

Placement place_rerun(const Known& known, const Case& subject, int n, int refusals) {
  if (is_chosen_run(subject, n) && !subject.further->rotate) return place_chosen(known, subject, n, refusals);
  const Run& first = subject.programs.front();
  // Used nodes may be given back, suspects not: on a sick node the run would only fail once more.  A node is
  // a suspect here on less than a conviction, since to avoid it costs nothing as long as there are others.
  std::set<std::string> used, suspects, mentioned;
  for (int i = 1; i < n; ++i) {
    const Run* run = subject.program(i);
    if (run == nullptr) continue;
    used.insert(run->nodes.begin(), run->nodes.end());
    suspects.insert(run->down_nodes.begin(), run->down_nodes.end());
    // Of a node that srun names for an exit code this says only which task ended first: it comes back last.
    if (!run->trace || passed_since(known, run->trace->node, *run)) continue;
    (named_node(*run).empty() ? mentioned : suspects).insert(run->trace->node);
  }
  // Where a re-run never began, this one's earlier attempts too, there is something wrong.  (The first run
  // may have had no folder to write to, which is no fault of its nodes.)
  for (int i = 2; i <= n; ++i)
    if (const Run* run = subject.program(i))
      for (std::string& name : run->never_began_on()) suspects.insert(std::move(name));
  for (const Run& v : subject.verifications)
    for (const NodeResult& r : v.results)
      if (r.result == "failed" || r.result == "slow") {
        suspects.insert(r.node);
        if (!r.peer.empty()) suspects.insert(r.peer);
      }

  // Usable ones of the job's partition only: Slurm would leave the job in the queue for the rest.  Whether
  // they suit the job's other wishes (memory, features, the user's own --exclude) only Slurm knows; each
  // time that it says no, more are given back.
  std::size_t others = 0;
  for (const auto& [name, node] : known.view.nodes) {
    if (!shares_partition(node, first.job.partition)) continue;
    if (known_bad(known, known.record(name)))
      suspects.insert(name);
    else if (takes_job(node, first.job.reservation) && !used.contains(name) && !suspects.contains(name))
      ++others;
  }

  Placement place;
  const std::size_t needed = std::max<std::size_t>(1, first.nodes.size());
  std::vector<std::string> spare;  // nodes of earlier runs that may be given back, best first
  for (const std::string& name : used) {
    if (!suspects.contains(name) && serves(known.view, name, first.job.reservation)) spare.push_back(name);
  }
  // Acquitted ones first, by V's newest pass; by name among equals, so that a replay chooses alike.
  std::stable_sort(spare.begin(), spare.end(), [&](const std::string& a, const std::string& b) {
    if (mentioned.contains(a) != mentioned.contains(b)) return mentioned.contains(b);
    return known.record(a).passed_at > known.record(b).passed_at;
  });
  std::size_t give_back = others >= needed ? 0 : std::min(needed - others, spare.size());
  give_back = std::min(give_back + given_back_for(refusals), spare.size());
  // A cluster of nothing but suspects (one node, say): better to run there and say so than not at all.
  if (others == 0 && spare.empty())
    for (const std::string& name : used)
      if (serves(known.view, name, first.job.reservation)) {
        spare.push_back(name);
        if (spare.size() == needed) break;
      }
  // With no other node at all, some must come back.
  if (others == 0 && give_back == 0) give_back = spare.size();
  place.reused.assign(spare.begin(), spare.begin() + static_cast<std::ptrdiff_t>(give_back));
  place.reused = sorted_hosts(std::move(place.reused));

  // Also nodes that are down now: the list must hold when they come back while the run waits.
  std::vector<std::string> away(used.begin(), used.end());
  away.insert(away.end(), suspects.begin(), suspects.end());
  place.exclude = hosts_without(sorted_hosts(std::move(away)), place.reused);
  return place;
}

std::vector<std::string> nodes_outside(const Known& known, const Case& subject, std::size_t most) {
  // Outside the case, for a node of the case is in question itself.
  std::vector<std::string> names;
  std::set<std::string> used;
  for (const Run& run : subject.programs) used.insert(run.nodes.begin(), run.nodes.end());
  for (const Run& run : subject.verifications) used.insert(run.nodes.begin(), run.nodes.end());
  const std::string& partition = subject.programs.front().job.partition;
  for (const auto& [name, node] : known.view.nodes) {
    const NodeRecord& record = known.record(name);
    if (node.usable && !used.contains(name) && record.failed_at <= record.passed_at &&
        shares_partition(node, partition) && names.size() < most)
      names.push_back(name);
  }
  return names;
}

std::string control_node(const Known& known, const Case& subject) {
  const std::vector<std::string> names = nodes_outside(known, subject, 1);
  return names.empty() ? "" : names.front();
}

}  // namespace sickbay::identify
