// SPDX-License-Identifier: Apache-2.0
// ContractCluster: a cluster on which the contract of ports/resource_manager.h is tested.
//
// The suite (contract_suite.cc and its like) is one list of tests; a program that links it says with
// make_contract_cluster() on what they run: the simulator (contract_sim_test.cc) or real Slurm in the lab
// (test/slurm/contract_slurm_test.cc).  The scripts of the tests run on both: the simulator reads their
// "#SIM" line, which is a comment to bash.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ports/resource_manager.h"

namespace sickbay::contract {

class ContractCluster {
 public:
  virtual ~ContractCluster() = default;

  virtual ResourceManager& manager() = 0;
  virtual Loop& loop() = 0;
  /// Runs the loop until `done()` holds, asked after each event or every few milliseconds; false: not within
  /// `bound`.
  virtual bool wait(const std::function<bool()>& done, std::chrono::milliseconds bound) = 0;

  /// An ordinary user, with no rights but his own.
  virtual Owner user() = 0;
  /// Who verifications run as.
  virtual std::uint32_t verification_uid() = 0;
  /// An empty folder of this test alone, seen by all nodes, writable by the user.
  virtual std::string folder() = 0;
  /// All nodes of the default partition: four at least, all usable when a test starts.
  virtual std::vector<std::string> nodes() = 0;

  /// The user's own sbatch, past the manager.
  virtual JobId sbatch(const Submission& submission) = 0;
  /// The caller is killed with all calls under way and starts anew: manager() is another one then.
  virtual void kill_caller() = 0;
  virtual void crash_node(const std::string& name) = 0;
  virtual void heal_node(const std::string& name) = 0;
  /// slurmctld ends, killed or properly.
  virtual void stop_controller(bool killed) = 0;
  /// It starts again; returns when it answers.
  virtual void start_controller() = 0;
  /// Lets slurmctld forget the jobs that have ended (MinJobAge), accounting keeps them.
  virtual void forget_ended_jobs() = 0;
};

/// A cluster at rest.  Called once per test.
std::unique_ptr<ContractCluster> make_contract_cluster();

}  // namespace sickbay::contract
