// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/lossy.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/hostlist.h"

namespace sickbay::hang {

namespace {

// From one end to the other.
struct Way {
  std::int64_t sent = 0, lost = 0;
  Micros seen{0};
  bool is_echo = false;  ///< there and back
};
// Both ways, and what was asked, between two ends; `a` is a node of the run, `b` one or a host outside.
struct Pair {
  std::string a, b;
  std::vector<Way> ways;
  bool inside = false;  ///< `b` is a node of the run
  bool bad = false, good = false;
};

// (The numbers are bounded where they are read: nothing here overflows.)
bool is_bad(const Way& way) {
  if (way.is_echo)
    return way.sent >= kLeastEchoes && way.lost >= kLeastEchoesLost &&
           way.lost * 1000 >= kLeastEchoesLostPermille * way.sent &&
           way.lost * 2 < way.sent;  // a host that answers nobody is shut, and loses nothing
  return way.seen >= kLeastNetworkSeen && way.lost >= kLeastLost &&
         way.lost * 1000 >= kLeastLostPermille * way.sent &&
         way.lost * 2 >= std::chrono::duration_cast<std::chrono::seconds>(way.seen).count();
}

// How many would have been lost, at so many of a million.
std::int64_t expected(const Way& way, std::int64_t millionths) {
  return way.sent / 1'000'000 * millionths + way.sent % 1'000'000 * millionths / 1'000'000;
}
bool is_good(const Way& way, std::int64_t millionths) {
  const std::int64_t would_be = expected(way, millionths);
  return would_be >= kLeastExpected && way.lost * 4 <= would_be;
}

std::int64_t millionths_of(const Way& way) {
  return way.sent == 0 ? 0 : way.lost * 1000 / std::max<std::int64_t>(1, way.sent / 1000);
}

// Calls `take` with each way that was told of: from which node, to which end, and whether that is a node.
template <class Take>
void for_each_way(const std::map<std::string, TcpLosses>& told, const Take& take) {
  std::map<std::string_view, const std::string*> names;  // of nodes, by address
  for (const auto& [node, losses] : told)
    for (const std::string& address : losses.own) names.emplace(address, &node);
  const auto add = [&](const std::string& node, const std::string& address, const Way& way) {
    const auto name = names.find(address);
    const bool inside = name != names.end();
    const std::string& other = inside ? *name->second : address;
    if (other != node) take(node, other, inside, way);
  };
  for (const auto& [node, losses] : told) {
    for (const PeerLosses& one : losses.peers)
      add(node, one.address, {one.sent, one.lost, losses.seen, false});
    for (const EchoCount& one : losses.echoes)
      add(node, one.address, {one.sent, one.lost, losses.seen, true});
  }
}

// The pairs of the ends of bad ones: of ten thousand nodes the others say nothing of these.
std::vector<Pair> pairs_of(const std::map<std::string, TcpLosses>& told) {
  std::set<std::string> ends;
  for_each_way(told, [&](const std::string& node, const std::string& other, bool, const Way& way) {
    if (is_bad(way)) ends.insert({node, other});
  });
  std::map<std::pair<std::string, std::string>, Pair> pairs;
  for_each_way(told, [&](const std::string& node, const std::string& other, bool inside, const Way& way) {
    if (!ends.contains(node) && !ends.contains(other)) return;
    const bool turned = inside && other < node;
    Pair& pair = pairs[{turned ? other : node, turned ? node : other}];
    pair.inside = inside;
    pair.ways.push_back(way);
  });
  std::vector<Pair> list;
  for (auto& [key, pair] : pairs) {
    std::tie(pair.a, pair.b) = key;
    list.push_back(std::move(pair));
  }
  return list;
}

// Which pairs are bad, and which good, held against the best of the bad ones inside the run: a good one must
// have been put to a harder test than that.  False: none inside is bad.
bool judge_pairs(std::vector<Pair>& pairs) {
  std::int64_t least = 0;
  for (Pair& pair : pairs)
    for (const Way& way : pair.ways) {
      if (!is_bad(way)) continue;
      pair.bad = true;
      if (pair.inside && !way.is_echo)
        least = least == 0 ? millionths_of(way) : std::min(least, millionths_of(way));
    }
  if (least == 0) return false;
  for (Pair& pair : pairs)
    pair.good =
        !pair.bad && std::ranges::any_of(pair.ways, [&](const Way& way) { return is_good(way, least); });
  return true;
}

// The one that is named, or "".
std::string named(const std::vector<Pair>& pairs) {
  std::map<std::string, std::size_t> good, bad, witnesses;
  for (const Pair& pair : pairs)
    if (pair.good) ++good[pair.a], ++good[pair.b];
  const auto is_well = [&good](const std::string& end) { return good.contains(end); };
  for (const Pair& pair : pairs) {
    if (!pair.bad || (!pair.inside && !is_well(pair.b))) continue;
    ++bad[pair.a], ++bad[pair.b];
    if (is_well(pair.b)) ++witnesses[pair.a];
    if (pair.inside && is_well(pair.a)) ++witnesses[pair.b];
  }
  if (witnesses.size() != 1) return "";
  const std::string& node = witnesses.begin()->first;
  return bad[node] >= kLeastBadPairs && bad[node] > good[node] ? node : "";
}

}  // namespace

std::optional<LossyNetwork> lossy_network(const std::map<std::string, TcpLosses>& told) {
  // (Nearly always: the rest is not for nothing where there are ten thousand nodes.)
  if (std::ranges::none_of(told, [](const auto& one) { return may_be_lossy(one.second); }))
    return std::nullopt;
  std::vector<Pair> pairs = pairs_of(told);
  if (!judge_pairs(pairs)) return std::nullopt;
  LossyNetwork found;
  found.node = named(pairs);
  std::map<std::string, std::int64_t> lost_at;
  for (const Pair& pair : pairs) {
    for (const Way& way : pair.ways) {
      if (way.is_echo) {
        if (pair.a == found.node) found.echoes += way.sent, found.echoes_lost += way.lost;
        continue;
      }
      if (!pair.inside) continue;
      const bool bad = is_bad(way);
      (bad ? found.sent : found.others_sent) += way.sent;
      (bad ? found.lost : found.others_lost) += way.lost;
      if (!bad) continue;
      found.seen = std::max(found.seen, way.seen);
      lost_at[pair.a] += way.lost;
      lost_at[pair.b] += way.lost;
    }
  }
  std::vector<std::pair<std::int64_t, std::string>> most;
  for (const auto& [node, lost] : lost_at) most.emplace_back(-lost, node);
  std::ranges::sort(most);
  if (most.size() > kMostNodesNamed) most.resize(kMostNodesNamed);
  for (const auto& [lost, node] : most) found.nodes.push_back(node);
  found.nodes = sorted_hosts(std::move(found.nodes));
  return found;
}

bool may_be_lossy(const TcpLosses& losses) {
  return std::ranges::any_of(losses.peers, [&](const PeerLosses& one) {
    return is_bad({one.sent, one.lost, losses.seen, false});
  });
}

}  // namespace sickbay::hang
