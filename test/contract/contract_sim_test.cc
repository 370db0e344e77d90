// SPDX-License-Identifier: Apache-2.0
// The contract on the simulator.
#include <unistd.h>

#include <filesystem>

#include "adapters/sim/sim_cluster.h"
#include "test/contract/contract_cluster.h"

namespace sickbay::contract {
namespace {

class SimContractCluster final : public ContractCluster {
 public:
  SimContractCluster() : cluster_(loop_, {.verification_uid = kVerifier}) {
    std::string pattern = (std::filesystem::temp_directory_path() / "sickbay-contract-XXXXXX").string();
    SB_CHECK(::mkdtemp(pattern.data()) != nullptr, "a folder for the test can be made");
    folder_ = pattern;
  }
  ~SimContractCluster() override { std::filesystem::remove_all(folder_); }

  ResourceManager& manager() override { return cluster_; }
  Loop& loop() override { return loop_; }
  bool wait(const std::function<bool()>& done, std::chrono::milliseconds bound) override {
    const TimePoint limit = loop_.now() + bound;
    if (loop_.run_while([&] { return !done(); }, limit)) return true;
    // Nothing is left to do before the limit: the time passes all the same.
    loop_.run_until(limit);
    return done();
  }
  Owner user() override { return {"alice", 1001, 1001}; }
  std::uint32_t verification_uid() override { return kVerifier; }
  std::string folder() override { return folder_; }
  std::vector<std::string> nodes() override { return cluster_.node_names(); }

  JobId sbatch(const Submission& submission) override {
    const auto submitted = cluster_.sbatch(submission);
    return submitted ? submitted->job_id : 0;
  }
  void kill_caller() override { cluster_.drop_answers(); }
  void crash_node(const std::string& name) override { cluster_.crash_node(name); }
  void heal_node(const std::string& name) override { cluster_.heal(name); }
  void stop_controller(bool killed) override { cluster_.stop_controller(killed); }
  void start_controller() override { cluster_.start_controller(); }
  void forget_ended_jobs() override { loop_.run_until(loop_.now() + std::chrono::seconds(301)); }

 private:
  static constexpr std::uint32_t kVerifier = 998;  // not root: who may do what is then not the same for all
  sim::SimLoop loop_;
  sim::SimCluster cluster_;
  std::string folder_;
};

}  // namespace

std::unique_ptr<ContractCluster> make_contract_cluster() { return std::make_unique<SimContractCluster>(); }

}  // namespace sickbay::contract
