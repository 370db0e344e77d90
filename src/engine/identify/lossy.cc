// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/lossy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"

namespace sickbay::identify {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 48;  // segments
constexpr std::size_t kMostEnds = 8;

std::int64_t count_of(const Json& json, std::int64_t most = kMost) {
  return std::clamp<std::int64_t>(json.as_int(), 0, most);
}

// With one digit behind the point, rounded; in whole numbers, as the journal has it.
std::string percent(std::int64_t part, std::int64_t whole) {
  const std::int64_t thousandths = whole > 0 ? (part * 1000 + whole / 2) / whole : 0;
  return fmt::format("{}.{} %", thousandths / 10, thousandths % 10);
}

}  // namespace

void take_lossy(Run& run, const Json& body) {
  Lossy told;
  told.node = body["node"].as_string();
  told.nodes = body["nodes"].as_strings();
  if (told.nodes.size() > kMostEnds) told.nodes.resize(kMostEnds);
  told.seen = std::chrono::seconds(count_of(body["seconds"], 400LL * 24 * 3600));
  told.sent = count_of(body["sent"]);
  told.lost = count_of(body["lost"], told.sent);
  told.others_sent = count_of(body["others_sent"]);
  told.others_lost = count_of(body["others_lost"], told.others_sent);
  told.echoes = count_of(body["echoes"]);
  told.echoes_lost = count_of(body["echoes_lost"], told.echoes);
  if (told.lost == 0 || ends_of(told).empty()) return;
  run.lossy = std::move(told);
}

std::vector<std::string> ends_of(const Lossy& lossy) {
  return lossy.node.empty() ? lossy.nodes : std::vector<std::string>{lossy.node};
}

std::string words_of(const Lossy& l) {
  std::string text = fmt::format("{} of {} TCP segments were lost ", percent(l.lost, l.sent), l.sent);
  if (l.node.empty()) {
    text += l.nodes.size() == 2 ? fmt::format("between {} and {}", l.nodes[0], l.nodes[1])
                                : "among " + compress_hostlist(l.nodes);
    if (l.others_sent > 0) text += fmt::format(", elsewhere {}", percent(l.others_lost, l.others_sent));
    return text + "; on whose link could not be told";
  }
  text += fmt::format("on the link of {}", l.node);
  if (l.others_sent > 0) text += fmt::format(", elsewhere {}", percent(l.others_lost, l.others_sent));
  if (l.echoes > 0)
    text += fmt::format("; so were {} of {} packets between it and hosts outside the job", l.echoes_lost,
                        l.echoes);
  return text;
}

void add_lossy_lines(const Case& subject, std::vector<std::string>& why) {
  for (const Run& run : subject.programs)
    if (run.lossy)
      why.push_back(fmt::format("{}: {}{}", run.id.text(), words_of(*run.lossy),
                                run.lossy->node.empty() ? ": that speaks against no node" : ""));
}

}  // namespace sickbay::identify
