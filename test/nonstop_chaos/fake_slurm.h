// SPDX-License-Identifier: Apache-2.0
// FakeSlurm: just as much of Slurm as the nonstop engine touches, with its rules and none of its time.
//
// Nodes have at most one owner, a job or a donor; a job goes on without nodes that fail; donors get free
// nodes, or wait.  A command is done at once where it is called; who drives it decides when it is called, and
// whether the answer gets back.  What is against the rules (a donor given twice, a node given to two) is a
// fault of the engine, and ends the run.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "model/job.h"
#include "model/running_job.h"

namespace sickbay::chaos {

struct FakeNode {
  bool down = false, failing = false;
  std::string reserved;  ///< partition whose spare it is
  JobId owner = 0;       ///< of a job or a donor
};

struct FakeJob {
  JobId id = 0;
  std::uint32_t uid = 0;
  TimePoint submit = kNoTime;
  int partition = 0;
  std::vector<std::string> nodes;
  int limit = 0, first_limit = 0;
  // Of a donor.
  std::string key;  ///< "" for a job
  JobId expands = 0;
  bool running = true;
  std::uint32_t wants = 0;
  std::set<std::string> exclude;
};

class FakeSlurm {
 public:
  FakeSlurm(int partitions, int nodes_each);

  const std::map<std::string, FakeNode>& nodes() const { return nodes_; }
  const std::map<JobId, FakeJob>& jobs() const { return jobs_; }
  const FakeJob* job(JobId id) const;
  static std::string partition_name(int partition) { return "p" + std::to_string(partition); }
  const std::vector<std::string>& nodes_of(int partition) const { return of_partition_[partition]; }

  /// A new job of that many nodes; 0: there are not as many.
  JobId start(int partition, std::size_t nodes, std::uint32_t uid, TimePoint now);
  void end(JobId id);
  void fail_node(const std::string& node);
  void set_failing(const std::string& node, bool failing);
  void heal_node(const std::string& node);
  /// Donors that wait get what is free now.
  void schedule();

  /// Does a command.  Errors as ports/node_replacement.h.
  Result<Json> act(const Command& command, TimePoint now);

  RunningJob shown(const FakeJob& job) const;
  NodeInfo shown(const std::string& node) const;

  std::set<std::string> changed_nodes;  ///< since somebody looked
  std::set<JobId> changed_jobs;
  std::vector<std::string> wrongs;  ///< what was against the rules

 private:
  std::vector<std::string> free_nodes(int partition, std::size_t count,
                                      const std::set<std::string>& exclude) const;
  void own(FakeJob& job, const std::vector<std::string>& nodes);
  void release(const std::string& node);
  Result<Json> allocate(const Command& command, TimePoint now);
  Result<Json> give(const Command& command);
  Result<Json> drop(const Command& command);
  Json set_of(const FakeJob& job) const;
  Json donor_of(const FakeJob& donor) const;

  std::map<std::string, FakeNode> nodes_;
  std::vector<std::vector<std::string>> of_partition_;
  std::vector<std::set<std::string>> free_;  ///< neither owned, down, failing nor reserved
  std::map<JobId, FakeJob> jobs_;
  std::set<JobId> waiting_;
  std::map<std::string, JobId> by_key_;
  JobId last_ = 0;
};

}  // namespace sickbay::chaos
