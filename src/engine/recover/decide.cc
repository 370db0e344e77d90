// SPDX-License-Identifier: Apache-2.0
// decide(): what is to be done about a recovery next.  Every answer follows from the state alone and may be
// given twice.
//
// One step at a time: what came of it decides about the next.  Before a step all is looked at once more that
// may have changed since the plan: is the node still there, the job still running, the fault still said?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/recover/asked.h"
#include "engine/recover/recover.h"
#include "model/event_kinds.h"
#include "model/verbs.h"

namespace sickbay::recover {
namespace {

// The name that the drain engine holds its claims by: what it has out is left to it.
constexpr std::string_view kDrain = "drain";

class Next {
 public:
  Next(const cluster::Cluster& cluster, const State& state, const Policy& policy, const Recovery& recovery,
       TimePoint now)
      : cluster_(cluster), state_(state), policy_(policy), recovery_(recovery), now_(now) {}

  Decision result() {
    if (!recovery_.planned)
      plan();
    else if (const StepTaken* step = recovery_.under_way())
      follow(*step);
    else
      go_on();
    return std::move(out_);
  }

 private:
  const Fault& fault() const { return recovery_.fault; }
  const Plan& the_plan() const { return recovery_.plan; }
  void record(std::string_view kind, Json body) {
    out_.records.push_back(new_event(recovery_.name(), kind, std::move(body)));
  }

  void plan() {
    const Plan made = make_plan(cluster_.view, state_, policy_, fault());
    // `acts` goes into the journal with the plan: what a site changes later does not change a recovery under
    // way.
    Json body = Json::object({{"acts", made.start >= 0 && is_to_be_done()}});
    const Json view = plan_view(made);
    for (const auto& [name, value] : view.members()) body.set(name, value);
    record(kRecoveryPlanned, std::move(body));
  }

  // --- the end

  void close(Outcome outcome, std::string why) {
    // Else the breaker would remember somebody who waits for ever.
    if (cluster_.breaker.waits(recovery_.name()))
      out_.records.push_back(cluster::Breaker::wait_ended(recovery_.name()));
    record(kRecoveryClosed, Json::object({{"outcome", to_string(outcome)},
                                          {"node", fault().node},
                                          {"component", fault().component},
                                          {"class", to_string(fault().of)},
                                          {"steps", recovery_.steps.size()},
                                          {"down_us", (now_ - recovery_.opened_at).count()},
                                          {"why", std::move(why)}}));
  }
  void give_up(const std::string& why) { close(Outcome::given_up, why + ": a person must look"); }

  // Why it ends before anything (more) is restarted; false: it does not.
  bool ends() {
    // The order counts: cured goes before all else, and a person's "stop" before what we would say ourselves.
    const std::vector<StepTaken>& steps = recovery_.steps;
    if (!steps.empty() && steps.back().cured) {
      close(Outcome::cured, fmt::format("the restart of {} cured it{}",
                                        the_plan().path[steps.back().cell].cell, still_gets(steps.back())));
    } else if (!recovery_.stopped_by.empty()) {
      close(Outcome::refused, "stopped by " + recovery_.stopped_by);
    } else if (recovery_.source_gone) {
      close(Outcome::gone, fmt::format("{} is not seen any more", fault().source));
    } else if (fault().of_hardware() && the_plan().start < 0 && cluster_.view.node(fault().node) != nullptr) {
      // A part of hardware: out of service, and people are told.
      if (is_to_be_done())
        record(kLeaveWanted, Json::object({{"node", fault().node}, {"action", "drain"}, {"text", text()}}));
      give_up(the_plan().refused);
    } else if (!the_plan().refused.empty()) {
      close(Outcome::refused, the_plan().refused);
    } else if (!fault().of_whole_job() && cluster_.view.node(fault().node) == nullptr) {
      close(Outcome::gone, fmt::format("Slurm has {} no more", fault().node));
    } else if (fault().of == FaultClass::job && fault().job.ended) {
      close(Outcome::gone, fmt::format("job {} is not what it was any more", fault().job.job_id));
    } else if (!recovery_.acts) {
      close(Outcome::refused, "recover.act is off: this was the plan, and nothing was done");
    } else if (is_too_often()) {
      give_up(fmt::format("{} had {} recoveries within a day", cell_of(fault()), policy_.most_a_day));
    } else {
      return false;
    }
    return true;
  }

