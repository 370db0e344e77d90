// SPDX-License-Identifier: Apache-2.0
// Jobs whose owner asked at submission that they be recovered (`sickbay submit --recover`).
//
// What identify says of them is heard here: where a case ends with nodes as the cause, the job begins anew
// without these.  Only then: while the case is open the job is identify's, and a run of its own may still be
// under way, of which there must be one alone.
#include "engine/recover/asked.h"
#include "base/hostlist.h"
#include "model/event_kinds.h"
#include "model/ids.h"

namespace sickbay::recover {

void hear_case_opened(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const Json& options = event.body["options"];
  // A result that identify delivers is one; a job array is put back by nobody.
  if (!no || !options["recover"].as_bool() || options["deliver"].as_bool() || event.body.has("array")) return;
  state.asked.try_emplace(*no);
}

void hear_job_seen(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const auto it = no ? state.asked.find(*no) : state.asked.end();
  const auto run = parse_run_id(event.body["run"].as_string());
  if (it == state.asked.end() || !run || run->kind != RunKind::program || run->n != 1) return;
  FaultJob job = FaultJob::of(JobInfo::from_json(event.body["job"]));
  const FaultJob& before = it->second.job;
  // slurmctld takes nodes off the list of a completing job as they come free.
  if (job.job_id == before.job_id && job.restart_cnt == before.restart_cnt)
    job.nodes = hosts_in_either(job.nodes, before.nodes);
  it->second.job = std::move(job);
}

void hear_verdict(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const auto it = no ? state.asked.find(*no) : state.asked.end();
  if (it == state.asked.end()) return;
  // The causes that name nodes, as on the wire: they fail always, or now and then.
  const std::string& cause = event.body["cause"].as_string();
  it->second.blamed.clear();
  if (event.body["final"].as_bool() && (cause == "b" || cause == "d"))
    it->second.blamed = sorted_hosts(event.body["nodes"].as_strings());
  it->second.sentence = event.body["sentence"].as_string();
}

bool hear_case_closed(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const auto it = no ? state.asked.find(*no) : state.asked.end();
  if (it == state.asked.end()) return false;
  const Asked asked = std::move(it->second);
  state.asked.erase(it);
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
