// SPDX-License-Identifier: Apache-2.0
// apply(): what each kind of event changes.  One function per kind, in one table.
//
// It is also the replay, so it has no policy: a plan stands in the journal as it was made, and what is
// counted of a restart is counted by that plan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/recover/asked.h"
#include "engine/recover/recover.h"
#include "model/event_kinds.h"
#include "model/finding_action.h"
#include "model/slurm_state.h"
#include "model/verbs.h"

namespace sickbay::recover {
namespace {

constexpr auto kOutcomes = std::to_array<std::string_view>({"cured", "given_up", "refused", "gone"});
static_assert(kOutcomes.size() == static_cast<std::size_t>(Outcome::gone) + 1);

// One event on its way through; `touched` are the subjects of which decide() must be asked again.
struct Change {
  State& state;
  const cluster::View& view;
  const Event& event;
  std::vector<std::string> touched;

  void touch(const Recovery& recovery) {
    if (recovery.open()) touched.push_back(recovery.name());
  }
  // All that wait: for a claim, the breaker, a node.
  void touch_open() {
    for (const std::int64_t no : state.open) touched.push_back(recovery_name(no));
  }
  Recovery* recovery() {
    const auto no = parse_recovery_name(event.subject);
    const auto it = no ? state.recoveries.find(*no) : state.recoveries.end();
    return it == state.recoveries.end() ? nullptr : &it->second;
  }
};

// Steps are one after the other, so only the last can be without an end.
StepTaken* under_way(Recovery& recovery) {
  return recovery.steps.empty() || recovery.steps.back().ended != kNoTime ? nullptr : &recovery.steps.back();
}

Seconds seconds_of(const Json& us) { return Seconds(Micros(us.as_int())); }

// --- faults

void on_finding(Change& c) {
  const Json& body = c.event.body;
  if (body["late"].as_bool()) return;  // history, never a cause to act (decisions.md 14)
  const std::string rule = rule_of_finding(body);
  const std::string& node = body["node"].as_string();
  // The rule sees its fault no more: nothing is opened for it, and what is open ends (decide(), source_gone).
  if (body["result"].as_string() == "ok") {
    std::erase_if(c.state.wanted,
                  [&](const auto& entry) { return entry.second.node == node && entry.second.rule == rule; });
    for (const std::int64_t no : c.state.open) {
      Recovery& recovery = c.state.recoveries.at(no);
      if (recovery.fault.node != node || recovery.fault.rule != rule) continue;
      recovery.source_gone = true;
      c.touch(recovery);
    }
    return;
  }
  const auto no = parse_finding_name(c.event.subject);
  if (!no || body["result"].as_string() != "fault" || body["action"].as_string() != "restart" ||
      body["component"].as_string().empty())
    return;
  Fault fault;
  fault.of = fault_class_from(body["class"].as_string()).value_or(FaultClass::component);
  fault.node = node;
  fault.component = body["component"].as_string();
  fault.source = c.event.subject;
  fault.text = body["text"].as_string();
  fault.rule = rule;
  // Where no component is described, the site restarts none: the operator hears of the fault, as of any.
  if (const auto known = c.state.components.find(node);
      known == c.state.components.end() || known->second.empty())
    return;
  // A fault that is told again while its recovery is under way says nothing new.
  for (const std::int64_t open : c.state.open)
    if (cell_of(c.state.recoveries.at(open).fault) == cell_of(fault)) return;
  c.state.wanted[*no] = std::move(fault);
  c.touched.emplace_back(kRecoveries);
}

void on_opened(Change& c) {
  const auto no = parse_recovery_name(c.event.subject);
  if (!no || c.state.recoveries.contains(*no)) return;
  c.state.last = std::max(c.state.last, *no);
  Recovery& recovery = c.state.recoveries[*no];
  recovery.no = *no;
  recovery.fault = Fault::from_json(c.event.body);
  recovery.opened_at = c.event.at;
  c.state.open.insert(*no);
  const std::string cell = cell_of(recovery.fault);
  std::erase_if(c.state.wanted, [&](const auto& entry) {
    return entry.second.source == recovery.fault.source || cell_of(entry.second) == cell;
  });
  // Cells of jobs are many, and gone with them.
  std::erase_if(c.state.opened, [&](const auto& entry) {
    return is_job_subject(entry.first) && entry.second.back() <= c.event.at - kDay;
  });
  std::erase_if(c.state.last_cures, [&](const auto& entry) {
    return entry.second.level >= Level::domain && c.event.at - entry.second.at >= kBackAgain;
  });
  std::erase_if(c.state.wanted_jobs,
                [&](const auto& entry) { return entry.second.source == recovery.fault.source; });
  std::vector<TimePoint>& opened = c.state.opened[cell];
  std::erase_if(opened, [&](TimePoint at) { return at <= c.event.at - kDay; });
  opened.push_back(c.event.at);
  // Counted when it is opened and not when it is found: one fault may be found many times.
  c.state.rates.failed(cell, kind_of(recovery.fault), level_of(recovery.fault));
  // What cured it a short while ago did not.
  if (const auto last = c.state.last_cures.find(cell); last != c.state.last_cures.end()) {
    const State::LastCure& cure = last->second;
    if (c.event.at - cure.at < kBackAgain)
      c.state.rates.take_back_cure(cure.cell, cure.kind, cure.level, cure.fault);
    c.state.last_cures.erase(last);
  }
  c.touch(recovery);
  c.touched.emplace_back(kRecoveries);
}

// --- the plan and its steps

void on_planned(Change& c) {
  Recovery* recovery = c.recovery();
  // The first plan stands: restarts are counted by it, and a replay must count alike.
  if (recovery == nullptr || recovery->planned) return;
  const Json& body = c.event.body;
  recovery->planned = true;
  recovery->acts = body["acts"].as_bool();
  Plan& plan = recovery->plan;
  for (const Json& cell : body["path"].items()) {
    PlannedCell planned;
    planned.cell = cell["cell"].as_string();
    planned.kind = cell["kind"].as_string();
    planned.level = level_from(cell["level"].as_string()).value_or(Level::cluster);
    if (auto nodes = expand_hostlist(cell["nodes"].as_string()))
      planned.nodes = sorted_hosts(std::move(*nodes));
    planned.components = cell["components"].as_strings();
    planned.takes = seconds_of(cell["takes_us"]);
    planned.cures = static_cast<double>(cell["cures_permille"].as_int()) / 1000;
    planned.left_to_people = cell["left_to_people"].as_string();
    plan.path.push_back(std::move(planned));
  }
  plan.start = static_cast<int>(body["start"].as_int(-1));
  // (From a journal that was damaged or is of another version.)
  if (plan.start >= static_cast<int>(plan.path.size())) plan.start = -1;
  plan.expected = seconds_of(body["expected_us"]);
  plan.refused = body["refused"].as_string();
  c.touch(*recovery);
}

// Begins the step that is meant, once: its number says which.
StepTaken* begin_step(Change& c, Recovery& recovery, int n, std::size_t cell) {
  if (n != static_cast<int>(recovery.steps.size()) + 1 || cell >= recovery.plan.path.size()) return nullptr;
  StepTaken& step = recovery.steps.emplace_back();
  step.n = n;
  step.cell = cell;
  step.began = c.event.at;
  return &step;
}

// The step is over: counted, and the next one follows, or none.
void end_step(Change& c, Recovery& recovery, StepTaken& step) {
  if (step.ended != kNoTime) return;
  step.ended = c.event.at;
  // What was refused or never done says nothing about what a restart cures.
  if (step.restarted) {
    const PlannedCell& cell = recovery.plan.path[step.cell];
    c.state.rates.restarted(cell.cell, cell.kind, cell.level, recovery.fault.kind(), step.cured,
                            step.took > Micros(0) ? step.took : step.ended - step.began);
    if (step.cured)
      c.state.last_cures[cell_of(recovery.fault)] = {c.event.at, cell.cell, cell.kind, recovery.fault.kind(),
                                                     cell.level};
  }
  c.touch(recovery);
}

// A node that is handed to the drain engine, one event for each of a cell.
void on_leave_wanted(Change& c) {
  Recovery* recovery = c.recovery();
  if (recovery == nullptr || c.event.body["action"].as_string() != "reboot") return;
  // The first node of a cell begins the step, the others join it.
  StepTaken* step = under_way(*recovery);
  if (step == nullptr)
    step = begin_step(c, *recovery, static_cast<int>(c.event.body["step"].as_int()),
                      static_cast<std::size_t>(c.event.body["cell"].as_int()));
  if (step == nullptr) return;
  step->handed = true;
  const std::string& name = c.event.body["node"].as_string();
  const cluster::Node* node = c.view.node(name);
  // By the boot before, a later one is known; Slurm may show none of a node that is away just now.
  step->boots.try_emplace(name, node == nullptr ? kNoTime : node->boot);
  c.touch(*recovery);
}

void on_nodes_seen(Change& c) {
  for (const std::int64_t no : c.state.open) {
    Recovery& recovery = c.state.recoveries.at(no);
    StepTaken* step = under_way(recovery);
    if (step == nullptr || !step->handed) continue;
    for (auto& [name, before] : step->boots) {
      const cluster::Node* node = c.view.node(name);
      if (node == nullptr || node->boot == kNoTime) continue;
      // The first one that is shown is taken for the old one: rather wait for another boot than believe in
      // none.
      if (before == kNoTime)
        before = node->boot;
      else if (booted_since(node->boot, before) && !node->down && !node->reboot_issued() && !node->silent())
        // Booted is not enough: a node that came up and is silent again, or that Slurm is still to boot, is
        // not back.
        step->back.insert(name);
    }
    // All of the cell: nodes that depend on each other are one restart.
    if (step->back.size() == step->boots.size() && !step->restarted) {
      step->restarted = true;
      if (step->rebooting != kNoTime) step->took = c.event.at - step->rebooting;
    }
  }
  c.touch_open();  // one may be gone, or back, or the breaker have room again
}

// The drain engine's reboot: its intent has the boot that Slurm showed.
void on_drains_reboot(Change& c) {
  const std::string name(node_of_subject(c.event.subject));
  for (const std::int64_t no : c.state.open) {
    Recovery& recovery = c.state.recoveries.at(no);
    StepTaken* step = under_way(recovery);
    if (step == nullptr || !step->boots.contains(name)) continue;
    if (c.event.kind == kIntent) {
      // The boot at the moment of the order: the node may have been booted by others since it was handed
      // over.
      step->boots[name] = from_micros(c.event.body["args"]["boot"].as_int());
      step->rebooting = c.event.at;
    } else if (c.event.kind == kFailed) {
      step->overdue = c.event.body["error"]["what"].as_string_or("Slurm did not reboot it");
    }
    c.touch(recovery);
  }
}

void on_step_failed(Change& c) {
  Recovery* recovery = c.recovery();
  StepTaken* step = recovery == nullptr ? nullptr : under_way(*recovery);
  if (step == nullptr) return;
  step->said = c.event.body["why"].as_string();
  end_step(c, *recovery, *step);
}

// The step that a key is about: "r3.s1:check" -> s1.
StepTaken* step_of_key(Recovery& recovery, std::string_view key) {
  for (StepTaken& step : recovery.steps)
    if (key.substr(0, key.find(':')) == step.key(recovery.no)) return &step;
  return nullptr;
}

void on_intent(Change& c) {
  const std::string& did = c.event.body["verb"].as_string();
  Recovery* recovery = c.recovery();
  if (recovery == nullptr) {
    if (did == verb::kReboot) on_drains_reboot(c);
    return;
  }
  const Json& args = c.event.body["args"];
  if (did == verb::kRestartComponent || did == verb::kRequeueJob) {
    begin_step(c, *recovery, static_cast<int>(args["step"].as_int()),
               static_cast<std::size_t>(args["cell"].as_int()));
  } else if (did == verb::kCheckComponent) {
    if (StepTaken* step = step_of_key(*recovery, c.event.body["key"].as_string())) step->checking = true;
  }
  c.touch(*recovery);
}

void on_end(Change& c) {
  const std::string& did = c.event.body["verb"].as_string();
  Recovery* recovery = c.recovery();
  if (recovery == nullptr) {
    if (did == verb::kReboot) on_drains_reboot(c);
    return;
  }
  StepTaken* step = step_of_key(*recovery, c.event.body["key"].as_string());
  // An answer for a step that has ended (it came too late) counts no more.
  if (step == nullptr || step->ended != kNoTime) return;
  const bool done = c.event.kind == kDone;
  const Json& result = c.event.body["result"];
  const Json& error = c.event.body["error"];
  if (did == verb::kCheckComponent) {
    // What nobody can look at is not well: the next cell's restart says more.
    step->cured = done && result["well"].as_bool();
    // It is well, so whatever came of the restart counts as one.
    step->restarted = step->restarted || (step->unknown && step->cured);
    step->said = done ? result["said"].as_string() : error["what"].as_string();
    end_step(c, *recovery, *step);
  } else if (did == verb::kRestartComponent) {
    step->restarted = done && result["restarted"].as_bool();
    step->cured = step->restarted && result["cured"].as_bool();
    step->took = Micros(result["took_us"].as_int());
    step->said = done ? result["said"].as_string() : error["what"].as_string();
    // Asked, and nobody knows what came of it: then it is looked at before anything else is restarted.  An
    // agent says "conflict" of a restart that one before it had begun (service/agent/component_restarts.h).
    const ErrorCode why = error_code_from(error["code"].as_string());
    step->unknown = !done && (passes_by_itself(why) || why == ErrorCode::conflict);
    if (!step->unknown) end_step(c, *recovery, *step);
  } else if (did == verb::kRequeueJob) {
    // The job begins anew; whether it comes to its end is another story.
    step->restarted = step->cured = done && result["requeued"].as_bool();
    step->kept_away = done && result["excluded"].as_bool();
    step->said = done ? result["said"].as_string() : error["what"].as_string();
    end_step(c, *recovery, *step);
  }
  c.touch(*recovery);
}

// Of the drain engine, of a node: it has waited for long enough.
void on_reboot_overdue(Change& c) {
  const std::string name(node_of_subject(c.event.subject));
  for (const std::int64_t no : c.state.open) {
    Recovery& recovery = c.state.recoveries.at(no);
    StepTaken* step = under_way(recovery);
    if (step == nullptr || !step->boots.contains(name)) continue;
    step->overdue = c.event.body["why"].as_string();
    c.touch(recovery);
  }
}

// --- the end

void on_stop(Change& c) {
  Recovery* recovery = c.recovery();
  if (recovery == nullptr) return;
  recovery->stopped_by = c.event.body["by"].as_string();
  c.touch(*recovery);
}

void on_job(Change& c) {
  Recovery* recovery = c.recovery();
  if (recovery == nullptr) {
    if (c.event.kind == kJobSeen && hear_job_seen(c.state, c.event)) c.touched.emplace_back(kRecoveries);
    return;
  }
  if (c.event.kind == kJobLost) {
    recovery->fault.job.ended = true;
  } else {
    const JobInfo job = JobInfo::from_json(c.event.body["job"]);
    const auto seen = parse_job_state(job.state, job.flags);
    FaultJob& meant = recovery->fault.job;
    // A job that began anew since has got over what was wrong, by whomever.  While it waits it can still be
    // kept away from nodes: Slurm requeues a job by itself that has lost one, and would give it any other bad
    // one again.
    if (job.restart_cnt > meant.restart_cnt)
      meant.ended = meant.exclude.empty() || job.state != "PENDING";
    else
      // (One that was over when the recovery was opened is a job to be put back: its end is no news.)
      meant.ended = !meant.over && seen && is_terminal(*seen);
  }
  c.touch(*recovery);
}

void on_closed(Change& c) {
  Recovery* recovery = c.recovery();
  if (recovery == nullptr || !recovery->open()) return;
  recovery->closed_at = c.event.at;
  recovery->why = c.event.body["why"].as_string();
  const auto outcome = std::ranges::find(kOutcomes, c.event.body["outcome"].as_string());
  if (outcome != kOutcomes.end()) recovery->outcome = static_cast<Outcome>(outcome - kOutcomes.begin());
  c.state.open.erase(recovery->no);
  // Only what was cured has a time to recovery.
  if (recovery->outcome != Outcome::cured) return;
  c.state.rates.recovered(cell_of(recovery->fault), kind_of(recovery->fault), level_of(recovery->fault),
                          c.event.at - recovery->opened_at);
}

void on_case_opened(Change& c) { hear_case_opened(c.state, c.event); }
void on_verdict(Change& c) { hear_verdict(c.state, c.event); }
void on_case_closed(Change& c) {
  if (hear_case_closed(c.state, c.event)) c.touched.emplace_back(kRecoveries);
}

void on_archived(Change& c) {
  const auto no = parse_recovery_name(c.event.subject);
  if (!no) return;
  c.state.recoveries.erase(*no);
  c.state.open.erase(*no);
  c.state.last = std::max(c.state.last, *no);
}

// --- what there is to restart

void on_components(Change& c) {
  const std::string node(node_of_subject(c.event.subject));
  if (node.empty()) return;
  std::vector<Component>& list = c.state.components[node];
  // The agent tells its whole list each time.
  list.clear();
  for (const Json& item : c.event.body["components"].items())
    list.push_back({item["name"].as_string(), item["needs"].as_strings(), seconds_of(item["takes_us"])});
  c.touch_open();
}

void on_depend(Change& c) {
  c.state.dependent.clear();
  for (const Json& set : c.event.body["sets"].items())
    if (auto nodes = expand_hostlist(set.as_string()))
      c.state.dependent.push_back(sorted_hosts(std::move(*nodes)));
  c.touched.emplace_back(kRecoveries);
}

struct Row {
  std::string_view kind;
  void (*apply)(Change&);
};
constexpr auto kRows = std::to_array<Row>({
    {kFinding, on_finding},
    {kRecoveryOpened, on_opened},
    {kRecoveryPlanned, on_planned},
    {kLeaveWanted, on_leave_wanted},
    {kNodesSeen, on_nodes_seen},
    {kIntent, on_intent},
    {kDone, on_end},
    {kFailed, on_end},
    {kOverdue, on_reboot_overdue},
    {kStepFailed, on_step_failed},
    {kRecoveryStop, on_stop},
    {kJobSeen, on_job},
    {kJobLost, on_job},
    {kRecoveryClosed, on_closed},
    {kArchived, on_archived},
    {kCaseOpened, on_case_opened},
    {kVerdict, on_verdict},
    {kCaseClosed, on_case_closed},
    {kComponentsSeen, on_components},
    {kNodesDepend, on_depend},
});

}  // namespace

std::string_view to_string(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event) {
  state.rates.observed_at(event.at);
  Change change{state, view, event, {}};
  // Whatever may let a recovery go on that waits: a claim, the breaker, or another engine's case.
  if (event.kind == kClaimReleased || event.kind == kBreakerReset || closes_subject(event.kind))
    change.touch_open();
  for (const Row& row : kRows)
    if (row.kind == event.kind) row.apply(change);
  return std::move(change.touched);
}

}  // namespace sickbay::recover
