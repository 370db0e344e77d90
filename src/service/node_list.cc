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

void write_cases(JsonText& text, const identify::State& state, const std::string& node) {
  text.key("verdicts").begin_array();
  for (const std::int64_t no : identify::blamers(state, node)) text.value(case_name(no));
  text.end_array().key("suspect").begin_array();
  for (const auto& [no, at] : identify::suspected_in(state, node))
    text.begin_object().member("case", case_name(no)).member("at", to_micros(at)).end_object();
  text.end_array();
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

// What Slurm says of the nodes, as text; of those that look as before it is there already.
void NodeList::refresh_shown() {
  auto row = shown_.begin();
  for (const auto& [name, node] : controller_.watch().nodes()) {
    while (row != shown_.end() && row->first < name) row = shown_.erase(row);
    if (row == shown_.end() || row->first != name) row = shown_.try_emplace(row, name);
    Shown& shown = row->second;
    if (shown.members.empty() || !(shown.node == node)) {
      shown.node = node;
      shown.members = node.to_json().dump();
      // Its members alone: others follow them.
      shown.members = shown.members.substr(1, shown.members.size() - 2);
      const auto state = parse_node_state(node.state, node.flags);
      shown.usable = state && usable(*state);
    }
    ++row;
  }
  shown_.erase(row, shown_.end());
}

// Of some nodes there are many, and they stand for weeks.
std::string_view NodeList::reasons_of(Shown& shown, const drain::State& state, const std::string& name) {
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return {};
  if (shown.reasons_of != it->second.change) {
    shown.reasons.clear();
    JsonText text(shown.reasons);
    drain::write_reasons(text, it->second);
    shown.reasons_of = it->second.change;
  }
  return shown.reasons;
}

void NodeList::make(bool stale, const Agents* agents, std::string& list) {
  const auto& seats = controller_.seats();
  const TimePoint now = controller_.now();
  const drain::Known drains = seats.drains().known(now);
  const auto& pools = seats.nonstop().state().pools;
  const identify::State& cases = seats.cases().state();
  const auto odd = fleet::views(seats.fleet().state());
  refresh_shown();
  list.clear();
  JsonText text(list);
  text.begin_object().key("items").begin_array();
  for (auto& [name, shown] : shown_) {
    text.begin_object().raw(shown.members);
    const std::string* spare_of = nullptr;  // one member of that name: of several pools the last
    for (const auto& [partition, pool] : pools)
      if (pool.members.contains(name)) spare_of = &partition;
    if (spare_of != nullptr) text.member("spare", *spare_of);
    text.member("usable", shown.usable).key("agent");
    if (agents == nullptr)
      text.raw("null").key("findings").raw("[]");
    else
      agents->write_view(text, name), text.member("findings", agents->findings(name));
    write_cases(text, cases, name);
    text.key("service");
    drain::write_node_view(text, drains, name, reasons_of(shown, drains.state, name));
    text.member("claim", claim_view(controller_, node_subject(name)));
    text.member("silent", detect::complaint_view(seats.detects().state(), name, now)).key("verified");
    write_verified(text, cases, name);
    const auto differs = odd.find(name);
    if (differs == odd.end())
      text.key("odd").raw("[]");
    else
      text.member("odd", differs->second);
    text.end_object();
  }
  text.end_array().key("next").raw("null").member("stale", stale).end_object();
  list += '\n';  // as all answers end
}

}  // namespace sickbay
