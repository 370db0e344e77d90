// SPDX-License-Identifier: Apache-2.0
// What people do in a scenario, and what happens to what the whole cluster shares.
#include "test/sim_runner/scenario_acts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/size.h"
#include "engine/history/plan.h"
#include "test/sim_runner/scenario_run.h"

namespace sickbay::sim {
namespace {

template <identify::RerunWay how>
bool answer_rerun(ScenarioRun& run, const std::string& name) {
  return run.world.answer_rerun(run.cases[name], how, "alice");
}

/// What people do to their jobs and cases: "job NAME WORD".
Result<Act> job_act(const Words& words) {
  static const std::map<std::string, bool (*)(ScenarioRun&, const std::string&)> kWords = {
      {"cancel",
       [](ScenarioRun& run, const std::string& name) { return run.world.cluster().scancel(run.jobs[name]); }},
      {"requeue",
       [](ScenarioRun& run, const std::string& name) { return run.world.cluster().requeue(run.jobs[name]); }},
      {"preempt",
       [](ScenarioRun& run, const std::string& name) { return run.world.cluster().preempt(run.jobs[name]); }},
      {"cancel-case",
       [](ScenarioRun& run, const std::string& name) {
         run.world.cancel_case(run.cases[name], "alice");
         return true;
       }},
      {"requeue-case",
       [](ScenarioRun& run, const std::string& name) {
         return run.world.requeue_case(run.cases[name], "alice");
       }},
      {"rerun-same", answer_rerun<identify::RerunWay::same>},
      {"rerun-copy", answer_rerun<identify::RerunWay::copy>},
      {"rerun-never", answer_rerun<identify::RerunWay::never>},
  };
  static const std::map<std::string, bool (SimCluster::*)(JobId)> kTaskWords = {
      {"cancel-task", &SimCluster::scancel},
      {"requeue-task", &SimCluster::requeue},
      {"preempt-task", &SimCluster::preempt},
  };
  if (words.size() > 3 && kTaskWords.contains(words[2]))
    return Act([name = words[1], act = kTaskWords.at(words[2]), task = words[3]](ScenarioRun& run) -> Status {
      SimCluster& cluster = run.world.cluster();
      const JobId job = cluster.task_job(run.jobs[name], static_cast<TaskId>(number(task).value_or(0)));
      if (!(cluster.*act)(job))
        return bad(fmt::format("task {} of '{}' is not in a state for that", task, name));
      return {};
    });
  if (words.size() < 3 || !kWords.count(words[2]))
    return bad(
        "say: job NAME cancel|requeue|preempt|cancel-case|requeue-case|rerun-same|rerun-copy|rerun-never, or "
        "cancel-task|requeue-task|preempt-task N");
  return Act([name = words[1], act = kWords.at(words[2])](ScenarioRun& run) -> Status {
    if (!run.jobs.count(name)) return bad(fmt::format("no job '{}' yet", name));
    if (!act(run, name)) return bad(fmt::format("job '{}' is not in a state for that", name));
    return {};
  });
}

/// What a user or an operator does to one job of a case: "cancel NAME [r2|v1] [by=root]".
struct RunWord {
  std::string_view name;
  bool (*act)(ScenarioRun& run, JobId job, bool by_operator, const std::string& value);
};
constexpr auto kRunWords = std::to_array<RunWord>({
    {"cancel",
     [](ScenarioRun& run, JobId job, bool, const std::string&) { return run.world.cluster().scancel(job); }},
    {"hold", [](ScenarioRun& run, JobId job, bool by_operator,
                const std::string&) { return run.world.cluster().hold(job, by_operator); }},
    {"release", [](ScenarioRun& run, JobId job, bool,
                   const std::string&) { return run.world.cluster().release_hold(job); }},
    {"priority",
     [](ScenarioRun& run, JobId job, bool, const std::string& value) {
       return run.world.cluster().set_priority(job, static_cast<int>(number(value).value_or(0)));
     }},
});

Result<Act> run_act(const Words& words) {
  const auto row =
      std::find_if(kRunWords.begin(), kRunWords.end(), [&](const auto& w) { return w.name == words[0]; });
  std::string run_name, value;
  bool by_operator = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, said] = key_value(words[i]);
    if (key == "by")
      by_operator = said == "root";
    else if (key == "to")
      value = said;
    else if (run_name.empty() && said.empty())
      run_name = key;
    else
      return bad("say: cancel|hold|release|priority NAME [r2|v1] [by=root] [to=N]");
  }
  return Act([row, name = words[1], run_name, by_operator, value](ScenarioRun& run) -> Status {
    const auto job = run.job_of(name, run_name);
    if (!job) return bad(fmt::format("no job of '{}' {} yet", name, run_name));
    if (!row->act(run, *job, by_operator, value))
      return bad(fmt::format("job {} is not in a state for that", *job));
    return {};
  });
}

