// SPDX-License-Identifier: Apache-2.0
#include "service/seats/detect_seat.h"

#include <algorithm>

#include "model/ids.h"

namespace sickbay {
namespace {

// While a node is complained of: that Slurm has it DOWN, or back, is to be seen soon.
constexpr std::chrono::milliseconds kLookAtSuspects{1000};
// Where the site wants it for all jobs: a job that has just begun is watched as soon as it is listed.
constexpr std::chrono::seconds kListJobs{5};

}  // namespace

void DetectSeat::apply(const Event& event) {
  last_ = event.at;
  for (const std::string& subject : detect::apply(state_, cluster_.view, event)) touch(subject);
  // Somebody may go now whom the breaker held, or who had to wait for a claim.
  if (event.kind == kClaimReleased || event.kind == kBreakerReset)
    for (const auto& [name, suspect] : state_.nodes)
      if (!suspect.by.empty()) touch(node_subject(name));
}

void DetectSeat::touch_all() {
  for (const auto& [name, suspect] : state_.nodes) touch(node_subject(name));
  for (const auto& [job, group] : state_.groups) touch(job_subject(job));
}

Seat::Turn DetectSeat::decide(const std::string& subject, TimePoint now) {
  detect::Decision decision = detect::decide(cluster_, state_, policy_, breaker_, subject, now);
  return {std::move(decision.claims), std::move(decision.records), std::move(decision.commands),
          decision.wake_at};
}

Wish DetectSeat::wish() const {
  Wish wish;
  if (detect::wants_nodes(state_, last_)) {
    wish.nodes_every = kLookAtSuspects;
    wish.despite_floor = true;
  }
  wish.jobs = std::ranges::any_of(state_.groups, [](const auto& entry) { return !entry.second.ended; });
  if (policy_.fast) wish.nonstop_jobs = kListJobs;
  return wish;
}

std::vector<WatchedJob> DetectSeat::watched_jobs() const {
  std::vector<WatchedJob> jobs;
  for (const auto& [job, group] : state_.groups)
    if (!group.ended) jobs.push_back({job, group.uid, "", job_subject(job), job_subject(job)});
  return jobs;
}

std::vector<SwimWanted> DetectSeat::swim_groups() const {
  std::vector<SwimWanted> wanted;
  for (const auto& [job, group] : state_.groups)
    if (group.fast && group.running && group.nodes.size() > 1) wanted.push_back({job, group.nodes});
  if (!policy_.fast) return wanted;
  // Who said "slurm" is not watched, whatever the site has for those who say nothing.
  for (const auto& [job, nodes] : state_.running)
    if (!state_.groups.contains(job)) wanted.push_back({job, nodes});
  return wanted;
}

}  // namespace sickbay
