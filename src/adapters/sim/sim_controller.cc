// SPDX-License-Identifier: Apache-2.0
// slurmctld as its callers see it: calls, their answers, and what a restart forgets.
//
// A call takes effect at the moment of its answer, which is one moment in between like any other to a caller
// that waits; only lost answers show the difference.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"
#include "base/hostlist.h"
#include "base/text.h"

namespace sickbay::sim {
namespace {

/// Slurm's stamps are whole seconds.
TimePoint stamp(TimePoint now) { return from_unix_seconds(to_unix_seconds(now)); }

std::string with_job_id(std::string pattern, JobId job_id) {
  for (auto at = pattern.find("%j"); at != std::string::npos; at = pattern.find("%j"))
    pattern.replace(at, 2, fmt::format("{}", job_id));
  return pattern;
}

tl::unexpected<Error> refused(std::string_view words) {
  return fail(ErrorCode::refused_by_slurm,
              fmt::format("sbatch: error: Batch job submission failed: {}", words));
}

tl::unexpected<Error> away() {
  return fail(Error(ErrorCode::slurm_away, "Unable to contact slurm controller (connect failure)"));
}

}  // namespace

SimCluster::SimCluster(SimLoop& loop, SimOptions options)
    : loop_(loop),
      options_(std::move(options)),
      random_(options_.seed),
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
}

SimCluster::~SimCluster() = default;

// --- calls ---------------------------------------------------------------------------------------------

template <class T>
void SimCluster::answer(const char* call, Done<T> done, std::function<Result<T>()> effect) {
  CallCount& count = calls_[call];
  count.call = call;
  ++count.count;
  auto& planned = call_faults_[call];
  std::optional<SimCallFault> fault;
  if (!planned.empty()) {
    fault = planned.front();
    planned.pop_front();
  } else if (lost_requests_ > 0 && chance(lost_requests_)) {
    fault = SimCallFault::lost_request;
  } else if (lost_answers_ > 0 && chance(lost_answers_)) {
    fault = SimCallFault::lost_answer;
  }
  const auto give = [this, call, caller = callers_, done = std::move(done)](Result<T> result) {
    if (!result) ++calls_[call].errors;
    if (caller == callers_) done(std::move(result));
  };
  const auto took = [&](Micros time) {
    count.seconds += std::chrono::duration<double>(time).count();
    return loop_.now() + time;
  };
  if (away_) {
    loop_.at(took(options_.away_time), [give] { give(away()); });
    return;
  }
  if (!fault) {
    loop_.at(took(options_.answer_time),
             [this, give, effect = std::move(effect)] { give(away_ ? Result<T>(away()) : effect()); });
    return;
  }
  if (*fault == SimCallFault::lost_answer)
    loop_.at(loop_.now() + options_.answer_time, [this, effect = std::move(effect)] {
      if (!away_) (void)effect();
    });
  loop_.at(took(options_.call_limit), [give, call] {
    give(fail(ErrorCode::timed_out, fmt::format("slurmctld gave no answer to {} in time", call)));
  });
}

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

void SimCluster::release(JobHandle handle, Done<bool> done) {
  answer<bool>("release", std::move(done), [this, handle = std::move(handle)]() -> Result<bool> {
    const auto job = job_of(handle);
    if (!job) return fail(job.error());
    if (!(*job)->info.held) return false;
    (*job)->info.held = false;
    (*job)->info.reason = "None";
    (*job)->released = loop_.now();
    queue_.insert(handle.job_id);
    schedule_soon();
    return true;
  });
}

void SimCluster::cancel(JobHandle handle, Done<bool> done) {
  answer<bool>("cancel", std::move(done), [this, handle = std::move(handle)]() -> Result<bool> {
    if (!jobs_.count(handle.job_id)) return false;
    const auto job = job_of(handle);
    if (!job) return fail(job.error());
    return scancel(handle.job_id);
  });
}

void SimCluster::refresh(RefreshOrder order, Done<Snapshot> done) {
  answer<Snapshot>("refresh", std::move(done),
                   [this, order = std::move(order)] { return Result<Snapshot>(look(order)); });
}