Result<Act> slurmctld_act(const Words& words) {
  const auto down = duration_word(words, "for");
  if (!down) return fail(down.error());
  if (words[1] != "killed" && words[1] != "restarted") return bad("slurmctld is killed or restarted");
  // What slurmd runs and slurmctld has forgotten: "Duplicate jobid" when it is to start again.
  const bool runs_stay = std::find(words.begin(), words.end(), "runs-stay") != words.end();
  return Act([killed = words[1] == "killed", down = *down, runs_stay](ScenarioRun& run) -> Status {
    run.world.cluster().restart_controller(killed, down, runs_stay);
    return {};
  });
}

Result<Act> sickbayd_act(const Words& words) {
  const auto down = duration_word(words, "for");
  if (!down) return fail(down.error());
  return Act([down = *down](ScenarioRun& run) -> Status {
    if (!run.world.sickbayd_runs()) return bad("sickbayd is dead already");
    run.world.kill_sickbayd();
    run.world.loop().at(run.world.loop().now() + down, [&run] {
      run.say("> sickbayd starts");
      run.world.start_sickbayd();
    });
    return {};
  });
}

Result<Act> disk_act(const Words& words) {
  const auto full = duration_word(words, "for");
  if (!full) return fail(full.error());
  return Act([full = *full](ScenarioRun& run) -> Status {
    run.world.journal().set_full(true);
    run.world.loop().at(run.world.loop().now() + full, [&run] {
      run.say("> disk has space again");
      run.world.journal().set_full(false);
    });
    return {};
  });
}

Result<Act> lose_act(const Words& words) {
  if (words.size() < 3 || (words[1] != "answer" && words[1] != "request"))
    return bad("say: lose answer|request CALL [times=N]");
  int times = 1;
  for (const auto& word : words)
    if (const auto [key, value] = key_value(word); key == "times")
      times = static_cast<int>(number(value).value_or(1));
  const auto fault = words[1] == "answer" ? SimCallFault::lost_answer : SimCallFault::lost_request;
  return Act([call = words[2], fault, times](ScenarioRun& run) -> Status {
    run.world.cluster().fail_calls(call, fault, times);
    return {};
  });
}

/// What people do to the folder of a job: "edit NAME FILE", "remove-folder NAME"; or to the whole storage:
/// "storage free=SIZE", "storage fills" (in the middle of the next copy).
Result<Act> folder_act(const Words& words) {
  const bool edits = words[0] == "edit";
  if (words.size() != (edits ? 3U : 2U)) return bad("say: edit NAME FILE, or remove-folder NAME");
  return Act([words, edits](ScenarioRun& run) -> Status {
    const auto folder = run.folders.find(words[1]);
    if (folder == run.folders.end()) return bad(fmt::format("no job '{}' yet", words[1]));
    SimFolders& storage = run.world.cluster().folders();
    if (edits)
      storage.edit(folder->second + "/" + words[2], run.world.loop().now());
    else
      storage.remove(folder->second);
    return {};
  });
}

Result<Act> storage_act(const Words& words) {
  const auto [key, value] = key_value(words[1]);
  if (key == "fills")
    return Act([](ScenarioRun& run) -> Status {
      run.world.cluster().folders().fill_in_next_copy();
      return {};
    });
  const auto bytes = parse_size(value, BareUnit::bytes);
  if (key != "free" || !bytes) return bad("say: storage free=SIZE, or storage fills");
  return Act([bytes = bytes->count](ScenarioRun& run) -> Status {
    run.world.cluster().folders().set_free(bytes);
    return {};
  });
}

Result<Act> undo_act(const Words& words) {
  return Act([nodes = words.size() > 1 ? words[1] : ""](ScenarioRun& run) -> Status {
    Event event;
    event.subject = "cluster";
    event.kind = kUndoDrains;
    event.v = kUndoDrainsVersion;
    const TimePoint until =
        run.world.loop().now() + run.world.controller().seats().drains().policy().undo_rest;
    event.body = Json::object({{"by", "root"},
                               {"nodes", nodes},
                               {"rule", ""},
                               {"rest", nodes.empty() ? drain::kRestInCluster : drain::kRestOnNodes},
                               {"rest_until", to_micros(until)}});
    run.world.controller().take({std::move(event)});
    return {};
  });
}

