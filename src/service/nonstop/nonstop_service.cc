// SPDX-License-Identifier: Apache-2.0
#include "service/nonstop/nonstop_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error_words.h"
#include "model/ids.h"

namespace sickbay {
namespace {

using wire::Code;

constexpr std::uint16_t kFirstUserPort = 1024;
constexpr std::size_t kMostAllowances = 10'000;
// What is left of a client's patience (libsmd waits ReadTimeout) when he is told "later".
constexpr std::chrono::milliseconds kDefaultPatience{8000}, kShortestPatience{500};

// The words that stand behind the version; a request that cannot be read may have them, too.
std::string release_of(std::string_view payload) {
  constexpr std::string_view kVersion = "VERSION:";
  if (!payload.starts_with(kVersion)) return std::string(wire::kRelease);
  payload = payload.substr(kVersion.size());
  payload = payload.substr(0, std::min(payload.find(':'), payload.size()));
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || (c >= 'a' && c <= 'z');
  };
  const bool good = !payload.empty() && payload.size() <= 32 && std::ranges::all_of(payload, fits);
  return std::string(good ? payload : wire::kRelease);
}

wire::Reply reply_of(const wire::Request& request, Code code, std::string why) {
  wire::Reply reply;
  reply.command = request.command;
  reply.code = code;
  reply.why = std::move(why);
  return reply;
}

}  // namespace

NonstopService::NonstopService(Loop& loop, Controller& controller, Credentials& credentials,
                               NonstopServer& server, Users users, NonstopBounds bounds)
    : loop_(loop),
      controller_(controller),
      credentials_(credentials),
      server_(server),
      users_(std::move(users)),
      bounds_(bounds),
      listeners_(loop, controller, server, bounds.listeners),
      // A token that is in the journal has moved its end, so no later sickbayd begins with this number.
      token_prefix_(std::to_string(controller.journal().last_seq())) {
  take_times();
  controller_.on_committed(lifetime_.guard([this](const Event& event) { committed(event); }));
  server_.on_message(lifetime_.guard([this](std::string body, std::shared_ptr<NonstopPeer> peer) {
    receive(std::move(body), std::move(peer));
  }));
}

void NonstopService::configured() {
  take_times();
  const wire::NonstopConfig& config = controller_.seats().nonstop().policy().config;
  controller_.take({new_event(std::string(nonstop::kSpares), nonstop::kConfRead,
                              Json::object({{"hot_spares", config.hot_spares_text()},
                                            {"max_spare_nodes", config.max_spare_nodes},
                                            {"delay", config.time_limit_delay},
                                            {"drop", config.time_limit_drop},
                                            {"extend", config.time_limit_extend}}))});
}

void NonstopService::take_times() {
  const wire::NonstopConfig& config = controller_.seats().nonstop().policy().config;
  NonstopServer::Times times;
  if (config.read_timeout > 0) times.read = std::chrono::seconds(config.read_timeout);
  if (config.write_timeout > 0) times.write = std::chrono::seconds(config.write_timeout);
  server_.set_times(times);
  // Clients have the same file, and wait that long.
  patience_ = config.read_timeout == 0
                  ? kDefaultPatience
                  : std::max(kShortestPatience, std::chrono::milliseconds(config.read_timeout * 800ULL));
}

NonstopCounts NonstopService::counts() const {
  NonstopCounts counts = counts_;
  counts.waiting = waiting_.size();
  counts.listeners = listeners_.counts();
  counts.server = server_.counts();
  return counts;
}

// --- who asks

void NonstopService::refuse(NonstopPeer& peer, std::string_view why) {
  ++counts_.refused;
  peer.answer(wire::format_failure(why));
}

void NonstopService::receive(std::string body, std::shared_ptr<NonstopPeer> peer) {
  // What is no credential does not get as far as munged, which others need, too.
  if (!body.starts_with("MUNGE:")) return refuse(*peer, wire::kNotDecrypted);
  credentials_.decode(std::move(body), lifetime_.guard([this, peer](const Result<Credential>& credential) {
    if (credential) return identified(peer, *credential);
    const Error& error = credential.error();
    refuse(*peer, fmt::format("{}: {}{}{}", wire::kNotDecrypted, error.what, error.cause.empty() ? "" : "; ",
                              error.cause));
  }));
}

