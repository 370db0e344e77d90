// SPDX-License-Identifier: Apache-2.0
// From pairs to nodes: which links are bad, which of them the machine's noise explains, and which nodes
// explain the rest.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/verify_notes.h"

namespace sickbay::verify_notes {
namespace {

/// Takes back the "slow" of pairs that lost no more than the machine's noise explains.
void discount_noise(Notes& notes) {
  std::map<Link, LinkFigures> measured;  // both ends tell the same figures
  for (const PairNote& pair : notes.pairs)
    if (pair.figures) measured.emplace(std::minmax(pair.self, pair.peer), *pair.figures);
  std::vector<LinkFigures> all;
  for (const auto& [link, figures] : measured) all.push_back(figures);
  std::map<Link, bool> explained;
  for (PairNote& pair : notes.pairs) {
    if (pair.result != VerifyResult::slow || !pair.lossy) continue;
    const Link link = std::minmax(pair.self, pair.peer);
    auto known = explained.find(link);
    if (known == explained.end())
      known = explained.emplace(link, noise_explains(measured.at(link), all)).first;
    if (known->second) pair.result = VerifyResult::ok;
  }
}

/// Names nodes that are slower than their like in the same run, with no baseline needed.
void compare_nodes(Notes& notes) {
  for (const SpeedRow& what : kSpeeds) {
    std::vector<NodeFigure> figures;
    std::vector<NodeNotes*> whose;
    for (NodeNotes& node : notes.nodes) {
      const auto it = node.figures.find(what.phase);
      if (it == node.figures.end()) continue;
      figures.push_back(it->second);
      figures.back().kind = node.kind;
      whose.push_back(&node);
    }
    for (const OddFigure& odd : below_their_kind(figures, what.floor))
      keep_first(
          whose[odd.at]->slow,
          fmt::format("slow in phase {}: {:.4g} {}, where {} others of its kind have {:.4g} (at least {:.4g} "
                      "is usual)",
                      what.phase, figures[odd.at].value, what.unit, odd.others, odd.usual, odd.least));
  }
}

/// Names nodes whose disks stood still while those of others worked.  What a sync takes scatters too much to
/// compare speeds; but where most disks work, one that gives next to nothing for half a minute does not.
void compare_disks(Notes& notes) {
  std::size_t told = 0, crawl = 0;
  for (const NodeNotes& node : notes.nodes) {
    told += node.figures.contains("disk");
    crawl += !node.disk_crawls.empty();
  }
  if (2 * crawl > told) return;  // it may be one storage that all of them share, or the machine below them
  for (NodeNotes& node : notes.nodes)
    if (!node.disk_crawls.empty())
      keep_first(node.slow, fmt::format("slow in phase disk: {}, where {} other{} did not stand still",
                                        node.disk_crawls, told - crawl, told - crawl == 1 ? "" : "s"));
}

/// A launch that did not reach its node is a matter of two nodes, as a failed connection is.
///
/// Slurm starts the script on the first node of the job; the shipped one says where it is.  Who answered was
/// reached from there.
void pair_launches(Notes& notes) {
  const bool tried = std::any_of(notes.pairs.begin(), notes.pairs.end(),
                                 [](const PairNote& pair) { return pair.by_launch; });
  if (notes.nodes.empty() || (notes.unreached.empty() && !tried)) return;
  const std::size_t host = notes.host.value_or(0);
  for (const auto& [node, words] : notes.unreached) {
    if (node == host) {  // it does not even reach itself
      keep_first(notes.nodes[host].launch, words);
      continue;
    }
    PairNote& pair = notes.pairs.emplace_back();
    pair = {.self = host, .peer = node, .by_launch = true, .result = VerifyResult::failed, .reason = words};
  }
  for (std::size_t i = 0; i < notes.nodes.size(); ++i)
    if (i != host && notes.nodes[i].spoke)
      notes.pairs.push_back({.self = host, .peer = i, .by_launch = true, .result = VerifyResult::ok});
  for (const PairNote& pair : notes.pairs)
    if (pair.by_launch && pair.result == VerifyResult::failed)
      keep_first(notes.nodes[pair.peer].unreached,
                 fmt::format("{} could not reach it: {}", notes.names[pair.self], pair.reason));
}

/// Makes links of what the ends of the pairs said; the worse end counts.
///
/// MPI_Init is collective: a rank that is still in it is silent to all, whatever holds it there.  So a pair
/// that failed in MPI counts only when both ends came out of it.
void gather_links(Notes& notes) {
  for (PairNote& pair : notes.pairs) {
    if (pair.by_mpi && pair.result == VerifyResult::failed && !notes.nodes[pair.peer].net_started) {
      keep_first(notes.nodes[pair.peer].absent, "it did not come out of MPI_Init");
      continue;
    }
    LinkNotes& link = notes.links[std::minmax(pair.self, pair.peer)];
    if (pair.result > link.result) link = {pair.result, std::move(pair.reason)};
  }
}

/// The nodes that explain the links at least as bad as `bad`.
///
/// The node in most bad pairs is taken out, as long as it is in two at least and in most of its pairs; then
/// the same again among the rest.  What was taken out counts only when the rest still holds a good pair: in a
/// network where everything is bad nobody can be named.  O(nodes * links).
std::set<std::size_t> nodes_to_blame(const Notes& notes, VerifyResult bad) {
  std::set<std::size_t> named;
  for (;;) {
    std::map<std::size_t, std::pair<int, int>> pairs;  // node -> bad, all
    bool good_pair = false;
    for (const auto& [link, note] : notes.links) {
      if (named.count(link.first) || named.count(link.second)) continue;
      const int is_bad = note.result >= bad ? 1 : 0;
      good_pair = good_pair || !is_bad;
      for (const std::size_t end : {link.first, link.second}) {
        pairs[end].first += is_bad;
        ++pairs[end].second;
      }
    }
    const auto worst = std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
      return a.second.first < b.second.first;
    });
    const bool blame =
        worst != pairs.end() && worst->second.first >= 2 && 2 * worst->second.first > worst->second.second;
    if (!blame) return good_pair ? named : std::set<std::size_t>();
    named.insert(worst->first);
  }
}

