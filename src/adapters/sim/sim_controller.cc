// SPDX-License-Identifier: Apache-2.0
// slurmctld as its callers see it: calls and their answers.
//
// A call takes effect at the moment of its answer, which is one moment in between like any other to a caller
// that waits; only lost answers show the difference.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"
#include "base/hostlist.h"
#include "base/text.h"

namespace sickbay::sim {

SimCluster::SimCluster(SimLoop& loop, SimOptions options)
    : loop_(loop),
      options_(std::move(options)),
      random_(options_.seed),
      next_stranger_(2 * kFirstBackgroundId),
      next_id_(options_.first_job_id),
      controller_boot_(stamp(loop.now())) {
  SB_CHECK(!options_.partitions.empty(), "a cluster has a partition");
  idle_.resize(options_.partitions.size());
  for (std::size_t p = 0; p < options_.partitions.size(); ++p) {
    const auto names = expand_hostlist(options_.partitions[p].nodes);
    SB_CHECK(names, "the nodes of a partition are a hostlist");
    auto& members = partition_nodes_.emplace_back();
    for (const std::string& name : *names) {
      const auto [found, is_new] = node_index_.try_emplace(name, static_cast<NodeIndex>(nodes_.size()));
      if (is_new) {
        nodes_.emplace_back().name = name;
        nodes_.back().boot = controller_boot_;
        changed_nodes_.push_back(found->second);
      }
      nodes_[found->second].partitions.push_back(p);
      members.push_back(found->second);
      idle_[p].insert(found->second);
    }
    std::sort(members.begin(), members.end());
  }
  for (const auto& [feature, list] : options_.features) {
    const auto names = expand_hostlist(list);
    SB_CHECK(names, "the nodes of a feature are a hostlist");
    for (const std::string& name : *names) {
      std::string& features = nodes_[index_of(name)].features;
      features += (features.empty() ? "" : ",") + feature;
    }
  }
}

SimCluster::~SimCluster() = default;

// --- calls ---------------------------------------------------------------------------------------------

void SimCluster::submit_program(ProgramOrder order, Done<Submitted> done) {
  answer<Submitted>("submit_program", std::move(done),
                    [this, order = std::move(order)] { return accept_program(order); });
}

void SimCluster::submit_verification(VerificationOrder order, Done<Submitted> done) {
  answer<Submitted>("submit_verification", std::move(done),
                    [this, order = std::move(order)] { return accept_verification(order); });
}

void SimCluster::find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) {
  answer<std::vector<JobInfo>>("find", std::move(done), [this, key = std::move(key), uid] {
    return Result<std::vector<JobInfo>>(jobs_with_key(key, uid));
  });
}

void SimCluster::release(ReleaseOrder order, Done<bool> done) {
  answer<bool>("release", std::move(done), [this, order = std::move(order)]() -> Result<bool> {
    const auto job = job_of(order.job);
    if (!job) return fail(job.error());
    if (!(*job)->info.held) return false;
    (*job)->info.held = false;
    (*job)->info.reason = "None";
    (*job)->released = loop_.now();
    if (order.first) (*job)->priority = kTopPriority, priorities_ = true;
    queue_.insert(order.job.job_id);
    schedule_soon();
    return true;
  });
}

void SimCluster::cancel(JobHandle handle, Done<bool> done) {
  answer<bool>("cancel", std::move(done), [this, handle = std::move(handle)]() -> Result<bool> {
    if (!jobs_.count(handle.job_id)) return false;
    const auto job = job_of(handle);
    if (!job) return fail(job.error());
    return end_by_hand(handle.job_id);
  });
}

void SimCluster::refresh(RefreshOrder order, Done<Snapshot> done) {
  // What a caller that died meanwhile is not told any more, the next one is told.
  answer<Snapshot>("refresh", std::move(done), [this, caller = callers_, order = std::move(order)] {
    return Result<Snapshot>(caller == callers_ ? look(order) : Snapshot());
  });
}

