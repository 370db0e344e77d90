// SPDX-License-Identifier: Apache-2.0
#include "test/slurm/real_cluster.h"

#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "adapters/posix/process_runner.h"
#include "model/slurm_state.h"
#include "test/slurm/lab_controls.h"

namespace sickbay::slurm {
RealCluster::RealCluster() : loop_(make_asio_loop()), runner_(make_process_runner(*loop_)) {
  const std::string user = required_variable("SB_TEST_USER");
  const passwd* entry = getpwnam(user.c_str());
  SB_CHECK(entry, "the lab's user is unknown here");
  account_ = {user, entry->pw_uid, entry->pw_gid};
  restart_manager();
}

RealCluster::~RealCluster() = default;

void RealCluster::restart_manager(std::chrono::milliseconds limit, const std::string& conf) {
  cluster_.reset();
  SlurmOptions options;
  options.slurm_conf = conf.empty() ? required_variable("SLURM_CONF") : conf;
  options.child_path = required_variable("SB_TEST_CHILD");
  options.service_account = account_;
  options.call_limit = limit;
  auto made = make_slurm_manager(*loop_, *runner_, std::move(options));
  SB_CHECK(made, "the manager can be made");
  cluster_ = std::move(*made);
}

pid_t RealCluster::child_pid() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    std::ifstream in(entry.path() / "stat");
    std::string pid, comm, state;
    pid_t parent = 0;
    if (in >> pid >> comm >> state >> parent && parent == getpid() && comm == "(sickbay-slurm)" &&
        state != "Z")
      return std::stoi(pid);
  }
  return 0;
}

bool RealCluster::wait_until(const std::function<bool()>& met, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!met()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    run_loop_for(std::chrono::milliseconds(50));
  }
  return true;
}

void RealCluster::run_loop_for(std::chrono::milliseconds time) {
  loop_->at(loop_->now() + time, [this] { loop_->stop(); });
  loop_->run();
}

std::string RealCluster::fresh_key() {
  static int last = 0;
  return fmt::format("c{}.v{}.a1", to_unix_seconds(loop_->now()), ++last);
}

VerificationOrder RealCluster::verification(const std::string& node, const std::string& script) {
  VerificationOrder order;
  order.key = fresh_key();
  order.nodes = {node};
  order.script = script;
  order.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  order.output_dir = required_variable("SB_TEST_SHARED");
  order.time_limit = std::chrono::seconds(60);
  return order;
}

ProgramOrder RealCluster::program(const std::string& script) {
  ProgramOrder order;
  order.key = fresh_key();
  order.submission.owner = account_;
  order.submission.script = script;
  order.submission.script_name = "job.sh";
  order.submission.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  order.submission.work_dir = required_variable("SB_TEST_SHARED");
  order.output_dir = order.submission.work_dir + "/" + order.key;
  return order;
}

std::string RealCluster::text_of(const std::string& path) const {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

JobHandle RealCluster::handle_of(const Submitted& job, const std::string& key) const {
  return {job.job_id, account_.uid, job.submit, key};
}

Result<Submitted> RealCluster::submit(const VerificationOrder& order) {
  return await<Submitted>([&](auto done) { cluster_->submit_verification(order, done); });
}
Result<std::vector<JobInfo>> RealCluster::find(const std::string& key) {
  return await<std::vector<JobInfo>>([&](auto done) { cluster_->find(key, account_.uid, done); });
}
Result<Snapshot> RealCluster::refresh(std::vector<JobId> jobs) {
  return await<Snapshot>([&](auto done) { cluster_->refresh({.jobs = jobs, .arrays = {}}, done); });
}
Result<bool> RealCluster::release(const JobHandle& job) {
  return await<bool>([&](auto done) { cluster_->release({job}, done); });
}
Result<bool> RealCluster::cancel(const JobHandle& job) {
  return await<bool>([&](auto done) { cluster_->cancel(job, done); });
}
Result<bool> RealCluster::drain(const std::string& node, const std::string& reason) {
  return await<bool>([&](auto done) { cluster_->drain(node, reason, done); });
}
Result<bool> RealCluster::undrain(const std::string& node, const std::string& prefix) {
  return await<bool>([&](auto done) { cluster_->undrain(node, prefix, done); });
}

Result<JobInfo> RealCluster::look(JobId job) {
  auto snapshot = refresh({job});
  if (!snapshot) return fail(std::move(snapshot.error()));
  if (snapshot->jobs.empty()) return fail(ErrorCode::not_found, fmt::format("no job {}", job));
  return snapshot->jobs.front();
}

Result<JobInfo> RealCluster::wait_for_end(JobId job) {
  Result<JobInfo> last = fail(ErrorCode::timed_out, "never looked at");
  wait_until([&] {
    last = look(job);
    if (!last) return true;
    const auto state = parse_job_state(last->state, last->flags);
    return state && is_terminal(*state) && !state->has(JobFlag::completing);
  });
  return last;
}

void RealCluster::kill_child(int signal) {
  const pid_t pid = child_pid();
  ASSERT_GT(pid, 0);
  ::kill(pid, signal);
  if (signal == SIGKILL) {
    ASSERT_TRUE(wait_until([pid] { return child_pid() != pid; }));
  }
}

}  // namespace sickbay::slurm
