// SPDX-License-Identifier: Apache-2.0
// decide(): a job's requests, one after the other, and what they come to in minutes and in an answer.
//
// Every answer follows from the state alone and may be given twice: a key has the number of its command in
// it, and the ledger starts a key once (decisions.md 15).
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/nonstop/parts.h"
#include "model/verbs.h"

namespace sickbay::nonstop {
namespace {

constexpr std::chrono::seconds kToldFor{2};  // an ended job is known

using Step = Request::Step;
using What = Request::What;

Event credited(const Job& job, Grant::For what, const std::string& node, const Request* request,
               int minutes) {
  Json body = Json::object({{"for", to_string(what)}, {"minutes", minutes}});
  if (!node.empty()) body.set("node", node);
  if (request != nullptr) body.set("request", request_name(job, *request));
  return new_event(running_subject(job.id), kTimeCredited, std::move(body));
}

Event taken_back(const Job& job, std::size_t grant, int minutes) {
  return new_event(running_subject(job.id), kTimeTaken,
                   Json::object({{"grant", grant}, {"minutes", minutes}}));
}

// For a failed node at once: the job may need the time before it has another.
void credit_failures(const Known& k, const Job& job, Decision& decision) {
  const int minutes = k.policy.config.time_limit_extend;
  if (minutes == 0) return;
  for (const auto& [node, faulty] : job.faulty)
    if (faulty.fault == NodeFault::failed && !faulty.credited)
      decision.records.push_back(credited(job, Grant::For::failed, node, nullptr, minutes));
}

// Minutes for waiting are there when the wait begins, for the limit must be extended before it is over.
void credit_waiting(const Known& k, const Job& job, const Request& request, Decision& decision) {
  const int minutes = k.policy.config.time_limit_delay;
  if (minutes == 0 || request.step != Step::waiting || request.code) return;
  // Once for a request, also where it waits a second time.
  for (const Grant& grant : job.grants)
    if (grant.what == Grant::For::waiting && grant.request == request.n) return;
  decision.records.push_back(credited(job, Grant::For::waiting, "", &request, minutes));
}

// When the wait is over: what was not waited, and not used.  A replacement that never came leaves nothing.
void settle_waiting(const Known& k, const Job& job, const Request& request, bool came, Decision& decision) {
  for (std::size_t i = 0; i < job.grants.size(); ++i) {
    const Grant& grant = job.grants[i];
    if (grant.what != Grant::For::waiting || grant.request != request.n) continue;
    // Minutes that were begun count as waited.
    const auto waited = std::chrono::ceil<std::chrono::minutes>(k.now - request.waits_since).count();
    const int keeps = came ? static_cast<int>(std::min<std::int64_t>(waited, grant.minutes)) : 0;
    const int most = std::max(keeps, grant.used);
    if (const int back = grant.minutes - grant.taken - most; back > 0)
      decision.records.push_back(taken_back(job, i, back));
  }
}

// Dropping a node gives TimeLimitDrop in the place of what its failure gave.
void settle_drop(const Known& k, const Job& job, const Request& request, Decision& decision) {
  for (const std::string& node : request.nodes) {
    // From the last on: a node may have failed this job before, and been credited for it then.
    for (std::size_t i = job.grants.size(); i-- > 0;) {
      const Grant& grant = job.grants[i];
      if (grant.what != Grant::For::failed || grant.node != node) continue;
      const auto faulty = job.faulty.find(node);
      if (faulty != job.faulty.end() && faulty->second.credited && grant.left() > 0)
        decision.records.push_back(taken_back(job, i, grant.left()));
      break;
    }
    if (const int minutes = k.policy.config.time_limit_drop; minutes > 0)
      decision.records.push_back(credited(job, Grant::For::dropped, node, &request, minutes));
  }
}

void go_on_dropping(const Known& k, const Job& job, const Request& request, Decision& decision) {
  // A replacement that is on its way into the job ends first: then there may be nothing left to drop.
  if (const Request* other = job.replacing(); other != nullptr && other->is_joining() &&
                                              std::ranges::any_of(other->nodes, [&](const std::string& node) {
                                                return has_host(request.nodes, node);
                                              }))
    return;
  if (rests(k, request, decision)) return;
  std::vector<std::string> inside;
  for (const std::string& node : request.nodes)
    if (job.share(node) != nullptr) inside.push_back(node);
  const bool faulty =
      std::ranges::all_of(request.nodes, [&](const std::string& n) { return job.faulty.contains(n); });
  // It came back while the command waited: it is a good node, and the owner may want to keep it.
  if (!faulty) {
    decision.records.push_back(answered(job, request, Code::enodenotfail, "it is not faulty any more"));
  } else if (inside.empty()) {
    // A failed node has left the job by itself: only minutes and the answer are left to do.
    conclude(k, job, request, true, decision);
  } else if (has_job(k, job, "nodes are being dropped", decision)) {
    decision.commands.push_back(
        command(job, request, verb::kDropNodes, "drop", Json::object({{"nodes", inside}})));
  }
}

// The limit is set to minutes from the job's start, so that to set it twice does no harm.  One at a time, for
// the next begins where this one ends.
void go_on_extending(const Known& k, const Job& job, const Request& request, Decision& decision) {
  for (const auto& [n, other] : job.requests)
    if (n < request.n && other.what == What::extend && other.lives()) return;
  if (rests(k, request, decision)) return;
  if (job.limit == 0) return conclude(k, job, request, true, decision);  // what has no limit needs no minutes
  if (!has_job(k, job, "its time limit is being extended", decision)) return;
  // It may have been set by a command whose answer was lost, and the job's limit may show it already.
  const int limit = request.limit != 0 ? request.limit : job.limit + request.minutes;
  decision.commands.push_back(
      command(job, request, verb::kSetTimeLimit, "limit", Json::object({{"minutes", limit}})));
}

void go_on(const Known& k, const Job& job, const Request& request, Decision& decision) {
  credit_waiting(k, job, request, decision);
  // Answered already (dropped, or the job is over): its minutes for waiting go at once, though the donor may
  // still have to be cleared.
  if (request.code && request.what == What::replace) settle_waiting(k, job, request, false, decision);
  if (!request.pending.empty()) return;
  if (request.step == Step::done || request.step == Step::refused)
    return conclude(k, job, request, request.step == Step::done, decision);
  switch (request.what) {
    case What::replace:
      return go_on_replacing(k, job, request, decision);
    case What::drop:
      return go_on_dropping(k, job, request, decision);
    case What::extend:
      return go_on_extending(k, job, request, decision);
  }
}

// One that was answered and has ended may have left minutes for waiting.
void settle_ended(const Known& k, const Job& job, Decision& decision) {
  for (const auto& [n, request] : job.requests)
    if (!request.lives() && request.what == What::replace && request.code && *request.code != Code::enoerror)
      settle_waiting(k, job, request, false, decision);
}

void decide_job(const Known& k, const Job& job, Decision& decision) {
  const std::string subject = running_subject(job.id);
  if (!job.over) credit_failures(k, job, decision);
  settle_ended(k, job, decision);
  bool works = false;
  // All of them are gone through: a donor that is being cleared must not hold up another one's drop.
  for (const auto& [n, request] : job.requests)
    if (request.lives()) {
      works = true;
      go_on(k, job, request, decision);
    }
  // A node's loss and the end of its job may come in one look: who listens is told of both before the job is
  // forgotten.
  if (job.over && !works && k.now < job.over_at + kToldFor) {
    decision.wake_at = std::min(decision.wake_at, job.over_at + kToldFor);
  } else if (job.over && !works) {
    decision.records.push_back(
        new_event(subject, kNonstopClosed, Json::object({{"why", "the job runs no more"}})));
    return;
  }
  // The claim ends with the last request, so that identify and recover may have the job when it ends.
  const std::string on = job_subject(job.id);
  if (!works && k.cluster.claims.holds(kName, subject, on, k.now))
    decision.records.push_back(cluster::Claims::released(on, kName, "nothing is under way for it"));
}

}  // namespace

void conclude(const Known& k, const Job& job, const Request& request, bool done, Decision& decision) {
  if (request.what == What::replace) {
    settle_waiting(k, job, request, done, decision);
    if (const int minutes = k.policy.config.time_limit_extend; done && minutes > 0)
      for (const std::string& node : request.failing)
        decision.records.push_back(credited(job, Grant::For::replaced, node, &request, minutes));
  } else if (request.what == What::drop && done) {
    settle_drop(k, job, request, decision);
  }
  const Code refusal = request.what == What::replace ? Code::enodereplacefail : Code::ejobupdate;
  decision.records.push_back(
      answered(job, request, done ? Code::enoerror : refusal, done ? request.left_in : request.why));
}

bool has_job(const Known& k, const Job& job, std::string reason, Decision& decision) {
  const std::string on = job_subject(job.id), by = running_subject(job.id);
  // Wished for in every round until it is ours: whoever holds it now lets go some time.
  decision.claims.push_back({.on = on, .holder = std::string(kName), .by = by, .reason = std::move(reason)});
  return k.cluster.claims.holds(kName, by, on, k.now);
}

std::string request_name(const Job& job, const Request& request) {
  return fmt::format("{}.q{}", running_subject(job.id), request.n);
}

// A job's number comes again, its submit time does not; and no key is the beginning of another, for a donor
// is found by it in a text.
Command command(const Job& job, const Request& request, std::string_view verb, std::string_view word,
                Json args) {
  Command made;
  made.subject = running_subject(job.id);
  made.key = fmt::format("{}@{}.q{}.{}d:{}", made.subject, to_unix_seconds(job.submit), request.n,
                         request.acts + 1, word);
  made.verb = verb;
  made.args = Json::object({{"job_id", job.id},
                            {"uid", job.uid},
                            {"submit", to_micros(job.submit)},
                            {"request", request_name(job, request)}});
  for (const auto& [name, value] : args.members()) made.args.set(name, value);
  return made;
}

bool rests(const Known& k, const Request& request, Decision& decision) {
  if (request.unanswered == kNoTime) return false;
  const TimePoint due = request.unanswered + k.policy.say_again;
  if (k.now >= due) return false;
  decision.wake_at = std::min(decision.wake_at, due);
  return true;
}

Event answered(const Job& job, const Request& request, Code code, std::string why) {
  Json body = Json::object({{"request", request_name(job, request)},
                            {"what", to_string(request.what)},
                            {"code", wire::code_row(code).name}});
  if (!request.nodes.empty()) body.set("nodes", compress_hostlist(request.nodes));
  if (code == Code::enoerror && !request.by.empty()) body.set("by", compress_hostlist(request.by));
  if (request.what == What::extend) body.set("minutes", request.minutes);
  if (!why.empty()) body.set("why", std::move(why));
  return new_event(running_subject(job.id), kAnswered, std::move(body));
}

Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const std::string& subject, TimePoint now) {
  Decision decision;
  const Known k{cluster, state, policy, now};
  if (subject == kSpares) {
    decide_spares(k, decision);
  } else if (const std::string_view node = node_of_subject(subject); !node.empty()) {
    decide_fail_order(k, std::string(node), decision);
  } else if (const auto id = parse_running_subject(subject)) {
    if (const Job* job = state.job(*id)) decide_job(k, *job, decision);
  }
  return decision;
}

std::vector<std::string> restless(const State& state, const Policy& policy) {
  std::vector<std::string> subjects;
  // After a start nobody knows what is due: all are asked once.
  for (const auto& [id, job] : state.jobs) subjects.push_back(running_subject(id));
  for (const auto& [node, order] : state.fails) subjects.push_back(node_subject(node));
  if (policy.on) subjects.emplace_back(kSpares);
  return subjects;
}

std::vector<WatchedDonor> watched(const State& state) {
  std::vector<WatchedDonor> donors;
  for (const JobId id : state.busy) {
    const Job& job = state.jobs.at(id);
    for (const auto& [n, request] : job.requests)
      if (request.donor != 0 && (request.step == Step::waiting || request.step == Step::has_nodes))
        donors.push_back(
            {request.donor, job.uid, request.donor_key, running_subject(id), request_name(job, request)});
  }
  return donors;
}

}  // namespace sickbay::nonstop