/// Writes what the links say about nodes into their notes; returns the links that no node explains.
std::vector<LinkVerification> judge_links(Notes& notes) {
  const auto failed = nodes_to_blame(notes, VerifyResult::failed);
  const auto slow = nodes_to_blame(notes, VerifyResult::slow);
  std::vector<LinkVerification> unexplained;
  std::map<std::size_t, std::pair<int, std::string>> blamed;
  for (const auto& [link, note] : notes.links) {
    if (note.result == VerifyResult::ok) continue;
    const auto& to_blame = note.result == VerifyResult::failed ? failed : slow;
    const bool explained = to_blame.count(link.first) || to_blame.count(link.second);
    // (One that was waited for in vain answered nobody: that says nothing of the link.)
    const bool silent = !notes.nodes[link.first].silent.empty() || !notes.nodes[link.second].silent.empty();
    if (!explained && !(silent && note.result == VerifyResult::failed))
      unexplained.push_back({notes.names[link.first], notes.names[link.second], note.result, note.reason});
    for (const std::size_t end : {link.first, link.second}) {
      if (!to_blame.count(end)) continue;
      auto& [count, example] = blamed[end];
      ++count;
      keep_first(example, note.reason);
    }
  }
  for (const auto& [node, what] : blamed) {
    const std::string reason =
        fmt::format("its links to {} other nodes are bad: {}", what.first, what.second);
    (failed.count(node) ? notes.nodes[node].net_wrong : notes.nodes[node].net_slow) = reason;
  }
  return unexplained;
}
}  // namespace

std::vector<LinkVerification> judge_pairs(Notes& notes) {
  pair_launches(notes);
  discount_noise(notes);
  compare_nodes(notes);
  compare_disks(notes);
  gather_links(notes);
  return judge_links(notes);
}

}  // namespace sickbay::verify_notes
