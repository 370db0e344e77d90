// SPDX-License-Identifier: Apache-2.0
// decide(): what a round does next.  Every answer follows from the state alone and may be given twice.
//
// Nodes are taken in two steps.  First they are claimed; then Slurm is looked at once more, and only who is
// idle still, while no job waits for it, gets V.  A Slurm that is away shows nothing, so nothing begins then.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/hostlist.h"
#include "engine/patrol/patrol.h"
#include "model/event_kinds.h"
#include "model/verbs.h"
#include "model/verify_report.h"

namespace sickbay::patrol {
namespace {

// A V on a suspect keeps it for so long: till jobs that began elsewhere meanwhile have outlived those that
// died on it (10 s at most where these are gone at once), four of them, one after the other.
constexpr std::chrono::seconds kHold{30};

// What keeps the node away passes by itself.
bool may_be_taken_yet(Standing standing) {
  return standing == Standing::ready || standing == Standing::claimed || standing == Standing::busy ||
         standing == Standing::wanted || standing == Standing::later || standing == Standing::breaker;
}

// What V said in this round -> the nodes, as a hostlist.
std::map<std::string, std::string> nodes_by_result(const Round& round) {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [name, result] : round.said) names[result].push_back(name);
  std::map<std::string, std::string> lists;
  for (auto& [result, nodes] : names) lists[result] = compress_hostlist(sorted_hosts(std::move(nodes)));
  return lists;
}

class Step {
 public:
  Step(const cluster::Cluster& cluster, const State& state, const Policy& policy, const Round& round,
       TimePoint now)
      : cluster_(cluster), state_(state), policy_(policy), round_(round), now_(now) {}

  Decision result() {
    if (!round_.open()) return {};
    // The order: what runs, then what is free again, then what is told, then new nodes, for each needs what
    // the step before has released.
    for (const Run& run : round_.runs) follow(run);
    // The newest first: why it is given back is the last run's matter.
    for (auto run = round_.runs.rbegin(); run != round_.runs.rend(); ++run)
      if (run->settled()) give_back(run->nodes, run->cancelled.empty() ? "verified" : run->cancelled);
    tell();
    const bool over = now_ >= round_.asked_at + policy_.time;
    if (!over) wake(round_.asked_at + policy_.time);
    // Nothing new is begun then; what runs after `time` comes to its end, what runs after --stop is
    // cancelled.
    const bool ends = over || !round_.stopped_by.empty();
    if (!round_.taken.empty()) {
      begin_or_give_back(ends);
    } else if (!ends) {
      take();
    }
    close(over);
    return std::move(out_);
  }

 private:
  void wake(TimePoint when) { out_.wake_at = std::min(out_.wake_at, when); }

  void command(const Run& run, std::string_view what, std::string_view verb, Json args) {
    out_.commands.push_back(
        {fmt::format("{}:{}", run.key(), what), round_.name(), std::string(verb), std::move(args)});
  }

  static Json handle(const Run& run) {
    return Json::object({{"job_id", run.job.job_id},
                         {"uid", run.job.uid},
                         {"submit", to_micros(run.job.submit)},
                         {"key", run.key()}});
  }

  // --- a run of V

  // A partition of one of these nodes that jobs wait for; "" where there is none.
  std::string wanted(const std::vector<std::string>& nodes) const {
    for (const std::string& name : nodes)
      if (const cluster::Node* node = cluster_.view.node(name))
        for (const std::string& partition : node->partitions)
          if (cluster_.view.wanted_partitions.contains(partition)) return partition;
    return "";
  }

  std::string why_end(const Run& run) {
    if (!round_.stopped_by.empty()) return "the round was stopped by " + round_.stopped_by;
    if (const std::string partition = run.first ? "" : wanted(run.nodes); !partition.empty())
      return "jobs wait for partition " + partition;
    // V that has begun is let end, as long as nobody waits: to end it would waste what it has done.
    if (!run.release_done || run.began()) return "";
    // It names its nodes, and somebody else has one: it would wait for hours, and take them in the end.
    if (now_ >= run.released_at + policy_.start_wait) return "its nodes are not idle any more";
    wake(run.released_at + policy_.start_wait);
    return "";
  }

  void follow(const Run& run) {
    if (run.ended) {
      if (run.speaks() && !run.output_read)
        command(run, "output", verb::kReadOutput,
                Json::object({{"run", run.id.text()},
                              {"job_id", run.job.job_id},
                              {"out", run.job.std_out},
                              {"err", run.job.std_err},
                              {"nodes", run.nodes},
                              {"exit_code", run.job.exit_code},
                              {"state", run.job.state}}));
      return;
    }
    if (!run.bound || !run.cancelled.empty()) return;
    if (const std::string why = why_end(run); !why.empty()) {
      Json args = handle(run);
      args.set("why", why);
      return command(run, "cancel", verb::kCancel, std::move(args));
    }
    if (run.release_asked) return;
    Json args = handle(run);
    if (run.first) args.set("first", true);
    command(run, "release", verb::kRelease, std::move(args));
  }

