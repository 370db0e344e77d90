// SPDX-License-Identifier: Apache-2.0
// apply(): what each kind of event changes.  One function per kind, in one table.
//
// This is also the replay: it asks for nothing but the event and the state, no policy and no clock, and takes
// whatever comes, since the journal may be of another version.  Ends of our own commands: apply_commands.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/identify/advice.h"
#include "engine/identify/apply.h"
#include "engine/identify/array.h"
#include "engine/identify/blame.h"
#include "engine/identify/evidence.h"
#include "engine/identify/further.h"
#include "engine/identify/join.h"
#include "engine/identify/locating.h"
#include "engine/identify/lossy.h"
#include "engine/identify/node_notes.h"
#include "engine/identify/open_cases.h"
#include "engine/identify/rerun.h"
#include "engine/identify/resume.h"
#include "engine/identify/signs.h"
#include "engine/identify/starved.h"
#include "engine/identify/suspects.h"
#include "model/slurm_state.h"

namespace sickbay::identify {

using cluster::View;

namespace {

// A job may requeue itself for ever.
constexpr std::size_t kMostEarlier = 16;

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
      // The paper's symptoms, as far as Slurm's state tells them; the user's words add the other two below.
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

// Null also for a run that this case does not have: a journal may be cut, or of a newer version.
Run* run_named(Case& c, const Event& event) {
  const auto id = parse_run_id(event.body["run"].as_string());
  return id ? run_in(c, *id) : nullptr;
}

void on_case_opened(State& s, const View&, Case* c, const Event& e) {
  const auto no = parse_case_name(e.subject);
  if (c != nullptr || !no) return;  // a number is given once; the first one stands
  Case fresh;
  fresh.no = *no;
  fresh.owner = Owner::from_json(e.body["owner"]);
  const Json& o = e.body["options"];
  fresh.options.deliver = o["deliver"].as_bool();
  // Where an option is not in the event, it is the one that was meant before there was such an option.
  fresh.options.rerun = o["rerun"].as_bool(true);
  fresh.options.requeue = o["requeue"].as_bool();
  fresh.options.recover = o["recover"].as_bool();
  fresh.options.check = o["check"].as_string();
  fresh.options.expect_time_s = o["expect_time_s"].as_int();
  fresh.options.workdir = o["workdir"].as_string_or("same");
  fresh.options.steps_fail = o["steps"].as_string() == "fail";
  fresh.options.until_verdict = o["until_verdict"].as_bool();
  fresh.options.hang = hang_mode_from(o["hang"].as_string()).value_or(HangMode::off);
  fresh.work_dir = e.body["work_dir"].as_string();
  fresh.output_dir = e.body["output_dir"].as_string();
  fresh.notes = e.body["notes"].as_strings();
  fresh.opened = e.at;
  open_reruns(fresh, e.body);
  if (e.body.has("array")) open_array(fresh, e);
  if (e.body.has("parent")) open_task_case(s, fresh, e);
  if (e.body.has("resumes")) open_resumed_case(s, fresh, e);
  s.last_case = std::max(s.last_case, fresh.no);
  set_open(s, fresh);
  s.cases.emplace(fresh.no, std::move(fresh));
}

void on_job_bound(State& s, const View&, Case* c, const Event& e) {
  if (c == nullptr || !c->programs.empty()) return;  // a case has one job
  if (c->array) return bind_array(s, *c, e);
  Run& run = put_run(*c, RunId{c->no, RunKind::program, 1});
  run.wanted_at = e.at;
  run.bound = true;
  run.job.job_id = static_cast<JobId>(e.body["job_id"].as_int());
  run.job.uid = c->owner.uid;
  name_by_job(s, *c, run.job.job_id);  // people ask by the number that sbatch gave them
}

// Does Slurm hold it since its run failed?  Of a hold that somebody asked for the run says nothing.
bool is_held_for_failing(const JobInfo& job) {
  return job.held && (job.reason == kExpediteHeld || job.reason == kExitHeld);
}

// A job that failed by itself, which Slurm has put back into the queue and holds, since no epilog failed
// (--requeue=expedite) or since its site wants so for its exit code (SPECIAL_EXIT): its run has ended, and
// another begins only when its owner wants one.  slurmctld has taken its nodes and times off it: what was
// seen of it before tells them, and the time at which it was put back is its end.
JobInfo end_of_held(const Run& run, const JobInfo& shown) {
  JobInfo job = run.job.start != kNoTime ? run.job : shown;
  job.state = base_name(JobState{JobBase::failed});
  job.flags.clear();
  job.held = false;
  job.exit_code = shown.exit_code;
  job.exit_signal = shown.exit_signal;
  job.step_exit_code = shown.step_exit_code;
  job.step_exit_signal = shown.step_exit_signal;
  job.end = shown.submit;
  if (job.start == kNoTime) job.start = job.end;  // it began and ended between two looks
  job.reason = "NonZeroExitCode";
  return job;
}

// The order of the steps matters: is the word about this run at all; how Slurm says that it ended; what its
// user asked for beyond that (steps, time, check), each of which may only turn an `ok`; and last what
// follows for its nodes.
void on_job_seen(State& s, const View& view, Case* c, const Event& e) {
  Run* run = c ? run_named(*c, e) : nullptr;
  // Tried on 22.05: a slurmctld that is killed soon after a job's end brings it back as RUNNING.  An end once
  // seen stays, but for a requeue, which follows on an end that is no failure.
  if (run == nullptr || run->outcome == Outcome::checking) return;
  if (ended(run->outcome) && run->outcome != Outcome::no_failure) return;
  JobInfo job = JobInfo::from_json(e.body["job"]);
  // Of the run before, which was the other case's.
  if (c->resumes != 0 && run->id.n == 1 && run->is_program() && job.restart_cnt < run->job.restart_cnt)
    return;
  if (is_held_for_failing(job)) {
    if (run->is_program() && run->id.n == 1)
      c->notes.push_back(fmt::format(
          "Slurm holds job {0} in the queue, for it failed {1}: 'scontrol release {0}' runs it again, "
          "'scancel {0}' takes it away; this case is about the run that failed",
          job.job_id,
          job.reason == kExpediteHeld
              ? "and no epilog did (--requeue=expedite)"
              : fmt::format("with exit code {}, for which this site holds jobs", job.exit_code)));
    else
      run->is_held = true;
    job = end_of_held(*run, job);
  }
  if (run->job.restart_cnt < job.restart_cnt) {
    // Slurm runs it again by itself: what the run before left does not count for this one.
    c->notes.push_back(run->id.text() + " was requeued by Slurm (restart " + std::to_string(job.restart_cnt) +
                       ")");
    // Its facts are kept: a job that lost a node and then completed tells of a faulty node all the same.
    // The first one and the latest stay.
    if (run->earlier.size() >= kMostEarlier) run->earlier.erase(run->earlier.begin() + 1);
    run->earlier.push_back({run->job.restart_cnt, run->job.state, std::move(run->nodes),
                            std::move(run->down_nodes), e.at, run->job.start, job.step_exit_code,
                            job.step_exit_signal});
    run->nodes.clear();
    run->down_nodes.clear();
    run->ended_at = kNoTime;
    run->hang = run->suspicion = Json();
    run->starved.clear();
    run->lossy.reset();
  }
  run->job = std::move(job);
  run->seen_at = e.at;
  // (One that was put back still shows those of the run before while it leaves them.)
  const auto seen = parse_job_state(run->job.state, run->job.flags);
  if (!run->job.nodes.empty() && !(seen && seen->base == JobBase::pending))
    // slurmctld takes nodes off the list of a completing job as they come free: S is all that it ever had.
    if (auto names = expand_hostlist(run->job.nodes))
      run->nodes = hosts_in_either(run->nodes, sorted_hosts(std::move(*names)));
  if (seen) {
    Ending ending = ending_of(*seen);
    // It was ended since it hung, on its owner's word: that is a failure, as its time limit would have been.
    if (ending.outcome == Outcome::cancelled && run->is_program() && run->hangs() && run->cancel_wanted)
      ending = {Outcome::failed, Symptom::stall};
    // A symptom is of the state that is shown now; those that the user's words add are set anew below.
    run->symptom = ending.symptom;
    // Its end does not show the reason any more, so the last word while it waited is kept.
    if (ending.outcome == Outcome::pending)
      run->bad_constraints = run->job.held && run->job.reason == "BadConstraints";
    finish(*run, ending.outcome, e.at);
    if (ending.outcome == Outcome::failed && run->is_program()) note_nodes_at_end(view, *run);
  }
  // A script may end with 0 whatever became of its steps.  Told in any case; a failure to who asked for that.
  if (run->is_program() && run->outcome == Outcome::ok && has_failed_step(*run)) {
    run->symptom = Symptom::steps_failed;
    if (c->options.steps_fail) run->outcome = Outcome::failed;
  }
  // Longer than a good run takes is a failure to the user, whatever Slurm says (paper 000, 2.1).  It comes
  // before the check of the result: one symptom is enough.
  if (run->is_program() && run->outcome == Outcome::ok && c->options.expect_time_s > 0 &&
      run->job.end - run->job.start > std::chrono::seconds(c->options.expect_time_s)) {
    run->outcome = Outcome::failed;
    run->symptom = Symptom::abnormal_time;
  }
  // Over for Slurm, not for us: nothing is concluded until the user's check has spoken.
  if (run->is_program() && run->outcome == Outcome::ok && !c->options.check.empty())
    run->outcome = Outcome::checking;
  settle_result(*c, *run);
  // Nodes that were seen down before the job's end was: events of nodes and jobs come in any order.  One that
  // was down before it would have got no job.
  const bool ended_lately = run->outcome == Outcome::failed && e.at - run->job.end < kLateDown;
  if (run->symptom == Symptom::node_dead || ended_lately)
    for (const std::string& name : run->nodes)
      if (view.is_lost(name)) run->down_nodes.push_back(name);
  run->down_nodes = sorted_hosts(std::move(run->down_nodes));
  // (The last task of an array bears the array's number, by which people ask for the whole.)
  if (run->id.n == 1 && run->is_program() && run->job.job_id != c->task.array_job_id)
    name_by_job(s, *c, run->job.job_id);
  // Findings that came before the run was known to be on these nodes.
  gather_signs(s, *c, *run);
  gather_words(s, *c, *run);
  suspect_silent(s, *c, *run, view, e.at);
  note_failure(s, *c);
}

void on_job_lost(State&, const View&, Case* c, const Event& e) {
  if (c && c->array) return lose_tasks(*c, e);
  // Neither slurmctld nor accounting has it.  That is no failure of P: it may not even have begun.
  if (Run* run = c ? run_named(*c, e) : nullptr; run && !ended(run->outcome)) {
    finish(*run, Outcome::lost, e.at);
    run->refusal = "slurmctld and accounting do not know job " + std::to_string(run->job.job_id);
    settle_result(*c, *run);
  }
}

// (The view has the event already, and says what it changed.)
void on_nodes_seen(State& s, const View& view, Case*, const Event& e) {
  for (const View::Change& change : view.changes)
    // What comes back under its name may be another machine.
    if (change.gone) s.records.erase(change.name), s.words.erase(change.name);
  note_silence(s, view, e.at);
  note_node_changes(s, view, e.at, kLateDown);
  // The change counts, not the state: a node that was down all along was not lost to a run.  Nor was one that
  // a person set DOWN.
  std::vector<std::string> went_down = view.went_down();
  std::erase_if(went_down, [&](const std::string& name) { return !view.is_lost(name); });
  if (went_down.empty()) return;
  for (std::int64_t no : s.open)
    for (Run& run : s.cases.at(no).programs) {
      // Slurm may show a job in the queue again before it shows the node that it lost.
      if (!run.earlier.empty() && e.at - run.earlier.back().ended_at < kLateDown &&
          run.outcome != Outcome::running)
        run.earlier.back().down_nodes = hosts_in_either(run.earlier.back().down_nodes,
                                                        hosts_in_both(run.earlier.back().nodes, went_down));
      // A job that ended as NODE_FAIL lost a node before it was seen to be down.
      const bool lost_now =
          run.outcome == Outcome::running || (run.symptom == Symptom::node_dead && run.down_nodes.empty());
      const bool lost_lately = run.outcome == Outcome::failed && e.at - run.ended_at < kLateDown;
      if (!lost_now && !lost_lately) continue;
      std::vector<std::string> lost = hosts_in_both(run.nodes, went_down);
      // A node on which V has passed since was well after the run: what took it down later is another matter.
      if (!lost_now)
        std::erase_if(lost, [&](const std::string& name) {
          const auto record = s.records.find(name);
          return record != s.records.end() && record->second.passed_at > run.ended_at;
        });
      run.down_nodes = hosts_in_either(run.down_nodes, lost);
    }
}

void on_hang_seen(State&, const View&, Case* c, const Event& e) {
  Run* run = c ? run_named(*c, e) : nullptr;
  // A word on a run before its restart, or on one that has ended meanwhile, is none on this one.
  if (run == nullptr || ended(run->outcome) || e.body["job_id"].as_int() != run->job.job_id) return;
  // (Told a second time it is proven: since when it hangs stays.)
  if (!run->hangs()) run->hang_at = e.at;
  run->hang = e.body["judgement"];
  run->hang_over_at = kNoTime;
}

void on_hang_over(State&, const View&, Case* c, const Event& e) {
  Run* run = c ? run_named(*c, e) : nullptr;
  if (run == nullptr || !run->hangs() || ended(run->outcome)) return;
  run->hang_over_at = e.at;
}

// Told behind its end.  Only where that was no end of its own it says something.
void on_hang_suspected(State&, const View&, Case* c, const Event& e) {
  Run* run = c ? run_named(*c, e) : nullptr;
  if (run == nullptr || run->hangs() || e.body["job_id"].as_int() != run->job.job_id) return;
  if (run->outcome == Outcome::failed && run->symptom == Symptom::stall) run->suspicion = e.body["judgement"];
}

template <void (*take)(Run&, const Json&)>
void on_seen_in_run(State&, const View&, Case* c, const Event& e) {
  Run* run = c ? run_named(*c, e) : nullptr;
  if (run == nullptr || ended(run->outcome) || e.body["job_id"].as_int() != run->job.job_id) return;
  take(*run, e.body);
}

void on_cancel_requested(State&, const View&, Case* c, const Event& e) {
  if (c == nullptr) return;
  c->cancel_requested = true;
  c->cancelled_by = e.body["by"].as_string();
}

void on_verdict(State& s, const View&, Case* c, const Event& e) {
  // The journal's stamp, so that a replay gives the same.
  if (c != nullptr) set_verdict(s, *c, Verdict::from_json(e.body), e.at);
}

void on_case_closed(State& s, const View&, Case* c, const Event& e) {
  if (c == nullptr) return;
  c->closed = e.at;
  if (std::string note = undelivered_note(*c); !note.empty()) c->notes.push_back(std::move(note));
  set_closed(s, *c);  // only open cases are looked at, and make the queue be asked for
}

// The case is in an archive; its number stays taken.
void on_archived(State& s, const View&, Case* c, const Event& e) {
  if (const auto no = parse_case_name(e.subject)) s.last_case = std::max(s.last_case, *no);
  if (c == nullptr || !c->is_closed()) return;
  const std::int64_t no = c->no;
  // (Not all jobs are looked at for each case: of both there may be hundreds of thousands.)
  for (const JobId job : c->jobs)
    if (const auto it = s.by_job.find(job); it != s.by_job.end() && it->second == no) s.by_job.erase(it);
  s.resuming.erase(no);
  drop_blame(s, *c);
  forget_failure(s, *c);
  std::erase_if(s.reruns, [no](const LateRerun& late) { return late.case_no == no; });
  s.cases.erase(no);
}

// Kinds that change nothing but their case.
template <void (*change)(Case&, const Event&)>
void on_case(State&, const View&, Case* c, const Event& e) {
  if (c != nullptr) change(*c, e);
}
// And those that need the rest of the state for it.
template <void (*change)(State&, Case&, const Event&)>
void on_case(State& s, const View&, Case* c, const Event& e) {
  if (c != nullptr) change(s, *c, e);
}

struct KindRow {
  std::string_view kind;
  void (*apply)(State&, const View&, Case*, const Event&);
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
    {kCancelRequested, on_cancel_requested},
    {kHangSeen, on_hang_seen},
    {kHangOver, on_hang_over},
    {kHangSuspected, on_hang_suspected},
    {kStarvedSeen, on_seen_in_run<take_starved>},
    {kLossySeen, on_seen_in_run<take_lossy>},
    {kVerdict, on_verdict},
    {kCaseClosed, on_case_closed},
    {kArchived, on_archived},
    {kRerunAsked, on_case<on_rerun_asked>},
    {kRerunAnswered, on_case<on_rerun_answered>},
    {kRerunGivenUp, on_case<on_rerun_given_up>},
    {kRequeueAsked, on_case<on_requeue_asked>},
    {kCaseJoined, [](State& s, const View&, Case* c, const Event& e) { on_case_joined(s, c, e); }},
    {kCaseLeft, [](State& s, const View&, Case* c, const Event& e) { on_case_left(s, c, e); }},
    {kVerifiedElsewhere, on_verified_elsewhere},
    {kVerified, [](State& s, const View&, Case*, const Event& e) { on_verified(s, e); }},
    {kLocated, on_case<on_located>},
    {kFinding, [](State& s, const View&, Case*, const Event& e) { take_finding(s, e); }},
    {kArraySeen, on_array_seen},
    {kRecoveryOpened, [](State& s, const View&, Case*, const Event& e) { on_recovery_opened(s, e); }},
    {kRecoveryClosed, [](State& s, const View&, Case*, const Event& e) { on_recovery_closed(s, e); }},
});

}  // namespace

