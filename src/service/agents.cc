// SPDX-License-Identifier: Apache-2.0
#include "service/agents.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.h"
#include "base/state_archive.h"
#include "engine/drain/drain.h"
#include "engine/fleet/fleet.h"
#include "model/finding_action.h"
#include "model/ids.h"
#include "service/agent_words.h"
#include "service/allowance.h"

namespace sickbay {
namespace {

constexpr std::chrono::minutes kPresent{2};
constexpr std::size_t kBootsKept = 8;       // of one node; a spool rarely holds findings of three
constexpr std::size_t kMostDigests = 4096;  // bytes
constexpr std::size_t kMostComponentBytes = 16'384;
// What the journal keeps of one node.  An agent tells what stands once an hour, 64 rules at most, in some
// hundred bytes each: this is many times that, and less than 50 MB a day of a node that tells without end.
constexpr double kBytesSaved = 1 << 20, kBytesAnHour = 2 << 20;
constexpr double kFindingsSaved = 600, kFindingsAnHour = 1200;
constexpr double kHelloSaved = 256 << 10, kHelloAnHour = 64 << 10;  // bytes; it tells what is new, seldom
constexpr std::chrono::seconds kClockIsOff{30};

double bytes_of(const std::vector<Event>& events) {
  std::size_t bytes = 0;
  for (const Event& event : events) bytes += event.body.dump().size();
  return static_cast<double>(bytes);
}

}  // namespace

struct Agents::Agent {
  TimePoint seen = kNoTime;
  std::string boot_id, version, mode, period, address;
  Json digests = Json::object();
  Micros ahead{0};  ///< its clock before ours, at the last hello
  Json journaled;   ///< {version, digests, mode}, as the journal has it
  Json facts;       ///< likewise
  Json components;  ///< likewise
  struct Boot {
    static constexpr int kFields = 3;  ///< base/state_archive.h
    std::string boot_id;
    std::int64_t accepted = 0;  ///< the greatest n that was taken
    std::int64_t durable = 0;   ///< the greatest that the journal has
  };
  std::vector<Boot> boots;  ///< the latest last
  Allowance bytes{kBytesSaved, kBytesAnHour}, findings{kFindingsSaved, kFindingsAnHour};
  Allowance told{kHelloSaved, kHelloAnHour};
  std::int64_t left_out = 0;  ///< findings for which no place was left, since our start

  /// What a replay brings back, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(journaled, facts, components, boots);
  }
  bool known() const { return seen != kNoTime || !journaled.is_null(); }
  bool present(TimePoint now) const { return seen != kNoTime && now - seen < kPresent; }
  Boot& boot(const std::string& id) {
    const auto it = std::ranges::find(boots, id, &Boot::boot_id);
    if (it != boots.end()) return *it;
    if (boots.size() >= kBootsKept) boots.erase(boots.begin());
    return boots.emplace_back(Boot{id, 0, 0});
  }
};

Agents::Agents(Loop& loop, Controller& controller, NodeAddresses::LookUp look_up)
    : loop_(loop),
      controller_(controller),
      addresses_(loop, controller, std::move(look_up)),
      started_(loop.now()),
      standing_(loop.now()),
      tasks_(
          loop, controller, [this](const std::string& node) { touch(node); },
          [this](const std::string& node) { return view(node); }) {
  const auto listener = lifetime_.guard([this](const Event& event) { apply(event); });
  controller_.on_replayed({"agents", listener, [this](StateWriter& out) { save(out); },
                           [this](StateReader& in) { restore(in); }});
  controller_.on_committed(listener);
}
Agents::~Agents() = default;

void Agents::apply(const Event& event) {
  faults_.apply(event);
  if (const auto no = parse_finding_name(event.subject)) {
    last_finding_ = std::max(last_finding_, *no);
    if (event.kind != kFinding) return;
    standing_.apply(event);
    note_number(event.body["node"].as_string(), event.body);
    return;
  }
  const std::string node(node_of_subject(event.subject));
  if (node.empty()) return;
  if (event.kind == kRepairEnded) note_number(node, event.body);
  if (event.kind == drain::kAgentSeen) agents_[node].journaled = event.body;
  if (event.kind == fleet::kFactsSeen) agents_[node].facts = event.body["facts"];
  if (event.kind == kComponentsSeen) agents_[node].components = event.body["components"];
  tasks_.apply(event);
}

// What a replay brings back; the rest of an agent is what it has told us, and it will tell it again.
void Agents::save(StateWriter& out) const {
  out(agents_, standing_, last_finding_, faults_);
  tasks_.save(out);
}

void Agents::restore(StateReader& in) {
  in(agents_, standing_, last_finding_, faults_);
  tasks_.restore(in);
}