  // By somebody's word, or the site's.
  bool is_to_be_done() const { return fault().by_person() || fault().by_owner() || policy_.act; }
  bool is_too_often() const {
    // A person may ask as often as he likes; and once a step is taken the recovery goes on to its end.
    if (fault().by_person() || !recovery_.steps.empty()) return false;
    const auto it = state_.opened.find(cell_of(fault()));
    return it != state_.opened.end() && std::ranges::count_if(it->second, [&](TimePoint at) {
                                          return at > now_ - kDay && at <= recovery_.opened_at;
                                        }) > policy_.most_a_day;
  }

  std::string text() const {
    return fmt::format("{}{}", fault().component.empty() ? "" : fault().component + ": ", fault().text);
  }

  // --- the next step

  void go_on() {
    if (ends()) return;
    const auto& path = the_plan().path;
    // The first step is where the plan says; each further one is the next cell above that is ours.
    std::size_t next = recovery_.steps.empty() ? static_cast<std::size_t>(the_plan().start)
                                               : recovery_.steps.back().cell + 1;
    while (next < path.size() && !path[next].left_to_people.empty()) ++next;
    if (next >= path.size()) return give_up(why_not_cured());
    if (static_cast<int>(recovery_.steps.size()) >= policy_.most_steps)
      return give_up(fmt::format("{} restarts have not cured it", recovery_.steps.size()));
    switch (path[next].level) {
      case Level::component:
        return restart_components(next);
      case Level::node:
        return hand_over(next);
      case Level::domain:
      case Level::group:
        return requeue(next);
      case Level::cluster:
        break;  // never in reach: it is left to people
    }
    give_up("the cluster is restarted on a person's word alone");
  }

  // Of a job that was not put back Slurm has said why.
  std::string why_not_cured() const {
    if (!recovery_.steps.empty()) {
      const StepTaken& last = recovery_.steps.back();
      if (the_plan().path[last.cell].level == Level::group && !last.restarted && !last.said.empty())
        return last.said;
    }
    return "no restart that is ours has cured it";
  }

  std::string next_key() const { return fmt::format("{}.s{}", recovery_.name(), recovery_.steps.size() + 1); }
  Json step_args(std::size_t cell) const {
    return Json::object({{"step", recovery_.steps.size() + 1}, {"cell", cell}});
  }
  void command(std::string key, std::string_view verb, Json args) {
    out_.commands.push_back({std::move(key), recovery_.name(), std::string(verb), std::move(args)});
  }

  // Claims what is wanted, all of it or nothing: two recoveries that each hold a node of the other's cell
  // would wait for each other without end.  True: all of it is ours.
  bool claim(const std::vector<std::string>& subjects, const std::string& reason) {
    bool all = true, free = true;
    for (const std::string& on : subjects) {
      if (cluster_.claims.holds(kName, recovery_.name(), on, now_)) continue;
      all = false;
      const cluster::Claim* other = cluster_.claims.find(on, now_);
      if (other == nullptr) continue;
      free = false;
      // (A claim may run out by itself.)
      out_.wake_at = std::min(out_.wake_at, other->until);
    }
    if (!free) {
      give_back(fmt::format("it waits for {}", fmt::join(subjects, ", ")));
      return false;
    }
    for (const std::string& on : subjects)
      out_.claims.push_back(
          {.on = on, .holder = std::string(kName), .by = recovery_.name(), .reason = reason});
    return all;
  }
  std::vector<std::string> subjects_of(const std::vector<std::string>& nodes) const {
    std::vector<std::string> subjects;
    for (const std::string& node : nodes) subjects.push_back(node_subject(node));
    return subjects;
  }