/// What a job tells of a checkpoint, and its owner does about it: "checkpoint NAME N", "restored NAME N",
/// "rewind NAME OP|N|start", "repair NAME FILE" (after an edit of it).
Result<Act> history_act(const Words& words) {
  if (words.size() != 3) return bad("say: checkpoint|restored NAME N, rewind NAME OP, or repair NAME FILE");
  return Act([words](ScenarioRun& run) -> Status {
    const history::State& state = run.world.controller().seats().histories().state();
    const history::Part* part =
        run.jobs.contains(words[1]) ? history::part_of(state, run.jobs[words[1]]) : nullptr;
    if (part == nullptr) return bad(fmt::format("no job '{}' yet", words[1]));
    const auto say = [&](const history::Part& of, std::string_view kind, Json body) -> Status {
      body.set("by", part->owner.user);
      run.world.controller().take({new_event(case_name(of.case_no), kind, std::move(body))});
      return {};
    };
    if (words[0] == "checkpoint" || words[0] == "restored") {
      const auto told = history::Told::from_request(
          Json::object({{"job", part->job},
                        {"restart", part->restart},
                        {"checkpoint", static_cast<std::int64_t>(number(words[2]).value_or(0))},
                        {"event", words[0] == "restored" ? "restored" : "taken"},
                        {"folder", part->work_dir + "/.checkpoints"}}));
      if (!told) return fail(told.error());
      return say(*part, history::kCheckpointTold, told->to_json());
    }
    if (words[0] == "rewind") {
      const auto plan = history::make_plan(state, *part, {history::Ask::rewind, words[2]});
      if (!plan) return fail(plan.error());
      Json body = plan->to_json();
      body.set("did", "rewind");
      return say(*history::part_of(state, plan->to.job), history::kRewound, std::move(body));
    }
    const history::OpRef position = history::position_of(state, *part);
    if (!position) return bad("nobody has gone back");
    const std::string path = part->work_dir + "/" + words[2];
    const history::Work work = history::made_at(state, position).work;
    const auto from = work.find("file:" + path);
    const auto file = run.world.cluster().folders().file(path);
    const history::Change change{"file:" + path, from == work.end() ? "" : from->second,
                                 file ? file->digest : ""};
    return say(*history::part_of(state, position.job), history::kRepaired,
               Json::object({{"under", position.text()}, {"changes", history::changes_json({change})}}));
  });
}

/// "verify-fleet [NODES] [budget=N]", "verify-fleet stop".
Result<Act> patrol_act(const Words& words) {
  std::string nodes;
  std::optional<int> budget;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "budget")
      budget = static_cast<int>(number(value).value_or(0));
    else
      nodes = words[i];
  }
  return Act([nodes, budget](ScenarioRun& run) -> Status {
    PatrolSeat& seat = run.world.controller().seats().patrols();
    const patrol::Round* open = seat.state().open();
    if (nodes == "stop") {
      if (open == nullptr) return bad("no round is open");
      run.world.controller().take(
          {new_event(open->name(), patrol::kPatrolStop, Json::object({{"by", "root"}}))});
      return {};
    }
    const std::int64_t no = seat.new_round();
    if (no == 0) return bad("a round is open");
    run.world.controller().take({new_event(
        patrol_name(no), patrol::kPatrolAsked,
        Json::object(
            {{"by", "root"}, {"nodes", nodes}, {"budget", budget.value_or(seat.policy().budget)}}))});
    return {};
  });
}

/// What an operator asks for a job: "recover NAME [NODE] [alone]".
Result<Act> recover_act(const Words& words) {
  std::string node;
  bool alone = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "alone")
      alone = true;
    else
      node = words[i];
  }
  return Act([name = words[1], node, alone](ScenarioRun& run) -> Status {
    const auto job = run.jobs.contains(name) ? run.world.cluster().job(run.jobs[name]) : std::nullopt;
    if (!job) return bad(fmt::format("Slurm has no job '{}'", name));
    run.world.controller().take(
        {new_event(recovery_name(run.world.controller().seats().recoveries().new_number()), kRecoveryOpened,
                   recover::Fault::of_job(*job, node, alone, "by root").to_json())});
    return {};
  });
}

}  // namespace

const std::map<std::string, Result<Act> (*)(const Words&)>& act_words() {
  static const std::map<std::string, Result<Act> (*)(const Words&)> kActs = {
      {"job", job_act},
      {"slurmctld", slurmctld_act},
      {"sickbayd", sickbayd_act},
      {"disk", disk_act},
      {"lose", lose_act},
      {"undo-drains", undo_act},
      {"edit", folder_act},
      {"remove-folder", folder_act},
      {"storage", storage_act},
      {"cancel", run_act},
      {"hold", run_act},
      {"release", run_act},
      {"priority", run_act},
      {"verify-fleet", patrol_act},
      {"checkpoint", history_act},
      {"restored", history_act},
      {"rewind", history_act},
      {"repair", history_act},
      {"recover", recover_act},  // (of a job)
  };
  return kActs;
}

}  // namespace sickbay::sim
