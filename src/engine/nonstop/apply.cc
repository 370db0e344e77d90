// SPDX-License-Identifier: Apache-2.0
// apply(): which jobs run on which nodes, and which of these nodes are faulty.
//
// Slurm is looked at by two queries, of nodes and of jobs, and neither is of the moment of the other.  So a
// node has failed a job when it is DOWN and the job has it, or had it until a moment ago, whichever is told
// first; and what was looked at before we changed a job ourselves does not undo what we know since.
#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/nonstop/parts.h"
#include "model/slurm_state.h"

namespace sickbay::nonstop {
namespace {

// A node that left its job has failed it, where Slurm shows it DOWN within this time.  Else its owner gave it
// up.
constexpr std::chrono::seconds kMissed{60};
// A look takes seconds at most (libslurm's child is ended after 30 s): one that seems older than this is no
// look of before, but of a clock that was set back.
constexpr std::chrono::seconds kOldestLook{60};

void index(State& state, const Job& job, const std::string& node) { state.on_node[node].insert(job.id); }

// Kept as long as the job has the node or misses it: a node's state must still reach a job that has just lost
// it.
void unindex(State& state, const Job& job, const std::string& node) {
  if (job.share(node) != nullptr || job.missing.contains(node)) return;
  const auto it = state.on_node.find(node);
  if (it == state.on_node.end()) return;
  it->second.erase(job.id);
  if (it->second.empty()) state.on_node.erase(it);
}

void erase_share(Job& job, const std::string& node) {
  std::erase_if(job.nodes, [&](const Share& share) { return share.node == node; });
}

void node_failed(Change& c, Job& job, const std::string& node, std::uint32_t cpus) {
  erase_share(job, node);
  job.missing.erase(node);
  unindex(c.state, job, node);
  job.faulty[node] = {cpus, NodeFault::failed, c.event.at, false};
  for (auto& [n, request] : job.requests)
    if (request.lives()) std::erase(request.failing, node);  // minutes are granted for it once
  tell(job, Happening::What::failed, {node}, {}, c.event.at);
}

// How a node that the job has stands, where that matters to the job.
void look_at_node(Change& c, Job& job, const std::string& name) {
  const cluster::Node* node = c.view.node(name);
  const Share* share = job.share(name);
  if (node == nullptr) return;
  // The list of jobs came first: the job has it no more, and now it is known why.
  if (const auto missed = job.missing.find(name); missed != job.missing.end()) {
    if (node->down && c.event.at - missed->second.second <= kMissed)
      node_failed(c, job, name, missed->second.first);
    return;
  }
  if (share == nullptr) return;
  if (node->down) return node_failed(c, job, name, share->cpus);
  const auto known = job.faulty.find(name);
  // It stays in the job: failing is what somebody said of it, and its steps run on.
  if (node->failing() && known == job.faulty.end()) {
    job.faulty[name] = {share->cpus, NodeFault::failing, c.event.at, false};
    tell(job, Happening::What::failing, {name}, {}, c.event.at);
  } else if (!node->failing() && known != job.faulty.end() && known->second.fault == NodeFault::failing) {
    job.faulty.erase(known);  // whoever put it into FAIL has taken it out again
  }
}

void forget_missing(Change& c, Job& job) {
  std::vector<std::string> old;
  for (const auto& [node, missed] : job.missing)
    if (c.event.at - missed.second > kMissed) old.push_back(node);
  for (const std::string& node : old) {
    job.missing.erase(node);
    unindex(c.state, job, node);
  }
}

void on_nodes_seen(Change& c) {
  for (const cluster::View::Change& change : c.view.changes) {
    const auto on = c.state.on_node.find(change.name);
    if (on == c.state.on_node.end()) continue;
    const std::set<JobId> jobs = on->second;  // look_at_node() may take it out of there
    for (const JobId id : jobs) {
      look_at_node(c, c.state.jobs.at(id), change.name);
      c.touch(id);
    }
  }
}

// --- the job itself

bool is_before(TimePoint looked, TimePoint change) {
  return looked != kNoTime && looked < change && change - looked < kOldestLook;
}

void on_job_listed(Change& c, JobId id) {
  const Json& body = c.event.body;
  const JobInfo info = JobInfo::from_json(body["job"]);
  const TimePoint looked = from_micros(body["looked"].as_int());
  const auto [it, is_new] = c.state.jobs.try_emplace(id);
  Job& job = it->second;
  c.touch(id);
  if (is_new) {
    job.id = id;
    job.uid = info.uid;
    job.submit = info.submit;
  } else if (job.submit != info.submit || job.uid != info.uid) {
    // Slurm has begun it anew, or it is another under its number.  It is told of again when this one is
    // closed.
    return on_over(c, job);
  }
  if (job.over) return;
  job.partition = info.partition;
  job.batch_host = body["batch_host"].as_string();
  job.het_job_id = static_cast<JobId>(body["het_job_id"].as_int());
  // Two moments, since limit and nodes are changed by different commands: a look may be old for one alone.
  if (!is_before(looked, job.limit_set_at)) job.limit = static_cast<int>(info.time_limit_s / 60);
  if (is_before(looked, job.changed_at)) return;
  auto names = body["nodes"].is_array() ? body["nodes"].as_strings()
                                        : expand_hostlist(info.nodes).value_or(std::vector<std::string>());
  set_nodes(c, job, shares_of(names, cpu_groups_from_json(body["cpus_per_node"])));
}

void on_callback(Change& c, Job& job) {
  const std::string& address = c.event.body["address"].as_string();
  const auto port = static_cast<std::uint16_t>(c.event.body["port"].as_int());
  // (Port 0: the program does not want to be called any more.)
  job.callbacks.erase(address);
  if (port != 0) job.callbacks[address] = port;
}

void on_closed(Change& c, JobId id) {
  const auto it = c.state.jobs.find(id);
  if (it == c.state.jobs.end()) return;
  std::vector<std::string> names;
  for (const Share& share : it->second.nodes) names.push_back(share.node);
  for (const auto& [node, missed] : it->second.missing) names.push_back(node);
  it->second.nodes.clear();
  it->second.missing.clear();
  for (const std::string& node : names) unindex(c.state, it->second, node);
  c.state.jobs.erase(it);
  // Who asks about it later hears "it runs no more" and not "there is no such job".
  c.state.ended.push_back(id);
  while (c.state.ended.size() > kMostEndedJobs) c.state.ended.pop_front();
}

void on_job_event(Change& c, JobId id) {
  // One subject for the job and for its donors: "run" says which of them was seen.
  const std::string& kind = c.event.kind;
  const std::string& run = c.event.body["run"].as_string();
  if (kind == kJobSeen && run == c.event.subject) return on_job_listed(c, id);
  if (closes_subject(kind)) return on_closed(c, id);
  const auto it = c.state.jobs.find(id);
  if (it == c.state.jobs.end()) return;
  Job& job = it->second;
  c.touch(id);
  if (kind == kJobLost && run == c.event.subject) return on_over(c, job);
  if (kind == kJobSeen || kind == kJobLost) {
    Request* request = request_of(job, Json::object({{"request", run}}));
    if (request == nullptr) return;
    const JobInfo donor = kind == kJobSeen ? JobInfo::from_json(c.event.body["job"]) : JobInfo();
    return on_donor_seen(c, job, *request, kind == kJobSeen ? &donor : nullptr);
  }
  if (kind == kIntent) return on_intent(c, job);
  if (kind == kDone || kind == kFailed) return on_end(c, job);
  struct Row {
    std::string_view kind;
    void (*apply)(Change&);
  };
  static constexpr auto kRows = std::to_array<Row>({
      {kAsked, on_asked},
      {kAnswered, on_answered},
      {kTimeCredited, on_credited},
      {kTimeTaken, on_taken_back},
  });
  if (kind == kCallbackSet) return on_callback(c, job);
  for (const Row& row : kRows)
    if (row.kind == kind) row.apply(c);
}

// Kept beside the jobs, since the watch asks in every round, and a cluster has thousands.
void note_busy(State& state, JobId id) {
  const Job* job = state.job(id);
  if (job != nullptr &&
      std::ranges::any_of(job->requests, [](const auto& entry) { return entry.second.lives(); }))
    state.busy.insert(id);
  else
    state.busy.erase(id);
}

}  // namespace

void tell(Job& job, Happening::What what, std::vector<std::string> nodes, std::vector<std::string> by,
          TimePoint at) {
  // Numbered, so that a program whose stream was cut asks for what came after the last one it has.
  job.happenings.push_back({++job.last_happening, what, std::move(nodes), std::move(by), at});
  while (job.happenings.size() > kMostHappenings) job.happenings.pop_front();
}

std::vector<Share> shares_of(const std::vector<std::string>& nodes, const std::vector<CpuGroup>& cpus) {
  std::vector<Share> shares;
  std::size_t group = 0;
  std::uint32_t of_group = 0;
  for (const std::string& node : nodes) {
    // (The list of nodes and Slurm's groups of CPUs are in the same order; what has no group has no known
    // CPUs.)
    while (group < cpus.size() && of_group >= cpus[group].count) ++group, of_group = 0;
    shares.push_back({node, group < cpus.size() ? cpus[group].cpus : 0});
    ++of_group;
  }
  return shares;
}

void remove_node(State& state, Job& job, const std::string& node) {
  erase_share(job, node);
  job.missing.erase(node);
  unindex(state, job, node);
}

void set_nodes(Change& c, Job& job, std::vector<Share> nodes) {
  forget_missing(c, job);
  // One that has failed it is not shown again by a look of before; but Slurm may have it back, and give it
  // anew.
  std::erase_if(nodes, [&](const Share& share) {
    const auto known = job.faulty.find(share.node);
    return known != job.faulty.end() && known->second.fault == NodeFault::failed &&
           c.view.is_down(share.node);
  });
  const std::vector<Share> before = std::exchange(job.nodes, std::move(nodes));
  // Who is not there any more: failed, if a look at nodes says so now or within kMissed, else given up.
  for (const Share& share : before) {
    if (job.share(share.node) != nullptr) continue;
    if (const auto known = job.faulty.find(share.node);
        known != job.faulty.end() && known->second.fault == NodeFault::failing)
      job.faulty.erase(known);  // it has left, as it should, or failed: look_at_node() says
    job.missing[share.node] = {share.cpus, c.event.at};
    look_at_node(c, job, share.node);
  }
  // A copy, since look_at_node() may take a node out that Slurm lists and shows DOWN.
  for (const Share& share : std::vector<Share>(job.nodes)) {
    job.missing.erase(share.node);
    index(c.state, job, share.node);
    // Slurm gives it anew: it had failed and is well again.
    if (const auto known = job.faulty.find(share.node);
        known != job.faulty.end() && known->second.fault == NodeFault::failed)
      job.faulty.erase(known);
    look_at_node(c, job, share.node);
  }
}

std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event) {
  Change c{state, view, event};
  if (event.kind == kNodesSeen) on_nodes_seen(c);
  if (const auto id = parse_running_subject(event.subject)) {
    on_job_event(c, *id);
    note_busy(state, *id);
  }
  apply_spares(c);
  apply_fail_orders(c);
  std::ranges::sort(c.touched);
  const auto twice = std::ranges::unique(c.touched);
  c.touched.erase(twice.begin(), twice.end());
  return std::move(c.touched);
}

}  // namespace sickbay::nonstop