  void restart_components(std::size_t index) {
    const PlannedCell& cell = the_plan().path[index];
    if (!claim(subjects_of(cell.nodes), "restart of " + cell.cell)) return;
    Json args = step_args(index);
    args.set("node", fault().node);
    args.set("components", cell.components);
    // The agent restarts the components in their order, and then looks whether the faulty one is well.
    args.set("check", fault().component);
    command(next_key(), verb::kRestartComponent, std::move(args));
  }

  // The node is restarted by the engine that takes nodes out: it drains it, waits until it is empty, and
  // boots it, once.  Whether one may leave is asked before the claim is given on, so that a cell of several
  // nodes is not taken by halves.
  void hand_over(std::size_t index) {
    const PlannedCell& cell = the_plan().path[index];
    for (const std::string& name : cell.nodes) {
      const cluster::Node* node = cluster_.view.node(name);
      const cluster::Claim* claim = cluster_.claims.find(node_subject(name), now_);
      if (node == nullptr) return give_up(fmt::format("Slurm has {} no more", name));
      // Whoever drained it wants it as it is; a boot would take that from him.
      if (node->drained && (claim == nullptr || claim->holder != kDrain))
        return give_up(fmt::format("{} is drained by somebody else", name));
    }
    std::vector<Event> leaves;
    for (const std::string& name : cell.nodes) {
      auto leave =
          cluster_.breaker.ask(policy_.breaker, cluster_.view, cluster_.claims, name, recovery_.name(), now_);
      if (!leave.granted) {
        out_.records.insert(out_.records.end(), leave.records.begin(), leave.records.end());
        out_.wake_at = std::min(out_.wake_at, leave.held.until);
        give_back("the breaker holds it");  // whoever else wants it is not kept waiting with us
        return;
      }
      leaves.insert(leaves.end(), leave.records.begin(), leave.records.end());
    }
    if (!claim(subjects_of(cell.nodes), "restart of " + cell.cell)) return;
    out_.records.insert(out_.records.end(), leaves.begin(), leaves.end());
    if (cluster_.breaker.waits(recovery_.name()))
      out_.records.push_back(cluster::Breaker::wait_ended(recovery_.name()));
    for (const std::string& name : cell.nodes) {
      Json body = step_args(index);
      body.set("node", name);
      body.set("action", "reboot");
      body.set("text", text());
      record(kLeaveWanted, std::move(body));
    }
    // The drain engine claims it itself: two engines cannot hold one node.
    give_back("handed to the drain engine");
  }

  void give_back(const std::string& why) {
    for (const auto& [on, claim] : cluster_.claims.all())
      if (claim.holder == kName && claim.by == recovery_.name())
        out_.records.push_back(cluster::Claims::released(on, kName, why));
  }

  void requeue(std::size_t index) {
    const PlannedCell& cell = the_plan().path[index];
    if (!claim({job_subject(fault().job.job_id)}, "restart of " + cell.cell)) return;
    Json args = step_args(index);
    args.set("job_id", fault().job.job_id);
    args.set("uid", fault().job.uid);
    args.set("restart_cnt", fault().job.restart_cnt);
    args.set("level", to_string(cell.level));
    args.set("nodes", cell.nodes);
    if (fault().job.submit != kNoTime) args.set("submit", to_micros(fault().job.submit));
    if (const auto exclude = kept_away(); !exclude.empty()) args.set("exclude", exclude);
    command(next_key(), verb::kRequeueJob, std::move(args));
  }

