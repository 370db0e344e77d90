// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/slurm_manager.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include "adapters/slurm/call_lane.h"
#include "adapters/slurm/child_calls.h"

namespace sickbay::slurm {
namespace {

constexpr std::size_t kUpdatesPerSecond = 10;
constexpr std::size_t kProcessesAtOnce = 3;  // with the child's one call: four
constexpr std::size_t kChildQueue = 1000, kProcessQueue = 200;

Json handle_json(const JobHandle& job) {
  return Json::object(
      {{"job_id", job.job_id}, {"uid", job.uid}, {"submit", to_micros(job.submit)}, {"key", job.key}});
}

std::vector<JobInfo> jobs_from(const Json& array) {
  std::vector<JobInfo> jobs;
  for (const Json& job : array.items()) jobs.push_back(JobInfo::from_json(job));
  return jobs;
}

class SlurmCluster final : public ResourceManager {
 public:
  SlurmCluster(Loop& loop, ProcessRunner& runner, SlurmOptions options)
      : loop_(loop),
        runner_(runner),
        options_(std::move(options)),
        calls_(
            loop,
            {options_.child_path, {"SLURM_CONF=" + options_.slurm_conf}, options_.call_limit, options_.log},
            counts_) {}
  ~SlurmCluster() override { *alive_ = false; }

  void submit_program(ProgramOrder order, Done<Submitted> done) override;
  void submit_verification(VerificationOrder order, Done<Submitted> done) override;
  void find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) override;
  void release(JobHandle job, Done<bool> done) override {
    yes_no("release", handle_json(job), std::move(done));
  }
  void cancel(JobHandle job, Done<bool> done) override {
    yes_no("cancel", handle_json(job), std::move(done));
  }
  void refresh(RefreshOrder order, Done<Snapshot> done) override;
  void history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) override;
  void drain(std::string node, std::string reason, Done<bool> done) override {
    yes_no("drain", Json::object({{"node", node}, {"reason", reason}}), std::move(done));
  }
  void undrain(std::string node, std::string own_reason_prefix, Done<bool> done) override {
    yes_no("undrain", Json::object({{"node", node}, {"prefix", own_reason_prefix}}), std::move(done));
  }
  std::vector<CallCount> calls() const override { return counts_.list(); }

 private:
  enum class Kind { look, update };
  /// Asks the child, in its turn; `then` runs later, never from inside.
  void ask(Kind kind, std::string call, Json args, std::function<void(Result<Json>)> then);
  void yes_no(std::string call, Json args, Done<bool> done);
  Snapshot snapshot_from(const Json& json);

