// SPDX-License-Identifier: Apache-2.0
// View: the one picture of the cluster that all engines look at.
//
// Nodes, slurmctld's boot and the watched jobs, as the journal tells of them: changed by apply() only, so
// that a replay gives the same picture.  Who looks at Slurm, and how often, is the matter of service/watch.h;
// what people are shown besides (addresses) is in its last look and not here. Source:
// doc/design/decisions.md 27.
#pragma once
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/cluster/node_group.h"
#include "model/event.h"
#include "model/job.h"

namespace sickbay::cluster {

/// A watched job: the same job may be watched for two subjects.
struct JobKey {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  JobId job_id = 0;
  std::string subject;  ///< "c17"
  std::string run;      ///< "c17.r2"; the watching engine's own word
  friend bool operator==(const JobKey&, const JobKey&) = default;
  /// By subject first: all jobs of one are found together when it is closed.
  friend auto operator<=>(const JobKey& a, const JobKey& b) {
    return std::tie(a.subject, a.job_id, a.run) <=> std::tie(b.subject, b.job_id, b.run);
  }
};

struct View {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  std::map<std::string, Node> nodes;
  std::map<std::string, std::set<std::string>> partitions;  ///< nodes of each; one that lost all stays, empty
  TimePoint controller_boot = kNoTime;                      ///< slurmctld's
  std::map<JobKey, JobInfo> jobs;  ///< as last seen, until the subject that watches them is closed
  std::int64_t looks = 0;          ///< how many nodes_seen there were
  /// Partitions in which jobs wait that free nodes could start.  Known only while an engine wishes it
  /// (Wish::queue); what stands here before its first queue_seen is old.
  std::set<std::string> wanted_partitions{};

  /// What the event that was applied last changed.
  struct Change {
    static constexpr int kFields = 3;  ///< base/state_archive.h
    std::string name;
    std::optional<Node> before;  ///< nothing: it is new
    bool gone = false;           ///< Slurm has it no more
  };
  std::vector<Change> changes;

  const Node* node(const std::string& name) const {
    const auto it = nodes.find(name);
    return it == nodes.end() ? nullptr : &it->second;
  }
  bool is_down(const std::string& name) const {
    const Node* n = node(name);
    return n != nullptr && n->down;
  }
  /// Slurm itself has it DOWN: it was lost, and nobody took it away.
  bool is_lost(const std::string& name) const {
    const Node* n = node(name);
    return n != nullptr && n->down && n->down_by == DownBy::slurm;
  }
  /// Nodes that the last event took down, sorted.
  std::vector<std::string> went_down() const;
  /// The job as it was last seen for that subject and run, or null.
  const JobInfo* job(const JobKey& key) const {
    const auto it = jobs.find(key);
    return it == jobs.end() ? nullptr : &it->second;
  }
};

/// Total: other kinds change nothing.
void apply(View& view, const Event& event);
std::string canonical_text(const View& view);

}  // namespace sickbay::cluster
