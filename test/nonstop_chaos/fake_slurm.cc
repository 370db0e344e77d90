// SPDX-License-Identifier: Apache-2.0
#include "test/nonstop_chaos/fake_slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/job.h"
#include "model/verbs.h"

namespace sickbay::chaos {
namespace {

constexpr std::uint32_t kCpus = 8;

int partition_of(const std::string& node) { return std::stoi(node.substr(1, node.find('n') - 1)); }

}  // namespace

FakeSlurm::FakeSlurm(int partitions, int nodes_each) {
  for (int p = 0; p < partitions; ++p) {
    of_partition_.emplace_back();
    free_.emplace_back();
    for (int n = 1; n <= nodes_each; ++n) {
      const std::string name = fmt::format("p{}n{}", p, n);
      nodes_[name] = {};
      of_partition_.back().push_back(name);
      free_.back().insert(name);
      changed_nodes.insert(name);
    }
  }
}

const FakeJob* FakeSlurm::job(JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

std::vector<std::string> FakeSlurm::free_nodes(int partition, std::size_t count,
                                               const std::set<std::string>& exclude) const {
  std::vector<std::string> found;
  for (const std::string& node : free_[static_cast<std::size_t>(partition)]) {
    if (found.size() == count) break;
    if (!exclude.contains(node)) found.push_back(node);
  }
  return found.size() == count ? found : std::vector<std::string>();
}

void FakeSlurm::own(FakeJob& job, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes) {
    FakeNode& n = nodes_.at(node);
    if (n.owner != 0) wrongs.push_back(fmt::format("{} is in {} and given to {}", node, n.owner, job.id));
    n.owner = job.id;
    free_[static_cast<std::size_t>(partition_of(node))].erase(node);
    changed_nodes.insert(node);
  }
  job.nodes.insert(job.nodes.end(), nodes.begin(), nodes.end());
  changed_jobs.insert(job.id);
}

void FakeSlurm::release(const std::string& node) {
  FakeNode& n = nodes_.at(node);
  n.owner = 0;
  if (!n.down && !n.failing && n.reserved.empty())
    free_[static_cast<std::size_t>(partition_of(node))].insert(node);
  changed_nodes.insert(node);
}

JobId FakeSlurm::start(int partition, std::size_t count, std::uint32_t uid, TimePoint now) {
  const auto nodes = free_nodes(partition, count, {});
  if (nodes.empty()) return 0;
  FakeJob& job = jobs_[++last_];
  job.id = last_;
  job.uid = uid;
  job.submit = now;
  job.partition = partition;
  job.limit = job.first_limit = 60;
  own(job, nodes);
  return job.id;
}

void FakeSlurm::end(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  for (const std::string& node : it->second.nodes) release(node);
  waiting_.erase(id);
  by_key_.erase(it->second.key);
  jobs_.erase(it);
  changed_jobs.insert(id);
}

void FakeSlurm::fail_node(const std::string& node) {
  FakeNode& n = nodes_.at(node);
  if (n.down) return;
  n.down = true;
  free_[static_cast<std::size_t>(partition_of(node))].erase(node);
  changed_nodes.insert(node);
  if (n.owner == 0) return;
  FakeJob& job = jobs_.at(n.owner);
  if (!job.key.empty() || job.nodes.size() == 1) return end(job.id);  // without its last node no job goes on
  std::erase(job.nodes, node);
  changed_jobs.insert(job.id);
  release(node);
}

void FakeSlurm::set_failing(const std::string& node, bool failing) {
  FakeNode& n = nodes_.at(node);
  n.failing = failing;
  if (n.owner == 0) release(node);
  if (failing) free_[static_cast<std::size_t>(partition_of(node))].erase(node);
  changed_nodes.insert(node);
}

void FakeSlurm::heal_node(const std::string& node) {
  FakeNode& n = nodes_.at(node);
  n.down = n.failing = false;
  if (n.owner == 0) release(node);
  changed_nodes.insert(node);
}

void FakeSlurm::schedule() {
  for (const JobId id : std::set<JobId>(waiting_)) {
    FakeJob& donor = jobs_.at(id);
    const auto nodes = free_nodes(donor.partition, donor.wants, donor.exclude);
    if (nodes.empty()) continue;
    own(donor, nodes);
    donor.running = true;
    waiting_.erase(id);
  }
}

Json FakeSlurm::set_of(const FakeJob& job) const {
  return Json::object(
      {{"nodes", job.nodes},
       {"cpus_per_node", cpu_groups_to_json({{kCpus, static_cast<std::uint32_t>(job.nodes.size())}})}});
}

Json FakeSlurm::donor_of(const FakeJob& donor) const {
  return Json::object({{"donor", donor.id},
                       {"submit", to_micros(donor.submit)},
                       {"state", donor.running ? "RUNNING" : "PENDING"},
                       {"nodes", donor.nodes}});
}

Result<Json> FakeSlurm::allocate(const Command& command, TimePoint now) {
  const Json& args = command.args;
  const std::string key = command.key.substr(0, command.key.find(':'));
  if (const auto known = by_key_.find(key); known != by_key_.end()) return donor_of(jobs_.at(known->second));
  const auto job = jobs_.find(static_cast<JobId>(args["job_id"].as_int()));
  if (job == jobs_.end() || to_micros(job->second.submit) != args["submit"].as_int())
    return fail(ErrorCode::not_found, "no such job");
  FakeJob donor;
  donor.wants = static_cast<std::uint32_t>(args["nodes"].as_int());
  for (const std::string& node : args["exclude"].as_strings()) donor.exclude.insert(node);
  for (const std::string& node : job->second.nodes) donor.exclude.insert(node);
  std::vector<std::string> nodes;
  if (args["reservation"].as_string().empty()) {
    nodes = free_nodes(job->second.partition, donor.wants, donor.exclude);
  } else {
    nodes = args["node_list"].as_strings();
    for (const std::string& node : nodes) {
      const FakeNode& n = nodes_.at(node);
      if (n.owner != 0 || n.down || n.failing || n.reserved.empty()) return fail(ErrorCode::busy, "not free");
    }
  }
  const bool immediate = args["immediate"].as_bool();
  if (nodes.empty() && immediate) return fail(ErrorCode::busy, "no nodes are free");
  for (const auto& [id, other] : jobs_)
    if (other.expands == job->first)
      wrongs.push_back(fmt::format("job {} has a second donor, {} beside {}", job->first, key, other.key));
  donor.id = ++last_;
  donor.uid = job->second.uid;
  donor.submit = now;
  donor.partition = job->second.partition;
  donor.key = key;
  donor.expands = job->first;
  donor.running = !nodes.empty();
  FakeJob& made = jobs_[donor.id] = std::move(donor);
  by_key_[key] = made.id;
  if (made.running)
    own(made, nodes);
  else
    waiting_.insert(made.id);
  changed_jobs.insert(made.id);
  return donor_of(made);
}

Result<Json> FakeSlurm::give(const Command& command) {
  const Json& args = command.args;
  const auto job = jobs_.find(static_cast<JobId>(args["job_id"].as_int()));
  const auto donor = jobs_.find(static_cast<JobId>(args["donor"].as_int()));
  const auto nodes = args["nodes"].as_strings();
  if (job == jobs_.end() || to_micros(job->second.submit) != args["submit"].as_int())
    return fail(ErrorCode::conflict, "the job does not run");
  if (donor == jobs_.end()) {
    const auto has = [&](const std::string& node) {
      return std::ranges::find(job->second.nodes, node) != job->second.nodes.end();
    };
    if (!nodes.empty() && std::ranges::all_of(nodes, has)) return set_of(job->second);
    return fail(ErrorCode::not_found, "the donor is gone");
  }
  if (donor->second.key != args["key"].as_string()) wrongs.push_back("a stranger is taken for a donor");
  if (!donor->second.running) return fail(ErrorCode::busy, "it waits");
  const auto given = donor->second.nodes;
  end(donor->first);
  own(job->second, given);
  return set_of(job->second);
}

Result<Json> FakeSlurm::drop(const Command& command) {
  const auto job = jobs_.find(static_cast<JobId>(command.args["job_id"].as_int()));
  if (job == jobs_.end() || to_micros(job->second.submit) != command.args["submit"].as_int())
    return fail(ErrorCode::conflict, "the job does not run");
  const auto nodes = command.args["nodes"].as_strings();
  const std::set<std::string> go(nodes.begin(), nodes.end());
  if (std::ranges::all_of(job->second.nodes, [&](const std::string& node) { return go.contains(node); }))
    return fail(ErrorCode::conflict, "none would be left");
  for (const std::string& node : nodes)
    if (std::erase(job->second.nodes, node) > 0) release(node);
  changed_jobs.insert(job->first);
  return set_of(job->second);
}

Result<Json> FakeSlurm::act(const Command& command, TimePoint now) {
  const Json& args = command.args;
  if (command.verb == verb::kAllocateDonor) return allocate(command, now);
  if (command.verb == verb::kGiveDonor) return give(command);
  if (command.verb == verb::kDropNodes) return drop(command);
  if (command.verb == verb::kCancelDonor) {
    const auto known = by_key_.find(args["key"].as_string());
    const bool was = known != by_key_.end();
    if (was) end(known->second);
    return Json::object({{"cancelled", was}});
  }
  if (command.verb == verb::kSetTimeLimit) {
    const auto job = jobs_.find(static_cast<JobId>(args["job_id"].as_int()));
    if (job == jobs_.end() || to_micros(job->second.submit) != args["submit"].as_int())
      return fail(ErrorCode::conflict, "the job does not run");
    job->second.limit = static_cast<int>(args["minutes"].as_int());
    changed_jobs.insert(job->first);
    return Json::object({{"minutes", job->second.limit}});
  }
  if (command.verb == verb::kFailNode) {
    set_failing(args["node"].as_string(), true);
    return Json::object({{"changed", true}});
  }
  if (command.verb == verb::kDiagnose) return Json::object({{"passed", true}});
  if (command.verb == verb::kSetSparePool) {
    const std::string& partition = args["partition"].as_string();
    const auto nodes = args["nodes"].as_strings();
    const std::set<std::string> want(nodes.begin(), nodes.end());
    for (const std::string& node : want)
      if (nodes_.at(node).reserved != partition && nodes_.at(node).owner != 0)
        return fail(ErrorCode::busy, "in use");
    for (const std::string& node : of_partition_[static_cast<std::size_t>(std::stoi(partition.substr(1)))]) {
      FakeNode& n = nodes_.at(node);
      const std::string before = n.reserved;
      n.reserved = want.contains(node) ? partition : "";
      if (n.reserved == before) continue;
      changed_nodes.insert(node);
      if (n.owner == 0) release(node);
      if (!n.reserved.empty()) free_[static_cast<std::size_t>(partition_of(node))].erase(node);
    }
    return Json::object({{"nodes", nodes}});
  }
  wrongs.push_back("no verb " + command.verb);
  return fail(ErrorCode::internal, "no such verb");
}

RunningJob FakeSlurm::shown(const FakeJob& job) const {
  RunningJob seen;
  seen.job_id = job.id;
  seen.uid = job.uid;
  seen.submit = job.submit;
  seen.state = "RUNNING";
  seen.nodes = job.nodes;
  seen.cpus_per_node = {{kCpus, static_cast<std::uint32_t>(job.nodes.size())}};
  seen.time_limit_min = job.limit;
  seen.partition = partition_name(job.partition);
  return seen;
}

NodeInfo FakeSlurm::shown(const std::string& name) const {
  const FakeNode& n = nodes_.at(name);
  NodeInfo info;
  info.name = name;
  info.state = n.down ? "DOWN" : n.owner != 0 ? "ALLOCATED" : "IDLE";
  if (n.failing) info.flags.push_back("FAIL");
  if (!n.reserved.empty()) info.flags.push_back("RESERVED");
  if (n.down) info.reason = "Not responding";
  info.cpus = kCpus;
  info.partitions = {partition_name(partition_of(name))};
  return info;
}

}  // namespace sickbay::chaos
