// SPDX-License-Identifier: Apache-2.0
// Job arrays, the two halves of the engine: what their events change, and what their case does next.
// The words are in array_text.cc.
#include "engine/identify/array.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/apply.h"
#include "engine/identify/look.h"
#include "engine/identify/rerun.h"

namespace sickbay::identify {
namespace {

// A set of ids that we wrote ourselves; what no version of ours writes is none.
TaskIds ids_in(const Json& text) {
  auto ids = TaskIds::parse(text.as_string());
  return ids ? std::move(*ids) : TaskIds();
}

// (A case that is about to be opened has no number yet.)
constexpr std::int64_t kToBeOpened = -1;

bool is_open(const State& state, const TaskFailure& failure) {
  if (failure.case_no == kToBeOpened) return true;
  const Case* c = case_of(state, failure.case_no);
  return c != nullptr && !c->is_closed();
}

// The verdict blames a node that this task has run on, or none at all: then it explains the task as well.
bool explains(const Case& c, const TaskFailure& failure) {
  if (!c.verdict || !names_nodes(c.verdict->cause)) return true;
  return !hosts_in_both(sorted_hosts(c.verdict->nodes), failure.nodes).empty();
}

}  // namespace

// --- which task gets a case

bool has_open_task_case(const State& state, const TaskArray& array) {
  return std::ranges::any_of(array.failures, [&](const auto& one) { return is_open(state, one.second); });
}

const TaskFailure* same_failure(const State& state, const TaskArray& array, const TaskFailure& failure) {
  if (failure.case_no != 0) return nullptr;
  const TaskFailure* alike = nullptr;
  for (const auto& [task, other] : array.failures) {
    if (other.case_no == 0 || !other.like(failure)) continue;
    const Case* c = case_of(state, other.case_no);
    if (c == nullptr || !explains(*c, failure)) continue;
    // A node that both have used says more than an exit code that both have.
    if (c->verdict && names_nodes(c->verdict->cause)) return &other;
    if (alike == nullptr) alike = &other;
  }
  return alike;
}

// Each failure is held against those that are looked into and ended alike.  Three of a kind say enough,
// unless their cases, once over, blame nodes that this task has not used.
const TaskFailure* next_task_case(const State& state, const Policy& policy, const TaskArray& array) {
  // Tasks with a case, by how they ended; in a thousand failures there are few of these.
  std::vector<const TaskFailure*> looked_into;
  int open = 0;
  for (const auto& [task, failure] : array.failures)
    if (failure.case_no != 0) {
      looked_into.push_back(&failure);
      open += is_open(state, failure) ? 1 : 0;
    }
  if (open >= policy.array_cases ||
      static_cast<int>(looked_into.size()) >= kRoundsOfCases * policy.array_cases)
    return nullptr;
  const TaskFailure* next = nullptr;
  for (const auto& [task, failure] : array.failures) {
    if (failure.case_no != 0) continue;
    int alike = 0;
    bool waits = false, elsewhere = true;
    for (const TaskFailure* other : looked_into) {
      if (!other->like(failure)) continue;
      ++alike;
      waits = waits || is_open(state, *other);
      elsewhere = elsewhere && hosts_in_both(other->nodes, failure.nodes).empty();
    }
    // Three are enough, and are waited for; a fourth only where none of them explains this task.
    if (alike >= kAlikeCases && (waits || same_failure(state, array, failure) != nullptr)) continue;
    // One that ran elsewhere tells more than a second one from the same node.
    if (elsewhere) return &failure;
    if (next == nullptr) next = &failure;
  }
  return next;
}

// All that the case of the array was opened with holds for its tasks; what a job for each task would cost
// does not.
Event task_case(const Case& parent, const TaskFailure& failure) {
  const Options& o = parent.options;
  const TaskName name{parent.array->job_id, failure.task};
  // Tasks differ in what they do: alike failures of one array are told apart by same_failure(), and only a
  // task of the same number in another array is the same program.
  const std::string& digest = parent.script_digest;
  Event event = new_event(
      "", kCaseOpened,
      Json::object(
          {{"owner", parent.owner.to_json()},
           {"options", Json::object({{"deliver", o.deliver},
                                     {"rerun", parent.reruns.checked ? Json(to_string(parent.reruns.wish))
                                                                     : Json(o.rerun)},
                                     {"requeue", o.requeue},
                                     {"check", ""},  // a job for each of a thousand tasks: not done
                                     {"expect_time_s", o.expect_time_s},
                                     {"workdir", o.workdir}})},
           {"script_name", ""},
           {"work_dir", parent.work_dir},
           {"output_dir", ""},
           {"notes", Json::array({fmt::format(
                         "its other runs are job arrays of one task: SLURM_ARRAY_TASK_ID is {} again, "
                         "SLURM_ARRAY_JOB_ID, _TASK_COUNT, _TASK_MIN and _TASK_MAX are not as in {}",
                         failure.task, name.text())})},
           {"parent", parent.name()},
           {"task", name.text()},
           {"job_id", failure.job_id},
           {"nodes", compress_hostlist(failure.nodes)}}));
  if (parent.reruns.checked)
    event.body.set("inputs", parent.inputs)
        .set("script_digest", digest.empty() ? "" : fmt::format("{}/{}", digest, failure.task))
        .set("names_folder", parent.names_folder)
        .set("submits_jobs", parent.submits_jobs);
  return event;
}

void name_task_case(Event& event, std::int64_t no) {
  event.subject = case_name(no);
  event.body.set("output_dir",
                 fmt::format("{}/sickbay-{}", event.body["work_dir"].as_string(), event.subject));
}

// --- apply

void open_array(Case& subject, const Event& event) {
  subject.array = TaskArray{};
  subject.array->expression = event.body["array"].as_string();
}

void bind_array(State& state, Case& subject, const Event& event) {
  if (subject.array->job_id != 0) return;
  subject.array->job_id = static_cast<JobId>(event.body["job_id"].as_int());
  name_by_job(state, subject, subject.array->job_id);
}

void open_task_case(State& state, Case& subject, const Event& event) {
  const auto parent = parse_case_name(event.body["parent"].as_string());
  const auto name = parse_task_name(event.body["task"].as_string());
  if (!parent || !name) return;
  subject.parent = *parent;
  subject.task = *name;
  // Bound from the beginning: its job is the task, which the watch will see once more, and whole.
  Run& run = put_run(subject, RunId{subject.no, RunKind::program, 1});
  run.wanted_at = event.at;
  run.bound = true;
  run.job.job_id = static_cast<JobId>(event.body["job_id"].as_int());
  run.job.uid = subject.owner.uid;
  if (auto nodes = expand_hostlist(event.body["nodes"].as_string()))
    run.nodes = sorted_hosts(std::move(*nodes));
  // The last task to start bears the array's number, by which people ask for the whole array.
  if (run.job.job_id != name->array_job_id) name_by_job(state, subject, run.job.job_id);
  const auto of = state.cases.find(*parent);
  if (of == state.cases.end() || !of->second.array) return;
  const auto failure = of->second.array->failures.find(name->task);
  if (failure != of->second.array->failures.end()) failure->second.case_no = subject.no;
}

void on_array_seen(State& state, const cluster::View&, Case* subject, const Event& event) {
  if (subject == nullptr || !subject->array) return;
  TaskArray& array = *subject->array;
  // Told once, with the first look: from then on Slurm's word stands, and no longer the user's expression.
  if (event.body.has("tasks") && !array.is_seen()) array.tasks = array.left = ids_in(event.body["tasks"]);
  array.running = static_cast<std::uint32_t>(event.body["running"].as_int());
  for (const Json& group : event.body["ended"].items()) {
    const TaskIds ids = ids_in(group["tasks"]);
    array.ended[group["state"].as_string()].add(ids);
    array.left.remove(ids);
  }
  TaskIds failed;
  for (const Json& row : event.body["failed"].items()) {
    TaskFailure failure;
    failure.task = static_cast<TaskId>(row["task"].as_int());
    failure.job_id = static_cast<JobId>(row["job_id"].as_int());
    failure.state = row["state"].as_string();
    failure.exit_code = static_cast<int>(row["exit_code"].as_int());
    failure.exit_signal = static_cast<int>(row["exit_signal"].as_int());
    if (auto nodes = expand_hostlist(row["nodes"].as_string()))
      failure.nodes = sorted_hosts(std::move(*nodes));
    failed.add(failure.task);
    if (failure.job_id != array.job_id) name_by_job(state, *subject, failure.job_id);
    // The first failure of a task stands: it may have a case by now.
    array.failures.try_emplace(failure.task, std::move(failure));
  }
  array.left.remove(failed);
}

void lose_tasks(Case& subject, const Event& event) {
  TaskArray& array = *subject.array;
  TaskIds ids = ids_in(event.body["tasks"]);
  // Without a word on which it is the whole array.
  if (ids.empty()) ids = array.left;
  if (ids.empty() && !array.is_seen()) ids.add(TaskId{0});  // an expression that we cannot read, and no job
  array.lost.add(ids);
  array.tasks.add(ids);
  array.left.remove(ids);
}

// --- decide

void Look::cancel_task_cases(const TaskArray& array) {
  for (const auto& [task, failure] : array.failures) {
    const Case* c = case_of(known_.state, failure.case_no);
    if (c == nullptr || c->is_closed() || c->cancel_requested) continue;
    out_.records.push_back(new_event(c->name(), kCancelRequested, Json::object({{"by", c_.cancelled_by}})));
  }
}

void Look::array_steps(const TaskArray& array) {
  if (c_.cancel_requested) {
    cancel_task_cases(array);
    // Closed last: what its tasks were submitted with is kept with it.
    if (!has_open_task_case(known_.state, array)) finish_cancelled();
    return;
  }
  // The records of this look are not in the state yet: they are noted in a copy, so that the bounds hold for
  // all of them together.
  TaskArray then = array;
  while (const TaskFailure* next = next_task_case(known_.state, known_.policy, then)) {
    out_.records.push_back(task_case(c_, *next));
    then.failures.at(next->task).case_no = kToBeOpened;
  }
  if (!out_.records.empty()) return;
  // The verdict counts what the cases of its tasks found: none may be open.
  if (!array.all_ended() || has_open_task_case(known_.state, array)) return;
  Verdict verdict = array_verdict(known_.state, c_);
  verdict.at = known_.now;
  say(verdict);
  close();
}

}  // namespace sickbay::identify