void SimCluster::history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) {
  answer<std::vector<JobInfo>>("history", std::move(done), [this, jobs = std::move(jobs)] {
    std::vector<JobInfo> found;
    for (const JobId job_id : jobs) {
      const auto records = accounted_.find(job_id);
      if (records != accounted_.end()) found.push_back(records->second.back().info);
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
        if (!node.reason.empty() && (node.drain || node.down) && node.reason != reason)
          return fail(Error(ErrorCode::conflict, fmt::format("node {} has another reason", name))
                          .because(node.reason));
        node.drain = true;
        node.reason = reason;
        node.reason_uid = 0;
        node_changed(found->second);
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
      booted.boot = from_unix_seconds(to_unix_seconds(loop_.now()));
      node_changed(index);
      schedule_soon();
    });
    return true;
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

// --- submissions ---------------------------------------------------------------------------------------

Result<Submitted> SimCluster::accept_program(const ProgramOrder& order) {
  auto request = read_request(order.submission);
  if (!request) return fail(request.error());
  const auto dropped = request->not_for_reruns;
  request->nodelist.clear();
  request->exclude = hosts_in_either(request->exclude, sorted_hosts(order.exclude));
  request->hold = true;
  request->requeue = false;
  request->comment += (request->comment.empty() ? "sickbay:" : " sickbay:") + order.key;
  request->output = order.output_dir + "/slurm-%j.out";
  request->error = order.output_dir + "/slurm-%j.err";
  auto job = std::make_unique<Job>();
  job->info.uid = order.submission.owner.uid;
  job->info.work_dir = order.work_dir.empty() ? order.submission.work_dir : order.work_dir;
  job->script = order.submission.script;
  job->run_number = order.run_number;
  auto submitted = accept(std::move(*request), std::move(job));
  if (submitted) submitted->dropped = dropped;
  return submitted;
}

Result<Submitted> SimCluster::accept_verification(const VerificationOrder& order) {
  SimRequest request;
  request.name = "sickbay-verify";
  request.partition = order.partition;
  request.comment = "sickbay:" + order.key;
  request.output = order.output_dir + "/verify-%j.out";
  request.error = order.output_dir + "/verify-%j.err";
  request.nodelist = sorted_hosts(order.nodes);
  request.nodes = static_cast<std::uint32_t>(request.nodelist.size());
  request.time_limit_s = (order.time_limit.count() + 59) / 60 * 60;
  request.requeue = false;
  request.hold = true;
  auto job = std::make_unique<Job>();
  job->verification = true;
  job->script = order.script;
  job->info.work_dir = order.output_dir;
  return accept(std::move(request), std::move(job));
}

Result<Submitted> SimCluster::sbatch(const Submission& submission) {
  if (away_) return away();
  auto request = read_request(submission);
  if (!request) return fail(request.error());
  auto job = std::make_unique<Job>();
  job->info.uid = submission.owner.uid;
  job->info.work_dir = submission.work_dir;
  job->script = submission.script;
  return accept(std::move(*request), std::move(job));
}

Result<Submitted> SimCluster::accept(SimRequest request, std::unique_ptr<Job> made) {
  Job& job = *made;
  JobInfo& info = job.info;
  const auto partition = std::find_if(
      options_.partitions.begin(), options_.partitions.end(),
      [&](const SimPartition& p) { return request.partition.empty() || p.name == request.partition; });
  if (partition == options_.partitions.end()) return refused("Invalid partition name specified");
  job.partition = static_cast<std::size_t>(partition - options_.partitions.begin());
  const auto& members = partition_nodes_[job.partition];
  const auto indices = [&](const std::vector<std::string>& names, std::vector<NodeIndex>& into) {
    for (const auto& name : names) {
      const auto found = node_index_.find(name);
      if (found == node_index_.end()) return false;
      into.push_back(found->second);
    }
    std::sort(into.begin(), into.end());
    return true;
  };
  if (!indices(request.exclude, job.exclude) || !indices(request.nodelist, job.only))
    return refused("Invalid node name specified");
  std::size_t eligible = members.size();
  for (const NodeIndex node : job.exclude)
    if (std::binary_search(members.begin(), members.end(), node)) --eligible;
  const std::uint32_t by_tasks = (request.tasks + options_.cpus - 1) / options_.cpus;
  info.num_nodes = std::max({request.nodes, by_tasks, static_cast<std::uint32_t>(job.only.size()), 1u});
  if (!std::includes(members.begin(), members.end(), job.only.begin(), job.only.end()))
    return refused("Requested nodes not in this partition");
  if (info.num_nodes > members.size()) return refused("Node count specification invalid");
  // A held job's exclusions are looked at when it is released.
  job.possible = info.num_nodes <= eligible;
  if (!job.possible && !request.hold) return refused("Requested node configuration is not available");

  const auto behaviour = behaviour_of_script(job.script);
  if (!behaviour) return fail(behaviour.error());
  job.behaviour = *behaviour;
  while (jobs_.count(next_id_)) ++next_id_;
  info.job_id = next_id_++;
  info.name = request.name.empty() ? "sbatch" : request.name;
  info.comment = request.comment;
  info.partition = partition->name;
  info.state = "PENDING";
  info.held = request.hold;
  info.reason = request.hold ? "JobHeldUser" : "None";
  info.submit = stamp(loop_.now());
  info.time_limit_s = request.time_limit_s.value_or(partition->max_time_s);
  info.std_out = with_job_id(request.output.empty() ? "slurm-%j.out" : request.output, info.job_id);
  if (!info.std_out.starts_with('/')) info.std_out = info.work_dir + "/" + info.std_out;
  info.std_err = request.error.empty() ? info.std_out : with_job_id(request.error, info.job_id);
  if (behaviour_of)
    if (auto chosen = behaviour_of(info, job.script)) job.behaviour = *chosen;
  job.may_requeue = request.requeue;
  job.key = key_in_comment(info.comment);
  job.submitted = loop_.now();
  if (!job.key.empty()) by_key_[job.key].insert(info.job_id);
  if (!info.held) queue_.insert(info.job_id);
  const Submitted submitted{.job_id = info.job_id, .submit = info.submit, .dropped = {}};
  jobs_[info.job_id] = std::move(made);
  tell(job);
  schedule_soon();
  return submitted;
}

// --- looking -------------------------------------------------------------------------------------------

Result<SimCluster::Job*> SimCluster::job_of(const JobHandle& handle) {
  const auto found = jobs_.find(handle.job_id);
  if (found == jobs_.end())
    return fail(ErrorCode::not_found, fmt::format("Slurm has no job {}", handle.job_id));
  Job& job = *found->second;
  const bool same = handle.key.empty() ? job.info.submit == handle.submit : job.key == handle.key;
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

Snapshot SimCluster::look(const RefreshOrder& order) {
  Snapshot seen;
  seen.controller_boot = controller_boot_;
  for (const JobId job_id : order.jobs) {
    const auto found = jobs_.find(job_id);
    if (found == jobs_.end())
      seen.absent.push_back(job_id);
    else
      seen.jobs.push_back(found->second->info);
  }
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
  if (node.reboot_issued) info.flags.push_back("REBOOT_ISSUED");
  info.cpus = options_.cpus;
  info.address = info.name;  // as Slurm has it where slurm.conf names none
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

// --- restarts ------------------------------------------------------------------------------------------

void SimCluster::stop_controller(bool killed) {
  SB_CHECK(!away_, "slurmctld is down already");
  if (killed) forget_unsaved();
  away_ = true;
}

void SimCluster::start_controller() {
  away_ = false;
  controller_boot_ = std::max(stamp(loop_.now()), controller_boot_ + std::chrono::seconds(1));
  schedule_soon();
}

void SimCluster::restart_controller(bool killed, std::chrono::milliseconds down_for) {
  stop_controller(killed);
  loop_.at(loop_.now() + down_for, [this] { start_controller(); });
}

/// State files are written every save_interval from the start on.  Simplified: what ended stays ended.
void SimCluster::forget_unsaved() {
  const Micros since_boot = loop_.now() - controller_boot_;
  const TimePoint saved = controller_boot_ + since_boot / options_.save_interval * options_.save_interval;
  for (auto entry = jobs_.begin(); entry != jobs_.end();) {
    Job& job = *entry->second;
    const bool forgotten = job.submitted > saved && !job.ended();
    const bool unreleased = !job.info.held && job.released > saved && !job.ended();
    if (forgotten || unreleased || (job.running() && job.started > saved)) {
      // slurmd ends a run that its slurmctld does not know of.
      if (job.running()) leave_nodes(job);
      job.info.state = "PENDING";
      job.info.start = job.info.end = kNoTime;
      job.info.nodes.clear();
      queue_.insert(entry->first);
    }
    if (forgotten || unreleased) queue_.erase(entry->first);
    if (unreleased && !forgotten) {
      job.info.held = true;
      job.info.reason = "JobHeldUser";
      job.released = kNoTime;
    }
    if (!forgotten) {
      ++entry;
      continue;
    }
    next_id_ = std::min(next_id_, entry->first);
    if (const auto ids = by_key_.find(job.key); ids != by_key_.end()) {
      ids->second.erase(entry->first);
      if (ids->second.empty()) by_key_.erase(ids);
    }
    entry = jobs_.erase(entry);
  }
}

}  // namespace sickbay::sim
