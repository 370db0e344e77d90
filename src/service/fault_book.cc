// SPDX-License-Identifier: Apache-2.0
#include "service/fault_book.h"

#include "model/event_kinds.h"
#include "model/finding_action.h"
#include "model/ids.h"

namespace sickbay {
namespace {

std::string month_of(TimePoint at) { return format_time(at).substr(0, 7); }

}  // namespace

void FaultBook::apply(const Event& event) {
  if (event.kind == kFinding) return note_finding(event);
  if (event.kind == kRepairEnded)
    if (const std::string node(node_of_subject(event.subject)); !node.empty()) note_repair(node, event);
}

FaultBook::Row& FaultBook::row(TimePoint at, const Key& key) {
  const std::string month = month_of(at);
  Row& found = months_[month][key];
  while (months_.size() > kMonths && months_.begin()->first < month) months_.erase(months_.begin());
  return found;
}

void FaultBook::note_finding(const Event& event) {
  const Key key{event.body["node"].as_string(), rule_of_finding(event.body)};
  const std::string& result = event.body["result"].as_string();
  if (result == "fault") {
    if (standing_.try_emplace(key, event.at).second) ++row(event.at, key).faults;
  } else if (result == "ok") {
    const auto began = standing_.find(key);
    if (began == standing_.end()) return;
    row(began->second, key).sick += event.at - began->second;
    standing_.erase(began);
  }
}

void FaultBook::note_repair(const std::string& node, const Event& event) {
  const Json& body = event.body;
  Row& counts = row(event.at, {node, rule_of_finding(body)});
  const std::string& result = body["result"].as_string();
  ++(result == "ok" ? counts.ok : result == "fault" ? counts.failed : counts.unknown);
  auto& last = repairs_[node];
  last.push_front(Json::object({{"at", to_micros(event.at)},
                                {"rule", rule_of_finding(body)},
                                {"operation", body["operation"]},
                                {"result", body["result"]},
                                {"text", body["text"]},
                                {"took_us", body["took_us"]}}));
  if (last.size() > kMostRepairs) last.pop_back();
}

Json FaultBook::months(TimePoint now, const std::string& node) const {
  Json list = Json::array();
  for (auto month = months_.rbegin(); month != months_.rend(); ++month)
    for (const auto& [key, counts] : month->second) {
      if (!node.empty() && key.first != node) continue;
      const auto stands = standing_.find(key);
      const bool there = stands != standing_.end() && month_of(stands->second) == month->first;
      const Micros sick = counts.sick + (there ? now - stands->second : Micros(0));
      list.push(Json::object(
          {{"month", month->first},
           {"node", key.first},
           {"rule", key.second},
           {"faults", counts.faults},
           {"stands", there},
           {"sick_s", std::chrono::duration_cast<std::chrono::seconds>(sick).count()},
           {"repairs",
            Json::object({{"ok", counts.ok}, {"fault", counts.failed}, {"unknown", counts.unknown}})}}));
    }
  return list;
}

Json FaultBook::repairs(const std::string& node) const {
  Json list = Json::array();
  if (const auto it = repairs_.find(node); it != repairs_.end())
    for (const Json& one : it->second) list.push(one);
  return list;
}

}  // namespace sickbay