  Loop& loop_;
  ProcessRunner& runner_;
  SlurmOptions options_;
  CallCounts counts_;
  ChildCalls calls_;
  UpdateRate rate_{kUpdatesPerSecond};
  CallLane child_lane_{loop_, rate_, 1, kChildQueue};
  CallLane process_lane_{loop_, rate_, kProcessesAtOnce, kProcessQueue};
  /// What the last snapshot said, so that a new child's full look gives differences all the same.
  std::map<std::string, NodeInfo, std::less<>> nodes_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

void SlurmCluster::ask(Kind kind, std::string call, Json args, std::function<void(Result<Json>)> then) {
  // Answers are posted: a Done must not run inside the call that asked, nor after we are gone.
  const auto answer = [this, alive = alive_, then = std::move(then)](Result<Json> outcome) {
    loop_.post([alive, then, outcome = std::move(outcome)]() mutable {
      if (*alive) then(std::move(outcome));
    });
  };
  const bool queued = child_lane_.submit({kind == Kind::update,
                                          [this, kind, call, args = std::move(args), answer]() mutable {
                                            calls_.call(call, std::move(args), kind == Kind::update,
                                                        [this, answer](Result<Json> outcome) {
                                                          answer(std::move(outcome));
                                                          child_lane_.finished();
                                                        });
                                          },
                                          [answer](Error error) { answer(fail(std::move(error))); }});
  if (!queued)
    answer(fail(Error(ErrorCode::busy, fmt::format("{} calls to Slurm wait already", child_lane_.waiting()))
                    .because("slurmctld answers more slowly than Sickbay asks")));
}

void SlurmCluster::yes_no(std::string call, Json args, Done<bool> done) {
  ask(Kind::update, std::move(call), std::move(args), [done = std::move(done)](Result<Json> outcome) {
    if (!outcome) return done(fail(std::move(outcome.error())));
    done(outcome->as_bool());
  });
}

Snapshot SlurmCluster::snapshot_from(const Json& json) {
  Snapshot snapshot;
  snapshot.controller_boot = from_micros(json["controller_boot"].as_int());
  snapshot.jobs = jobs_from(json["jobs"]);
  for (const Json& id : json["absent"].items()) snapshot.absent.push_back(static_cast<JobId>(id.as_int()));
  snapshot.gone_nodes = json["gone"].as_strings();
  std::map<std::string, NodeInfo, std::less<>> all;
  const bool full = json["full"].as_bool();
  for (const Json& item : json["nodes"].items()) {
    NodeInfo node = NodeInfo::from_json(item);
    if (full) all.emplace(node.name, node);
    NodeInfo& known = nodes_[node.name];
    if (known == node) continue;
    known = node;
    snapshot.nodes.push_back(std::move(node));
  }
  if (full)
    for (const auto& [name, node] : nodes_)
      if (!all.contains(name)) snapshot.gone_nodes.push_back(name);
  for (const std::string& name : snapshot.gone_nodes) nodes_.erase(name);
  return snapshot;
}

void SlurmCluster::refresh(RefreshOrder order, Done<Snapshot> done) {
  Json::Array ids;
  for (const JobId id : order.jobs) ids.push_back(id);
  ask(Kind::look, "refresh", Json::object({{"jobs", std::move(ids)}, {"nodes", order.nodes}}),
      [this, done = std::move(done)](Result<Json> outcome) {
        if (!outcome) return done(fail(std::move(outcome.error())));
        done(snapshot_from(*outcome));
      });
}

void SlurmCluster::submit_verification(VerificationOrder order, Done<Submitted> done) {
  const Owner& account = options_.service_account;
  const std::string out = order.output_dir.empty() ? "/tmp" : order.output_dir;
  Json args = Json::object({{"key", order.key},
                            {"uid", account.uid},
                            {"gid", account.gid},
                            {"name", "sickbay-verify"},
                            {"nodes", order.nodes},
                            {"script", order.script},
                            {"environment", order.environment},
                            {"time_limit_s", order.time_limit.count()},
                            {"partition", order.partition},
                            {"qos", order.qos},
                            {"account", order.account},
                            {"work_dir", out},
                            {"std_out", out + "/verify-%j.out"},
                            {"std_err", out + "/verify-%j.err"}});
  ask(Kind::update, "submit_verification", std::move(args), [done = std::move(done)](Result<Json> outcome) {
    if (!outcome) return done(fail(std::move(outcome.error())));
    done(Submitted{
        static_cast<JobId>((*outcome)["job_id"].as_int()), from_micros((*outcome)["submit"].as_int()), {}});
  });
}

void SlurmCluster::find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) {
  ask(Kind::look, "find", Json::object({{"key", key}, {"uid", uid}}),
      [done = std::move(done)](Result<Json> outcome) {
        if (!outcome) return done(fail(std::move(outcome.error())));
        done(jobs_from(*outcome));
      });
}

void SlurmCluster::submit_program(ProgramOrder, Done<Submitted> done) {
  loop_.post([done = std::move(done)] { done(fail(ErrorCode::internal, "not there yet")); });
}

void SlurmCluster::history(std::vector<JobId>, Done<std::vector<JobInfo>> done) {
  loop_.post([done = std::move(done)] { done(std::vector<JobInfo>()); });
}

/// Where sickbay-slurm is: beside the running program (a build folder), else in libexec beside its bin.
std::string child_beside_us() {
  std::array<char, 4096> buffer;
  const ssize_t n = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  const std::string self = n > 0 ? std::string(buffer.data(), static_cast<std::size_t>(n)) : std::string();
  const std::string folder = self.substr(0, self.rfind('/'));
  const std::string beside = folder + "/sickbay-slurm";
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  return folder + "/../libexec/sickbay/sickbay-slurm";
}

}  // namespace

Result<std::unique_ptr<ResourceManager>> make_slurm_manager(Loop& loop, ProcessRunner& runner,
                                                            SlurmOptions options) {
  if (options.child_path.empty()) options.child_path = child_beside_us();
  if (::access(options.child_path.c_str(), X_OK) != 0)
    return fail(Error(ErrorCode::missing_program, fmt::format("there is no program {}", options.child_path))
                    .remedied_by("sickbay-slurm belongs beside sickbayd; install Sickbay anew"));
  if (::access(options.slurm_conf.c_str(), R_OK) != 0)
    return fail(Error(ErrorCode::not_found, fmt::format("cannot read {}", options.slurm_conf))
                    .remedied_by("name the cluster's slurm.conf in sickbay.json, or in SLURM_CONF"));
  return std::unique_ptr<ResourceManager>(std::make_unique<SlurmCluster>(loop, runner, std::move(options)));
}

}  // namespace sickbay::slurm