void NonstopService::identified(std::shared_ptr<NonstopPeer> peer, const Credential& credential) {
  const std::string_view payload(credential.payload);
  if (!payload.starts_with("VERSION:")) return refuse(*peer, wire::kBadVersion);
  auto request = wire::parse_request(payload);
  auto s = std::make_shared<Session>();
  s->peer = std::move(peer);
  s->caller.uid = credential.uid;
  s->caller.address = s->peer->address();
  s->caller.privileged = users_.privileged(credential.uid);
  if (!request) {
    s->request.release = release_of(payload);
    const Error& error = request.error();
    return reply(s, reply_of(s->request, Code::ecmd, what_and_cause(error)));
  }
  s->request = std::move(*request);
  // (A name may cost a question to a directory server.)
  if (s->request.command != wire::Command::drain) return begin(s);
  users_.name(credential.uid, lifetime_.guard([this, s](const std::string& name) {
    s->caller.user = name;
    begin(s);
  }));
}

void NonstopService::begin(const SessionPtr& s) {
  s->token = fmt::format("{}.{}", token_prefix_, ++last_token_);
  if (s->request.command == wire::Command::callback && s->request.port > 0 &&
      s->request.port < kFirstUserPort && !s->caller.privileged)
    return reply(s, reply_of(s->request, Code::eport,
                             fmt::format("ports below {} are not called for users", kFirstUserPort)));
  go_on(s);
}

// --- what he is told

void NonstopService::go_on(const SessionPtr& s) {
  if (s->busy) return;
  if (!s->peer->is_open()) return forget(s);  // what he asked for goes on
  nonstop::Answer told =
      controller_.seats().nonstop().answer(s->caller, s->request, s->token, controller_.now());
  if (told.what == nonstop::Answer::What::look && !s->looked)
    return state().job(s->request.job) == nullptr ? look(s) : look_at_nodes(s, std::move(told.reply));
  const bool acts = !told.events.empty();
  if (acts && (s->asked || !may_act(s->caller))) {
    // (The same twice would be a fault of the engine: the client comes back, and the journal does not grow.)
    if (s->asked) return reply(s, nonstop::later(state(), s->request));
    return reply(s, reply_of(s->request, Code::ejobupdate, "too many requests of one user; try again"));
  }
  if (told.what == nonstop::Answer::What::wait) {
    wait(s, std::move(told.subjects));
    if (acts) keep(s, std::move(told.events), [this, s] { go_on(s); });
    return;
  }
  if (acts) {
    wait(s, {});
    return keep(s, std::move(told.events), [this, s, told = told.reply] { reply(s, told); });
  }
  if (s->request.command != wire::Command::events || told.reply.code != Code::enoerror)
    return reply(s, told.reply);
  forget(s);
  if (!listeners_.has_room(s->request.job, s->caller.uid))
    return reply(s, reply_of(s->request, Code::ejobupdate, "too many streams of events; close others"));
  ++counts_.answers[{wire::command_name(wire::Command::events), wire::code_row(Code::enoerror).name}];
  if (s->peer->write(wire::format_reply(told.reply, s->request.release)))
    listeners_.add(s->peer, s->request.job, s->caller.uid, s->request.after);
}

// Journals what the request needs.
void NonstopService::keep(const SessionPtr& s, std::vector<Event> events, std::function<void()> then) {
  if (!waiting_.contains(s)) return;  // told "later", since there are too many
  s->asked = s->busy = true;
  controller_.take(std::move(events), lifetime_.guard([this, s, then = std::move(then)](const Status& kept) {
    s->busy = false;
    if (kept) return then();
    reply(s, reply_of(s->request, Code::ejobupdate, "nothing was done: " + kept.error().line()));
  }));
}

bool NonstopService::may_act(const nonstop::Caller& caller) {
  if (caller.privileged) return true;
  const TimePoint now = loop_.now();
  if (allowances_.size() >= kMostAllowances) allowances_.clear();
  const auto [it, is_new] = allowances_.try_emplace(caller.uid, Allowance{bounds_.acts, now});
  Allowance& his = it->second;
  const double passed = std::chrono::duration<double>(now - his.at).count();
  his.left = std::min(bounds_.acts, his.left + passed * bounds_.acts_per_second);
  his.at = now;
  if (his.left < 1) return false;
  --his.left;
  return true;
}

void NonstopService::wait(const SessionPtr& s, std::vector<std::string> subjects) {
  s->subjects = std::move(subjects);
  if (waiting_.contains(s)) return;
  // Who only waits for a look at nodes costs nothing but his place.
  const bool too_many_of_job =
      !s->known && s->request.job != 0 && waiting_of_job_[s->request.job] >= bounds_.waiting_of_job;
  if (waiting_.size() >= bounds_.waiting || too_many_of_job)
    return reply(s, s->known ? *s->known : nonstop::later(state(), s->request));
  waiting_.insert(s);
  ++waiting_of_job_[s->request.job];
  s->timer = loop_.at(loop_.now() + patience_, lifetime_.guard([this, weak = std::weak_ptr(s)] {
    const SessionPtr late = weak.lock();
    if (!late || !waiting_.contains(late)) return;
    late->timer = 0;
    reply(late, late->known ? *late->known : later(late->request, "slurmctld has not answered"));
  }));
  s->peer->on_close(lifetime_.guard([this, weak = std::weak_ptr(s)] {
    if (const SessionPtr gone = weak.lock()) forget(gone);
  }));
}

