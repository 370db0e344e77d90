// SPDX-License-Identifier: Apache-2.0
#include "engine/nonstop/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/nonstop/parts.h"

namespace sickbay::nonstop {
namespace {

using wire::Reply;

struct Question {
  const cluster::Cluster& cluster;
  const State& state;
  const Policy& policy;
  const Caller& caller;
  const wire::Request& request;
  const std::string& token;
  TimePoint now;
};

Answer reply(const Question& q, Code code, std::string why = {}) {
  Answer answer;
  answer.reply.command = q.request.command;
  answer.reply.code = code;
  answer.reply.why = std::move(why);
  return answer;
}

// What rests on nothing having failed: true only as far as the last look at the nodes.
// srun tells a program of a lost node up to half a second before sickbayd has seen it: so one look is taken
// before "no" is said.
Answer unless_seen(Answer answer) {
  answer.what = Answer::What::look;
  return answer;
}

Answer wait(const Question& q, std::vector<std::string> subjects, std::vector<Event> events = {}) {
  Answer answer;
  answer.what = Answer::What::wait;
  answer.reply.command = q.request.command;
  answer.subjects = std::move(subjects);
  answer.events = std::move(events);
  return answer;
}

wire::NodeSet set_of(const Job& job) {
  std::vector<std::string> names;
  std::vector<std::uint32_t> cpus;
  for (const Share& share : job.nodes) {
    names.push_back(share.node);
    cpus.push_back(share.cpus);
  }
  wire::NodeSet set;
  // Where the short text would bring them into another order than their CPUs, they are named one by one.
  const bool sorted = names == sorted_hosts(names);
  set.nodes = sorted ? compress_hostlist(names) : fmt::format("{}", fmt::join(names, ","));
  set.count = static_cast<std::uint32_t>(names.size());
  for (const CpuGroup& group : group_cpus(cpus)) set.cpus_per_node.emplace_back(group.cpus, group.count);
  return set;
}

std::uint32_t flag_of(NodeFault fault) {
  return fault == NodeFault::failing ? wire::kFailing : wire::kFailed;
}

// Failing ones first, as the original.
std::vector<wire::FaultyNode> faulty_of(const Job& job, std::uint32_t flags) {
  std::vector<wire::FaultyNode> found;
  for (const NodeFault fault : {NodeFault::failing, NodeFault::failed})
    for (const auto& [node, faulty] : job.faulty)
      if (faulty.fault == fault && (flags == 0 || (flags & flag_of(fault)) != 0))
        found.push_back({node, faulty.cpus, flag_of(fault)});
  return found;
}

Answer replaced(const Question& q, const Job& job, const std::vector<std::string>& nodes,
                std::string why = {}) {
  Answer answer = reply(q, Code::enoerror, std::move(why));
  std::vector<std::string> by;
  for (const std::string& node : nodes)
    if (const auto it = job.replaced.find(node); it != job.replaced.end()) by.push_back(it->second);
  answer.reply.replacement = compress_hostlist(by);
  answer.reply.set = set_of(job);
  return answer;
}

// How a request stands that the caller, or somebody like him, has made.
Answer standing(const Question& q, const Job& job, const Request& request) {
  if (!request.code) {
    // Slurm does not answer: the request is kept, and the caller need not hang on it.
    const bool silent = request.unanswered != kNoTime && request.pending.empty();
    if (request.what == Request::What::replace && (request.step == Request::Step::waiting || silent)) {
      Answer answer = reply(q, Code::ereplacelater);
      answer.reply.when = request.expected;
      return answer;
    }
    return wait(q, {running_subject(job.id)});
  }
  if (*request.code == Code::enoerror && request.what == Request::What::replace)
    return replaced(q, job, request.nodes, request.why);
  Answer answer = reply(q, *request.code, request.why);
  // (`why` has the name of the node that is waited for.)
  if (*request.code == Code::ereplacepending) answer.reply.node = request.why;
  if (*request.code == Code::enoerror && request.what == Request::What::drop) answer.reply.set = set_of(job);
  return answer;
}

const Request* of_token(const Question& q, const Job& job, Request::What what) {
  for (const auto& [n, request] : job.requests)
    if (request.what == what && request.tokens.contains(q.token)) return &request;
  return nullptr;
}

Event asked(const Question& q, const Job& job, Request::What what) {
  Json body = Json::object({{"what", to_string(what)}});
  if (!q.request.names.empty()) body.set("nodes", sorted_hosts(q.request.names));
  body.set("uid", q.caller.uid).set("token", q.token);
  return new_event(running_subject(job.id), kAsked, std::move(body));
}

// --- the commands

Answer get_fail_nodes(const Question& q, const Job& job) {
  Answer answer = reply(q, Code::enoerror);
  answer.reply.faulty = faulty_of(job, q.request.state_flags);
  return answer.reply.faulty.empty() ? unless_seen(std::move(answer)) : answer;
}

Answer show_job(const Question& q, const Job& job) {
  Answer answer = reply(q, Code::enoerror);
  wire::JobReport& report = answer.reply.job;
  report.faulty = faulty_of(job, 0);
  report.replaced = static_cast<std::uint32_t>(job.replaced_count);
  report.credit = static_cast<std::uint32_t>(job.credit());
  if (const Request* request = job.replacing()) {
    report.pending_job = request->donor;
    report.pending_node = compress_hostlist(request->nodes);
    for (const Grant& grant : job.grants)
      if (grant.what == Grant::For::waiting && grant.request == request->n)
        report.pending_delay = static_cast<std::uint32_t>(grant.left());
  }
  return report.faulty.empty() ? unless_seen(std::move(answer)) : answer;
}

Answer callback(const Question& q, const Job& job) {
  const auto known = job.callbacks.find(q.caller.address);
  const std::uint16_t port = known == job.callbacks.end() ? 0 : known->second;
  Answer answer = reply(q, Code::enoerror);
  // The same once more is no event.
  if (port != q.request.port)
    answer.events.push_back(new_event(
        running_subject(job.id), kCallbackSet,
        Json::object({{"address", q.caller.address}, {"port", q.request.port}, {"uid", q.caller.uid}})));
  return answer;
}

// Why this job, or these nodes of it, cannot be helped; nothing: they can.
std::optional<Answer> objection(const Question& q, const Job& job) {
  const auto& names = q.request.names;
  // The codes are those of the original plugin, which clients know.
  for (const std::string& node : names)
    if (!job.faulty.contains(node)) {
      const bool has = job.share(node) != nullptr;
      if (has) return unless_seen(reply(q, Code::enodenotfail));
      if (q.request.command == wire::Command::drop_node) return unless_seen(reply(q, Code::nodenotinjob));
      const bool known = q.cluster.view.node(node) != nullptr;
      return unless_seen(reply(q, known ? Code::enodenocpu : Code::enohost));
    }
  // slurmctld neither moves a batch script nor lets its node leave (tried; doc/design/nonstop_slurm.md).
  for (const std::string& node : names)
    if (node == job.batch_host && job.share(node) != nullptr)
      return reply(
          q, q.request.command == wire::Command::drop_node ? Code::ejobupdate : Code::enodereplacefail,
          fmt::format("the batch script of job {} runs on {}, which cannot leave it; start the job with its "
                      "script elsewhere, or end it",
                      job.id, node));
  return std::nullopt;
}

// A caller who lost the answer: what was done is told once more.  A node that has failed anew since is
// another matter.
bool all_done(const Question& q, const Job& job, const auto& done) {
  return !q.request.names.empty() && std::ranges::all_of(q.request.names, [&](const std::string& node) {
    return done.contains(node) && !job.faulty.contains(node);
  });
}

Answer replace(const Question& q, const Job& job) {
  // In this order: what this caller asked for, what was done for somebody before, what is under way, and only
  // then the rules.
  if (const Request* mine = of_token(q, job, Request::What::replace)) return standing(q, job, *mine);
  if (all_done(q, job, job.replaced)) return replaced(q, job, sorted_hosts(q.request.names));
  if (const Request* pending = job.replacing()) {
    // The same nodes: join it. An event is needed only where he must wait, so that his token is known.
    if (pending->nodes == sorted_hosts(q.request.names))
      return standing(q, job, *pending).what == Answer::What::wait
                 ? wait(q, {running_subject(job.id)}, {asked(q, job, Request::What::replace)})
                 : standing(q, job, *pending);
    Answer answer = reply(q, Code::ereplacepending);
    answer.reply.node = compress_hostlist(pending->nodes);
    return answer;
  }
  if (auto no = objection(q, job)) return std::move(*no);
  if (job.het_job_id != 0)
    return reply(
        q, Code::enodereplacefail,
        fmt::format("job {} is a part of the heterogeneous job {}, to which Slurm adds no nodes; drop the "
                    "node and go on",
                    job.id, job.het_job_id));
  // In the life of the job, as MaxSpareNodeCount of the original.
  const int most = static_cast<int>(q.policy.config.max_spare_nodes);
  if (most > 0 && job.replaced_count + static_cast<int>(q.request.names.size()) > most) {
    Answer answer = reply(q, Code::emaxsparecount);
    answer.reply.limit = static_cast<std::uint32_t>(most);
    return answer;
  }
  return wait(q, {running_subject(job.id)}, {asked(q, job, Request::What::replace)});
}

Answer drop(const Question& q, const Job& job) {
  if (const Request* mine = of_token(q, job, Request::What::drop)) return standing(q, job, *mine);
  if (all_done(q, job, job.dropped)) {
    Answer answer = reply(q, Code::enoerror);
    answer.reply.set = set_of(job);
    return answer;
  }
  if (auto no = objection(q, job)) return std::move(*no);
  return wait(q, {running_subject(job.id)}, {asked(q, job, Request::What::drop)});
}

Answer extend(const Question& q, const Job& job) {
  if (const Request* mine = of_token(q, job, Request::What::extend)) return standing(q, job, *mine);
  const int credit = job.credit();
  if (credit == 0) return unless_seen(reply(q, Code::enoincreasetimelimit));
  if (q.request.minutes > static_cast<std::uint32_t>(credit))
    return unless_seen(reply(q, Code::etimeoverlimit));
  Event event = asked(q, job, Request::What::extend);
  // (0 stands for all that there is; `all`, since by the time of the event the credit may be another.)
  event.body.set("minutes", q.request.minutes == 0 ? static_cast<std::uint32_t>(credit) : q.request.minutes);
  event.body.set("all", q.request.minutes == 0);
  return wait(q, {running_subject(job.id)}, {std::move(event)});
}

// --- drains

// A user's drain is limited to nodes of his own running jobs, or of the one that he names.
bool has_node(const Question& q, const std::string& node) {
  const auto on = q.state.on_node.find(node);
  if (on == q.state.on_node.end()) return false;
  return std::ranges::any_of(on->second, [&](JobId id) {
    const Job& job = q.state.jobs.at(id);
    return job.uid == q.caller.uid && !job.over && (q.request.job == 0 || q.request.job == id) &&
           job.share(node) != nullptr;
  });
}

Answer drain(const Question& q) {
  if (!q.caller.privileged && !may_drain(q.policy.config, q.caller))
    return reply(q, Code::eperm, "UserDrainAllow of nonstop.conf does not name you");
  std::vector<Event> events;
  std::vector<std::string> subjects;
  // All nodes are judged before any event is taken: a name that is wrong changes nothing.
  for (const std::string& node : q.request.names) {
    const cluster::Node* shown = q.cluster.view.node(node);
    // (The plugin's code for it; REPLACE_NODE has ENOHOST there.)
    if (shown == nullptr) return reply(q, Code::eupdnode, node + ": Slurm has no such node");
    if (!q.caller.privileged && !has_node(q, node))
      return reply(q, Code::eperm, node + " is not in a running job of yours");
    const auto order = q.state.fails.find(node);
    const bool mine = order != q.state.fails.end() && order->second.tokens.contains(q.token);
    if (mine && order->second.step == FailOrder::Step::refused)
      return reply(q, Code::eupdnode, node + ": " + order->second.why);
    // Already so, by whomever: nothing to wait for.
    if (shown->failing() || (mine && order->second.step >= FailOrder::Step::done)) continue;
    subjects.push_back(node_subject(node));
    if (mine) continue;
    events.push_back(new_event(
        node_subject(node), kAsked,
        Json::object({{"what", "drain"},
                      {"reason", q.request.reason},
                      {"uid", q.caller.uid},
                      {"by", q.caller.user.empty() ? fmt::format("uid {}", q.caller.uid) : q.caller.user},
                      {"job", q.request.job},
                      {"token", q.token}})));
  }
  return subjects.empty() ? reply(q, Code::enoerror) : wait(q, std::move(subjects), std::move(events));
}

Answer show_config(const Question& q) {
  Answer answer = reply(q, Code::enoerror);
  answer.reply.config = q.policy.config;
  return answer;
}

Answer nothing_to_do(const Question& q, const Job&) { return reply(q, Code::enoerror); }

/// All commands about one job; each is for the job's owner and the privileged.
struct CommandRow {
  wire::Command command;
  Answer (*answer)(const Question&, const Job&);
};
constexpr auto kCommands = std::to_array<CommandRow>({
    {wire::Command::get_fail_nodes, get_fail_nodes},
    {wire::Command::replace_node, replace},
    {wire::Command::drop_node, drop},
    {wire::Command::time_incr, extend},
    {wire::Command::callback, callback},
    {wire::Command::show_job, show_job},
    {wire::Command::events, nothing_to_do},  // who serves it sends happenings_after()
});

}  // namespace

bool may_drain(const wire::NonstopConfig& config, const Caller& caller) {
  const auto names_him = [&](const wire::UserList& list) {
    // (A user whom the name service does not know can still be named by number.)
    return list.all || std::ranges::any_of(list.names, [&](const std::string& name) {
             return (!caller.user.empty() && name == caller.user) || name == std::to_string(caller.uid);
           });
  };
  return names_him(config.drain_allow) && !names_him(config.drain_deny);
}

Answer answer(const cluster::Cluster& cluster, const State& state, const Policy& policy, const Caller& caller,
              const wire::Request& request, const std::string& token, TimePoint now) {
  const Question q{cluster, state, policy, caller, request, token, now};
  if (request.command == wire::Command::show_config) return show_config(q);
  if (request.command == wire::Command::drain) return drain(q);
  const Job* job = state.job(request.job);
  if (job == nullptr) {
    if (std::ranges::find(state.ended, request.job) != state.ended.end()) return reply(q, Code::ejobnotrun);
    Answer unknown = reply(q, Code::ejobid);
    // (Slurm may have one that began since the last look.)
    unknown.what = Answer::What::look;
    return unknown;
  }
  // After "unknown" and "ended": that a job is there is no secret in Slurm.
  if (caller.uid != job->uid && !caller.privileged) return reply(q, Code::eperm);
  if (job->over) return reply(q, Code::ejobnotrun);
  for (const CommandRow& row : kCommands)
    if (row.command == request.command) return row.answer(q, *job);
  return reply(q, Code::ecmd);
}

wire::Reply later(const State& state, const wire::Request& request) {
  Reply reply;
  reply.command = request.command;
  reply.code = Code::ejobupdate;
  reply.why = "slurmctld has not answered yet; what was asked for is kept, and tried again";
  if (request.command == wire::Command::drain) reply.code = Code::eupdnode;
  if (request.command != wire::Command::replace_node) return reply;
  reply.code = Code::ereplacelater;
  reply.why.clear();
  if (const Job* job = state.job(request.job))
    if (const Request* replacing = job->replacing()) reply.when = replacing->expected;
  return reply;
}

}  // namespace sickbay::nonstop
