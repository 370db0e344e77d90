// SPDX-License-Identifier: Apache-2.0
#include "engine/further/locate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

namespace sickbay::further {
namespace {

using Nodes = std::vector<int>;
using Stage = Located::Stage;

Nodes first(int n) {
  Nodes nodes(static_cast<std::size_t>(n));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}
bool has(const Nodes& nodes, int node) { return std::ranges::binary_search(nodes, node); }
int log2_up(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }

struct Search {
  Located end;
  int tests = 0;
};
// V as `fails` has it, to the end of the search.
Search search(int n, const std::function<Said(const Nodes&)>& fails) {
  std::vector<Test> tests;
  for (;;) {
    Located at = locate(first(n), tests);
    if (at.stage != Stage::asks || tests.size() > 1000) return {at, static_cast<int>(tests.size())};
    tests.push_back({at.nodes, fails(at.nodes)});
  }
}
Said said(bool failed) { return failed ? Said::failed : Said::passed; }

TEST(Locate, FindsEachBadNodeOfEachSet) {
  for (int n = 1; n <= 33; ++n)
    for (int bad = 0; bad < n; ++bad) {
      const Search s = search(n, [&](const Nodes& nodes) { return said(has(nodes, bad)); });
      EXPECT_EQ(s.end.stage, Stage::node) << bad << " of " << n;
      EXPECT_EQ(s.end.nodes, Nodes{bad}) << "of " << n;
      EXPECT_FALSE(s.end.others_bad) << bad << " of " << n;
      EXPECT_LE(s.tests, 2 * log2_up(n) + 2) << bad << " of " << n;
    }
}

TEST(Locate, FindsEachBadLinkBetweenGoodNodes) {
  for (int n = 2; n <= 17; ++n)
    for (int a = 0; a < n; ++a)
      for (int b = a + 1; b < n; ++b) {
        const Search s = search(n, [&](const Nodes& nodes) { return said(has(nodes, a) && has(nodes, b)); });
        EXPECT_EQ(s.end.stage, Stage::link) << a << "-" << b << " of " << n;
        EXPECT_EQ(s.end.nodes, (Nodes{a, b})) << "of " << n;
        EXPECT_LE(s.tests, 4 * log2_up(n) + 1) << a << "-" << b << " of " << n;
      }
}

TEST(Locate, IsBoundedForTenThousandNodes) {
  const Search s = search(10'000, [](const Nodes& nodes) { return said(has(nodes, 9'999)); });
  EXPECT_EQ(s.end.nodes, Nodes{9'999});
  EXPECT_LE(s.tests, 2 * 14 + 2);
}

TEST(Locate, SaysThatThereAreMore) {
  for (int a = 0; a < 8; ++a)
    for (int b = a + 1; b < 8; ++b) {
      const Search s = search(8, [&](const Nodes& nodes) { return said(has(nodes, a) || has(nodes, b)); });
      ASSERT_EQ(s.end.stage, Stage::node) << a << ", " << b;
      EXPECT_TRUE(s.end.nodes[0] == a || s.end.nodes[0] == b) << a << ", " << b;
      EXPECT_TRUE(s.end.others_bad) << a << ", " << b;
    }
}

// A V that fails now and then: an answer that does not hold is none.  Whatever one answer is turned over, no
// good node is named.
TEST(Locate, OneWrongAnswerNamesNoGoodNode) {
  constexpr int kNodes = 8;
  for (int bad = 0; bad < kNodes; ++bad)
    for (int wrong = 0; wrong < 8; ++wrong) {
      int asked = 0;
      const Search s = search(kNodes, [&](const Nodes& nodes) {
        const bool fails = has(nodes, bad);
        return said(asked++ == wrong ? !fails : fails);
      });
      if (s.end.stage == Stage::node) {
        EXPECT_EQ(s.end.nodes, Nodes{bad}) << "answer " << wrong;
      }
      EXPECT_NE(s.end.stage, Stage::link) << bad << ", answer " << wrong;
    }
}

TEST(Locate, ANodeThatFailedOnceOnlyIsUnknown) {
  // It fails on all together, as the caller says, and never again.
  const Search s = search(4, [](const Nodes&) { return Said::passed; });
  EXPECT_EQ(s.end.stage, Stage::unknown);
  EXPECT_FALSE(s.end.why.empty());
}

TEST(Locate, StopsWhereVCannotSay) {
  const Search s =
      search(4, [](const Nodes& nodes) { return nodes.size() == 1 ? Said::unknown : Said::failed; });
  EXPECT_EQ(s.end.stage, Stage::unknown);
  EXPECT_EQ(s.end.nodes, Nodes{0});
}

TEST(Locate, KnowsAnswersOfAnotherSearch) {
  EXPECT_EQ(locate(first(4), {{{2, 3}, Said::failed}}).stage, Stage::unknown);
  EXPECT_EQ(locate({}, {}).stage, Stage::unknown);
}

}  // namespace
}  // namespace sickbay::further
