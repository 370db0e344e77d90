// SPDX-License-Identifier: Apache-2.0
// SimDaemon: what one process of sickbayd is made of, on the simulated cluster.
//
// Loop, effects, engines and controller are those of the product.  It goes as a process does that is killed:
// whatever it had planned, and every answer that it waits for, goes with it.  Who asks sickbayd's users'
// questions stands here, too: submit() is `sickbay submit`.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "adapters/sim/process_loop.h"
#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_processes.h"
#include "service/case_store.h"
#include "service/config.h"
#include "service/controller.h"
#include "service/effects.h"
#include "service/submissions.h"

namespace sickbay::sim {

/// The cluster, with a watch on what sickbayd does with a snapshot.
class TimedManager : public ResourceManager {
 public:
  TimedManager(ResourceManager& manager, const ProcessLoop::Timed& timed)
      : manager_(manager), timed_(timed) {}
  void submit_program(ProgramOrder order, Done<Submitted> done) override {
    manager_.submit_program(std::move(order), std::move(done));
  }
  void submit_verification(VerificationOrder order, Done<Submitted> done) override {
    manager_.submit_verification(std::move(order), std::move(done));
  }
  void find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) override {
    manager_.find(std::move(key), uid, std::move(done));
  }
  void release(ReleaseOrder order, Done<bool> done) override {
    manager_.release(std::move(order), std::move(done));
  }
  void cancel(JobHandle job, Done<bool> done) override { manager_.cancel(std::move(job), std::move(done)); }
  void begin_now(JobHandle job, Done<bool> done) override {
    manager_.begin_now(std::move(job), std::move(done));
  }
  void requeue(RequeueOrder order, Done<Requeued> done) override {
    manager_.requeue(std::move(order), std::move(done));
  }
  void refresh(RefreshOrder order, Done<Snapshot> done) override {
    if (!timed_) return manager_.refresh(std::move(order), std::move(done));
    manager_.refresh(std::move(order), [this, done = std::move(done)](Result<Snapshot> seen) {
      const auto began = std::chrono::steady_clock::now();
      done(std::move(seen));
      timed_("refresh", std::chrono::steady_clock::now() - began);
    });
  }
  void history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) override {
    manager_.history(std::move(jobs), std::move(done));
  }
  void dependents(DependentsOrder order, Done<std::vector<Dependent>> done) override {
    manager_.dependents(std::move(order), std::move(done));
  }
  void waiting(Done<std::vector<WaitingJobs>> done) override { manager_.waiting(std::move(done)); }
  void drain(std::string node, std::string reason, Done<bool> done) override {
    manager_.drain(std::move(node), std::move(reason), std::move(done));
  }
  void undrain(std::string node, std::string prefix, Done<bool> done) override {
    manager_.undrain(std::move(node), std::move(prefix), std::move(done));
  }
  void set_down(std::string node, std::string reason, Done<bool> done) override {
    manager_.set_down(std::move(node), std::move(reason), std::move(done));
  }
  void reboot(RebootOrder order, Done<bool> done) override {
    manager_.reboot(std::move(order), std::move(done));
  }
  void explain(JobId job, Done<PendingFacts> done) override { manager_.explain(job, std::move(done)); }
  void slurm_user(Done<std::uint32_t> done) override { manager_.slurm_user(std::move(done)); }
  NodeReplacement& node_replacement() override { return manager_.node_replacement(); }
  std::vector<CallCount> calls() const override { return manager_.calls(); }

 private:
  ResourceManager& manager_;
  const ProcessLoop::Timed& timed_;
};

struct SimDaemon {
  /// What outlives the process.
  struct World {
    SimLoop& loop;
    SimCluster& cluster;
    ResourceManager& manager;  ///< the cluster, or what stands before it
    SimProcesses& processes;
    CaseStore& cases;
    const Config& config;
    /// What the agent of a node comes to when it is examined: "ok" (also where it is not named), "sick",
    /// "silent".
    std::map<std::string, std::string>& agents;
    const ProcessLoop::Timed& on_work;
  };
  SimDaemon(const World& world, Journal& journal);

  /// `sickbay submit`: opens a case, runs sbatch, binds its job.  `done` gets the case's number when the
  /// binding is durable.  `more`: further members of its case_opened.  Errors: sbatch's; that of the journal.
  void submit(const Submission& submission, const Json& options, const Json& more, Done<std::int64_t> done);

  /// The events of that: the case of a submission, which is stored; and its job.
  Event opened(std::int64_t no, const Submission& submission, const Json& options, const Json& more) const;
  static Event bound(std::int64_t no, JobId job);

  World world;
  ProcessLoop loop;
  Effects effects;
  Seats seats;
  Controller controller;
  Submissions submissions;

 private:
  void examine(const std::string& how, const std::string& node, Done<Json> done);
};

}  // namespace sickbay::sim