void SimCluster::history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) {
  answer<std::vector<JobInfo>>("history", std::move(done), [this, jobs = std::move(jobs)] {
    std::vector<JobInfo> found;
    for (const JobId job_id : jobs) {
      // Of an array all tasks, and nothing twice.
      const auto array = arrays_.find(job_id);
      for (const JobId of : array == arrays_.end() ? std::set<JobId>{job_id} : array->second)
        if (const auto records = accounted_.find(of); records != accounted_.end())
          found.push_back(records->second.back().info);
    }
    return Result<std::vector<JobInfo>>(std::move(found));
  });
}

void SimCluster::drain(std::string name, std::string reason, Done<bool> done) {
  answer<bool>(
      "drain", std::move(done), [this, name = std::move(name), reason = std::move(reason)]() -> Result<bool> {
        const auto found = node_index_.find(name);
        if (found == node_index_.end())
          return fail(ErrorCode::refused_by_slurm, fmt::format("Invalid node name specified: {}", name));
        Node& node = nodes_[found->second];
        if (node.drain && node.reason == reason) return false;
        if (!node.reason.empty() && (node.drain || node.down) && !node.reason.starts_with("sickbay:"))
          return fail(Error(ErrorCode::conflict, fmt::format("node {} has another reason", name))
                          .because(node.reason));
        node.drain = true;
        node.drained_at = loop_.now();
        node.reason = reason;
        node.reason_uid = 0;
        node_changed(found->second);
        return true;
      });
}

void SimCluster::set_down(std::string name, std::string reason, Done<bool> done) {
  answer<bool>("set_down", std::move(done),
               [this, name = std::move(name), reason = std::move(reason)]() -> Result<bool> {
                 const auto found = node_index_.find(name);
                 if (found == node_index_.end())
                   return fail(ErrorCode::not_found, fmt::format("Invalid node name specified: {}", name));
                 Node& node = nodes_[found->second];
                 if (node.down) return false;
                 set_down(name, node.reason.empty() ? reason : node.reason);
                 return true;
               });
}

void SimCluster::undrain(std::string name, std::string prefix, Done<bool> done) {
  answer<bool>(
      "undrain", std::move(done),
      [this, name = std::move(name), prefix = std::move(prefix)]() -> Result<bool> {
        const auto found = node_index_.find(name);
        if (found == node_index_.end())
          return fail(ErrorCode::refused_by_slurm, fmt::format("Invalid node name specified: {}", name));
        Node& node = nodes_[found->second];
        if (!node.drain) return false;
        if (!node.reason.starts_with(prefix))
          return fail(Error(ErrorCode::conflict, fmt::format("the drain of node {} is not ours", name))
                          .because(node.reason));
        node.drain = false;
        if (!node.down) node.reason.clear();
        node_changed(found->second);
        schedule_soon();
        return true;
      });
}

void SimCluster::reboot(RebootOrder order, Done<bool> done) {
  answer<bool>("reboot", std::move(done), [this, order = std::move(order)]() -> Result<bool> {
    const auto found = node_index_.find(order.node);
    if (found == node_index_.end())
      return fail(ErrorCode::not_found, fmt::format("Invalid node name specified: {}", order.node));
    const NodeIndex index = found->second;
    Node& node = nodes_[index];
    if (booted_since(node.boot, order.boot) || node.reboot_issued) return false;
    if (!node.drain || !node.reason.starts_with(order.own_reason_prefix))
      return fail(Error(ErrorCode::conflict, fmt::format("the drain of node {} is not ours", order.node))
                      .because(node.reason));
    if (node.down || node.not_responding || node.job != 0)
      return fail(ErrorCode::busy, fmt::format("node {} is not idle", order.node));
    if (!options_.reboots) return fail(ErrorCode::refused_by_slurm, "RebootProgram isn't defined");
    // As slurmctld shows it: DOWN for the time, and its reason is lengthened.
    node.down = node.reboot_issued = true;
    node.reason = order.reason + " : reboot issued";
    node_changed(index);
    loop_.at(loop_.now() + options_.boot_time, [this, index] {
      Node& booted = nodes_[index];
      if (!booted.reboot_issued) return;
      booted.down = booted.reboot_issued = false;
      // Slurm's stamps are whole seconds.
      booted.boot = from_unix_seconds(to_unix_seconds(loop_.now()));
      node_changed(index);
      schedule_soon();
    });
    return true;
  });
}

