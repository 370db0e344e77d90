// SPDX-License-Identifier: Apache-2.0
// Job arrays in words: the verdict of the whole, how one task stands, and the view of the API.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/counted.h"
#include "base/hostlist.h"
#include "engine/identify/array.h"

namespace sickbay::identify {
namespace {

constexpr std::size_t kMostAdvice = 4;  // lines; the rest is in the table of tasks

// What the verdict of a task's case is called in the sentence of its array.
struct CauseWords {
  Cause cause;
  std::string_view words;
};
constexpr auto kCauseWords = std::to_array<CauseWords>({
    {Cause::program, "program"},
    {Cause::non_deterministic, "does not repeat"},
    {Cause::sometimes_program, "program, now and then"},
    {Cause::sometimes_node, "node, now and then"},
    {Cause::inconclusive, "not decided"},
    {Cause::cancelled, "cancelled"},
    {Cause::out_of_memory, "out of memory"},
    {Cause::deadline, "deadline"},
    {Cause::normal, "no failure"},
});

// What an end without a failure comes to.  States without a row ended well.
struct StateCause {
  std::string_view state;
  Cause cause;
};
constexpr auto kStateCauses = std::to_array<StateCause>({
    {"CANCELLED", Cause::cancelled},
    {"PREEMPTED", Cause::cancelled},
    {"REVOKED", Cause::cancelled},
    {"OUT_OF_MEMORY", Cause::out_of_memory},
    {"DEADLINE", Cause::deadline},
});

std::string cause_words(const Case& c) {
  if (!c.verdict) return "not decided";
  if (c.verdict->cause == Cause::node) {
    const std::string names = compress_hostlist(c.verdict->nodes);
    return names.empty() ? "network" : (c.verdict->nodes.size() == 1 ? "node " : "nodes ") + names;
  }
  const auto row = std::ranges::find(kCauseWords, c.verdict->cause, &CauseWords::cause);
  return std::string(row != kCauseWords.end() ? row->words : "not decided");
}

std::string exit_words(const TaskFailure& failure) {
  if (failure.exit_signal != 0) return fmt::format("{}, signal {}", failure.state, failure.exit_signal);
  return fmt::format("{}, exit code {}", failure.state, failure.exit_code);
}

// Failed tasks without a case that are told alike: those like `like`, or, without it, those that ended alike.
struct Alike {
  const TaskFailure* one = nullptr;
  const TaskFailure* like = nullptr;
  TaskIds tasks;
};
std::vector<Alike> alike_groups(const State& state, const TaskArray& array) {
  std::vector<Alike> groups;
  for (const auto& entry : array.failures) {
    const TaskFailure& failure = entry.second;  // (Clang 14 lets no lambda have a structured binding.)
    if (failure.case_no != 0) continue;
    const TaskFailure* like = same_failure(state, array, failure);
    const auto group =
        std::ranges::find_if(groups, [&](const Alike& g) { return g.like == like && g.one->like(failure); });
    Alike& into = group == groups.end() ? groups.emplace_back(Alike{&failure, like, {}}) : *group;
    into.tasks.add(entry.first);
  }
  return groups;
}

// "program (c18, c19 and 5 tasks that failed alike), node n3 (c20)"
std::string failure_list(const State& state, const TaskArray& array, const std::vector<Alike>& alike) {
  struct Group {
    std::string words;
    std::vector<std::string> cases;
    std::size_t others = 0;
  };
  std::vector<Group> groups;
  std::map<TaskId, std::size_t> place;  // of tasks with a case
  for (const auto& [task, failure] : array.failures) {
    if (failure.case_no == 0) continue;
    const Case* c = case_of(state, failure.case_no);
    const std::string words = c ? cause_words(*c) : "not decided";
    auto group = std::ranges::find(groups, words, &Group::words);
    if (group == groups.end()) group = groups.insert(groups.end(), Group{words, {}, 0});
    group->cases.push_back(case_name(failure.case_no));
    place[task] = static_cast<std::size_t>(group - groups.begin());
  }
  std::size_t unknown = 0;
  for (const Alike& a : alike) {
    if (a.like != nullptr)
      groups[place.at(a.like->task)].others += a.tasks.size();
    else
      unknown += a.tasks.size();
  }
  std::vector<std::string> texts;
  for (const Group& g : groups)
    texts.push_back(fmt::format(
        "{} ({}{})", g.words, fmt::join(g.cases, ", "),
        g.others == 0 ? "" : fmt::format(" and {} that failed alike", counted(g.others, "task"))));
  if (unknown > 0) texts.push_back(fmt::format("{} not looked into", counted(unknown, "task")));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// --deliver: the run of this task elsewhere is the user's result.
const Run* delivered(const Case& c) {
  if (!c.options.deliver || !c.verdict || c.verdict->cause != Cause::node) return nullptr;
  for (const Run& run : c.programs)
    if (run.id.n > 1 && run.outcome == Outcome::ok) return &run;
  return nullptr;
}

std::string lower(std::string text) {
  for (char& c : text) c = c == '_' ? ' ' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

}  // namespace

// Counts and names, and finds nothing of its own: each task that failed has a case with a verdict, is like
// one that has, or was not looked into.  The cause is theirs, where they have one in common.
Verdict array_verdict(const State& state, const Case& subject) {
  const TaskArray& array = *subject.array;
  const std::vector<Alike> alike = alike_groups(state, array);
  std::set<Cause> causes;
  Verdict v;
  v.final = true;
  v.rule = "array";
  std::string others;  // that ended neither well nor by a failure
  for (const auto& [word, tasks] : array.ended) {
    v.why.push_back(fmt::format("{} {}: {}", counted(tasks.size(), "task"), lower(word), tasks.text()));
    const auto row = std::ranges::find(kStateCauses, word, &StateCause::state);
    if (row == kStateCauses.end()) continue;
    causes.insert(row->cause);
    others += fmt::format(" {} ended as {}.", counted(tasks.size(), "task"), word);
  }
  if (!array.lost.empty()) {
    causes.insert(Cause::inconclusive);
    others += fmt::format(" Slurm has lost {}: {}.", counted(array.lost.size(), "task"), array.lost.text());
  }
  TaskIds failed;
  for (const auto& [task, failure] : array.failures) {
    const Case* c = case_of(state, failure.case_no);
    // A task whose result was delivered is not to be submitted again.
    const Run* result = c ? delivered(*c) : nullptr;
    if (result == nullptr) failed.add(task);
    if (failure.case_no == 0) continue;
    const bool known = c != nullptr && c->verdict.has_value();
    causes.insert(known ? c->verdict->cause : Cause::inconclusive);
    // The whole is no surer than its least sure part.
    if (known) v.confidence = std::min(v.confidence, c->verdict->confidence);
    v.why.push_back(fmt::format("task {} ({}, {}): {}", task, case_name(failure.case_no), exit_words(failure),
                                known ? c->verdict->sentence : "its case is gone"));
    if (result != nullptr)
      v.why.back() += fmt::format(" {} completed, its output is {}", result->id.text(), result->job.std_out);
    if (v.next.size() < kMostAdvice) v.next.push_back("sickbay why " + TaskName{array.job_id, task}.text());
  }
  for (const Alike& a : alike) {
    if (a.like == nullptr) causes.insert(Cause::inconclusive);
    v.why.push_back(
        a.like ? fmt::format("tasks {} ({}): the same failure as task {}", a.tasks.text(), exit_words(*a.one),
                             a.like->task)
               : fmt::format("tasks {} ({}) were not looked into", a.tasks.text(), exit_words(*a.one)));
  }
  // What people or Slurm ended says nothing against the tasks that failed.
  if (causes.size() > 1) causes.erase(Cause::cancelled);
  v.cause = causes.empty() ? Cause::normal : causes.size() == 1 ? *causes.begin() : Cause::mixed;
  if (v.cause == Cause::normal) v.why.clear();
  if (array.failures.empty())
    v.sentence = others.empty() ? "All tasks completed; nothing to explain."
                                : "No task of the array failed by itself." + others;
  else
    v.sentence = fmt::format("{} of {} failed: {}.{}", array.failures.size(),
                             counted(array.tasks.size(), "task"), failure_list(state, array, alike), others);
  if (!failed.empty())
    v.next.push_back(
        fmt::format("when the cause is gone, submit these tasks again: --array={}", failed.text()));
  return v;
}

const Case* case_of_task(const State& state, const TaskName& name) {
  const auto owner = state.by_job.find(name.array_job_id);
  const Case* parent = owner == state.by_job.end() ? nullptr : case_of(state, owner->second);
  if (parent == nullptr || !parent->array) return nullptr;
  const auto failure = parent->array->failures.find(name.task);
  if (failure == parent->array->failures.end()) return parent;
  const Case* own = case_of(state, failure->second.case_no);
  // (Its own case may be in the archive already.)
  return own != nullptr ? own : parent;
}

std::string task_words(const State& state, const Case& array_case, TaskId task) {
  const TaskArray& array = *array_case.array;
  if (const auto it = array.failures.find(task); it != array.failures.end()) {
    const TaskFailure& failure = it->second;
    std::string text = fmt::format("task {} failed ({})", task, exit_words(failure));
    if (failure.case_no != 0) return text + ": " + case_name(failure.case_no);
    if (const TaskFailure* like = same_failure(state, array, failure))
      return text + fmt::format(": the same failure as task {}, {}", like->task, case_name(like->case_no));
    return text + (array_case.is_closed() ? ", and was not looked into" : ", and waits to be looked into");
  }
  for (const auto& [word, tasks] : array.ended)
    if (tasks.contains(task)) return fmt::format("task {} ended as {}", task, word);
  if (array.lost.contains(task)) return fmt::format("Slurm has lost task {}", task);
  if (array.left.contains(task) || !array.is_seen())
    return fmt::format("task {} had not ended when Sickbay last noted the tasks", task);
  return fmt::format("job array {} has no task {}", array.job_id, task);
}

Json array_view(const State& state, const Case& subject) {
  if (!subject.array) return {};
  const TaskArray& array = *subject.array;
  Json ended = Json::array(), failed = Json::array();
  for (const auto& [word, tasks] : array.ended)
    ended.push(Json::object({{"state", word}, {"tasks", tasks.text()}, {"count", tasks.size()}}));
  const auto row = [](const TaskFailure& f, const TaskIds& tasks) {
    return Json::object({{"tasks", tasks.text()},
                         {"count", tasks.size()},
                         {"state", f.state},
                         {"exit_code", f.exit_code},
                         {"exit_signal", f.exit_signal}});
  };
  for (const auto& [task, failure] : array.failures) {
    if (failure.case_no == 0) continue;
    TaskIds one;
    one.add(task);
    Json view = row(failure, one);
    const Case* c = case_of(state, failure.case_no);
    view.set("job_id", failure.job_id)
        .set("nodes", compress_hostlist(failure.nodes))
        .set("case", case_name(failure.case_no))
        .set("cause", c && c->verdict ? cause_words(*c) : "");
    failed.push(std::move(view));
  }
  for (const Alike& a : alike_groups(state, array)) {
    Json view = row(*a.one, a.tasks);
    if (a.like != nullptr) view.set("same_as", a.like->task).set("case", case_name(a.like->case_no));
    failed.push(std::move(view));
  }
  return Json::object({{"expression", array.expression},
                       {"count", array.tasks.size()},
                       {"left", array.left.text()},
                       {"running", array.running},
                       {"lost", array.lost.text()},
                       {"ended", std::move(ended)},
                       {"failed", std::move(failed)}});
}

}  // namespace sickbay::identify