void NonstopService::forget(const SessionPtr& s) {
  loop_.cancel(std::exchange(s->timer, 0));
  if (waiting_.erase(s) == 0) return;
  const auto of = waiting_of_job_.find(s->request.job);
  if (of != waiting_of_job_.end() && --of->second == 0) waiting_of_job_.erase(of);
}

void NonstopService::reply(const SessionPtr& s, const wire::Reply& told) {
  const SessionPtr kept = s;  // forget() may drop the last other one
  forget(kept);
  if (!kept->peer->is_open()) return;
  ++counts_.answers[{told.code == Code::ecmd ? "unknown" : wire::command_name(told.command),
                     wire::code_row(told.code).name}];
  // The release that the client said: who compares it with his own finds it.
  kept->peer->answer(wire::format_reply(told, kept->request.release));
}

// --- what was not seen yet

// "Nothing has failed" is true as of the last look, and a client asks just after srun has told him of a node:
// he is answered after a look that begins now.  Where slurmctld is away he is told what is known.
void NonstopService::look_at_nodes(const SessionPtr& s, wire::Reply known) {
  s->looked = true;
  s->known = std::move(known);
  wait(s, {});
  if (!waiting_.contains(s)) return;
  s->busy = true;
  controller_.watch().after_a_look(lifetime_.guard([this, s](const Status&) {
    // What was seen is on its way: behind it the question can be asked again.
    controller_.take({}, lifetime_.guard([this, s](const Status&) {
      s->busy = false;
      s->known.reset();
      if (waiting_.contains(s)) go_on(s);
    }));
  }));
}

// One look is for all who wait for one, and there is a pause between two: a stranger who makes up numbers
// must not keep slurmctld at work.
void NonstopService::look(const SessionPtr& s) {
  s->looked = true;
  wait(s, {});
  if (!waiting_.contains(s)) return;
  s->busy = true;
  to_look_[s->request.job].push_back(s);
  if (look_planned_) return;
  look_planned_ = true;
  const TimePoint now = loop_.now();
  const TimePoint when = last_look_ == kNoTime ? now : std::max(now, last_look_ + bounds_.look_pause);
  loop_.at(when, lifetime_.guard([this] { look_now(); }));
}

void NonstopService::look_now() {
  look_planned_ = false;
  last_look_ = loop_.now();
  for (auto& [job, sessions] : std::exchange(to_look_, {}))
    controller_.watch().nonstop().look_for(
        job, lifetime_.guard([this, who = std::move(sessions)](const Status& how) { looked(who, how); }));
}

void NonstopService::looked(const std::vector<SessionPtr>& sessions, const Status& how) {
  // What was seen is on its way: behind it the question can be asked again.
  controller_.take({}, lifetime_.guard([this, sessions, how](const Status& kept) {
    for (const SessionPtr& s : sessions) {
      s->busy = false;
      if (how && kept) {
        go_on(s);
        continue;
      }
      reply(s, later(s->request, how ? kept.error().line() : how.error().line()));
    }
  }));
}

// What a client is told who has waited long enough.  Of a job that nobody knows nothing is kept.
wire::Reply NonstopService::later(const wire::Request& request, const std::string& why) const {
  wire::Reply told = nonstop::later(state(), request);
  if (request.job != 0 && state().job(request.job) == nullptr && told.code != Code::ereplacelater)
    told.why = fmt::format("nobody knows job {} yet: {}; try again", request.job, why);
  return told;
}

// --- what happens meanwhile

void NonstopService::committed(const Event& event) {
  listeners_.note(event);
  if (event.kind == kNodesSeen)
    all_touched_ = true;
  else if (!waiting_.empty())
    touched_.insert(event.subject);
  if (settling_ || (waiting_.empty() && !listeners_.any())) return;
  settling_ = true;
  loop_.post(lifetime_.guard([this] { settle(); }));
}

void NonstopService::settle() {
  settling_ = false;
  const std::set<std::string> touched = std::exchange(touched_, {});
  const bool all = std::exchange(all_touched_, false);
  std::vector<SessionPtr> move;
  for (const SessionPtr& s : waiting_)
    if (!s->subjects.empty() &&
        (all || std::ranges::any_of(s->subjects, [&](const auto& one) { return touched.contains(one); })))
      move.push_back(s);
  for (const SessionPtr& s : move) go_on(s);
  listeners_.tell();
}

}  // namespace sickbay
