// SPDX-License-Identifier: Apache-2.0
// ContractTest: what the parts of the contract have in common: a cluster, calls that are waited for, jobs
// that go.
#pragma once
#include <gtest/gtest.h>

#include <optional>

#include "test/contract/contract_cluster.h"

namespace sickbay::contract {

/// A program; the "#SIM" line says to the simulator what the rest says to bash.
inline const char* const kRunsUntilKilled = "#!/bin/bash\n#SIM hang\nexec sleep 3600\n";

class ContractTest : public testing::Test {
 protected:
  /// `answer`: how long a call may take; `bound`: until(), where it is not told otherwise.  Both in the
  /// cluster's time.
  explicit ContractTest(std::chrono::milliseconds answer, std::chrono::milliseconds bound)
      : answer_limit_(answer), bound_(bound) {}
  void SetUp() override { cluster = make_contract_cluster(); }
  void TearDown() override {
    for (const auto& handle : handles)
      (void)ask<bool>([&](auto done) { manager().cancel(handle, std::move(done)); });
  }

  ResourceManager& manager() { return cluster->manager(); }

  /// Makes a call and waits for its answer.
  template <class T, class Call>
  Result<T> ask(Call call) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    auto at_once = std::make_shared<bool>(true);
    call([answer, at_once](Result<T> result) {
      EXPECT_FALSE(*at_once) << "answered from inside the call";
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(result);
    });
    *at_once = false;
    if (!cluster->wait([&] { return answer->has_value(); }, answer_limit_))
      return fail(ErrorCode::internal, "the call never answered");
    return std::move(**answer);
  }

  /// What the cluster's user submits.
  Submission submission(const std::string& script, std::vector<std::string> options) {
    Submission p;
    p.owner = cluster->user();
    p.script = script;
    p.script_name = "program.sh";
    p.sbatch_options = std::move(options);
    p.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C"};
    p.work_dir = cluster->folder();
    return p;
  }
  /// The job as a refresh shows it; an empty one where slurmctld has none.
  JobInfo seen(JobId job) {
    const auto look = ask<Snapshot>([&](auto done) {
      manager().refresh({.jobs = {job}, .arrays = {}, .nodes = false}, std::move(done));
    });
    return look && !look->jobs.empty() ? look->jobs.front() : JobInfo();
  }

  /// Asks again and again, at most every quarter of a second, until it holds.
  bool until(const std::function<bool()>& holds) { return until(holds, bound_); }
  bool until(const std::function<bool()>& holds, std::chrono::milliseconds bound) {
    const TimePoint limit = cluster->loop().now() + bound;
    while (!holds()) {
      if (cluster->loop().now() >= limit) return false;
      (void)cluster->wait([] { return false; }, std::chrono::milliseconds(250));
    }
    return true;
  }

  std::unique_ptr<ContractCluster> cluster;
  std::vector<JobHandle> handles;  ///< cancelled when the test ends

 private:
  std::chrono::milliseconds answer_limit_, bound_;
};

}  // namespace sickbay::contract
