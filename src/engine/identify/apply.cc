// SPDX-License-Identifier: Apache-2.0
// apply(): what each kind of event changes.  One function per kind, in one table.
#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/identify/blame.h"
#include "engine/identify/identify.h"
#include "engine/identify/signs.h"
#include "model/slurm_state.h"

namespace sickbay::identify {
namespace {

// A program often notices that a node is gone before Slurm does, which waits for SlurmdTimeout (300 s if not
// set): a node that goes DOWN this soon after a failed run was lost to it.
constexpr std::chrono::seconds kLateDown{600};

// What an ended run means here.  model/slurm_state.h says how a state ends a run; this adds our words for it.
// Source: doc/design/identify.md, "The automatic flow" 3.
struct Ending {
  Outcome outcome = Outcome::running;
  Symptom symptom = Symptom::none;
};
Ending ending_of(const JobState& state) {
  if (!is_terminal(state))
    return {state.base == JobBase::pending ? Outcome::pending : Outcome::running, Symptom::none};
  switch (run_end(state)) {
    case RunEnd::completed:
      return {Outcome::ok, Symptom::none};
    case RunEnd::waits:
      return {Outcome::no_failure, Symptom::none};
    case RunEnd::failed:
      if (state.base == JobBase::timeout) return {Outcome::failed, Symptom::stall};
      if (state.base == JobBase::node_fail || state.base == JobBase::boot_fail)
        return {Outcome::failed, Symptom::node_dead};
      return {Outcome::failed, Symptom::abnormal_exit};
    default:
      break;
  }
  if (state.base == JobBase::out_of_memory) return {Outcome::out_of_memory, Symptom::none};
  return {state.base == JobBase::deadline ? Outcome::deadline : Outcome::cancelled, Symptom::none};
}

Run* run_in(Case& c, const RunId& id) {
  auto& runs = c.runs(id.kind);
  return id.n >= 1 && id.n <= static_cast<int>(runs.size()) ? &runs[static_cast<std::size_t>(id.n - 1)]
                                                            : nullptr;
}

// The run that a key is about: "c17.r2.a1:release" -> c17.r2, attempt 1.  Null for other keys and old
// attempts.
Run* run_of_key(Case& c, std::string_view key) {
  const std::size_t dot = key.rfind(".a");
  if (dot == std::string_view::npos) return nullptr;
  const auto id = parse_run_id(key.substr(0, dot));
  Run* run = id ? run_in(c, *id) : nullptr;
  return run && key.substr(0, key.find(':')) == run->key() ? run : nullptr;
}

Run* run_named(Case& c, const Event& event) {
  const auto id = parse_run_id(event.body["run"].as_string());
  return id ? run_in(c, *id) : nullptr;
}

// The place of a run that an intent creates or tries again.
Run& put_run(Case& c, const RunId& id) {
  auto& runs = c.runs(id.kind);
  while (static_cast<int>(runs.size()) < id.n) runs.emplace_back();
  Run& run = runs[static_cast<std::size_t>(id.n - 1)];
  std::vector<std::string> not_begun_on = run.never_began_on();
  run = Run{};
  run.id = id;
  run.not_begun_on = std::move(not_begun_on);
  return run;
}

void finish(Run& run, Outcome outcome, TimePoint at) {
  run.outcome = outcome;
  if (ended(outcome) && run.ended_at == kNoTime) run.ended_at = at;
}

void on_case_opened(State& s, Case* c, const Event& e) {
  const auto no = parse_case_name(e.subject);
  if (c != nullptr || !no) return;
  Case fresh;
  fresh.no = *no;
  fresh.owner = Owner::from_json(e.body["owner"]);
  const Json& o = e.body["options"];
  fresh.options.deliver = o["deliver"].as_bool();
  fresh.options.rerun = o["rerun"].as_bool(true);
  fresh.options.requeue = o["requeue"].as_bool();
  fresh.options.check = o["check"].as_string();
  fresh.options.expect_time_s = o["expect_time_s"].as_int();
  fresh.options.workdir = o["workdir"].as_string_or("same");
  fresh.work_dir = e.body["work_dir"].as_string();
  fresh.output_dir = e.body["output_dir"].as_string();
  fresh.notes = e.body["notes"].as_strings();
  fresh.opened = e.at;
  s.last_case = std::max(s.last_case, fresh.no);
  s.open.insert(fresh.no);
  s.cases.emplace(fresh.no, std::move(fresh));
}

void on_job_bound(State& s, Case* c, const Event& e) {
  if (c == nullptr || !c->programs.empty()) return;
  Run& run = put_run(*c, RunId{c->no, RunKind::program, 1});
  run.wanted_at = e.at;
  run.bound = true;
  run.job.job_id = static_cast<JobId>(e.body["job_id"].as_int());
  run.job.uid = c->owner.uid;
  s.by_job[run.job.job_id] = c->no;
}

// What the user's own check of a result says, once it has ended, decides about the run that it looked at.
void settle_result(Case& c, const Run& check) {
  if (!check.is_check() || !ended(check.outcome) || check.checks < 1 ||
      check.checks > static_cast<int>(c.programs.size()))
    return;
  Run& run = c.programs[static_cast<std::size_t>(check.checks - 1)];
  if (run.outcome != Outcome::checking) return;
  run.outcome = Outcome::ok;
  if (check.outcome == Outcome::failed) {
    run.outcome = Outcome::failed;
    run.symptom = Symptom::wrong_result;
  } else if (check.outcome != Outcome::ok) {
    c.notes.push_back("the check of " + run.id.text() + " said nothing (" +
                      std::string(to_string(check.outcome)) + "): its result is taken as good");
  }
}

void on_job_seen(State& s, Case* c, const Event& e) {
  Run* run = c ? run_named(*c, e) : nullptr;
  if (run == nullptr || run->outcome == Outcome::checking) return;
  if (ended(run->outcome) && run->outcome != Outcome::no_failure) return;
  JobInfo job = JobInfo::from_json(e.body["job"]);
  if (run->job.restart_cnt < job.restart_cnt) {
    // Slurm runs it again by itself: what the run before left does not count for this one.
    c->notes.push_back(run->id.text() + " was requeued by Slurm (restart " + std::to_string(job.restart_cnt) +
                       ")");
    run->nodes.clear();
    run->down_nodes.clear();
    run->ended_at = kNoTime;
  }
  run->job = std::move(job);
  run->seen_at = e.at;
  if (!run->job.nodes.empty())
    // slurmctld takes nodes off the list of a completing job as they come free: S is all that it ever had.
    if (auto names = expand_hostlist(run->job.nodes))
      run->nodes = hosts_in_either(run->nodes, sorted_hosts(std::move(*names)));
  if (const auto seen = parse_job_state(run->job.state, run->job.flags)) {
    const Ending ending = ending_of(*seen);
    run->symptom = ending.symptom;
    finish(*run, ending.outcome, e.at);
  }
  if (run->is_program() && run->outcome == Outcome::ok && c->options.expect_time_s > 0 &&
      run->job.end - run->job.start > std::chrono::seconds(c->options.expect_time_s)) {
    run->outcome = Outcome::failed;
    run->symptom = Symptom::abnormal_time;
  }
  if (run->is_program() && run->outcome == Outcome::ok && !c->options.check.empty())
    run->outcome = Outcome::checking;
  settle_result(*c, *run);
  if (run->symptom == Symptom::node_dead)
    for (const std::string& name : run->nodes)
      if (auto n = s.nodes.find(name); n != s.nodes.end() && n->second.down) run->down_nodes.push_back(name);
  run->down_nodes = sorted_hosts(std::move(run->down_nodes));
  if (run->id.n == 1 && run->is_program()) s.by_job[run->job.job_id] = c->no;
  gather_signs(s, *c, *run);
}

void on_job_lost(State&, Case* c, const Event& e) {
  if (Run* run = c ? run_named(*c, e) : nullptr; run && !ended(run->outcome)) {
    finish(*run, Outcome::lost, e.at);
    run->refusal = "slurmctld and accounting do not know job " + std::to_string(run->job.job_id);
    settle_result(*c, *run);
  }
}

void on_nodes_seen(State& s, Case*, const Event& e) {
  std::vector<std::string> went_down;
  for (const Json& group : e.body["groups"].items()) {
    auto names = expand_hostlist(group["nodes"].as_string());
    if (!names) continue;
    for (const std::string& name : *names) {
      if (group["gone"].as_bool()) {
        s.nodes.erase(name);
        continue;
      }
      NodeFacts& node = s.nodes[name];
      node.state = group["state"].as_string();
      node.usable = group["usable"].as_bool();
      if (group["down"].as_bool() && !node.down) went_down.push_back(name);
      node.down = group["down"].as_bool();
      node.partitions = group["partitions"].as_strings();
    }
  }
  if (went_down.empty()) return;
  went_down = sorted_hosts(std::move(went_down));
  for (std::int64_t no : s.open)
    for (Run& run : s.cases.at(no).programs) {
      const bool lost_now =
          run.outcome == Outcome::running || (run.symptom == Symptom::node_dead && run.down_nodes.empty());
      const bool lost_lately = run.outcome == Outcome::failed && e.at - run.ended_at < kLateDown;
      if (!lost_now && !lost_lately) continue;
      std::vector<std::string> lost = hosts_in_both(run.nodes, went_down);
      // A node on which V has passed since was well after the run: what took it down later is another matter.
      if (!lost_now)
        std::erase_if(lost,
                      [&](const std::string& name) { return s.nodes.at(name).passed_at > run.ended_at; });
      run.down_nodes = hosts_in_either(run.down_nodes, lost);
    }
}

void on_controller_seen(State& s, Case*, const Event& e) {
  s.controller_boot = from_micros(e.body["boot"].as_int());
}

void on_cancel_requested(State&, Case* c, const Event& e) {
  if (c == nullptr) return;
  c->cancel_requested = true;
  c->cancelled_by = e.body["by"].as_string();
}

void on_intent(State&, Case* c, const Event& e) {
  if (c == nullptr) return;
  const std::string& verb = e.body["verb"].as_string();
  const Json& args = e.body["args"];
  if (verb == "submit_program" || verb == "submit_verification") {
    const auto id = parse_run_id(args["run"].as_string());
    if (!id) return;
    const Run* before = run_in(*c, *id);
    const bool again_elsewhere = before && before->is_program() && before->never_began();
    Run& run = put_run(*c, *id);
    if (again_elsewhere)
      c->notes.push_back(id->text() + " never began on " + compress_hostlist(run.not_begun_on) +
                         ", where its output could not be opened, and was submitted again elsewhere");
    run.attempt = static_cast<int>(args["attempt"].as_int(1));
    run.checks = static_cast<int>(args["checks"].as_int());
    run.excluded = args["exclude"].as_strings();
    run.reused = args["reused"].as_strings();
    run.output_dir = args["output_dir"].as_string();
    run.wanted_at = e.at;
    run.job.uid = static_cast<std::uint32_t>(args["uid"].as_int());
    if (run.is_verification()) run.nodes = args["nodes"].as_strings();
  } else if (Run* run = run_of_key(*c, e.body["key"].as_string())) {
    if (verb == "release") ++run->releases, run->release_done = false;
    if (verb == "cancel") {
      run->cancel_wanted = true;
      if (run->refusal.empty()) run->refusal = args["why"].as_string();
    }
  }
}

void on_done(State& s, Case* c, const Event& e) {
  Run* run = c ? run_of_key(*c, e.body["key"].as_string()) : nullptr;
  if (run == nullptr) return;
  const std::string& verb = e.body["verb"].as_string();
  const Json& result = e.body["result"];
  if (verb == "submit_program" || verb == "submit_verification") {
    run->bound = true;
    run->job.job_id = static_cast<JobId>(result["job_id"].as_int());
    run->job.submit = from_micros(result["submit"].as_int());
    for (const Json& dropped : result["dropped"].items()) {
      const std::string note = dropped.as_string() + " was dropped: a re-run must be free to choose";
      if (std::find(c->notes.begin(), c->notes.end(), note) == c->notes.end()) c->notes.push_back(note);
    }
  } else if (verb == "release") {
    run->release_done = true;
    run->released_at = e.at;
    run->released_boot = s.controller_boot;
  } else if (verb == "cancel" && !result["cancelled"].as_bool() && !ended(run->outcome) &&
             run->seen_at == kNoTime) {
    finish(*run, Outcome::cancelled, e.at);  // it was over before anyone saw it
  } else if (verb == "read_output") {
    run->output_read = true;
    if (const Json& t = result["trace"]; t.is_object()) {
      run->trace = Trace{static_cast<int>(t["rank"].as_int(-1)),
                         t["node"].as_string(),
                         static_cast<int>(t["signal"].as_int()),
                         t["signal_name"].as_string(),
                         t["out_of_memory"].as_bool(),
                         t["message"].as_string(),
                         t["last_lines"].as_strings()};
      // Where a step dies for want of memory and the batch script merely hands on srun's exit code, Slurm
      // ends the job as FAILED (tried on 22.05); only the output tells.
      if (run->trace->out_of_memory && run->is_program() && run->outcome == Outcome::failed &&
          run->symptom == Symptom::abnormal_exit) {
        run->outcome = Outcome::out_of_memory;
        run->symptom = Symptom::none;
      }
    }
    for (const Json& r : result["results"].items()) {
      run->results.push_back(
          {r["node"].as_string(), r["peer"].as_string(), r["result"].as_string(), r["reason"].as_string()});
      if (!r["peer"].as_string().empty()) continue;
      NodeFacts& node = s.nodes[r["node"].as_string()];
      if (r["result"].as_string() == "ok" || r["result"].as_string() == "slow") node.passed_at = e.at;
      if (r["result"].as_string() == "failed") node.failed_at = e.at, node.failed_case = c->no;
    }
    if (run->results.empty() && run->is_verification() && run->refusal.empty())
      run->refusal = result["why"].as_string_or("V left no result");
  }
  settle_result(*c, *run);
}

void on_failed(State&, Case* c, const Event& e) {
  Run* run = c ? run_of_key(*c, e.body["key"].as_string()) : nullptr;
  if (run == nullptr) return;
  const std::string& verb = e.body["verb"].as_string();
  const std::string& what = e.body["error"]["what"].as_string();
  if (verb == "submit_program" || verb == "submit_verification") {
    finish(*run, Outcome::not_started, e.at);
    run->refusal = what;
  } else if (verb == "release" && !ended(run->outcome)) {
    finish(*run, Outcome::lost, e.at);
    run->refusal = what;
  } else if (verb == "read_output") {
    run->output_read = true;
    if (run->is_verification()) run->refusal = what;
    c->notes.push_back("the output of " + run->id.text() + " could not be read: " + what);
  } else if (verb == "cancel" && !ended(run->outcome)) {
    finish(*run, Outcome::cancelled, e.at);
    c->notes.push_back(run->id.text() + " (job " + std::to_string(run->job.job_id) +
                       ") could not be cancelled: " + what);
  }
  settle_result(*c, *run);
}

void on_verdict(State& s, Case* c, const Event& e) {
  if (c != nullptr) set_verdict(s, *c, Verdict::from_json(e.body), e.at);
}

void on_case_closed(State& s, Case* c, const Event& e) {
  if (c == nullptr) return;
  c->closed = e.at;
  s.open.erase(c->no);
}

// The case is in an archive; its number stays taken.
void on_archived(State& s, Case* c, const Event& e) {
  if (const auto no = parse_case_name(e.subject)) s.last_case = std::max(s.last_case, *no);
  if (c == nullptr || !c->is_closed()) return;
  const std::int64_t no = c->no;
  std::erase_if(s.by_job, [no](const auto& entry) { return entry.second == no; });
  drop_blame(s, *c);
  s.cases.erase(no);
}

struct KindRow {
  std::string_view kind;
  void (*apply)(State&, Case*, const Event&);
};
// A new kind of event is a row here, a function above, and a paragraph in doc/formats/journal.md.
constexpr auto kKinds = std::to_array<KindRow>({
    {kJobSeen, on_job_seen},
    {kIntent, on_intent},
    {kDone, on_done},
    {kFailed, on_failed},
    {kNodesSeen, on_nodes_seen},
    {kCaseOpened, on_case_opened},
    {kJobBound, on_job_bound},
    {kJobLost, on_job_lost},
    {kControllerSeen, on_controller_seen},
    {kCancelRequested, on_cancel_requested},
    {kVerdict, on_verdict},
    {kCaseClosed, on_case_closed},
    {kArchived, on_archived},
    {kFinding, [](State& s, Case*, const Event& e) { take_finding(s, e); }},
});

}  // namespace

void apply(State& state, const Event& event) {
  for (const KindRow& row : kKinds) {
    if (row.kind != event.kind) continue;
    const auto no = parse_case_name(event.subject);
    auto it = no ? state.cases.find(*no) : state.cases.end();
    row.apply(state, it == state.cases.end() ? nullptr : &it->second, event);
    return;
  }
}

const Run* find_run(const Case& subject, const RunId& id) { return run_in(const_cast<Case&>(subject), id); }

std::vector<Watched> watched(const State& state) {
  std::vector<Watched> list;
  for (std::int64_t no : state.open) {
    const Case& c = state.cases.at(no);
    for (const auto* runs : {&c.programs, &c.verifications, &c.result_checks})
      for (const Run& run : *runs)
        if (run.watched() || (run.bound && run.outcome == Outcome::no_failure))
          list.push_back(
              {run.job.job_id, no, run.id, run.id.n == 1 && run.is_program() ? "" : run.key(), run.job.uid});
  }
  return list;
}

}  // namespace sickbay::identify
