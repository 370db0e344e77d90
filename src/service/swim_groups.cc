// SPDX-License-Identifier: Apache-2.0
#include "service/swim_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "engine/detect/detect.h"
#include "model/ids.h"
#include "model/swim_message.h"

namespace sickbay {
namespace {

constexpr std::size_t kKeyBytes = 32;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::uint32_t number_of(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

}  // namespace

SwimGroups::SwimGroups(Loop& loop, Controller& controller, std::uint16_t port,
                       std::function<std::string(std::size_t)> random,
                       std::function<void(const std::string&)> wake)
    : loop_(loop),
      controller_(controller),
      port_(port),
      random_(std::move(random)),
      wake_(std::move(wake)),
      last_version_(to_micros(loop.now())) {  // agents have versions of the sickbayd before
  controller_.on_committed(lifetime_.guard([this](const Event&) { refresh_soon(); }));
  refresh_soon();
}

void SwimGroups::refresh_soon() {
  if (std::exchange(refreshing_, true)) return;
  loop_.post(lifetime_.guard([this] { refresh(); }));
}

void SwimGroups::heard(const std::string& node, const std::string& address) {
  Member& member = members_[node];
  if (std::exchange(member.address, address) != address && member.can_watch) refresh_soon();
  // That its agent speaks is a sign of life: this is half of the second way.
  if (detect::is_suspect(controller_.seats().detects().state(), node))
    controller_.take({new_event(node_subject(node), detect::kNodeAnswers, Json::object({{"by", node}}))});
}

void SwimGroups::can_watch(const std::string& node) {
  if (!std::exchange(members_[node].can_watch, true)) refresh_soon();
}

void SwimGroups::refresh() {
  refreshing_ = false;
  std::map<JobId, std::vector<std::string>> wanted;
  for (const auto& seat : controller_.seats().all())
    for (SwimWanted& one : seat->swim_groups()) wanted[one.job_id] = sorted_hosts(std::move(one.nodes));
  std::set<std::string> changed;
  std::erase_if(groups_, [&](const auto& entry) {
    if (wanted.contains(entry.first)) return false;
    changed.insert(entry.second.members.begin(), entry.second.members.end());
    return true;
  });
  for (auto& [job, nodes] : wanted) {
    std::vector<std::string> members, addresses;
    std::vector<std::uint16_t> ports;
    for (const std::string& node : nodes) {
      const auto it = members_.find(node);
      if (it == members_.end() || !it->second.can_watch || it->second.address.empty()) continue;
      if (members.size() == kMostSwimMembers) break;
      members.push_back(node);
      addresses.push_back(it->second.address);
      const auto known = controller_.watch().nodes().find(node);
      ports.push_back(known == controller_.watch().nodes().end() ? 0 : known->second.port);
    }
    if (members.size() < 2) members.clear(), addresses.clear(), ports.clear();
    Group& group = groups_[job];
    if (group.members == members && group.addresses == addresses) continue;
    changed.insert(group.members.begin(), group.members.end());
    changed.insert(members.begin(), members.end());
    // Another number and key: whoever has left cannot speak for it any more.
    group = {job,
             number_of(random_(4)),
             random_(kKeyBytes),
             nodes,
             std::move(members),
             std::move(addresses),
             std::move(ports)};
  }
  for (const std::string& node : changed) {
    const bool any =
        std::ranges::any_of(groups_, [&](const auto& entry) { return has_host(entry.second.members, node); });
    members_[node].version = any ? ++last_version_ : 0;
    wake_(node);
  }
}

Json SwimGroups::news(const std::string& node, std::int64_t version) const {
  const auto member = members_.find(node);
  const std::int64_t now = member == members_.end() ? 0 : member->second.version;
  if (now == version) return Json();
  Json list = Json::array();
  for (const auto& [job, group] : groups_) {
    if (!has_host(group.members, node)) continue;
    Json members = Json::array();
    for (std::size_t i = 0; i < group.members.size(); ++i)
      members.push(Json::object(
          {{"node", group.members[i]}, {"address", group.addresses[i]}, {"slurmd_port", group.ports[i]}}));
    list.push(Json::object(
        {{"job", job}, {"group", group.number}, {"key", hex(group.key)}, {"members", std::move(members)}}));
  }
  return Json::object({{"version", now}, {"port", port_}, {"groups", std::move(list)}});
}

Result<std::vector<Event>> SwimGroups::take_report(const std::string& node, const Json& body) const {
  const auto wrong = [](std::string what) {
    return fail(Error(ErrorCode::bad_input, std::move(what)).remedied_by("use the agent of this version"));
  };
  if (!body["group"].is_int() || !body["items"].is_array() || body["items"].size() > kMostItems)
    return wrong("a report needs a 'group' and a list 'items'");
  const auto it = std::ranges::find(groups_, body["group"].as_int(), [](const auto& entry) {
    return static_cast<std::int64_t>(entry.second.number);
  });
  if (it == groups_.end() || !has_host(it->second.members, node))
    return fail(Error(ErrorCode::not_found, node + " is in no such group").because("the group has ended"));
  const Group& group = it->second;
  const detect::State& state = controller_.seats().detects().state();
  std::vector<Event> events;
  for (const Json& item : body["items"].items()) {
    const std::string& about = item["node"].as_string();
    if (!has_host(group.members, about) || about == node)
      return wrong("a report is about another node of the group, not " + quote_for_message(about));
    if (!item["silent"].as_bool()) {
      if (detect::is_suspect(state, about))
        events.push_back(new_event(node_subject(about), detect::kNodeAnswers, Json::object({{"by", node}})));
      continue;
    }
    std::vector<std::string> by{node};
    for (const std::string& name : item["seen_by"].as_strings())
      if (has_host(group.members, name) && name != about) by.push_back(name);
    by = sorted_hosts(std::move(by));
    if (!detect::is_news(state, about, by, controller_.now())) continue;
    events.push_back(new_event(node_subject(about), detect::kNodeSilent,
                               Json::object({{"job", group.job},
                                             {"group", group.members.size()},
                                             {"by", by},
                                             {"silent_ms", item["silent_ms"].as_int()}})));
  }
  return events;
}

}  // namespace sickbay
