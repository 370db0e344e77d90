// SPDX-License-Identifier: Apache-2.0
// The breaker under whatever happens: random intents, claims, drains of others and time.
#include <gtest/gtest.h>

#include <random>

#include "engine/cluster/cluster_test_parts.h"

namespace sickbay::cluster {
namespace {

using namespace std::chrono_literals;

// Reckons from the events alone, and otherwise than the breaker: all of it, at every moment.
struct Witness {
  std::map<std::string, std::vector<std::pair<TimePoint, std::string>>> left;  // by partition

  static int bound(std::size_t nodes, int percent, int most) {
    int bound = static_cast<int>(nodes) * percent / 100;
    if (most > 0 && most < bound) bound = most;
    return bound < 1 ? 1 : bound;
  }
  void leaves(const View& view, const std::string& node, TimePoint at) {
    for (const auto& [partition, nodes] : view.partitions)
      if (nodes.contains(node)) left[partition].emplace_back(at, node);
  }
  // What a node of ours that leaves now must find: room in all of its partitions.
  void expect_room(const Breakers& b, const std::string& node) const {
    for (const auto& [partition, nodes] : b.cluster.view.partitions) {
      if (!nodes.contains(node)) continue;
      int recent = 0, out = 0;
      if (const auto it = left.find(partition); it != left.end())
        for (const auto& [at, who] : it->second) recent += at > b.now - b.policy.window;
      for (const auto& [on, claim] : b.cluster.claims.all())
        out += claim.out && claim.until > b.now && on != node_subject(node) &&
               nodes.contains(std::string(node_of_subject(on)));
      EXPECT_LT(recent, bound(nodes.size(), b.policy.most_percent, b.policy.most)) << partition;
      EXPECT_LT(out, bound(nodes.size(), b.policy.most_out_percent, 0)) << partition;
    }
  }
};

TEST(BreakerProperty, TheBoundsHoldAtEveryMomentAndAReplayIsEqual) {
  int granted = 0, held = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    Breakers b;
    b.policy.most = pick(8);
    b.policy.most_percent = 1 + pick(40);
    b.policy.most_out_percent = 1 + pick(60);
    b.policy.window = std::chrono::minutes(10 + pick(600));
    const int size = 1 + pick(60);
    b.see("n[1-" + std::to_string(size) + "]", "IDLE");
    if (size > 3) b.see("n[1-" + std::to_string(size / 3) + "]", "IDLE", {"batch", "small"});
    Witness witness;
    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " step " + std::to_string(step));
      const std::string node = node_name(1 + pick(size)), on = node_subject(node);
      const Node* shown = b.cluster.view.node(node);
      const bool is_out = b.cluster.claims.find(on, b.now) != nullptr;
      switch (pick(8)) {
        case 0:
        case 1:
        case 2:
          if (is_out) break;
          if (const Breaker::Leave leave = b.ask(node); leave.granted) {
            witness.expect_room(b, node);
            witness.leaves(b.cluster.view, node, b.now);
            ++granted;
          } else {
            ++held;
          }
          if (pick(4) > 0)
            b.take_out(node);
          else if (b.ask(node).granted) {  // a check that has an end
            b.claim(on, "check", on, true, b.now + std::chrono::minutes(pick(300)));
            b.draw(on, {node});
          }
          break;
        case 3:  // somebody drains it, or our own drain shows
          if (shown && !shown->drained && !is_out) witness.leaves(b.cluster.view, node, b.now);
          b.see(node, "IDLE+DRAIN", shown ? shown->partitions : std::vector<std::string>{"batch"});
          break;
        case 4:
          b.see(node, pick(3) == 0 ? "DOWN" : "IDLE",
                shown && pick(5) > 0 ? shown->partitions
                                     : std::vector<std::string>{pick(2) ? "batch" : "small"});
          break;
        case 5:
          b.bring_back(node);
          break;
        case 6:
          if (pick(4) == 0) b.lose(node);
          break;
        default:
          b.now += std::chrono::seconds(pick(3000));
      }
    }
    Cluster again;
    for (const Event& event : b.log) apply(again, event);
    EXPECT_EQ(canonical_text(again), canonical_text(b.cluster)) << "seed " << seed;
  }
  EXPECT_GT(granted, 500) << "some leave";
  EXPECT_GT(held, 1000) << "and some are held";
}

}  // namespace
}  // namespace sickbay::cluster
