// SPDX-License-Identifier: Apache-2.0
// Jobs whose owner asked at submission that they be recovered (`sickbay submit --recover`).
//
// What identify says of them is heard here: where a case ends with nodes as the cause, or undecided about a
// job that lost nodes, the job begins anew without these.  Only then: while the case is open the job is
// identify's, and a run of its own may still be under way, of which there must be one alone.
#include "engine/recover/asked.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "model/event_kinds.h"
#include "model/ids.h"
#include "model/verbs.h"
#include "ports/resource_manager.h"

namespace sickbay::recover {
namespace {

// Slurm puts what was requeued off by two minutes, so that its nodes are cleaned up by then.  It says so only
// when that is done: the job has left its nodes.  What waits for longer than that waits for what a person has
// set.
bool waits_after_restart(const JobInfo& job) {
  constexpr std::chrono::seconds kSlurms{150};
  return job.restart_cnt > 0 && job.state == "PENDING" && job.reason == "BeginTime" && !job.held &&
         std::ranges::count(job.flags, "COMPLETING") == 0 &&
         (job.expected_start == kNoTime || job.expected_start <= job.submit + kSlurms);
}

}  // namespace

void hear_case_opened(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const Json& options = event.body["options"];
  // A result that identify delivers is one; a job array is put back by nobody.
  if (!no || !options["recover"].as_bool() || options["deliver"].as_bool() || event.body.has("array")) return;
  state.asked.try_emplace(*no);
}

bool hear_job_seen(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const auto it = no ? state.asked.find(*no) : state.asked.end();
  const auto run = parse_run_id(event.body["run"].as_string());
  // The first run of the program: others (A2, re-runs) are identify's own and are not put back.
  if (it == state.asked.end() || !run || run->kind != RunKind::program || run->n != 1) return false;
  const JobInfo info = JobInfo::from_json(event.body["job"]);
  FaultJob job = FaultJob::of(info);
  const FaultJob& before = it->second.job;
  // slurmctld takes nodes off the list of a completing job as they come free.
  if (job.job_id == before.job_id && job.restart_cnt == before.restart_cnt)
    job.nodes = hosts_in_either(job.nodes, before.nodes);
  it->second.job = std::move(job);
  it->second.put_off = waits_after_restart(info);
  return it->second.put_off;
}

std::vector<Command> begins_sooner(const State& state) {
  std::vector<Command> commands;
  for (const auto& [no, asked] : state.asked) {
    if (!asked.put_off) continue;
    const FaultJob& job = asked.job;
    const std::string subject = case_name(no);
    commands.push_back({fmt::format("{}.b{}", subject, job.restart_cnt), subject,
                        std::string(verb::kBeginNow),
                        JobHandle{job.job_id, job.uid, job.submit, ""}.to_json()});
  }
  return commands;
}

void hear_verdict(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const auto it = no ? state.asked.find(*no) : state.asked.end();
  if (it == state.asked.end()) return;
  // The causes that name nodes, as on the wire: they fail always, or now and then.
  const std::string& cause = event.body["cause"].as_string();
  it->second.blamed.clear();
  // Where nothing is decided, those that Slurm lost under it: it would have put the job back itself.
  const bool named = cause == "b" || cause == "d";
  if (event.body["final"].as_bool())
    it->second.blamed = sorted_hosts(event.body[named ? "nodes" : "lost"].as_strings());
  it->second.sentence = event.body["sentence"].as_string();
}

bool hear_case_closed(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const auto it = no ? state.asked.find(*no) : state.asked.end();
  if (it == state.asked.end()) return false;
  const Asked asked = std::move(it->second);
  state.asked.erase(it);
  // Only nodes that this job had: a verdict may name more (those of the second run).
  const std::vector<std::string> blamed = hosts_in_both(asked.blamed, asked.job.nodes);
  if (blamed.empty() || !asked.job.over) return false;
  Fault fault;
  fault.of = FaultClass::job;
  fault.node = blamed.size() == 1 ? blamed.front() : "";
  fault.source = event.subject;
  fault.text = asked.sentence;
  fault.job = asked.job;
  fault.job.exclude = blamed;
  state.wanted_jobs[*no] = std::move(fault);
  return true;
}

}  // namespace sickbay::recover