// What the spool of its agent has told, up to where: repeats are dropped by it.
void Agents::note_number(const std::string& node, const Json& body) {
  Agent::Boot& boot = agents_[node].boot(body["boot_id"].as_string());
  boot.durable = std::max(boot.durable, body["n"].as_int());
  boot.accepted = std::max(boot.accepted, boot.durable);
}

// --- who is an agent

void Agents::check(const Caller& caller, const std::string& node, std::function<void(Status)> then) {
  addresses_.check(caller, node,
                   lifetime_.guard([this, node, address = caller.address, then = std::move(then)](Status is) {
                     if (is && swim_) swim_->heard(node, address);
                     if (is && ranks_) ranks_->heard(node, address);
                     then(std::move(is));
                   }));
}

void Agents::touch(const std::string& node) {
  agents_[node].seen = loop_.now();
  controller_.heard(node);
}

// --- what agents say

void Agents::hello(const std::string& node, const Json& body, Done<Json> done) {
  touch(node);
  Agent& agent = agents_[node];
  if (!body["boot_id"].is_string() || !body["version"].is_string() || !body["digests"].is_object() ||
      body["digests"].dump().size() > kMostDigests)
    return done(fail(ErrorCode::bad_input, "hello needs 'boot_id', 'version' and 'digests'"));
  ++changes_;
  agent.boot_id = body["boot_id"].as_string();
  agent.version = body["version"].as_string();
  agent.digests = body["digests"];
  agent.mode = body["mode"].as_string();
  agent.period = body["period"].as_string();
  if (const std::int64_t now = body["now"].as_int(); now > 0) agent.ahead = from_micros(now) - loop_.now();
  Json seen = Json::object({{"version", agent.version},
                            {"digests", agent.digests},
                            {"mode", agent.mode},
                            {"boot_id", agent.boot_id}});
  const std::int64_t last = agent.boot(agent.boot_id).durable;
  Json answer = Json::object({{"node", node}, {"last", last}});
  // An agent without its old state does not know what there is to take back, and nobody else would.
  if (Json standing = standing_.for_agent(node); standing.size() > 0)
    answer.set("standing", std::move(standing));
  std::vector<Event> events;
  if (!(seen == agent.journaled))
    events.push_back(new_event(node_subject(node), drain::kAgentSeen, std::move(seen)));
  if (Json facts = facts_of(body, agent.ahead); !facts.is_null() && !(facts == agent.facts))
    events.push_back(
        new_event(node_subject(node), fleet::kFactsSeen, Json::object({{"facts", std::move(facts)}})));
  if (const Json& components = body["components"];
      components.is_array() && components.dump().size() <= kMostComponentBytes &&
      !(components == agent.components) && (components.size() > 0 || agent.components.size() > 0))
    events.push_back(
        new_event(node_subject(node), kComponentsSeen, Json::object({{"components", components}})));
  if (events.empty()) return done(std::move(answer));
  // It is greeted all the same: what is not kept of it now is news again with its next hello.
  const TimePoint now = loop_.now();
  if (agent.told.left(now) <= 0) {
    ++held_back_;
    return done(std::move(answer));
  }
  agent.told.spend(bytes_of(events), now);
  controller_.take(std::move(events), std::move(answer), std::move(done));
}

// What a node says is kept within its allowance.  Beyond that its agent has to wait, and loses nothing.
Status Agents::may_tell(const std::string& node) {
  const Agent& agent = agents_[node];
  const TimePoint now = loop_.now(), ready = std::max(agent.bytes.ready(now), agent.findings.ready(now));
  if (ready <= now) return {};
  ++held_back_;
  return fail(Error(ErrorCode::busy, node + " has told too much")
                  .because(fmt::format("the journal takes no more of it for {} s",
                                       std::chrono::ceil<std::chrono::seconds>(ready - now).count()))
                  .remedied_by("its agent tries again by itself; look at the rules that fire on that node"));
}

// `told_again`: what the journal need not hear again, but had to be looked at.
void Agents::spend(const std::string& node, const std::vector<Event>& events, std::int64_t told_again) {
  Agent& agent = agents_[node];
  agent.bytes.spend(bytes_of(events), loop_.now());
  const auto findings = std::ranges::count(events, kFinding, &Event::kind) + told_again;
  agent.findings.spend(static_cast<double>(findings), loop_.now());
}

