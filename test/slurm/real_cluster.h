// SPDX-License-Identifier: Apache-2.0
// A real cluster under test: the lab this program runs in, and waiting for what it does.
//
// The program is started inside a lab's controller host (test/slurm/in_lab.sh), so SLURM_CONF names the
// lab's slurm.conf.  Nothing here sleeps for a fixed time: conditions are looked at every 50 ms up to a
// limit.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/net/asio_loop.h"
#include "adapters/slurm/slurm_manager.h"

namespace sickbay::slurm {

class RealCluster : public ::testing::Test {
 protected:
  RealCluster();
  ~RealCluster() override;

  /// A new manager, with `limit` for its calls; the old one and its child go.
  void restart_manager(std::chrono::milliseconds limit = std::chrono::seconds(30),
                       const std::string& conf = "");

  /// Starts an operation and runs the loop until its Done; timed_out after a minute.
  template <class T>
  Result<T> await(const std::function<void(Done<T>)>& start) {
    std::optional<Result<T>> outcome;
    const auto limit = loop_->at(loop_->now() + std::chrono::seconds(60), [&] { loop_->stop(); });
    start([&](Result<T> result) {
      outcome = std::move(result);
      loop_->stop();
    });
    loop_->run();
    loop_->cancel(limit);
    if (!outcome) return fail(ErrorCode::internal, "the test waited in vain");
    return std::move(*outcome);
  }
  /// Runs the loop until `met` holds; false after `limit`.
  bool wait_until(const std::function<bool()>& met, std::chrono::seconds limit = std::chrono::seconds(180));
  void run_loop_for(std::chrono::milliseconds time);

  VerificationOrder verification(const std::string& node, const std::string& script);
  /// P of the test's user, in a folder of its own, with nothing special.
  ProgramOrder program(const std::string& script);
  std::string text_of(const std::string& path) const;
  JobHandle handle_of(const Submitted& job, const std::string& key) const;
  std::string fresh_key();

  Result<Submitted> submit(const VerificationOrder& order);
  Result<std::vector<JobInfo>> find(const std::string& key);
  Result<Snapshot> refresh(std::vector<JobId> jobs);
  Result<bool> release(const JobHandle& job);
  Result<bool> cancel(const JobHandle& job);
  Result<bool> drain(const std::string& node, const std::string& reason);
  Result<bool> undrain(const std::string& node, const std::string& prefix);
  Result<JobInfo> look(JobId job);
  Result<JobInfo> wait_for_end(JobId job);

  /// The manager's child process; 0 where it has none.
  static pid_t child_pid();
  /// Signals it, and waits until a killed one is reaped.
  void kill_child(int signal);

  std::unique_ptr<AsioLoop> loop_;
  std::unique_ptr<ProcessRunner> runner_;
  std::unique_ptr<ResourceManager> cluster_;
  Owner account_;
};

/// The wire name of a result's error code, "ok" where there is none.
template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "ok" : std::string(error_row(result.error().code).name);
}

}  // namespace sickbay::slurm