void apply(State& state, const cluster::View& view, const Event& event) {
  for (const KindRow& row : kKinds) {
    if (row.kind != event.kind) continue;
    const auto no = parse_case_name(event.subject);
    auto it = no ? state.cases.find(*no) : state.cases.end();
    row.apply(state, view, it == state.cases.end() ? nullptr : &it->second, event);
    return;
  }
}

namespace {

bool is_watched(const std::optional<TaskArray>& array) {
  return array && array->job_id != 0 && !array->all_ended();
}

// A preempted job may come back under its id.  The first run is the user's and has no key in its comment.
bool is_watched(const Run& run) { return run.watched() || (run.bound && run.outcome == Outcome::no_failure); }

}  // namespace

bool watches_jobs(const State& state) {
  return std::ranges::any_of(state.open, [&](std::int64_t no) {
    const Case& c = state.cases.at(no);
    const auto any = [](const std::vector<Run>& runs) {
      return std::ranges::any_of(runs, [](const Run& run) { return is_watched(run); });
    };
    return is_watched(c.array) || any(c.programs) || any(c.verifications) || any(c.result_checks);
  });
}

std::vector<Watched> watched(const State& state) {
  std::vector<Watched> list;
  for (std::int64_t no : state.open) {
    const Case& c = state.cases.at(no);
    if (is_watched(c.array))
      list.push_back({.job_id = c.array->job_id,
                      .case_no = no,
                      .run = {no, RunKind::program, 1},
                      .key = "",
                      .uid = c.owner.uid,
                      .array = &*c.array,
                      .expect_time_s = c.options.expect_time_s});
    for (const auto* runs : {&c.programs, &c.verifications, &c.result_checks})
      for (const Run& run : *runs)
        if (is_watched(run))
          list.push_back({.job_id = run.job.job_id,
                          .case_no = no,
                          .run = run.id,
                          .key = run.id.n == 1 && run.is_program() ? "" : run.key(),
                          .uid = run.job.uid});
  }
  return list;
}

}  // namespace sickbay::identify