// Whether a finding that is told again is news to nobody: it stands, the journal has heard of it lately, and
// where it takes its node out, it is a reason for that already.  (Who puts a node back while its fault stands
// has it drained again when its agent tells the fault again.)
bool Agents::changes_nothing(const std::string& node, const Json& finding) const {
  if (!standing_.is_known(node, finding, controller_.now())) return false;
  const std::string& action = finding["action"].as_string();
  if (finding["result"].as_string() != "fault" || action == "notify" || action == "none") return true;
  if (!takes_node_out(action)) return false;  // a restart: each telling may open a recovery
  const auto& drains = controller_.seats().drains().state().nodes;
  const auto it = drains.find(node);
  if (it == drains.end()) return false;
  const std::string rule = rule_of_finding(finding);
  return std::ranges::any_of(it->second.reasons, [&](const auto& entry) {
    const drain::Reason& reason = entry.second;
    return reason.rule == rule && reason.action == action && reason.gone_at == kNoTime && !reason.observed &&
           reason.boot_id == finding["boot_id"].as_string();
  });
}

void Agents::take_findings(const std::string& node, const Json& body, Done<Json> done) {
  touch(node);
  if (!body["items"].is_array() || body["items"].size() > kMostFindings)
    return done(
        fail(ErrorCode::bad_input, fmt::format("'items' must be a list of at most {}", kMostFindings)));
  Agent& agent = agents_[node];
  if (Status may = may_tell(node); !may) return done(fail(std::move(may.error())));
  std::vector<Event> events;
  std::int64_t repeats = 0;
  Json refused = Json::array(), late = Json::array();
  // A finding's age is told by the clock that stamped it: only that clock knows both ends.
  const std::int64_t told = body["now"].as_int();
  const TimePoint now = told > 0 ? from_micros(told) : controller_.now();
  std::vector<std::string> boots;
  StandingFindings::OfNode places = standing_.places(node);
  std::int64_t left_out = 0, told_again = 0;
  for (const Json& item : body["items"].items()) {
    auto finding = finding_body(node, item);
    auto repair = finding ? repair_event(node, item) : fail(finding.error());
    if (!repair) {
      refused.push(Json::object({{"n", item["n"]}, {"what", repair.error().what}}));
      continue;
    }
    Agent::Boot& boot = agent.boot(item["boot_id"].as_string());
    const std::int64_t n = item["n"].as_int();
    // Said of repeats, too: the answer that said it first may be what was lost.
    const bool is_late = now - from_micros(item["at"].as_int()) > kLate;
    if (is_late) late.push(n);
    if (n <= boot.accepted) {
      // Taken by an earlier request that is not durable yet: that one's answer decides.
      if (n > boot.durable)
        return done(fail(Error(ErrorCode::busy, "an earlier delivery of these findings is under way")));
      ++repeats;
      continue;
    }
    if (!*repair && !is_late && changes_nothing(node, *finding)) {
      // (Its number is not kept: told once more, it is looked at once more.)
      standing_.heard(node, *finding, controller_.now());
      ++told_again;
      continue;
    }
    if (!*repair &&
        !StandingFindings::put(places, *finding, finding_name(last_finding_ + 1), controller_.now())) {
      ++left_out;
      refused.push(Json::object(
          {{"n", n}, {"what", fmt::format("{} rules of {} stand already", StandingFindings::kMost, node)}}));
      continue;
    }
    boot.accepted = n;
    boots.push_back(boot.boot_id);
    if (*repair) {
      events.push_back(std::move(**repair));
      continue;
    }
    if (const Json jobs = jobs_of(item, name_of_); jobs.size() > 0) finding->set("jobs", jobs);
    if (is_late) finding->set("late", true);
    // Where its clock is off, what it stamped must not be held against times of ours.
    if (const Micros ahead = now - controller_.now(); std::chrono::abs(ahead) >= kClockIsOff)
      finding->set("clock_ahead_us", ahead.count());
    events.push_back(new_event(finding_name(++last_finding_), kFinding, std::move(*finding)));
  }
  Json answer = Json::object(
      {{"kept", events.size()}, {"repeats", repeats + told_again}, {"refused", std::move(refused)}});
  if (late.size() > 0) answer.set("late", std::move(late));
  agent.left_out += left_out;
  left_out_ += left_out;
  changes_ += left_out > 0 ? 1 : 0;
  spend(node, events, told_again);
  controller_.take(std::move(events), std::move(answer),
                   [this, here = lifetime_.watch(), node, boots, done = std::move(done)](Result<Json> kept) {
                     // What was not kept comes again; what the full disk takes after all is known by then as
                     // durable.
                     if (!kept && !here.over())
                       for (const std::string& id : boots) {
                         Agent::Boot& boot = agents_[node].boot(id);
                         boot.accepted = boot.durable;
                       }
                     done(std::move(kept));
                   });
}

// --- agents that watch each other

void Agents::watch_each_other(std::uint16_t port, std::function<std::string(std::size_t)> random) {
  swim_ = std::make_unique<SwimGroups>(loop_, controller_, port, std::move(random),
                                       [this](const std::string& node) { tasks_.wake(node); });
  tasks_.on_swim(
      [this](const std::string& node, std::int64_t version) { return swim_->news(node, version); });
}

