// SPDX-License-Identifier: Apache-2.0
// What the tests of Effects stand on: a simulated cluster whose drains can be made to fail, a runner of
// programs that keeps what it is asked for, and one case, of user ada.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_loop.h"
#include "ports/process_runner.h"
#include "service/case_store.h"
#include "service/config.h"
#include "service/effects.h"

namespace sickbay::effects_test {

inline constexpr std::uint32_t kOwner = 1000, kVerifier = 998, kNotify = 65534;

// Slurm as the simulator has it, but for drain(), which the tests of retries make fail at will.
class Manager final : public ResourceManager {
 public:
  Manager(sim::SimLoop& loop, sim::SimCluster& cluster) : loop_(loop), cluster_(cluster) {}

  std::vector<std::chrono::seconds> drains;  ///< when each was tried, since the start
  std::optional<ErrorCode> drain_fails_as;   ///< instead of draining
  int failures = 1 << 20;                    ///< of so many tries
  std::vector<std::string> environment;      ///< of the last verification
  bool released_first = false;               ///< the last one that was released

  void drain(std::string node, std::string reason, Done<bool> done) override {
    drains.push_back(std::chrono::duration_cast<std::chrono::seconds>(loop_.elapsed()));
    if (!drain_fails_as || failures-- <= 0) return cluster_.drain(std::move(node), std::move(reason), done);
    loop_.post([done, code = *drain_fails_as] { done(fail(code, "as the test wants it")); });
  }
  void submit_program(ProgramOrder o, Done<Submitted> d) override {
    cluster_.submit_program(std::move(o), d);
  }
  void submit_verification(VerificationOrder o, Done<Submitted> d) override {
    environment = o.environment;
    cluster_.submit_verification(std::move(o), d);
  }
  void find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) override {
    cluster_.find(std::move(key), uid, done);
  }
  void dependents(DependentsOrder order, Done<std::vector<Dependent>> done) override {
    cluster_.dependents(std::move(order), done);
  }
  void waiting(Done<std::vector<WaitingJobs>> done) override { cluster_.waiting(done); }
  void release(ReleaseOrder order, Done<bool> done) override {
    released_first = order.first;
    cluster_.release(std::move(order), done);
  }
  void cancel(JobHandle job, Done<bool> done) override { cluster_.cancel(std::move(job), done); }
  void begin_now(JobHandle job, Done<bool> done) override { cluster_.begin_now(std::move(job), done); }
  void requeue(RequeueOrder o, Done<Requeued> done) override { cluster_.requeue(std::move(o), done); }
  void refresh(RefreshOrder o, Done<Snapshot> done) override { cluster_.refresh(std::move(o), done); }
  void history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) override {
    cluster_.history(std::move(jobs), done);
  }
  void undrain(std::string node, std::string prefix, Done<bool> done) override {
    cluster_.undrain(std::move(node), std::move(prefix), done);
  }
  void set_down(std::string node, std::string reason, Done<bool> done) override {
    cluster_.set_down(std::move(node), std::move(reason), done);
  }
  void reboot(RebootOrder order, Done<bool> done) override { cluster_.reboot(std::move(order), done); }
  void slurm_user(Done<std::uint32_t> done) override { cluster_.slurm_user(done); }
  void explain(JobId, Done<PendingFacts>) override {}
  NodeReplacement& node_replacement() override { return cluster_.node_replacement(); }
  std::vector<CallCount> calls() const override { return cluster_.calls(); }

 private:
  sim::SimLoop& loop_;
  sim::SimCluster& cluster_;
};

// Keeps what it is asked to run and answers each with the same outcome.
struct Processes : ProcessRunner {
  explicit Processes(Loop& l) : loop(l) {}
  void run(ProcessSpec spec, Done<ProcessOutcome> done) override {
    specs.push_back(std::move(spec));
    loop.post([done, outcome = outcome] { done(outcome); });
  }
  Loop& loop;
  ProcessOutcome outcome;
  std::vector<ProcessSpec> specs;
};