void SimCluster::waiting(Done<std::vector<WaitingJobs>> done) {
  answer<std::vector<WaitingJobs>>("waiting", std::move(done), [this] {
    std::map<std::pair<std::string, std::string>, std::size_t> found;
    for (const JobId job_id : queue_) {
      const Job& job = *jobs_.at(job_id);
      // (Our own patrol is no demand of users.)
      if (!job.info.held && !parse_patrol_run(job.key))
        ++found[{options_.partitions[job.partition].name, job.info.reason}];
    }
    std::vector<WaitingJobs> list;
    for (const auto& [where, jobs] : found) list.push_back({where.first, where.second, jobs});
    return Result<std::vector<WaitingJobs>>(std::move(list));
  });
}

void SimCluster::dependents(DependentsOrder order, Done<std::vector<Dependent>> done) {
  answer<std::vector<Dependent>>("dependents", std::move(done), [this, order = std::move(order)] {
    return Result<std::vector<Dependent>>(dependents_of(order));
  });
}

void SimCluster::explain(JobId job_id, Done<PendingFacts> done) {
  answer<PendingFacts>("explain", std::move(done), [this, job_id] { return pending_facts(job_id); });
}

void SimCluster::slurm_user(Done<std::uint32_t> done) {
  answer<std::uint32_t>("configuration", std::move(done), []() -> Result<std::uint32_t> { return 0U; });
}

std::vector<CallCount> SimCluster::calls() const {
  std::vector<CallCount> all;
  for (const auto& [call, count] : calls_) all.push_back(count);
  return all;
}

void SimCluster::fail_calls(const std::string& call, SimCallFault fault, int times) {
  call_faults_[call].insert(call_faults_[call].end(), static_cast<std::size_t>(times), fault);
}

// --- looking -------------------------------------------------------------------------------------------

Result<SimCluster::Job*> SimCluster::job_of(const JobHandle& handle) {
  const auto found = jobs_.find(handle.job_id);
  if (found == jobs_.end())
    return fail(ErrorCode::not_found, fmt::format("Slurm has no job {}", handle.job_id));
  Job& job = *found->second;
  // (A requeue changes the time of submission.)
  const bool same = handle.key.empty() ? job.info.submit == handle.submit || job.info.restart_cnt > 0
                                       : job.key == handle.key;
  if (!same || job.info.uid != handle.uid)
    return fail(Error(ErrorCode::not_found,
                      fmt::format("job {} is not the one with key {}", handle.job_id, handle.key))
                    .because("another job has that id"));
  return &job;
}

std::vector<JobInfo> SimCluster::jobs_with_key(const std::string& key, std::uint32_t uid) const {
  std::vector<JobInfo> found;
  if (const auto ids = by_key_.find(key); ids != by_key_.end())
    for (const JobId job_id : ids->second)
      if (const JobInfo& info = jobs_.at(job_id)->info; info.uid == uid) found.push_back(info);
  if (!found.empty()) return found;
  if (const auto ids = accounted_by_key_.find(key); ids != accounted_by_key_.end())
    for (const JobId job_id : ids->second)
      if (const Record& record = accounted_.at(job_id).back(); record.info.uid == uid && record.key == key)
        found.push_back(record.info);
  return found;
}

void SimCluster::drop_answers() {
  ++callers_;
  changed_nodes_.clear();
  for (NodeIndex index = 0; index < nodes_.size(); ++index) {
    nodes_[index].told = false;
    nodes_[index].changed = true;
    changed_nodes_.push_back(index);
  }
}

// While a job completes slurmctld shows those of its nodes that it still waits for: one that is DOWN is gone
// from the list, and there again when the job is through (tried on 22.05).
JobInfo SimCluster::shown(const Job& job) const {
  JobInfo info = job.info;
  if (!job.completing() || job.on.empty()) return info;
  std::vector<std::string> names;
  for (const NodeIndex node : job.on)
    if (!nodes_[node].down) names.push_back(nodes_[node].name);
  info.nodes = compress_hostlist(names);
  info.num_nodes = static_cast<std::uint32_t>(names.size());
  return info;
}

