// SPDX-License-Identifier: Apache-2.0
#include "service/node_list.h"

#include <chrono>

#include "base/json_text.h"
#include "engine/identify/blame.h"
#include "engine/identify/suspects.h"
#include "model/ids.h"
#include "model/slurm_state.h"
#include "service/agents.h"
#include "service/api_call.h"
#include "service/controller.h"

namespace sickbay {
namespace {

constexpr std::chrono::seconds kOldest{2};  // of what no version tells: when an agent was heard last
constexpr int kShare = 10;                  // of the loop's time is for lists, one part in so many

// V's last word on a node, in any case; null where there is none.
void write_verified(JsonText& text, const identify::State& state, const std::string& node) {
  const auto words = state.words.find(node);
  if (words == state.words.end() || words->second.empty()) {
    text.raw("null");
    return;
  }
  const identify::Word& last = words->second.back();
  text.begin_object()
      .member("result", last.result)
      .member("reason", last.reason)
      .member("by", last.run)
      .member("at", to_micros(last.began))
      .end_object();
}

void write_cases(JsonText& text, const identify::State& state, const std::string& node,
                 const std::set<std::int64_t>& blamers, std::size_t most) {
  const auto [listed, older] = identify::newest(blamers, most);
  text.key("verdicts").begin_array();
  for (const std::int64_t no : listed) text.value(case_name(no));
  text.end_array().member("verdicts_more", static_cast<std::int64_t>(older)).key("suspect").begin_array();
  const auto suspected = identify::suspected_in(state, node, most);
  for (const auto& [no, at] : suspected)
    text.begin_object().member("case", case_name(no)).member("at", to_micros(at)).end_object();
  text.end_array().member(
      "suspect_more", static_cast<std::int64_t>(identify::suspecting(state, node).size() - suspected.size()));
}

}  // namespace

const std::string& NodeList::text(bool stale, const Agents* agents) {
  const Version version{stale, controller_.health().rounds, controller_.watch().health().looks,
                        agents == nullptr ? 0 : agents->changes()};
  const TimePoint now = controller_.now();
  const auto age = now - made_;
  const bool is_same = version == version_ && age < kOldest;
  if (made_ != kNoTime && std::get<bool>(version_) == stale && (is_same || age < kShare * cost_))
    return text_;
  make(stale, agents, next_);
  text_.swap(next_);
  cost_ = std::chrono::duration_cast<Micros>(controller_.now() - now);
  version_ = version;
  made_ = now;
  return text_;
}

// What Slurm says of a node, as text.
void NodeList::show(Shown& shown, const NodeInfo& node) {
  shown.node = node;
  shown.members = node.to_json().dump();
  // Its members alone: others follow them.
  shown.members = shown.members.substr(1, shown.members.size() - 2);
  const auto state = parse_node_state(node.state, node.flags);
  shown.usable = state && usable(*state);
}

// Of those that look as before it is there already.
void NodeList::refresh_shown() {
  auto row = shown_.begin();
  for (const auto& [name, node] : controller_.watch().nodes()) {
    while (row != shown_.end() && row->first < name) row = shown_.erase(row);
    if (row == shown_.end() || row->first != name) row = shown_.try_emplace(row, name);
    if (row->second.members.empty() || !(row->second.node == node)) show(row->second, node);
    ++row;
  }
  shown_.erase(row, shown_.end());
}

// Where nothing has changed the text of before is good, and its reasons are not walked over once more.
void NodeList::write_service(JsonText& text, const drain::Known& known, const std::string& name, Shown& shown,
                             std::size_t most) {
  const drain::ViewKey key = drain::view_key(known, name);
  if (!shown.service_lasts || shown.service_of != key) {
    shown.service.clear();
    JsonText service(shown.service);
    shown.service_lasts = drain::write_node_view(service, known, name, most);
    shown.service_of = key;
  }
  text.raw(shown.service);
}

/// What a node's members are written from, as it is at one moment.
struct NodeList::Sources {
  /// `only`: the one node that is asked about, where it is one.
  Sources(const Controller& c, const Agents* a, const std::string* only = nullptr)
      : controller(c),
        agents(a),
        now(c.now()),
        drains(c.seats().drains().known(now)),
        cases(c.seats().cases().state()),
        odd(fleet::views(c.seats().fleet().state(), only)) {}
  const Controller& controller;
  const Agents* const agents;
  const TimePoint now;
  const drain::Known drains;
  const identify::State& cases;
  const std::map<std::string, Json> odd;
};

void NodeList::write_node(JsonText& text, const Sources& from, const std::string& name, Shown& shown,
                          const std::set<std::int64_t>& blamers, std::size_t most) {
  const Seats& seats = from.controller.seats();
  text.raw(shown.members);
  const std::string* spare_of = nullptr;  // one member of that name: of several pools the last
  for (const auto& [partition, pool] : seats.nonstop().state().pools)
    if (pool.members.contains(name)) spare_of = &partition;
  if (spare_of != nullptr) text.member("spare", *spare_of);
  text.member("usable", shown.usable).key("agent");
  if (from.agents == nullptr)
    text.raw("null").key("findings").raw("[]");
  else
    from.agents->write_view(text, name), text.member("findings", from.agents->findings(name));
  write_cases(text, from.cases, name, blamers, most);
  text.key("service");
  write_service(text, from.drains, name, shown, most);
  text.member("claim", claim_view(from.controller, node_subject(name)));
  text.member("silent", detect::complaint_view(seats.detects().state(), name, from.now)).key("verified");
  write_verified(text, from.cases, name);
  const auto differs = from.odd.find(name);
  if (differs == from.odd.end())
    text.key("odd").raw("[]");
  else
    text.member("odd", differs->second);
  text.member("jobs_fail", blackhole::suspicion_view(seats.blackholes().state(), name));
}

void NodeList::make(bool stale, const Agents* agents, std::string& list) {
  static const std::set<std::int64_t> kNone;
  const Sources from(controller_, agents);
  refresh_shown();
  list.clear();
  JsonText text(list);
  text.begin_object().key("items").begin_array();
  // Both are in the order of names: to look each up would cost more than to write what it has.
  const auto& blamed = from.cases.blamed;
  auto blame = blamed.begin();
  for (auto& [name, shown] : shown_) {
    while (blame != blamed.end() && blame->first < name) ++blame;
    const bool is_blamed = blame != blamed.end() && blame->first == name;
    text.begin_object();
    write_node(text, from, name, shown, is_blamed ? blame->second : kNone, kListed);
    text.end_object();
  }
  text.end_array().key("next").raw("null").member("stale", stale).end_object();
  list += '\n';  // as all answers end
}

std::optional<std::string> NodeList::node_text(const std::string& name, bool stale,
                                               const Agents* agents) const {
  const auto& nodes = controller_.watch().nodes();
  const auto it = nodes.find(name);
  if (it == nodes.end()) return std::nullopt;
  const Sources from(controller_, agents, &name);
  Shown shown;
  show(shown, it->second);
  std::string body;
  JsonText text(body);
  text.begin_object();
  write_node(text, from, name, shown, identify::blamers(from.cases, name), kTold);
  text.member("stale", stale).end_object();
  body += '\n';
  return body;
}

}  // namespace sickbay