void Agents::give_tasks(const std::string& node, std::int64_t after, const AgentTasks::Has& has,
                        std::shared_ptr<HttpReply> reply) {
  // (An older agent has no use for groups, and is told of none.)
  if (swim_ && has.swim) swim_->can_watch(node);
  if (peers_ && has.peer) peers_->hear(node, *has.peer);
  tasks_.give(node, after, has, std::move(reply));
}

void Agents::lend_peers() {
  peers_ = std::make_unique<PeerTests>(
      loop_, controller_, [this](const std::string& node) { tasks_.wake(node); },
      [this](const std::string& node) { return active_ && active_->holds(node); });
  tasks_.on_peer([this](const std::string& node, PeerWord has) { return peers_->news(node, has); });
}

void Agents::take_peer(const std::string& node, const Json& body, Done<Json> done) {
  touch(node);
  if (!peers_) return done(fail(ErrorCode::conflict, "nodes are no peers of each other here"));
  peers_->take(node, body, std::move(done));
}

void Agents::bound_active(int at_once) {
  active_ = std::make_unique<ActiveLeave>(
      loop_, at_once, [this](const std::string& node) { tasks_.wake(node); }, [this] { ++changes_; });
  tasks_.lend_by(*active_);
  std::set<std::string> known;
  for (const auto& [node, agent] : agents_)
    if (agent.known()) known.insert(node);
  active_->await(std::move(known));
}

void Agents::tell_leaving() {
  leaving_ = std::make_unique<LeavingNews>(loop_, controller_,
                                           [this](const std::string& node) { tasks_.wake(node); });
  tasks_.on_leaving(
      [this](const std::string& node, std::int64_t since) { return leaving_->news(node, since); });
}

// --- agents that look at the ranks of jobs

void Agents::watch_ranks(const hang::Policy& policy) {
  ranks_ = std::make_unique<RankWatches>(loop_, controller_, policy,
                                         [this](const std::string& node) { tasks_.wake(node); });
  tasks_.on_ranks(
      [this](const std::string& node, std::int64_t version) { return ranks_->news(node, version); });
}

void Agents::take_ranks(const std::string& node, const Json& body, Done<Json> done) {
  touch(node);
  if (!ranks_) return done(fail(ErrorCode::conflict, "ranks are not looked at here"));
  if (Status taken = ranks_->take(node, body); !taken) return done(fail(std::move(taken.error())));
  done(Json::object({{"job", body["job"]}}));
}

void Agents::take_report(const std::string& node, const Json& body, Done<Json> done) {
  touch(node);
  if (!swim_) return done(fail(ErrorCode::conflict, "nodes do not watch each other here"));
  auto events = swim_->take_report(node, body);
  if (!events) return done(fail(std::move(events.error())));
  Json answer = Json::object({{"kept", events->size()}});
  controller_.take(std::move(*events), std::move(answer), std::move(done));
}

// --- what people see

void Agents::write_view(JsonText& text, const std::string& node) const {
  const auto it = agents_.find(node);
  if (it == agents_.end() || !it->second.known()) {
    text.raw("null");
    return;
  }
  const Agent& agent = it->second;
  const bool told = !agent.version.empty();  // else the journal's word is all there is
  const TimePoint now = loop_.now();
  const bool present = agent.present(now);
  text.begin_object().member("seen", to_micros(agent.seen)).member("present", present);
  // (Not right after our own start, when none has had the time to ask.)
  text.member("silent", !present && now - started_ >= kPresent).key("version");
  if (told)
    text.value(agent.version).member("digests", agent.digests).member("mode", agent.mode);
  else
    text.value(agent.journaled["version"])
        .member("digests", agent.journaled["digests"])
        .member("mode", agent.journaled["mode"]);
  text.member("period", agent.period)
      .member("left_out", agent.left_out)
      .member("clock_ahead_us", std::int64_t{agent.ahead.count()})
      .key("active");
  if (active_)
    active_->write_view(text, node);
  else
    text.raw("null");
  text.end_object();
}

Json Agents::view(const std::string& node) const {
  std::string text;
  JsonText writes(text);
  write_view(writes, node);
  return Json::parse(text).value_or(Json());
}

Agents::Presence Agents::presence() const {
  Presence all;
  const TimePoint now = loop_.now();
  for (const auto& [name, agent] : agents_) {
    // Who left the cluster with his node is not missed.
    if (!controller_.seats().cluster().view.nodes.contains(name) || !agent.known()) continue;
    const auto silence = std::chrono::duration_cast<Micros>(now - std::max(agent.seen, started_));
    all.newest = all.present + all.silent == 0 ? silence : std::min(all.newest, silence);
    all.longest = std::max(all.longest, silence);
    ++(agent.present(now) ? all.present : all.silent);
  }
  return all;
}

}  // namespace sickbay
