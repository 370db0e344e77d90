// SPDX-License-Identifier: Apache-2.0
#include "service/lossy_watch.h"

#include "base/hostlist.h"

namespace sickbay {

LossyWatch::LossyWatch(const std::optional<LossyTold>& told) : told_(told) {}

void LossyWatch::keep_only(std::span<const std::string> nodes) {
  std::erase_if(words_, [&](const auto& word) { return !has_host(nodes, word.first); });
}

std::optional<hang::LossyNetwork> LossyWatch::news() {
  auto now = hang::lossy_network(words_);
  in_doubt_.clear();
  if (!now) return std::nullopt;
  if (now->node.empty()) in_doubt_ = now->nodes;
  // Half as much again; and whose link it is.
  const bool has_grown = !told_ || now->lost >= told_->lost / 2 * 3;
  const bool is_named = told_ && !now->node.empty() && now->node != told_->node;
  if ((!has_grown && !is_named) || times_told_ == kMostTold) return std::nullopt;
  // (A name that was given stands until there is more to go by than when it was given.)
  ++times_told_;
  told_ = LossyTold{now->node, now->lost};
  return now;
}

Json to_json(const hang::LossyNetwork& one) {
  return Json::object({{"node", one.node},
                       {"nodes", one.nodes},
                       {"seconds", std::chrono::duration_cast<std::chrono::seconds>(one.seen).count()},
                       {"sent", one.sent},
                       {"lost", one.lost},
                       {"others_sent", one.others_sent},
                       {"others_lost", one.others_lost},
                       {"echoes", one.echoes},
                       {"echoes_lost", one.echoes_lost}});
}

}  // namespace sickbay
