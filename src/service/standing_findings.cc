// SPDX-License-Identifier: Apache-2.0
#include "service/standing_findings.h"

#include <algorithm>
#include <vector>

#include "model/finding_action.h"

namespace sickbay {
namespace {

constexpr std::chrono::minutes kUnknownStands{70};  // an agent tells what stands again each hour

bool is_notice(std::string_view action) { return action == "notify" || action == "none"; }

// By the journal's stamps alone, so that a replay reckons likewise.
bool was_over(const StandingFindings::Standing& one, TimePoint at) {
  return one.result != "fault" && at - one.told >= StandingFindings::kNewsAgain + kUnknownStands;
}

// Where the finding stands, or null; of nodes that may be changed, to be changed.
template <class Nodes>
auto* standing_in(Nodes& nodes, const std::string& node, const Json& finding) {
  const auto places = nodes.find(node);
  using Found = decltype(&places->second.begin()->second);
  if (places == nodes.end()) return Found(nullptr);
  const auto it = places->second.find(rule_of_finding(finding) + "/" + finding["result"].as_string());
  return it == places->second.end() ? Found(nullptr) : &it->second;
}

}  // namespace

bool StandingFindings::is_over(const Standing& one, TimePoint now) const {
  if (one.result == "fault") return false;
  TimePoint last = std::max(one.told, one.heard);
  if (started_ - last < kNewsAgain + kUnknownStands) last = std::max(last, started_);
  return now - last >= kUnknownStands;
}

bool StandingFindings::is_known(const std::string& node, const Json& finding, TimePoint now) const {
  const Standing* one = standing_in(nodes_, node, finding);
  return one != nullptr && now - one->told < kNewsAgain && !is_over(*one, now) &&
         one->action == finding["action"].as_string() && one->boot_id == finding["boot_id"].as_string();
}

void StandingFindings::heard(const std::string& node, const Json& finding, TimePoint now) {
  Standing* one = standing_in(nodes_, node, finding);
  if (one == nullptr) return;
  one->heard = now;
  one->text = finding["text"].as_string();  // how full a disk is by now, say
}

void StandingFindings::apply(const Event& event) {
  put(nodes_[event.body["node"].as_string()], event.body, event.subject, event.at);
}

StandingFindings::OfNode StandingFindings::places(const std::string& node) const {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? OfNode() : it->second;
}

bool StandingFindings::put(OfNode& places, const Json& finding, const std::string& name, TimePoint at) {
  const std::string rule = rule_of_finding(finding);
  const std::string& result = finding["result"].as_string();
  if (result == "ok") {
    places.erase(rule + "/fault");
    return true;
  }
  const std::string key = rule + "/" + result;
  // (It could be told, so it is unknown no more.)
  const std::string told = result == "fault" ? rule + "/unknown" : "";
  if (!places.contains(key) && !places.contains(told) && places.size() >= kMost) {
    std::erase_if(places, [at](const auto& entry) { return was_over(entry.second, at); });
    if (places.size() >= kMost) {
      if (is_notice(finding["action"].as_string())) return false;
      auto youngest = places.end();
      for (auto it = places.begin(); it != places.end(); ++it)
        if (is_notice(it->second.action) &&
            (youngest == places.end() || it->second.since >= youngest->second.since))
          youngest = it;
      if (youngest == places.end()) return false;
      places.erase(youngest);
    }
  }
  places.erase(told);
  Standing& one = places[key];
  if (one.since == kNoTime || was_over(one, at)) one.since = at, one.finding = name;
  one.rule = rule;
  one.result = result;
  one.action = finding["action"].as_string();
  one.text = finding["text"].as_string();
  one.boot_id = finding["boot_id"].as_string();
  one.mode = finding["mode"].as_string();
  one.told = at;
  return true;
}

Json StandingFindings::for_agent(const std::string& node) const {
  Json list = Json::array();
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return list;
  for (const auto& [key, one] : it->second)
    if (one.result == "fault" && !one.mode.empty())
      list.push(Json::object({{"rule", one.rule}, {"mode", one.mode}}));
  return list;
}

Json StandingFindings::of(const std::string& node, TimePoint now) const {
  Json list = Json::array();
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return list;
  std::vector<const Standing*> all;
  for (const auto& [key, one] : it->second)
    if (!is_over(one, now)) all.push_back(&one);
  std::ranges::stable_sort(all, {}, [](const Standing* one) { return one->since; });
  for (const Standing* one : all)
    list.push(Json::object({{"finding", one->finding},
                            {"rule", one->rule},
                            {"result", one->result},
                            {"action", one->action},
                            {"text", one->text},
                            {"since", to_micros(one->since)},
                            {"told", to_micros(std::max(one->told, one->heard))}}));
  return list;
}

}  // namespace sickbay