void SimCluster::add_begun(Snapshot& seen) {
  for (const auto& [job_id, job] : jobs_) {
    if (job->info.start == kNoTime || job->pending() || job->completing()) continue;
    const TimePoint till = job->ended() ? job->info.end : loop_.now();
    const auto lived = std::chrono::floor<std::chrono::seconds>(till - job->info.start);
    if (told_lives_.is_news(job_id, job->info.start, job->ended(), lived)) seen.begun.push_back(job->info);
  }
  told_lives_.end_look();
}

Snapshot SimCluster::look(const RefreshOrder& order) {
  Snapshot seen;
  seen.controller_boot = controller_boot_;
  for (const JobId job_id : order.jobs) {
    const auto found = jobs_.find(job_id);
    if (found == jobs_.end())
      seen.absent.push_back(job_id);
    else
      seen.jobs.push_back(shown(*found->second));
  }
  for (const JobId array : order.arrays)
    if (const auto ids = arrays_.find(array); ids != arrays_.end())
      for (const JobId job_id : ids->second)
        if (const auto found = jobs_.find(job_id); found != jobs_.end())
          seen.tasks.push_back(found->second->info);
  if (order.begun) add_begun(seen);
  if (!order.nodes) return seen;
  std::sort(changed_nodes_.begin(), changed_nodes_.end());
  for (const NodeIndex index : changed_nodes_) {
    Node& node = nodes_[index];
    node.changed = false;
    NodeInfo info = info_of(index);
    // What changed and changed back in between is no difference.
    if (node.told && info == node.last_told) continue;
    node.told = true;
    seen.nodes.push_back(info);
    node.last_told = std::move(info);
  }
  changed_nodes_.clear();
  return seen;
}

NodeInfo SimCluster::info_of(NodeIndex index) const {
  const Node& node = nodes_[index];
  NodeInfo info;
  info.name = node.name;
  info.state = node.down ? "DOWN" : node.job != 0 ? "ALLOCATED" : "IDLE";
  if (node.drain) info.flags.push_back("DRAIN");
  if (node.not_responding) info.flags.push_back("NOT_RESPONDING");
  if (node.fail) info.flags.push_back("FAIL");
  if (node.reboot_issued) info.flags.push_back("REBOOT_ISSUED");
  if (reservation_of(index, loop_.now(), loop_.now())) info.flags.push_back("RESERVED");
  info.cpus = options_.cpus;
  info.address = info.name;  // as Slurm has it where slurm.conf names none
  info.port = 6818;
  for (const auto p : node.partitions) info.partitions.push_back(options_.partitions[p].name);
  info.reason = node.reason;
  info.reason_uid = node.reason_uid;
  info.boot_time = node.boot;
  return info;
}

std::optional<JobInfo> SimCluster::job(JobId job_id) const {
  if (const auto found = jobs_.find(job_id); found != jobs_.end()) return found->second->info;
  if (const auto found = accounted_.find(job_id); found != accounted_.end()) return found->second.back().info;
  return std::nullopt;
}

std::pair<int, int> SimCluster::derived_exit(JobId job_id) const {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end()) return {0, 0};
  return {found->second->derived_exit_code, found->second->derived_exit_signal};
}

std::vector<JobInfo> SimCluster::keyed_jobs() const {
  std::map<JobId, JobInfo> all;
  for (const auto& [job_id, records] : accounted_)
    if (!records.back().key.empty()) all[job_id] = records.back().info;
  for (const auto& [job_id, job] : jobs_)
    if (!job->key.empty()) all[job_id] = job->info;
  std::vector<JobInfo> list;
  for (auto& [job_id, info] : all) list.push_back(std::move(info));
  return list;
}

std::optional<NodeInfo> SimCluster::node(const std::string& name) const {
  const auto found = node_index_.find(name);
  if (found == node_index_.end()) return std::nullopt;
  return info_of(found->second);
}

std::vector<std::string> SimCluster::node_names() const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) names.push_back(node.name);
  return names;
}

std::optional<std::string> SimCluster::read_output(const std::string& path) const {
  const auto found = outputs_.find(path);
  if (found == outputs_.end()) return std::nullopt;
  return found->second;
}

std::size_t SimCluster::live_jobs() const {
  const auto live =
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) { return !entry.second->ended(); });
  return static_cast<std::size_t>(live) + (background_ ? background_->load.live_jobs : 0);
}

}  // namespace sickbay::sim
