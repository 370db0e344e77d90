// SPDX-License-Identifier: Apache-2.0
// V that fails without a name, narrowed down by halves.
#include "engine/identify/locating.h"

#include <algorithm>

#include "engine/identify/rerun_test_world.h"

namespace sickbay::identify {
namespace {

bool has(const Names& nodes, const std::string& name) {
  return std::ranges::find(nodes, name) != nodes.end();
}

// P fails on the first run's nodes only, and V without a name where `bad` says so.
class LocatingWorld : public RerunWorld {
 public:
  explicit LocatingWorld(std::function<bool(const Names&)> bad_set) {
    unnamed = std::move(bad_set);
    program = [](const RunId& run, const Names&) { return std::string(run.n == 1 ? "FAILED" : "COMPLETED"); };
    fail_job(1, "n[1-4]");
    settle();
  }
  const Verdict& verdict() const { return *c().verdict; }
};

TEST(Locating, NamesTheNodeThatVFailsOn) {
  for (const char* guilty : {"n1", "n2", "n3", "n4"}) {
    LocatingWorld w([&](const Names& nodes) { return has(nodes, guilty); });
    EXPECT_TRUE(w.c().is_closed());
    EXPECT_EQ(w.verdict().cause, Cause::node) << w.verdict().sentence;
    EXPECT_EQ(w.verdict().nodes, Names{guilty}) << w.verdict().sentence;
    // V on all, then 2*ceil(log2 4)+2 at most.
    EXPECT_LE(w.count(".a1:submit") - 1, 1 + 6);
    w.expect_same_after_replay();
  }
}

TEST(Locating, NamesALinkBetweenGoodNodes) {
  LocatingWorld w([](const Names& nodes) { return has(nodes, "n1") && has(nodes, "n4"); });
  EXPECT_EQ(w.verdict().cause, Cause::node) << w.verdict().sentence;
  EXPECT_TRUE(w.verdict().nodes.empty());
  EXPECT_NE(w.verdict().sentence.find("between n1 and n4"), std::string::npos) << w.verdict().sentence;
  for (const Faulty& f : *w.verdict().faulty) EXPECT_FALSE(f.drains) << f.node;
}

TEST(Locating, BlamesNobodyWhereVFailsOnlyOnce) {
  int left = 1;
  LocatingWorld w([&](const Names&) { return left-- > 0; });
  EXPECT_NE(w.verdict().cause, Cause::node) << w.verdict().sentence;
  EXPECT_TRUE(w.verdict().faulty->empty());
}

TEST(Locating, BlamesNobodyWhereVFailsEverywhere) {
  LocatingWorld w([](const Names&) { return true; });
  EXPECT_TRUE(w.c().is_closed());
  EXPECT_NE(w.verdict().cause, Cause::node) << w.verdict().sentence;
  EXPECT_TRUE(w.verdict().faulty->empty());
}

}  // namespace
}  // namespace sickbay::identify