  bool is_ours(const std::string& name) const {
    return cluster_.claims.holds(kName, round_.name(), node_subject(name), now_);
  }

  // A node that is taken again meanwhile keeps its claim.
  void give_back(const std::vector<std::string>& nodes, const std::string& why) {
    for (const std::string& name : nodes) {
      const bool in_use =
          round_.taken.contains(name) || std::ranges::any_of(round_.runs, [&](const Run& run) {
            return !run.settled() && has_host(run.nodes, name);
          });
      // Once in a step: a node may have been in several runs of the round.
      if (is_ours(name) && !in_use && given_back_.insert(name).second)
        out_.records.push_back(cluster::Claims::released(node_subject(name), kName, why));
    }
  }

  // --- what V said

  // Two things of each run that spoke: its words, once; and its faulty nodes, as soon as V has passed
  // elsewhere.
  void tell() {
    for (const Run& run : round_.runs) {
      if (run.results.size() == 0) continue;
      // Each step goes through all runs: blame may wait for a pass elsewhere that comes later in the round.
      if (!run.told)
        out_.records.push_back(new_event(round_.name(), kVerified,
                                         Json::object({{"run", run.id.text()},
                                                       {"began", to_micros(run.job.start)},
                                                       {"alone", true},
                                                       {"results", run.results}})));
      // The same two conditions as within a case (decisions.md 22): not for want of room, and V must have
      // shown that it is sound.  Slow nodes and links are told, and no more: nobody's job ran out of time
      // there.
      Json faulty = Json::array();
      for (const Json& r : run.results.items()) {
        const std::string& name = r["node"].as_string();
        if (r["result"].as_string() != "failed" || !r["peer"].as_string().empty() ||
            run.blamed.contains(name) || verify_fault_from(r["fault"].as_string()) == VerifyFault::space ||
            !has_passed_elsewhere(state_, policy_, round_, name, run.job.start))
          continue;
        faulty.push(Json::object({{"node", name},
                                  {"peer", ""},
                                  {"by", run.id.text()},
                                  {"what", "verification failed"},
                                  {"reason", r["reason"].as_string()},
                                  {"drains", true}}));
      }
      if (faulty.size() > 0)
        out_.records.push_back(
            new_event(round_.name(), kPatrolBlames,
                      Json::object({{"run", run.id.text()}, {"faulty", std::move(faulty)}})));
    }
  }

  // --- nodes

  bool is_idle(const std::string& name) const {
    const cluster::Node* node = cluster_.view.node(name);
    return node != nullptr && node->usable && node->idle;
  }

  // Asked for twice in a step that takes nobody, over all nodes of the cluster.
  const std::map<std::string, Choice>& choices() {
    if (!choices_)
      choices_ = choose({cluster_, cluster_.view.wanted_partitions,
                         [this](const std::string& name) { return is_idle(name); }},
                        state_, policy_, round_, now_);
    return *choices_;
  }

  void claim(const std::string& name, std::string_view what) {
    out_.claims.push_back({.on = node_subject(name),
                           .holder = std::string(kName),
                           .by = round_.name(),
                           .reason = "verification of " + std::string(what)});
  }

  // Claims a few, of one partition: V is one job, and a job is in one.  A suspect has a V of its own, and
  // before all others: it costs a job each second or two, and must wait for nobody.
  void take() {
    std::vector<std::string> ready;
    for (const auto& [name, choice] : choices()) {
      if (choice.standing != Standing::ready || cluster_.view.node(name)->partitions.empty()) continue;
      if (round_.is_suspect(name)) return claim(name, "a node under suspicion");
      ready.push_back(name);
    }
    if (!round_.queue_known) return;
    std::string partition;
    for (const std::string& name : sorted_hosts(std::move(ready))) {
      const std::string& of = cluster_.view.node(name)->partitions.front();
      if (!partition.empty() && of != partition) continue;
      partition = of;
      if (out_.claims.size() >= static_cast<std::size_t>(policy_.together)) break;
      claim(name, "idle nodes");
    }
  }

