// SPDX-License-Identifier: Apache-2.0
// What it costs to ask the breaker, counted and not timed: who waits is asked again with each node that comes
// back, so that an answer which looks at all who are out makes a cluster with many of both cost their
// product.
//
// Names are longer than a string keeps without allocating, so whatever looks at a node for itself shows here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "engine/cluster/cluster_test_parts.h"

namespace {
std::size_t allocations = 0;
}

// (The sized and array forms come by these two.  Not inlined: the compiler would see free() meet new.)
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sickbay::cluster {
namespace {

constexpr int kNodes = 10'000, kOut = kNodes / 5;

std::string long_name(int no) { return "compute-node-of-a-large-cluster-" + std::to_string(no); }

// A cluster of which `out` nodes are out, all of them that may be.
Breakers cluster_with(int out) {
  Breakers b;
  b.policy.most = 0, b.policy.most_percent = 100, b.policy.most_out_percent = 100 * out / kNodes;
  b.see("compute-node-of-a-large-cluster-[1-" + std::to_string(kNodes) + "]", "IDLE", {"batch", "all"});
  for (int no = 1; no <= out; ++no) EXPECT_TRUE(b.take_out(long_name(no))) << no;
  b.now += std::chrono::hours(2);  // the window is over: the bound on those out is asked
  return b;
}

std::size_t cost_of_asking(const Breakers& b, int no) {
  const std::string name = long_name(no), by = node_subject(name);
  const std::size_t before = allocations;
  const Breaker::Leave leave = b.ask(name, by);
  const std::size_t cost = allocations - before;
  EXPECT_FALSE(leave.granted) << name << ": " << leave.held.why;
  return cost;
}

TEST(BreakerCost, AnAnswerDoesNotLookAtAllWhoAreOut) {
  const Breakers few = cluster_with(kNodes / 100), many = cluster_with(kOut);
  const std::size_t cheap = cost_of_asking(few, kNodes);
  EXPECT_GT(cheap, 0u) << "it is counted";
  std::size_t all = 0;
  for (int no = kOut + 1; no <= kNodes; ++no) all += cost_of_asking(many, no);
  // All who wait cost so many times what one costs, however many are out.  (Texts differ by a digit.)
  EXPECT_LE(all, (cheap + 2) * (kNodes - kOut));
}

}  // namespace
}  // namespace sickbay::cluster
