// SPDX-License-Identifier: Apache-2.0
// NodeReplacement on a real cluster: the parent's side of the calls of child/replacement.cc and
// spare_pool.cc.
#pragma once
#include <functional>
#include <string>

#include "ports/node_replacement.h"

namespace sickbay::slurm {

class SlurmReplacement final : public NodeReplacement {
 public:
  /// Asks the child, in its turn: an update or a look; answers later, never from inside.
  using Ask =
      std::function<void(bool update, std::string call, Json args, std::function<void(Result<Json>)> then)>;
  SlurmReplacement(Loop& loop, Ask ask) : loop_(loop), ask_(std::move(ask)) {}

  void running_jobs(std::vector<JobId> also, Done<std::vector<RunningJob>> done) override;
  void running_job(JobHandle job, Done<RunningJob> done) override;
  void allocate_donor(DonorOrder order, Done<Donor> done) override;
  void give_donor(JobHandle job, JobHandle donor, std::vector<std::string> nodes,
                  Done<NodeSet> done) override;
  void drop_nodes(JobHandle job, std::vector<std::string> nodes, Done<NodeSet> done) override;
  void set_time_limit(JobHandle job, std::int64_t minutes, Done<std::int64_t> done) override;
  void fail_node(std::string node, std::string reason, Done<bool> done) override;
  void unfail_node(std::string node, std::string own_reason_prefix, Done<bool> done) override;
  void set_spare_pool(SparePool pool, Done<SparePool> done) override;
  void spare_pools(Done<std::vector<SparePool>> done) override;

 private:
  template <class T>
  void ask(bool update, std::string call, Json args, T (*read)(const Json&), Done<T> done);

  Loop& loop_;
  Ask ask_;
};

}  // namespace sickbay::slurm
