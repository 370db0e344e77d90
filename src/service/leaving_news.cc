// SPDX-License-Identifier: Apache-2.0
#include "service/leaving_news.h"

#include <vector>

#include "model/event_kinds.h"
#include "model/slurm_state.h"

namespace sickbay {
namespace {

bool is_leaving(const NodeInfo& info) {
  if (info.flags.empty()) return false;  // most of them
  const auto state = parse_node_state(info.state, info.flags);
  return state && (state->has(NodeFlag::drain) || state->has(NodeFlag::fail));
}

}  // namespace

LeavingNews::LeavingNews(Loop& loop, Controller& controller, std::function<void(const std::string&)> wake)
    : loop_(loop), controller_(controller), wake_(std::move(wake)) {
  controller_.on_committed(lifetime_.guard([this](const Event& event) {
    if (event.kind != kNodesSeen || std::exchange(refreshing_, true)) return;
    loop_.post(lifetime_.guard([this] { refresh(); }));
  }));
}

// (The last look, and not the view: of a node that a reservation keeps from work already, that it is drained
// besides is no event.)
void LeavingNews::refresh() {
  refreshing_ = false;
  const auto& seen = controller_.watch().nodes();
  std::erase_if(nodes_, [&](const auto& entry) { return !seen.contains(entry.first); });
  std::vector<std::string> changed;
  for (const auto& [name, info] : seen)
    if (see(info)) changed.push_back(name);
  for (const std::string& name : changed) wake_(name);
}

bool LeavingNews::see(const NodeInfo& info) {
  const auto [entry, is_new] = nodes_.try_emplace(info.name);
  Node& node = entry->second;
  const bool leaving = is_leaving(info);
  if (leaving == (node.since > 0)) return false;
  node = {leaving ? to_micros(loop_.now()) : 0, is_new};
  return true;
}

Json LeavingNews::news(const std::string& node, std::int64_t since) {
  const auto& seen = controller_.watch().nodes();
  const auto info = seen.find(node);
  if (info == seen.end()) return Json();
  (void)see(info->second);
  Node& known = nodes_.at(node);
  if (std::exchange(known.at_start, false) && since > 0 && since < known.since) known.since = since;
  if (known.since == since) return Json();
  return Json::object({{"since", known.since > 0 ? Json(known.since) : Json()}});
}

}  // namespace sickbay
