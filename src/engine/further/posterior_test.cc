// SPDX-License-Identifier: Apache-2.0
#include "engine/further/posterior.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace sickbay::further {
namespace {

constexpr double kClose = 1e-9;

// Every hypothesis by itself, with the Beta function of whole numbers as a quotient of factorials: the page's
// formulas word by word, for few nodes.
struct Naive {
  double program = 0, links = 0;
  std::vector<double> nodes;
  std::map<Pair, double> of_link;
};

double factorial(int n) { return std::tgamma(n + 1.0); }
double beta_of(int f, int s) { return factorial(f) * factorial(s) / factorial(f + s + 1); }

Naive naive(const Record& record, const Prior& prior = {}) {
  const auto likelihood = [&](auto includes) {
    int f = 0, s = 0, with_f = 0, with_s = 0;
    for (const Trial& t : record.trials) {
      (t.failed ? f : s) += 1;
      if (includes(t)) (t.failed ? with_f : with_s) += 1;
    }
    return beta_of(with_f, with_s) * std::pow(prior.stray, f - with_f) *
           std::pow(1 - prior.stray, s - with_s);
  };
  const auto has = [](const Trial& t, int node) { return std::ranges::find(t.nodes, node) != t.nodes.end(); };
  const auto weigh = [&](const std::set<Evidence>& evidence) {
    double weight = 1;
    for (const Evidence e : evidence) weight *= prior.weights[static_cast<std::size_t>(e)];
    return weight;
  };
  const int n = record.suspects;
  const double of_links = n < 2 ? 0 : prior.system * prior.links, of_nodes = prior.system - of_links;
  Naive result;
  int f = 0;
  for (const Trial& t : record.trials) f += t.failed;
  result.program = (1 - prior.system) * beta_of(f, static_cast<int>(record.trials.size()) - f);
  double sum = result.program;
  for (int i = 0; i < n; ++i) {
    double w = of_nodes / n * likelihood([&](const Trial& t) { return has(t, i); });
    if (record.of_node.contains(i)) w *= weigh(record.of_node.at(i));
    result.nodes.push_back(w);
    sum += w;
    for (int j = i + 1; j < n; ++j) {
      double link =
          of_links / (n * (n - 1) / 2.0) * likelihood([&](const Trial& t) { return has(t, i) && has(t, j); });
      if (record.of_link.contains({i, j})) link *= weigh(record.of_link.at({i, j}));
      result.of_link[{i, j}] = link;
      sum += link;
    }
  }
  result.program /= sum;
  for (double& w : result.nodes) w /= sum;
  for (auto& [ends, w] : result.of_link) result.links += w /= sum;
  return result;
}

void expect_like_naive(const Record& record, const std::string& what) {
  const Naive right = naive(record);
  const Posterior got = posterior(record);
  EXPECT_NEAR(got.program, right.program, kClose) << what;
  EXPECT_NEAR(got.links, right.links, kClose) << what;
  ASSERT_EQ(got.nodes.size(), right.nodes.size()) << what;
  for (std::size_t i = 0; i < got.nodes.size(); ++i)
    EXPECT_NEAR(got.nodes[i], right.nodes[i], kClose) << what;
  for (const Link& link : got.top_links)
    EXPECT_NEAR(link.share, right.of_link.at(link.ends), kClose) << what << " link " << link.ends.first;
  double entropy = 0;
  const auto add = [&](double p) { entropy -= p > 0 ? p * std::log(p) : 0; };
  add(right.program);
  for (const double p : right.nodes) add(p);
  for (const auto& [ends, p] : right.of_link) add(p);
  EXPECT_NEAR(got.entropy, entropy, 1e-7) << what;
}

// By hand: two nodes, a failure on both and a success on neither.  B(2,2) = 1/6, B(2,1) = 1/2.
//   c 0.9/6 = 0.15    each node 0.08/2 * 0.999/2 = 0.01998    the link 0.02 * 0.999/2 = 0.00999
// and all together 0.19995.
TEST(Posterior, IsWhatComesOutByHand) {
  const Posterior got = posterior({2, {{{0, 1}, true}, {{}, false}}, {}, {}});
  EXPECT_NEAR(got.program, 0.15 / 0.19995, kClose);
  EXPECT_NEAR(got.nodes[0], 0.01998 / 0.19995, kClose);
  EXPECT_NEAR(got.nodes[1], 0.01998 / 0.19995, kClose);
  EXPECT_NEAR(got.links, 0.00999 / 0.19995, kClose);
  ASSERT_EQ(got.top_links.size(), 1u);
  EXPECT_EQ(got.top_links[0].ends, Pair(0, 1));
}

// By hand: one node, which then has no link.  It failed twice with it and completed twice without.
//   c 0.9 * B(3,3) = 0.9/30    the node 0.1 * B(3,1) * 0.999^2 = 0.1/3 * 0.998001
TEST(Posterior, HasNoLinkOfOneNode) {
  const Posterior got = posterior({1, {{{0}, true}, {{}, false}, {{0}, true}, {{}, false}}, {}, {}});
  const double c = 0.03, d = 0.1 / 3 * 0.998001;
  EXPECT_NEAR(got.program, c / (c + d), kClose);
  EXPECT_NEAR(got.nodes[0], d / (c + d), kClose);
  EXPECT_EQ(got.links, 0);
}

TEST(Posterior, IsThePriorBeforeTheFirstRun) {
  const Posterior got = posterior({4, {}, {}, {}});
  EXPECT_NEAR(got.program, 0.9, kClose);
  EXPECT_NEAR(got.nodes[3], 0.02, kClose);
  EXPECT_NEAR(got.links, 0.02, kClose);
  EXPECT_NEAR(got.log_evidence, 0, kClose);
}

TEST(Posterior, WithoutSuspectsLeavesTheProgram) {
  EXPECT_NEAR(posterior({0, {{{}, true}}, {}, {}}).program, 1, kClose);
}

// All records of up to three runs on all sets of up to three nodes, with all outcomes: 1 + 16 + 256 + 4096 of
// them for three nodes.
TEST(Posterior, OfEverySmallRecordIsThatOfTheFormulas) {
  for (int n = 1; n <= 3; ++n) {
    const int kinds = 2 << n;  // sets of nodes, failed or not
    for (int runs = 0; runs <= 3; ++runs) {
      int records = 1;
      for (int i = 0; i < runs; ++i) records *= kinds;
      for (int code = 0; code < records; ++code) {
        Record record{n, {}, {}, {}};
        for (int i = 0, rest = code; i < runs; ++i, rest /= kinds) {
          Trial trial{{}, rest % 2 == 1};
          for (int node = 0; node < n; ++node)
            if ((rest % kinds) >> (node + 1) & 1) trial.nodes.push_back(node);
          record.trials.push_back(std::move(trial));
        }
        expect_like_naive(record, std::to_string(n) + " nodes, record " + std::to_string(code));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Posterior, WeighsEvidence) {
  const std::vector<Trial> trials{{{0, 1, 2, 3}, true}, {{}, false}, {{0, 1}, true}, {{2, 3}, false}};
  for (std::size_t kind = 0; kind < kEvidenceKinds; ++kind) {
    const auto e = static_cast<Evidence>(kind);
    expect_like_naive({4, trials, {{1, {e}}}, {}}, "of a node");
    expect_like_naive({4, trials, {{1, {e, Evidence::verified_ok}}, {2, {Evidence::verified_ok}}}, {}},
                      "two kinds");
    expect_like_naive({4, trials, {}, {{{0, 1}, {e}}, {{1, 3}, {e}}}}, "of links");
  }
  // What is of none of the suspects changes nothing.
  const Posterior plain = posterior({4, trials, {}, {}});
  const Posterior other =
      posterior({4, trials, {{7, {Evidence::verified_failed}}}, {{{1, 9}, {Evidence::verified_failed}}}});
  EXPECT_NEAR(plain.program, other.program, kClose);
}

TEST(Posterior, ListsOnlyLinksThatCanBeToldApart) {
  // Six nodes have 15 links, all alike: none of them is worth a line.
  EXPECT_TRUE(posterior({6, {{{0, 1, 2, 3, 4, 5}, true}, {{}, false}}, {}, {}}).top_links.empty());
  // Runs with one end each completed; both together failed twice.
  const Posterior got = posterior({6,
                                   {{{0, 1, 2, 3, 4, 5}, true},
                                    {{}, false},
                                    {{0, 2, 3}, false},
                                    {{1, 4, 5}, false},
                                    {{0, 1}, true},
                                    {{0, 1}, true}},
                                   {},
                                   {}});
  ASSERT_FALSE(got.top_links.empty());
  EXPECT_EQ(got.top_links[0].ends, Pair(0, 1));
  ASSERT_GT(got.top_links.size(), 1u);
  EXPECT_GT(got.top_links[0].share, 4 * got.top_links[1].share);
}

// Ten thousand nodes, each told from the others by fourteen sets, and more sets than are heard.
TEST(Posterior, StaysSmallForTenThousandNodes) {
  constexpr int kNodes = 10'000, kGuilty = 77;
  Record record{kNodes, {}, {{kGuilty, {Evidence::verified_slow}}}, {}};
  const auto try_set = [&](auto includes) {
    Trial trial;
    for (int node = 0; node < kNodes; ++node)
      if (includes(node)) trial.nodes.push_back(node);
    trial.failed = includes(kGuilty);
    record.trials.push_back(std::move(trial));
  };
  try_set([](int) { return true; });
  for (int repeat = 0; repeat < 3; ++repeat)
    for (int bit = 0; bit < 14; ++bit) try_set([bit](int node) { return (node >> bit & 1) != 0; });
  for (int bit = 0; bit < 4; ++bit) try_set([bit](int node) { return (node >> bit & 1) == 0; });
  const Posterior got = posterior(record);
  const double sum = std::accumulate(got.nodes.begin(), got.nodes.end(), got.program + got.links);
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(std::ranges::max_element(got.nodes) - got.nodes.begin(), kGuilty);
  EXPECT_GT(got.nodes[kGuilty], 0.9);
  EXPECT_LE(got.top_links.size(), kMostLinks);
}

// --- when something is said

struct Said {
  const char* what;
  Record record;
  Answer answer, in_the_end;
  int first = -1, second = -1;
};

std::vector<Trial> repeated(std::vector<Trial> first, int times, const std::vector<Trial>& again) {
  for (int i = 0; i < times; ++i) first.insert(first.end(), again.begin(), again.end());
  return first;
}

TEST(Finding, IsSaidWhenItIsSure) {
  const Trial bad{{0, 1}, true}, ok_elsewhere{{}, false}, bad_elsewhere{{}, true}, bad_with_0{{0}, true},
      ok_with_0{{0}, false}, ok_with_1{{1}, false};
  const std::map<int, std::set<Evidence>> v_failed{{0, {Evidence::verified_failed}},
                                                   {1, {Evidence::verified_ok}}},
      read{{0, {Evidence::finding_of_reading}}, {1, {Evidence::verified_ok}}};
  const Said rows[] = {
      {"one failure is no finding", {2, {bad}, {}, {}}, Answer::open, Answer::open},
      {"nor is one that did not repeat", {2, {bad, ok_elsewhere}, {}, {}}, Answer::open, Answer::open},
      {"it fails elsewhere as well",
       {2, {bad, ok_elsewhere, bad_elsewhere}, {}, {}},
       Answer::program,
       Answer::program},

      // One failure and many successes elsewhere look like a node that fails: 0.95 would name it.
      {"one failure names nobody, whatever happens elsewhere",
       {1, repeated({{{0}, true}}, 60, {ok_elsewhere}), {}, {}},
       Answer::open,
       Answer::open},
      {"a few failures with it are not enough",
       {2, repeated({bad, ok_elsewhere}, 3, {bad_with_0, ok_with_1}), {}, {}},
       Answer::open,
       Answer::open},
      {"many are",
       {2, repeated({bad, ok_elsewhere}, 7, {bad_with_0, ok_with_1}), {}, {}},
       Answer::node,
       Answer::node,
       0},
      {"with V's word fewer are",
       {2, repeated({bad, ok_elsewhere}, 2, {bad_with_0, ok_with_1}), v_failed, {}},
       Answer::node,
       Answer::node,
       0},
      {"a reading is no such evidence",
       {2, repeated({bad, ok_elsewhere}, 2, {bad_with_0, ok_with_1}), read, {}},
       Answer::open,
       Answer::open},

      {"both ends together",
       {2, repeated({bad, ok_elsewhere}, 8, {bad, ok_with_0, ok_with_1}), {}, {}},
       Answer::link,
       Answer::link,
       0,
       1},
      {"which of two is not to be told",
       {2, repeated({bad}, 8, {bad, ok_elsewhere}), {}, {}},
       Answer::open,
       Answer::system},
  };
  for (const Said& row : rows) {
    const Prior prior;
    const Posterior now = posterior(row.record, prior);
    const Finding got = finding(row.record, now, prior, {});
    EXPECT_EQ(got.answer, row.answer) << row.what << ": program " << now.program;
    EXPECT_EQ(got.first, row.first) << row.what;
    EXPECT_EQ(got.second, row.second) << row.what;
    EXPECT_EQ(last_word(row.record, now, prior, {}).answer, row.in_the_end) << row.what;
  }
}

}  // namespace
}  // namespace sickbay::further
