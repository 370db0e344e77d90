// SPDX-License-Identifier: Apache-2.0
// SimWorld: sickbayd's controller on a simulated cluster, with users who submit and a power switch.
//
// The controller, its effects and its engine are the real ones; only what stands behind the ports is
// simulated.  The journal and the case folders outlive a killed sickbayd, as files do.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/sim/sim_journal.h"
#include "service/case_store_test_parts.h"
#include "test/sim_runner/sim_daemon.h"

namespace sickbay::sim {

class SimWorld {
 public:
  /// `journal` null: one in memory.
  SimWorld(SimOptions cluster, Config config, Journal* journal = nullptr);
  ~SimWorld();

  SimLoop& loop() { return loop_; }
  SimCluster& cluster() { return cluster_; }
  SimJournal& journal() { return own_journal_; }

  void start_sickbayd();  ///< replays, then goes on where the journal ends
  void kill_sickbayd();
  bool sickbayd_runs() const { return daemon_ != nullptr; }
  Controller& controller();

  /// `sickbay submit`: opens a case, runs sbatch, binds its job.  `done` gets the case's number when the
  /// binding is durable.  Errors: daemon_away, sbatch's.
  /// `more`: further members of its case_opened.
  void submit(const Submission& submission, const Json& options, const Json& more, Done<std::int64_t> done);
  void submit(const Submission& submission, const Json& options, Done<std::int64_t> done) {
    submit(submission, options, Json::object(), std::move(done));
  }
  /// `sickbay requeue` with the site's bounds; false where the case refuses it.
  bool requeue_case(std::int64_t case_no, const std::string& by);
  /// `sickbay rerun`.  False: the case is closed.
  bool answer_rerun(std::int64_t case_no, identify::RerunWay how, const std::string& by);
  /// `sickbay cancel`.
  void cancel_case(std::int64_t case_no, const std::string& by);

  /// Adds engines to those of the product, at each start of sickbayd.
  std::function<void(Seats&)> more_seats;
  /// What the agent of a node comes to when sickbayd has it examined for a gate: "ok" (also where it is not
  /// named), "sick", "silent".
  std::map<std::string, std::string> agents;
  /// Told of each event when it is durable.
  std::function<void(const Event&)> on_event;
  /// Told how much real time sickbayd took for a "task" (a round is one) or to take in a "refresh".  Set
  /// before start_sickbayd().
  std::function<void(std::string_view work, std::chrono::nanoseconds took)> on_work;

 private:
  std::optional<KeptState> look_back();
  SimDaemon::World parts();

  SimLoop loop_;
  SimCluster cluster_;
  SimProcesses processes_;
  TimedManager manager_;
  SimJournal own_journal_;
  Journal& journal_;
  Config config_;
  MemoryStore cases_;
  std::unique_ptr<SimDaemon> daemon_;
};

}  // namespace sickbay::sim
