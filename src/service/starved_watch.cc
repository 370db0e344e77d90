// SPDX-License-Identifier: Apache-2.0
#include "service/starved_watch.h"

#include "base/hostlist.h"

namespace sickbay {
namespace {

// Half as much again.
bool has_grown(Micros now, Micros told) { return now.count() >= told.count() / 2 * 3; }

}  // namespace

StarvedWatch::StarvedWatch(std::span<const StarvedTold> told) {
  for (const StarvedTold& one : told) {
    if (one.apart)
      told_[one.node] = one.lost;
    else
      told_of_all_ = one.lost;
  }
}

void StarvedWatch::keep_only(std::span<const std::string> nodes) {
  std::erase_if(words_, [&](const auto& word) { return !has_host(nodes, word.first); });
}

std::vector<hang::StarvedNode> StarvedWatch::news(std::size_t nodes) {
  std::vector<hang::StarvedNode> news;
  for (hang::StarvedNode& one : hang::starved_nodes(words_, nodes)) {
    const Micros lost = one.times.lost();
    if (!one.apart) {
      if (told_of_all_.count() > 0 && !has_grown(lost, told_of_all_)) continue;
      told_of_all_ = lost;
    } else if (const auto told = told_.find(one.node); told != told_.end()) {
      if (!has_grown(lost, told->second)) continue;
      told->second = lost;
    } else {
      if (told_.size() == kMostTold) continue;
      told_[one.node] = lost;
    }
    news.push_back(std::move(one));
  }
  return news;
}

Json to_json(const hang::StarvedNode& one) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(one.times.seen).count();
  return Json::object({{"node", one.node},
                       {"process", one.times.name},
                       {"seconds", seconds},
                       {"waited_permille", permille(one.times.waited, one.times.seen)},
                       {"stopped_permille", permille(one.times.stopped, one.times.seen)},
                       {"others_permille", one.others_permille},
                       {"throttled_ms", one.times.throttled.count() / 1000},
                       {"apart", one.apart}});
}

}  // namespace sickbay
