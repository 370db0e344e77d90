// SPDX-License-Identifier: Apache-2.0
// The contract on real Slurm, in a lab.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "adapters/net/asio_loop.h"
#include "adapters/posix/process_runner.h"
#include "adapters/slurm/slurm_manager.h"
#include "model/slurm_state.h"
#include "test/contract/contract_cluster.h"
#include "test/slurm/lab_controls.h"

namespace sickbay::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A node that was DOWN is asked by slurmctld once a minute at most; on a busy machine its answer takes a
// while.
constexpr seconds kIdleLimit{240};

class SlurmContractCluster final : public ContractCluster {
 public:
  SlurmContractCluster() {
    const std::string name = slurm::required_variable("SB_TEST_USER");
    const passwd* entry = ::getpwnam(name.c_str());
    SB_CHECK(entry, "the lab's user is known here");
    user_ = {name, entry->pw_uid, entry->pw_gid};
    static int folders = 0;
    folder_ =
        fmt::format("{}/contract-{}-{}", slurm::required_variable("SB_TEST_SHARED"), ::getpid(), ++folders);
    std::filesystem::create_directories(folder_);
    SB_CHECK(::chown(folder_.c_str(), user_.uid, user_.gid) == 0, "the folder is the user's");
    start_caller();
    // A slurmctld that was killed forgets the last 5 s: a job that a test before saw end may run again.
    answers({"scancel", "--quiet", "--user=" + name}, "");
    SB_CHECK(until_nodes_idle(), "all nodes are idle when a test starts");
    kill_caller();  // the test starts with a caller that knows nothing
  }
  ~SlurmContractCluster() override {
    if (min_age_changed_) set_min_job_age(300);
    std::filesystem::remove_all(folder_);
  }

  ResourceManager& manager() override { return *manager_; }
  Loop& loop() override { return *loop_; }
  bool wait(const std::function<bool()>& done, milliseconds bound) override {
    const auto limit = std::chrono::steady_clock::now() + bound;
    while (!done()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      loop_->at(loop_->now() + milliseconds(5), [this] { loop_->stop(); });
      loop_->run();
    }
    return true;
  }
  Owner user() override { return user_; }
  std::uint32_t verification_uid() override { return user_.uid; }
  std::string folder() override { return folder_; }
  std::vector<std::string> nodes() override { return {"n1", "n2", "n3", "n4"}; }

  JobId sbatch(const Submission& submission) override {
    ProcessSpec spec;
    spec.argv = {"/usr/bin/sbatch", "--parsable"};
    spec.argv.insert(spec.argv.end(), submission.sbatch_options.begin(), submission.sbatch_options.end());
    spec.environment = submission.environment;
    spec.environment.push_back("SLURM_CONF=" + slurm::required_variable("SLURM_CONF"));
    spec.folder = submission.work_dir;
    spec.input = submission.script;
    spec.as_user = ProcessSpec::Credentials{user_.user, user_.uid, user_.gid};
    return static_cast<JobId>(std::atoi(output_of(std::move(spec)).c_str()));
  }
  void kill_caller() override {
    manager_.reset();
    runner_.reset();
    start_caller();
  }
  void crash_node(const std::string& name) override {
    SB_CHECK(slurm::lab_command("fault " + name + " crash"), "the node can be crashed");
  }
  void heal_node(const std::string& name) override {
    SB_CHECK(slurm::lab_command("heal " + name), "the node can be healed");
  }
  void stop_controller(bool killed) override { slurmctld().stop(killed); }
  void start_controller() override {
    slurmctld().start();
    SB_CHECK(wait(
                 [this] {
                   return answers({"scontrol", "ping"}, " is UP");
                 },
                 seconds(180)),
             "slurmctld answers again");
  }
  void forget_ended_jobs() override {
    min_age_changed_ = true;
    set_min_job_age(2);
  }

 private:
  static slurm::Slurmctld& slurmctld() {
    static slurm::Slurmctld one;  // knows its command line from the first start on
    return one;
  }

  void start_caller() {
    runner_ = make_process_runner(*loop_);
    slurm::SlurmOptions options;
    options.slurm_conf = slurm::required_variable("SLURM_CONF");
    options.child_path = slurm::required_variable("SB_TEST_CHILD");
    options.service_account = user_;
    auto made = slurm::make_slurm_manager(*loop_, *runner_, std::move(options));
    SB_CHECK(made, "the manager can be made");
    manager_ = std::move(*made);
  }

  std::string output_of(ProcessSpec spec) {
    std::optional<std::string> out;
    runner_->run(std::move(spec),
                 [&out](Result<ProcessOutcome> outcome) { out = outcome ? outcome->out : std::string(); });
    wait([&out] { return out.has_value(); }, seconds(180));
    return out.value_or("");
  }
  bool answers(std::vector<std::string> argv, const char* words) {
    ProcessSpec spec;
    spec.argv = std::move(argv);
    spec.environment = {"PATH=/usr/bin:/bin", "SLURM_CONF=" + slurm::required_variable("SLURM_CONF")};
    return output_of(std::move(spec)).find(words) != std::string::npos;
  }

  bool until_nodes_idle() {
    std::map<std::string, bool> idle;
    std::string seen;
    const bool all_idle = wait(
        [&] {
          std::optional<Result<Snapshot>> look;
          manager_->refresh({}, [&look](Result<Snapshot> snapshot) { look = std::move(snapshot); });
          wait([&look] { return look.has_value(); }, seconds(180));
          if (!look || !*look) return false;
          for (const NodeInfo& node : (*look)->nodes) {
            seen += node.to_json().dump() + "\n";
            const auto state = parse_node_state(node.state, node.flags);
            idle[node.name] = state && usable(*state) && state->base == NodeBase::idle;
          }
          bool all = idle.size() >= 4;
          for (const auto& [name, is_idle] : idle) all = all && is_idle;
          return all;
        },
        kIdleLimit);
    if (!all_idle)
      std::fprintf(stderr, "not all nodes are idle after %lld s; what they were:\n%s",
                   static_cast<long long>(kIdleLimit.count()), seen.c_str());
    return all_idle;
  }

  void set_min_job_age(int age) {
    const std::string path = slurm::required_variable("SLURM_CONF");
    std::ifstream in(path);
    std::string text, line;
    while (std::getline(in, line))
      text += line.starts_with("MinJobAge=") ? fmt::format("MinJobAge={}\n", age) : line + "\n";
    in.close();
    slurm::write_slurm_conf(text);
    answers({"scontrol", "reconfigure"}, "");
  }

  std::unique_ptr<AsioLoop> loop_ = make_asio_loop();
  std::unique_ptr<ProcessRunner> runner_;
  std::unique_ptr<ResourceManager> manager_;
  Owner user_;
  std::string folder_;
  bool min_age_changed_ = false;
};

}  // namespace

std::unique_ptr<ContractCluster> make_contract_cluster() { return std::make_unique<SlurmContractCluster>(); }

}  // namespace sickbay::contract