  // The nodes that the job can be kept away from: Slurm knows them, and without them there is place for it.
  // A job that fits on no nodes of its partition any more Slurm would hold for good (BadConstraints).
  std::vector<std::string> kept_away() const {
    const FaultJob& job = fault().job;
    std::vector<std::string> exclude;
    for (const std::string& name : job.exclude)
      if (cluster_.view.node(name) != nullptr) exclude.push_back(name);
    std::vector<std::string> away = exclude;  // and what it was kept away from before
    for (const auto& [no, other] : state_.recoveries)
      if (other.fault.job.job_id == job.job_id && other.fault.job.uid == job.uid &&
          std::ranges::any_of(other.steps, &StepTaken::kept_away))
        away = hosts_in_either(away, other.fault.job.exclude);
    const auto has_place = [&](const std::set<std::string>& nodes) {
      return static_cast<std::size_t>(std::ranges::count_if(
                 nodes, [&](const std::string& name) { return !has_host(away, name); })) >= job.nodes.size();
    };
    const std::string asked = "," + job.partition + ",";
    for (const auto& [name, nodes] : cluster_.view.partitions)
      if (asked.find("," + name + ",") != std::string::npos && has_place(nodes)) return exclude;
    return {};
  }
  // Of a requeue, for people: nodes that the job may come to once more.
  std::string still_gets(const StepTaken& step) const {
    const std::vector<std::string>& exclude = fault().job.exclude;
    if (exclude.empty() || step.kept_away || the_plan().path[step.cell].level < Level::domain) return "";
    return fmt::format("; it may get {} again: {}", compress_hostlist(exclude),
                       step.said.empty() ? "it has too few other nodes" : step.said);
  }

  // --- a step under way

  void follow(const StepTaken& step) {
    if (step.checking) return;  // its answer comes
    if (!step.handed) {
      if (step.unknown) check(step);
      return;
    }
    if (step.restarted) return check(step);
    std::string why = step.overdue;
    for (const auto& [name, boot] : step.boots)
      if (why.empty() && cluster_.view.node(name) == nullptr) why = fmt::format("Slurm has {} no more", name);
    // (Once it boots, that is the boot's doing: its agent may say so before Slurm shows the boot.)
    if (why.empty() && recovery_.source_gone && step.rebooting == kNoTime)
      why = "the fault is not seen any more";
    if (why.empty() && !recovery_.stopped_by.empty()) why = "stopped by " + recovery_.stopped_by;
    const TimePoint late = step.began + policy_.node_wait;
    if (why.empty() && now_ >= late)
      why = fmt::format("it was not booted within {} min",
                        std::chrono::duration_cast<std::chrono::minutes>(policy_.node_wait).count());
    if (why.empty())
      out_.wake_at = std::min(out_.wake_at, late);
    else
      // A step that failed is an event of its own: apply() ends it, and the next round goes up.
      record(kStepFailed, Json::object({{"step", step.n}, {"why", why}}));
  }

  void check(const StepTaken& step) {
    Json components = Json::array();
    if (!fault().component.empty()) components.push(fault().component);
    command(step.key(recovery_.no) + ":check", verb::kCheckComponent,
            Json::object({{"node", fault().node}, {"components", std::move(components)}}));
  }

  const cluster::Cluster& cluster_;
  const State& state_;
  const Policy& policy_;
  const Recovery& recovery_;
  TimePoint now_;
  Decision out_;
};

}  // namespace

Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const std::string& subject, TimePoint now) {
  if (subject == kRecoveries) {
    Decision decision;
    if (policy.requeue) decision.commands = begins_sooner(state);
    // What the site declares is a fact of the journal: a plan must be what it was when it is read again.
    if (state.dependent != policy.dependent) {
      std::vector<std::string> sets;
      for (const auto& set : policy.dependent) sets.push_back(compress_hostlist(set));
      decision.records.push_back(
          new_event("cluster", kNodesDepend, Json::object({{"sets", sets}, {"by", "the configuration"}})));
      return decision;
    }
    // One at a time: the next one's number follows from it.
    if (!state.wanted.empty())
      decision.records.push_back(
          new_event(recovery_name(state.last + 1), kRecoveryOpened, state.wanted.begin()->second.to_json()));
    else if (!state.wanted_jobs.empty())
      decision.records.push_back(new_event(recovery_name(state.last + 1), kRecoveryOpened,
                                           state.wanted_jobs.begin()->second.to_json()));
    return decision;
  }
  const auto no = parse_recovery_name(subject);
  const auto it = no ? state.recoveries.find(*no) : state.recoveries.end();
  if (it == state.recoveries.end() || !it->second.open()) return {};
  return Next(cluster, state, policy, it->second, now).result();
}

}  // namespace sickbay::recover
