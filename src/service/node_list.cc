// SPDX-License-Identifier: Apache-2.0
#include "service/node_list.h"

#include <chrono>

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
Json verified_view(const identify::State& state, const std::string& node) {
  const auto words = state.words.find(node);
  if (words == state.words.end() || words->second.empty()) return {};
  const identify::Word& last = words->second.back();
  return Json::object(
      {{"result", last.result}, {"reason", last.reason}, {"by", last.run}, {"at", to_micros(last.began)}});
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
  text_ = make(stale, agents);
  cost_ = std::chrono::duration_cast<Micros>(controller_.now() - now);
  version_ = version;
  made_ = now;
  return text_;
}

std::string NodeList::make(bool stale, const Agents* agents) const {
  const auto& seats = controller_.seats();
  const drain::Known drains = seats.drains().known(controller_.now());
  const auto& pools = seats.nonstop().state().pools;
  const identify::State& cases = seats.cases().state();
  auto odd = fleet::views(seats.fleet().state());
  Json items = Json::array();
  for (const auto& [name, node] : controller_.watch().nodes()) {
    Json item = node.to_json();
    for (const auto& [partition, pool] : pools)
      if (pool.members.contains(name)) item.set("spare", partition);
    const auto state = parse_node_state(node.state, node.flags);
    item.set("usable", state && usable(*state));
    item.set("agent", agents != nullptr ? agents->view(name) : Json());
    item.set("findings", agents != nullptr ? agents->findings(name) : Json::array());
    Json verdicts = Json::array();
    for (const std::int64_t no : identify::blamers(cases, name)) verdicts.push(case_name(no));
    item.set("verdicts", std::move(verdicts));
    Json suspect = Json::array();
    for (const auto& [no, at] : identify::suspected_in(cases, name))
      suspect.push(Json::object({{"case", case_name(no)}, {"at", to_micros(at)}}));
    item.set("suspect", std::move(suspect));
    item.set("service", drain::node_view(drains, name));
    item.set("claim", claim_view(controller_, node_subject(name)));
    item.set("silent", detect::complaint_view(seats.detects().state(), name, controller_.now()));
    item.set("verified", verified_view(cases, name));
    const auto differs = odd.find(name);
    item.set("odd", differs == odd.end() ? Json::array() : std::move(differs->second));
    items.push(std::move(item));
  }
  // (An initializer list would copy what may be ten thousand nodes.)
  Json list = Json::object();
  list.set("items", std::move(items)).set("next", Json()).set("stale", stale);
  return json_response(200, list).body;
}

}  // namespace sickbay