// Knows case 17, of user ada.
struct Cases : CaseStore {
  Status save(std::int64_t, const Submission&) override { return {}; }
  Result<Submission> load(std::int64_t case_no) override {
    if (case_no != 17) return fail(ErrorCode::not_found, "no such case");
    Submission saved;
    saved.owner = {"ada", kOwner, kOwner};
    saved.script = "#!/bin/bash\n#SIM run=1s\n";
    saved.script_name = "program.sh";
    saved.sbatch_options = {"-N1", "--nodelist=n1"};
    saved.environment = {"PATH=/usr/bin:/bin"};
    saved.work_dir = "/home/ada";
    return saved;
  }
  Status remove(std::int64_t) override { return {}; }
  Result<std::vector<std::int64_t>> list() const override { return std::vector<std::int64_t>(); }
};

inline sim::SimOptions without_files() {
  sim::SimOptions options;
  options.write_outputs = false;
  options.verification_uid = kVerifier;
  return options;
}

class EffectsTest : public testing::Test {
 protected:
  EffectsTest() : cluster(loop, without_files()), manager(loop, cluster), processes(loop) {
    config.verify.folder = "/shared/verify";
    config.verify.user = "verifier";
    config.notify.command = "mail-it";
    config.notify.user = "nobody";
    config.retry_bound = std::chrono::seconds(120);
    Effects::Verification verification;
    verification.script = "#!/bin/sh\n";
    verification.uid = verification.gid = kVerifier;
    effects = std::make_unique<Effects>(loop, manager, processes, cases, config, std::move(verification));
  }

  void TearDown() override { EXPECT_EQ(effects->under_way(), 0u); }

  // Starts a command and runs the cluster until it is answered: within a day, or never.
  Result<Json> run(const Command& command, bool again = false) {
    std::optional<Result<Json>> answer;
    effects->start(command, again, [&](Result<Json> result) {
      EXPECT_FALSE(answer.has_value()) << command.key << " is answered twice";
      answer = std::move(result);
    });
    EXPECT_FALSE(answer.has_value()) << command.key << " is answered from inside the call (ports/loop.h)";
    if (!loop.run_while([&] { return !answer.has_value(); }, loop.now() + std::chrono::hours(24)))
      return fail(ErrorCode::internal, command.key + " is never answered");
    return *answer;
  }
  static ErrorCode code_of(const Result<Json>& result) {
    EXPECT_FALSE(result.has_value()) << result->dump();
    return result ? ErrorCode::internal : result.error().code;
  }

  static Command verification(const std::string& attempt = "c17.v1.a1") {
    return {attempt + ":submit", "c17", "submit_verification",
            Json::object({{"nodes", std::vector<std::string>{"n1", "n2"}}, {"partition", "batch"}})};
  }
  static Command program() {
    return {"c17.r2.a1:submit", "c17", "submit_program",
            Json::object({{"run", "c17.r2"},
                          {"exclude", std::vector<std::string>{"n3"}},
                          {"output_dir", "/home/ada/sickbay-c17"}})};
  }
  static Command drain() {
    return {"f9:drain", "f9", "drain", Json::object({{"node", "n1"}, {"reason", "sickbay:f9 memory"}})};
  }
  // What the verb `release` would be given for a bound job.
  static Json handle(const Json& bound, std::uint32_t uid, const std::string& key) {
    return Json::object({{"job_id", bound["job_id"].as_int()},
                         {"submit", bound["submit"].as_int()},
                         {"uid", uid},
                         {"key", key}});
  }
  std::vector<JobId> ids() const {
    std::vector<JobId> all;
    for (const JobInfo& job : cluster.keyed_jobs()) all.push_back(job.job_id);
    return all;
  }

  sim::SimLoop loop;
  sim::SimCluster cluster;
  Manager manager;
  Processes processes;
  Cases cases;
  Config config;
  std::unique_ptr<Effects> effects;
};

}  // namespace sickbay::effects_test
