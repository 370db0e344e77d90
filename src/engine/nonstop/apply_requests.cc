// SPDX-License-Identifier: Apache-2.0
// apply() of requests: what was asked, what each command came to, and what became of a donor.
//
// A command ends in one of three ways: it was done, Slurm said no, or nobody knows (passes_by_itself).  The
// last is why a donor's key is kept from before it is asked for until it is certain that no such job is left.
#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/nonstop/parts.h"
#include "model/slurm_state.h"
#include "model/verbs.h"

namespace sickbay::nonstop {
namespace {

using Step = Request::Step;
using What = Request::What;

// A refusal other than conflict may be of the moment: the drop is said again, so often in all.
constexpr int kDropTries = 3;

void end(Change& c, Job& job, Request& request) {
  request.step = Step::ended;
  request.ended_at = c.event.at;
  request.pending.clear();
  std::size_t ended = 0;
  // Ended ones are kept for those who lost the answer, and only so many of them.
  for (const auto& [n, other] : job.requests) ended += !other.lives();
  for (auto it = job.requests.begin(); it != job.requests.end() && ended > kMostEndedRequests;)
    if (!it->second.lives() && &it->second != &request) {
      it = job.requests.erase(it);
      --ended;
    } else {
      ++it;
    }
}

void forget_donor(Request& request) {
  request.donor = 0;
  request.donor_submit = request.expected = kNoTime;
  request.donor_key.clear();
  request.donor_nodes.clear();
  request.pool.clear();
  request.checks.clear();
  request.checked_from = kNoTime;
}

// No donor is left: from the start, with those idle nodes that there are now.
void start_over(Change& c, Job& job, Request& request, bool counts = true) {
  forget_donor(request);
  // (A donor that never had nodes costs no attempt: the bound is against nodes that die again and again.)
  request.attempts += counts;
  request.source = Request::Source::idle;
  request.step = Step::wanted;
  // The answer was given meanwhile: nobody wants another donor.
  if (request.code) end(c, job, request);
}

// Its answer is given before its work is at an end: a donor that is there, or perhaps is, must go.
void abandon(Change& c, Job& job, Request& request, Code code, std::string why) {
  if (!request.code) {
    request.code = code;
    request.why = std::move(why);
  }
  request.clear_to_retry = false;
  // A command is under way: its end decides what is to be cleared.
  if (!request.pending.empty()) return;
  if (request.donor_key.empty())
    end(c, job, request);
  else
    request.step = Step::clearing;
}

// --- time

// Minutes for waiting go first: what is not used of them is taken back.
void spend(Job& job, Request& request, int minutes) {
  const auto from = [&](bool waiting) {
    for (std::size_t i = 0; i < job.grants.size() && minutes > 0; ++i) {
      Grant& grant = job.grants[i];
      if ((grant.what == Grant::For::waiting) != waiting) continue;
      const int some = std::min(minutes, grant.left());
      if (some <= 0) continue;
      grant.used += some;
      minutes -= some;
      // Noted by grant, so that a refusal gives back what was taken from where it was taken.
      request.spent.emplace_back(i, some);
    }
  };
  from(true);
  from(false);
}

void refund(Job& job, Request& request) {
  for (const auto& [grant, minutes] : request.spent) job.grants[grant].used -= minutes;
  request.spent.clear();
}

// --- what is asked

std::optional<What> what_of(const std::string& word) {
  for (const What what : {What::replace, What::drop, What::extend})
    if (to_string(what) == word) return what;
  return std::nullopt;
}

void begin_extend(Change& c, Job& job, Request& request) {
  // Judged here, in the order of the journal, and not in answer(): of two who ask at once the second finds
  // what the first has left.
  const int credit = job.credit();
  request.minutes = static_cast<int>(c.event.body["minutes"].as_int());
  if (c.event.body["all"].as_bool()) request.minutes = credit;
  if (credit == 0) {
    request.code = Code::enoincreasetimelimit;
  } else if (request.minutes > credit) {
    request.code = Code::etimeoverlimit;
  } else {
    return spend(job, request, request.minutes);
  }
  end(c, job, request);
}

void begin_drop(Change& c, Job& job, const Request& drop) {
  // Nobody waits for a node in the place of one that is given up. One that is joining is let come.
  for (auto& [n, other] : job.requests)
    if (other.what == What::replace && other.lives() && !other.is_joining() && !other.code &&
        std::ranges::any_of(other.nodes, [&](const std::string& node) { return has_host(drop.nodes, node); }))
      abandon(c, job, other, Code::enodereplacefail, "its node was dropped");
}

// --- what commands came to

struct Ended {
  bool done = false;
  bool unknown = false;  ///< nobody knows what it did
  ErrorCode code = ErrorCode::internal;
  std::string why;
  const Json& result;
};

void after_allocate(Change& c, Job& job, Request& request, const Ended& ended) {
  const JobId donor = static_cast<JobId>(ended.result["donor"].as_int());
  if (ended.done && donor != 0) {
    request.donor = donor;
    request.donor_submit = from_micros(ended.result["submit"].as_int());
    request.donor_nodes = ended.result["nodes"].as_strings();
    request.expected = from_micros(ended.result["expected_start"].as_int());
    request.unanswered = kNoTime;
    // The job ended or the node was dropped while Slurm was asked: the donor must go.
    if (request.code) {
      request.step = Step::clearing;
    } else if (ended.result["state"].as_string() == "RUNNING") {
      request.step = Step::has_nodes;
      request.checked_from = c.event.at;
    } else {
      request.step = Step::waiting;
      request.donor_nodes.clear();
      // From now on a spare that comes back ends the wait (may_leave_queue).
      request.spares_version = c.state.spares_version;
      if (request.waits_since == kNoTime) request.waits_since = c.event.at;
    }
    return;
  }
  if (ended.unknown && ended.code != ErrorCode::busy) {
    request.step = Step::clearing;  // perhaps there is one: it is looked for by its key
    request.clear_to_retry = !request.code;
    return;
  }
  forget_donor(request);
  // "Done" without a donor, and "busy": nothing free there; so the next source. Another refusal is of what
  // was asked for, and other nodes would not help.
  const bool none_free = ended.done || ended.code == ErrorCode::busy;
  request.step = Step::wanted;
  if (request.code) return end(c, job, request);
  if (request.source == Request::Source::queue) {
    if (none_free)
      request.unanswered = c.event.at;  // not even the queue takes it now: later
    else
      request.step = Step::refused;
  } else if (none_free) {
    request.source = request.source == Request::Source::idle ? Request::Source::pool : Request::Source::queue;
  } else if (request.source == Request::Source::pool) {
    request.source = Request::Source::queue;  // spares that Slurm does not give: then without them
  } else {
    request.step = Step::refused;
  }
  if (request.step == Step::refused) request.why = ended.why;
}

void after_cancel(Change& c, Job& job, Request& request, const Ended& ended) {
  if (!ended.done && ended.code != ErrorCode::not_found) {
    request.unanswered = c.event.at;  // it must go, whatever Slurm says now
    return;
  }
  // One that had no nodes, or of which nobody knows whether it was, lost none.
  if (request.clear_to_retry) return start_over(c, job, request, !request.donor_nodes.empty());
  forget_donor(request);
  if (request.code) return end(c, job, request);
  request.step = Step::refused;
}

void after_give(Change& c, Job& job, Request& request, const Ended& ended) {
  if (ended.done) {
    // The order counts: `by[i]` takes the place of `nodes[i]`.
    request.by = request.donor_nodes;
    job.changed_at = c.event.at;
    set_nodes(
        c, job,
        shares_of(ended.result["nodes"].as_strings(), cpu_groups_from_json(ended.result["cpus_per_node"])));
    // One that died on its way is the job's loss, too.
    // It is not in the job that Slurm has just shown: as if the job had had it and lost it, so that it is
    // faulty, may be replaced, and is credited.
    for (std::size_t i = 0; i < request.by.size(); ++i)
      if (job.share(request.by[i]) == nullptr && !job.faulty.contains(request.by[i])) {
        const auto lost = job.faulty.find(request.nodes[std::min(i, request.nodes.size() - 1)]);
        std::vector<Share> with = job.nodes;
        with.push_back({request.by[i], lost == job.faulty.end() ? 0 : lost->second.cpus});
        std::vector<Share> without = job.nodes;
        set_nodes(c, job, std::move(with));
        set_nodes(c, job, std::move(without));
      }
    forget_donor(request);
    request.step = Step::joined;
    if (job.over) end(c, job, request);
  } else if (ended.code == ErrorCode::not_found) {
    start_over(c, job, request);  // the donor is gone, and the job has nothing of it
  } else if (ended.unknown) {
    request.unanswered = c.event.at;
    if (job.over) request.step = Step::clearing;
  } else {
    // Slurm refused: because the donor's node has died (then another donor may do), or because the job cannot
    // take any.
    const bool died = std::ranges::any_of(request.donor_nodes,
                                          [&](const std::string& node) { return c.view.is_down(node); });
    for (const std::string& node : request.donor_nodes)
      if (c.view.is_down(node)) request.bad.insert(node);
    request.step = Step::clearing;
    request.clear_to_retry = died && !request.code;
    request.why = ended.why;
  }
}

void after_drop(Change& c, Job& job, Request& request, const Ended& ended) {
  if (ended.done) {
    job.changed_at = c.event.at;
    set_nodes(
        c, job,
        shares_of(ended.result["nodes"].as_strings(), cpu_groups_from_json(ended.result["cpus_per_node"])));
    request.step = Step::done;
  } else if (ended.unknown || (ended.code != ErrorCode::conflict && ++request.drop_tries < kDropTries)) {
    request.unanswered = c.event.at;
  } else if (request.what == What::replace) {
    // Not a failure of the replacement: the answer says why the old node is still there.
    request.left_in = ended.why;  // the job has its new node, and keeps the old one
    request.step = Step::done;
  } else {
    request.why = ended.why;
    request.step = Step::refused;
  }
  if (job.over) end(c, job, request);
}

void after_extend(Change& c, Job& job, Request& request, const Ended& ended) {
  if (ended.done) {
    job.limit = static_cast<int>(ended.result["minutes"].as_int());
    job.limit_set_at = c.event.at;
    request.step = Step::done;
  } else if (ended.unknown) {
    request.unanswered = c.event.at;  // absolute minutes may be set twice
    request.perhaps_set = true;
  } else {
    if (!request.perhaps_set) refund(job, request);  // else the job may have them
    request.why = ended.why;
    request.step = Step::refused;
  }
  if (job.over) end(c, job, request);
}

struct VerbRow {
  std::string_view verb;
  Step step;
  void (*after)(Change&, Job&, Request&, const Ended&);
};
constexpr auto kVerbs = std::to_array<VerbRow>({
    {verb::kAllocateDonor, Step::allocating, after_allocate},
    {verb::kGiveDonor, Step::giving, after_give},
    {verb::kCancelDonor, Step::clearing, after_cancel},
    {verb::kDropNodes, Step::leaving, after_drop},
    {verb::kSetTimeLimit, Step::extending, after_extend},
});

}  // namespace

Request* request_of(Job& job, const Json& body) {
  const std::string& name = body["request"].as_string();
  const std::string prefix = running_subject(job.id) + ".q";
  if (!name.starts_with(prefix)) return nullptr;
  for (auto& [n, request] : job.requests)
    if (name == prefix + std::to_string(n)) return &request;
  return nullptr;
}

void on_asked(Change& c) {
  Job& job = c.state.jobs.at(*parse_running_subject(c.event.subject));
  const Json& body = c.event.body;
  const auto what = what_of(body["what"].as_string());
  if (!what) return;
  const std::string& token = body["token"].as_string();
  auto nodes = sorted_hosts(body["nodes"].as_strings());
  // Two programs, or one that lost the answer, may ask for the same: they share one request. Minutes are no
  // such thing: who asks twice wants twice.
  if (*what != What::extend)
    for (auto& [n, other] : job.requests)
      if (other.what == *what && other.nodes == nodes && other.lives() && !other.code) {
        other.tokens.insert(token);  // the same once more
        return;
      }
  const Request* pending = *what == What::replace ? job.replacing() : nullptr;
  Request& request = job.requests[++job.last_request];
  request.n = job.last_request;
  request.what = *what;
  request.nodes = std::move(nodes);
  request.uid = static_cast<std::uint32_t>(body["uid"].as_int());
  request.tokens.insert(token);
  request.asked_at = c.event.at;
  // Between answer() and this event another request may have been written: judged here, once more.
  if (job.over || pending != nullptr) {
    request.code = job.over ? Code::ejobnotrun : Code::ereplacepending;
    if (pending != nullptr) request.why = pending->nodes.front();
    return end(c, job, request);
  }
  for (const std::string& node : request.nodes)
    if (const auto known = job.faulty.find(node);
        known != job.faulty.end() && known->second.fault == NodeFault::failing)
      request.failing.push_back(node);
  if (*what == What::extend) begin_extend(c, job, request);
  if (*what == What::drop) begin_drop(c, job, request);
}

// A record of decide(): the request has come to this.
void on_answered(Change& c) {
  Job& job = c.state.jobs.at(*parse_running_subject(c.event.subject));
  Request* request = request_of(job, c.event.body);
  const auto code = wire::code_from(c.event.body["code"].as_string());
  if (request == nullptr || !code || !request->lives()) return;
  if (!request->code) {
    request->code = *code;
    request->why = c.event.body["why"].as_string();
  }
  if (*code == Code::enoerror) {
    for (std::size_t i = 0; i < request->nodes.size(); ++i) {
      const std::string& node = request->nodes[i];
      // (One that could not leave is faulty still.)
      if (job.share(node) == nullptr) job.faulty.erase(node);
      if (request->what == What::drop) job.dropped.insert(node);
      if (request->what != What::replace || i >= request->by.size()) continue;
      job.replaced[node] = request->by[i];
      job.dropped.erase(node);
      ++job.replaced_count;
    }
    const auto happened =
        std::to_array({Happening::What::replaced, Happening::What::dropped, Happening::What::extended});
    tell(job, happened[static_cast<std::size_t>(request->what)], request->nodes, request->by, c.event.at);
  }
  end(c, job, *request);
  // What it drew from a pool is free, or has joined.
  c.touch_spares();
}

void on_credited(Change& c) {
  Job& job = c.state.jobs.at(*parse_running_subject(c.event.subject));
  const Json& body = c.event.body;
  Grant grant;
  for (const auto what : {Grant::For::failed, Grant::For::replaced, Grant::For::waiting, Grant::For::dropped})
    if (body["for"].as_string() == to_string(what)) grant.what = what;
  grant.node = body["node"].as_string();
  grant.minutes = static_cast<int>(body["minutes"].as_int());
  if (const Request* request = request_of(job, body)) grant.request = request->n;
  // Once for each failure: who fails anew is another entry of `faulty`.
  if (const auto faulty = job.faulty.find(grant.node); faulty != job.faulty.end())
    faulty->second.credited = true;
  job.grants.push_back(std::move(grant));
}

void on_taken_back(Change& c) {
  Job& job = c.state.jobs.at(*parse_running_subject(c.event.subject));
  const auto n = static_cast<std::size_t>(c.event.body["grant"].as_int());
  if (n < job.grants.size()) job.grants[n].taken += static_cast<int>(c.event.body["minutes"].as_int());
}

void on_intent(Change& c, Job& job) {
  const Json& body = c.event.body;
  Request* request = request_of(job, body["args"]);
  if (request == nullptr) return;
  const std::string& key = body["key"].as_string();
  const std::string& did = body["verb"].as_string();
  // A check is beside the one command of the request: it has its own place, by node.
  if (did == verb::kDiagnose) {
    request->checks[body["args"]["node"].as_string()] = key;
    return;
  }
  for (const VerbRow& row : kVerbs) {
    if (row.verb != did) continue;
    ++request->acts;
    request->pending = key;
    request->unanswered = kNoTime;
    // Cancelled by decide() on its own account (not to clear): a node of the donor is no good, or a spare has
    // come.
    if (did == verb::kCancelDonor && request->step != Step::clearing) {
      request->clear_to_retry = true;
      for (const std::string& node : request->donor_nodes)
        if (const auto check = request->checks.find(node);
            c.view.is_down(node) || (check != request->checks.end() && check->second == "bad")) {
          request->bad.insert(node);
          request->why = node + (c.view.is_down(node) ? " went down" : " failed its quick diagnosis");
        }
    }
    request->step = row.step;
    if (did == verb::kSetTimeLimit) request->limit = static_cast<int>(body["args"]["minutes"].as_int());
    if (did != verb::kAllocateDonor) continue;
    const Json& args = body["args"];
    // The part before ':' is what the donor's comment has. From here on there may be such a job.
    request->donor_key = key.substr(0, key.find(':'));
    request->pool = args["reservation"].as_string();
    request->source = !request->pool.empty()        ? Request::Source::pool
                      : args["immediate"].as_bool() ? Request::Source::idle
                                                    : Request::Source::queue;
  }
}

void on_end(Change& c, Job& job) {
  const Json& body = c.event.body;
  const std::string& key = body["key"].as_string();
  const bool done = c.event.kind == kDone;
  const ErrorCode code = done ? ErrorCode::internal : error_code_from(body["error"]["code"].as_string());
  // By key among all: the answer of a command that a request gave up may come late.
  for (auto& [n, request] : job.requests) {
    for (auto& [node, check] : request.checks)
      if (check == key)  // what could not be examined is not to be blamed
        check = done && !body["result"]["passed"].as_bool(true) ? "bad" : "ok";
    if (request.pending != key) continue;
    request.pending.clear();
    const Ended ended{done, !done && passes_by_itself(code), code, body["error"]["what"].as_string(),
                      body["result"]};
    for (const VerbRow& row : kVerbs)
      if (row.verb == body["verb"].as_string()) return row.after(c, job, request, ended);
    return;
  }
}

void on_donor_seen(Change& c, Job& job, Request& request, const JobInfo* donor) {
  // In other steps a command is under way, and its end tells more than a look.
  if (request.step != Step::waiting && request.step != Step::has_nodes) return;
  if (donor == nullptr) {
    if (static_cast<JobId>(c.event.body["job_id"].as_int()) == request.donor) start_over(c, job, request);
    return;
  }
  if (donor->job_id != request.donor) return;
  const auto state = parse_job_state(donor->state, donor->flags);
  if (state && is_terminal(*state)) return start_over(c, job, request);
  if (request.step == Step::has_nodes) return;
  // (Slurm's guess when the donor was made stands until backfill has one.)
  if (donor->expected_start != kNoTime) request.expected = donor->expected_start;
  if (!state || state->base != JobBase::running) return;
  request.donor_nodes = expand_hostlist(donor->nodes).value_or(std::vector<std::string>());
  if (request.donor_nodes.empty()) return;
  request.step = Step::has_nodes;
  request.checked_from = c.event.at;
}

void on_over(Change& c, Job& job) {
  if (job.over) return;
  job.over = true;
  job.over_at = c.event.at;
  tell(job, Happening::What::ended, {}, {}, c.event.at);
  // By number: abandon() may end requests, and end() removes old ones from the map.
  std::vector<int> live;
  for (const auto& [n, request] : job.requests)
    if (request.lives()) live.push_back(n);
  for (const int n : live) {
    Request& request = job.requests.at(n);
    // What is in the job already needs no clearing, and ends with it.
    if (request.step == Step::joined || request.step == Step::done || request.step == Step::leaving)
      request.donor_key.clear();
    abandon(c, job, request, Code::ejobnotrun, "the job has ended");
  }
}

}  // namespace sickbay::nonstop