  // The second step of taking: all claimed nodes must have been looked at since their claims, and those that
  // are idle still go into one V.  A suspect need not be idle, so nobody looks: V stands in the queue for it.
  void begin_or_give_back(bool ends) {
    std::vector<std::string> good, bad;
    bool unseen = false;  // Slurm has not shown one of them since
    for (const auto& [name, look] : round_.taken) {
      const cluster::Node* node = cluster_.view.node(name);
      if (ends || node == nullptr || !node->usable || !is_ours(name)) {
        bad.push_back(name);
      } else if (round_.is_suspect(name)) {
        return begin({name}, true);  // (the others' turn is the next step)
      } else if (!wanted({name}).empty()) {
        bad.push_back(name);
      } else {
        unseen = unseen || node->look <= look;
        (is_idle(name) ? good : bad).push_back(name);
      }
    }
    if (unseen) return;
    for (const std::string& name : bad)
      out_.records.push_back(cluster::Claims::released(node_subject(name), kName, "it is not idle any more"));
    if (!good.empty()) begin(sorted_hosts(std::move(good)), false);
  }

  // The last that was begun must be in the journal, for the next one has the next number: one in a step.
  void begin(const std::vector<std::string>& nodes, bool suspect) {
    const PatrolRunId id{round_.no, static_cast<int>(round_.runs.size()) + 1};
    Json args = Json::object({{"run", id.text()},
                              {"nodes", nodes},
                              {"exclusive", true},
                              {"partition", cluster_.view.node(nodes.front())->partitions.front()}});
    if (suspect)
      args.set("hold_s", kHold.count());
    else
      args.set("last", true);  // in the queue (nice): a user's job is never to wait for V
    out_.commands.push_back(
        {id.text() + ":submit", round_.name(), std::string(verb::kSubmitVerification), std::move(args)});
  }

  // --- the end

  void close(bool over) {
    const bool busy = !round_.taken.empty() || !out_.claims.empty() ||
                      std::ranges::any_of(round_.runs, [](const Run& run) { return !run.settled(); });
    if (busy) return;
    std::string why = over ? "its time is over" : "";
    if (!round_.stopped_by.empty()) why = "stopped by " + round_.stopped_by;
    if (why.empty()) {
      bool budget = false;
      for (const auto& [name, choice] : choices()) {
        // As long as one node may yet come free the round stays open, until its time is over.
        if (may_be_taken_yet(choice.standing)) return;
        budget = budget || choice.standing == Standing::budget;
      }
      why = budget ? "its budget is spent" : "all nodes are done";
    }
    Json body = Json::object({{"why", why}});
    for (const auto& [result, nodes] : nodes_by_result(round_)) body.set(result, nodes);
    out_.records.push_back(new_event(round_.name(), kPatrolClosed, std::move(body)));
  }

  const cluster::Cluster& cluster_;
  const State& state_;
  const Policy& policy_;
  const Round& round_;
  TimePoint now_;
  Decision out_;
  std::set<std::string> given_back_;
  std::optional<std::map<std::string, Choice>> choices_;
};

}  // namespace

Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy, const Round& round,
                TimePoint now) {
  return Step(cluster, state, policy, round, now).result();
}

Json round_view(const Round& round) {
  Json results = Json::object(), runs = Json::array();
  std::vector<std::string> suspects;
  for (const auto& [name, since] : round.suspects) suspects.push_back(name);
  suspects = sorted_hosts(std::move(suspects));
  for (const auto& [result, nodes] : nodes_by_result(round)) results.set(result, nodes);
  for (const Run& run : round.runs) {
    Json found = Json::array();
    for (const Json& r : run.results.items())
      if (r["result"].as_string() != "ok")
        found.push(Json::object({{"node", r["node"].as_string()},
                                 {"peer", r["peer"].as_string()},
                                 {"result", r["result"].as_string()},
                                 {"reason", r["reason"].as_string()}}));
    runs.push(Json::object({{"run", run.id.text()},
                            {"job_id", run.job.job_id},
                            {"nodes", compress_hostlist(run.nodes)},
                            {"state", run.ended     ? "over"
                                      : run.began() ? "running"
                                                    : "waiting"},
                            {"ended_because", run.cancelled},
                            {"said_nothing_because", run.refusal},
                            {"found", std::move(found)}}));
  }
  return Json::object({{"round", round.name()},
                       {"open", round.open()},
                       {"by", round.by},
                       {"asked_at", to_micros(round.asked_at)},
                       {"closed_at", round.open() ? Json() : Json(to_micros(round.closed_at))},
                       {"why", round.why},
                       {"stopped_by", round.stopped_by},
                       {"named", compress_hostlist(round.named)},
                       {"suspects", compress_hostlist(std::move(suspects))},
                       {"budget", round.budget},
                       {"spent", round.spent()},
                       {"node_seconds", round.node_seconds()},
                       {"results", std::move(results)},
                       {"runs", std::move(runs)}});
}

}  // namespace sickbay::patrol
