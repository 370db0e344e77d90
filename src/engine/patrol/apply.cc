// SPDX-License-Identifier: Apache-2.0
// apply(): rounds, their runs of V, and what V said of nodes, here and in cases.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/cluster/heard_results.h"
#include "engine/patrol/patrol.h"
#include "model/event_kinds.h"
#include "model/slurm_state.h"
#include "model/verbs.h"

namespace sickbay::patrol {
namespace {

// The run that a key is about: "p3.v1:release" -> p3.v1.  Null for other keys.
Run* run_of_key(State& state, std::string_view key) {
  const auto id = parse_patrol_run(key.substr(0, key.find(':')));
  const auto round = id ? state.rounds.find(id->round) : state.rounds.end();
  if (round == state.rounds.end() || id->n < 1 || id->n > static_cast<int>(round->second.runs.size()))
    return nullptr;
  return &round->second.runs[static_cast<std::size_t>(id->n - 1)];
}

Round* round_of(State& state, const Event& event) {
  const auto no = parse_patrol_name(event.subject);
  const auto it = no ? state.rounds.find(*no) : state.rounds.end();
  return it == state.rounds.end() ? nullptr : &it->second;
}

// Nodes of which it said nothing are tried again, with a bound; where it gave way to others, as often as it
// does so.  (But a suspect, which need not be idle: a job that stays there would have V begin for ever.)
void settle(Round& round, Run& run) {
  run.told = true;
  for (const std::string& node : run.nodes)
    if ((!run.yielded || round.is_suspect(node)) && !round.said.contains(node)) ++round.vain[node];
}

void end_run(Round& round, Run& run) {
  if (run.ended) return;
  run.ended = true;
  // One that speaks is settled when its word is in the journal (on_verified), or its output has none.
  if (!run.speaks()) settle(round, run);
}

// Where more are suspected at once the fault is not theirs.
constexpr std::size_t kMostSuspects = 64;
constexpr std::ptrdiff_t kMostOfOneUser = 16;  // of these for whom one user's jobs alone speak

// --- what V said

void take_words(State& state, const Json& results, const std::string& by, TimePoint at) {
  for (const Json& r : results.items()) {
    const std::string& result = r["result"].as_string();
    if (!r["peer"].as_string().empty() || result == "unknown") continue;
    NodeRecord& node = state.nodes[r["node"].as_string()];
    // Any word counts, a failure too: nobody need ask again so soon.
    node.said_at = at;
    node.by = by;
    node.result = result;
    node.reason = r["reason"].as_string();
    state.suspects.erase(r["node"].as_string());
    // A slow node did all its work rightly: V itself is sound.
    if (result == "ok" || result == "slow") node.passed_at = at;
  }
}

// --- events

bool on_asked(State& state, const cluster::View&, const Event& event) {
  const auto no = parse_patrol_name(event.subject);
  if (!no) return false;
  state.last = std::max(state.last, *no);
  Round& round = state.rounds[*no];
  round = Round{};
  round.no = *no;
  round.by = event.body["by"].as_string();
  round.asked_at = event.at;
  if (auto nodes = expand_hostlist(event.body["nodes"].as_string()))
    round.named = sorted_hosts(std::move(*nodes));
  round.budget = static_cast<int>(event.body["budget"].as_int());
  if (auto suspects = expand_hostlist(event.body["suspects"].as_string()))
    for (std::string& name : *suspects) {
      const auto suspect = state.suspects.find(name);
      const bool known = suspect != state.suspects.end();
      round.suspects.emplace(std::move(name), known ? suspect->second.since : event.at);
      if (known) state.suspects.erase(suspect);
      round.for_suspects = true;
    }
  if (event.body.has("uid")) round.uid = event.body["uid"].as_int();
  return true;
}

// Of each user one node at most, the last one: whatever he does, he has no more than that place.
void take_suspect_of_one_user(State& state, const std::string& name, Suspect suspect) {
  const auto known = state.suspects.find(name);
  if (known != state.suspects.end() && !known->second.of_one_user()) return;
  std::erase_if(state.suspects, [&](const auto& entry) { return entry.second.uid == suspect.uid; });
  const auto others =
      std::ranges::count_if(state.suspects, [](const auto& entry) { return entry.second.of_one_user(); });
  if (others < kMostOfOneUser) state.suspects[name] = std::move(suspect);
}

// Whatever starts there fails, and nothing runs elsewhere that could tell why.
bool on_suspected(State& state, const cluster::View&, const Event& event) {
  const std::string name(node_of_subject(event.subject));
  if (event.body.has("uid")) {
    // It waits for a round of its own.
    take_suspect_of_one_user(state, name,
                             {event.at, event.body["sentence"].as_string(), event.body["uid"].as_int()});
    return true;
  }
  Round* round = state.rounds.empty() ? nullptr : &state.rounds.rbegin()->second;
  // In the round that is open it goes first, if it is one that may have it and has not had it yet.
  if (round != nullptr && round->open() && round->stopped_by.empty() && !round->said.contains(name) &&
      (round->named.empty() || has_host(round->named, name))) {
    if (round->suspects.try_emplace(name, event.at).second && round->for_suspects) ++round->budget;
  } else if (state.suspects.size() < kMostSuspects) {
    state.suspects[name] = {event.at, event.body["sentence"].as_string()};
  }
  return true;
}

void found_at_fault(Round& round, const std::string& node) {
  if (round.is_suspect(node)) round.proven.insert(node);
}

// What jobs came to has told by now.
bool on_black_hole(State& state, const cluster::View&, const Event& event) {
  const std::string node(node_of_subject(event.subject));
  state.suspects.erase(node);
  if (event.kind == kBlackHole && !state.rounds.empty()) {
    // (Also of the last round, if that is over: while V had the node the others' jobs have passed.)
    found_at_fault(state.rounds.rbegin()->second, node);
  }
  return false;
}

bool on_stop(State& state, const cluster::View&, const Event& event) {
  Round* round = round_of(state, event);
  if (round == nullptr || !round->open()) return false;
  if (round->stopped_by.empty()) round->stopped_by = event.body["by"].as_string();
  return true;
}

bool on_claimed(State& state, const cluster::View& view, const Event& event) {
  const auto no = parse_patrol_name(event.body["by"].as_string());
  const auto round = no ? state.rounds.find(*no) : state.rounds.end();
  const std::string node(node_of_subject(event.subject));
  if (event.body["holder"].as_string() != kName || round == state.rounds.end() || node.empty()) return false;
  // With the number of the last look: only a later one shows whether the node is idle still (decide.cc).
  round->second.taken[node] = view.looks;
  return true;
}

bool on_claim_released(State& state, const cluster::View&, const Event& event) {
  if (event.body["holder"].as_string() == kName)
    for (auto& [no, round] : state.rounds) round.taken.erase(std::string(node_of_subject(event.subject)));
  return true;  // of whomever: a node may be free now
}

bool on_intent(State& state, const cluster::View&, const Event& event) {
  Round* round = round_of(state, event);
  if (round == nullptr) return false;
  const std::string& did = event.body["verb"].as_string();
  const Json& args = event.body["args"];
  if (did == verb::kSubmitVerification) {
    const auto id = parse_patrol_run(args["run"].as_string());
    // Numbers follow on each other; a key says which run it is by its place in the list.
    if (!id || id->n != static_cast<int>(round->runs.size()) + 1) return false;
    Run& run = round->runs.emplace_back();
    run.id = *id;
    run.nodes = sorted_hosts(args["nodes"].as_strings());
    run.partition = args["partition"].as_string();
    run.first = args["hold_s"].as_int() > 0;
    // From claimed to under V: the run holds them now.
    for (const std::string& node : run.nodes) round->taken.erase(node);
  } else if (Run* run = run_of_key(state, event.body["key"].as_string())) {
    if (did == verb::kRelease) run->release_asked = true;
    if (did == verb::kCancel) {
      run->yielded = true;
      if (run->cancelled.empty()) run->cancelled = args["why"].as_string();
    }
  }
  return true;
}

bool on_done(State& state, const cluster::View& view, const Event& event) {
  const std::string& key = event.body["key"].as_string();
  const std::string& did = event.body["verb"].as_string();
  const Json& result = event.body["result"];
  Run* run = run_of_key(state, key);
  if (run == nullptr) {
    // V within a case: a pass of it shows that V works, as one of ours does.
    if (did == verb::kReadOutput && result.has("results"))
      take_words(state, cluster::hear_results(view, state.speeds, result["results"]),
                 key.substr(0, std::min(key.find(".a"), key.find(':'))), event.at);
    return false;
  }
  Round& round = state.rounds.at(run->id.round);
  if (did == verb::kSubmitVerification) {
    run->bound = true;
    run->job.job_id = static_cast<JobId>(result["job_id"].as_int());
    run->job.submit = from_micros(result["submit"].as_int());
    run->job.uid = static_cast<std::uint32_t>(result["uid"].as_int());
  } else if (did == verb::kRelease) {
    run->release_done = true;
    run->released_at = event.at;
  } else if (did == verb::kReadOutput) {
    run->output_read = true;
    // Heard as in a case: held against the fleet's speeds and the node's own past.
    run->results = cluster::hear_results(view, state.speeds, result["results"]);
    take_words(state, run->results, run->id.text(), event.at);
    for (const Json& r : run->results.items())
      if (r["peer"].as_string().empty() && r["result"].as_string() != "unknown")
        round.said[r["node"].as_string()] = r["result"].as_string();
    if (run->results.size() == 0) {
      run->refusal = result["why"].as_string_or("V left no result");
      settle(round, *run);
    }
  }
  return true;
}

bool on_failed(State& state, const cluster::View&, const Event& event) {
  Run* run = run_of_key(state, event.body["key"].as_string());
  if (run == nullptr) return false;
  Round& round = state.rounds.at(run->id.round);
  const std::string& did = event.body["verb"].as_string();
  run->refusal = event.body["error"]["what"].as_string();
  // Refused, gone, or in the queue for good: the round goes on without it, and says so.
  if (did == verb::kSubmitVerification || did == verb::kRelease || did == verb::kCancel) {
    if (run->cancelled.empty()) run->cancelled = run->refusal;
    end_run(round, *run);
  } else if (did == verb::kReadOutput) {
    run->output_read = true;
    settle(round, *run);
  }
  return true;
}

bool on_job(State& state, const cluster::View&, const Event& event) {
  Run* run = run_of_key(state, event.body["run"].as_string());
  if (run == nullptr || !run->bound) return false;
  Round& round = state.rounds.at(run->id.round);
  if (event.kind == kJobLost) {
    run->cancelled = "Slurm knows nothing of it any more";
    end_run(round, *run);
    return true;
  }
  run->job = JobInfo::from_json(event.body["job"]);
  const auto state_word = parse_job_state(run->job.state, run->job.flags);
  if (state_word && is_terminal(*state_word)) end_run(round, *run);
  return true;
}

bool on_verified(State& state, const cluster::View&, const Event& event) {
  Run* run = run_of_key(state, event.body["run"].as_string());
  if (run == nullptr) return false;
  settle(state.rounds.at(run->id.round), *run);
  return true;
}

bool on_blames(State& state, const cluster::View&, const Event& event) {
  Run* run = run_of_key(state, event.body["run"].as_string());
  if (run == nullptr) return false;
  Round& round = state.rounds.at(run->id.round);
  for (const Json& found : event.body["faulty"].items()) {
    run->blamed.insert(found["node"].as_string());
    found_at_fault(round, found["node"].as_string());
  }
  return true;
}

bool on_closed(State& state, const cluster::View&, const Event& event) {
  if (Round* round = round_of(state, event)) {
    round->closed_at = event.at;
    round->why = event.body["why"].as_string();
    // (With patrol_closed its claims end as well: a holder whose subject is closed holds nothing.)
    round->taken.clear();
  }
  return true;  // suspects may wait for a round of their own
}

bool on_archived(State& state, const cluster::View&, const Event& event) {
  if (const auto no = parse_patrol_name(event.subject)) {
    state.rounds.erase(*no);
    state.last = std::max(state.last, *no);
  }
  return false;
}

bool on_queue(State& state, const cluster::View&, const Event&) {
  for (auto& [no, round] : state.rounds)
    // Nothing is taken before: jobs may have waited since before the round was asked for.
    if (round.open()) round.queue_known = true;
  return true;
}

struct KindRow {
  std::string_view kind;
  // True: decide() is to be asked.
  bool (*apply)(State&, const cluster::View&, const Event&);
};
constexpr auto kKinds = std::to_array<KindRow>({
    {kPatrolAsked, on_asked},
    {kPatrolStop, on_stop},
    {kBlackHoleSuspected, on_suspected},
    {kBlackHole, on_black_hole},
    {kBlackHoleOver, on_black_hole},
    {kClaimed, on_claimed},
    {kClaimReleased, on_claim_released},
    {kIntent, on_intent},
    {kDone, on_done},
    {kFailed, on_failed},
    {kJobSeen, on_job},
    {kJobLost, on_job},
    {kVerified, on_verified},
    {kPatrolBlames, on_blames},
    {kPatrolClosed, on_closed},
    {kArchived, on_archived},
    {kQueueSeen, on_queue},
    {kNodesSeen, [](State&, const cluster::View&, const Event&) { return true; }},
    {kBreakerReset, [](State&, const cluster::View&, const Event&) { return true; }},
});

}  // namespace

bool Run::speaks() const {
  const auto seen = parse_job_state(job.state, job.flags);
  if (!seen || !began() || !cancelled.empty()) return false;
  // V's word stands in its output, also where V itself ended badly.
  return seen->base == JobBase::completed || seen->base == JobBase::failed ||
         seen->base == JobBase::timeout || seen->base == JobBase::node_fail;
}

Micros Run::kept(std::chrono::seconds longest) const {
  if (!ended || (began() && job.end < job.start)) return longest;  // (its end may not be told)
  return began() ? job.end - job.start : Micros(0);
}

// V that was taken back before it began has spent nothing.
int Round::spent() const {
  int nodes = 0;
  for (const Run& run : runs)
    if (!run.ended || run.began()) nodes += static_cast<int>(run.nodes.size());
  return nodes;
}

std::int64_t Round::node_seconds() const {
  Micros took(0);
  for (const Run& run : runs)
    if (run.ended) took += run.kept(std::chrono::seconds(0)) * static_cast<std::int64_t>(run.nodes.size());
  return std::chrono::duration_cast<std::chrono::seconds>(took).count();
}

const Round* State::open() const {
  // The newest are the last, and an older one is never open beside it.
  return rounds.empty() || !rounds.rbegin()->second.open() ? nullptr : &rounds.rbegin()->second;
}

bool apply(State& state, const cluster::View& view, const Event& event) {
  for (const KindRow& row : kKinds)
    if (row.kind == event.kind)
      return row.apply(state, view, event) && (state.open() != nullptr || !state.suspects.empty());
  return false;
}

std::vector<Watched> watched(const State& state) {
  std::vector<Watched> list;
  if (const Round* round = state.open())
    for (const Run& run : round->runs)
      if (run.bound && !run.ended)
        list.push_back({run.job.job_id, run.job.uid, run.key(), round->name(), run.id.text()});
  return list;
}

std::string canonical_text(const State& state) {
  std::string text = fmt::format("patrol last {}\n", state.last);
  for (const auto& [no, r] : state.rounds) {
    text += fmt::format("{} by {} asked {} closed {} [{}] budget {} stopped '{}' queue {} why '{}'\n",
                        r.name(), r.by, to_micros(r.asked_at), to_micros(r.closed_at),
                        fmt::join(r.named, ","), r.budget, r.stopped_by, r.queue_known, r.why);
    for (const std::string& node : r.proven) text += fmt::format("  proven {}\n", node);
    for (const auto& [node, since] : r.suspects)
      text += fmt::format("  suspect {} {}{} {}\n", node, to_micros(since), r.for_suspects ? " alone" : "",
                          r.uid);
    for (const auto& [node, look] : r.taken) text += fmt::format("  taken {} {}\n", node, look);
    for (const auto& [node, said] : r.said) text += fmt::format("  said {} {}\n", node, said);
    for (const auto& [node, times] : r.vain) text += fmt::format("  vain {} {}\n", node, times);
    for (const Run& v : r.runs)
      text += fmt::format("  {} [{}] {}{} {} {}{}{}{}{}{}{} released {} '{}' '{}' [{}] {}\n", v.id.text(),
                          fmt::join(v.nodes, ","), v.partition, v.first ? " first" : "",
                          v.job.to_json().dump(), v.bound, v.release_asked, v.release_done, v.ended,
                          v.output_read, v.told, v.yielded, to_micros(v.released_at), v.cancelled, v.refusal,
                          fmt::join(v.blamed, ","), v.results.dump());
  }
  for (const auto& [name, n] : state.nodes)
    text += fmt::format("patrol node {} passed {} said {} by {}: {} {}\n", name, to_micros(n.passed_at),
                        to_micros(n.said_at), n.by, n.result, n.reason);
  for (const auto& [name, s] : state.suspects)
    text += fmt::format("patrol suspect {} since {} of {}: {}\n", name, to_micros(s.since), s.uid, s.why);
  return text + state.speeds.canonical_text();
}

}  // namespace sickbay::patrol
