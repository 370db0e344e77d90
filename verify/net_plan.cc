// SPDX-License-Identifier: Apache-2.0
#include "net_plan.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace sickbay::verify {
namespace {

Pair ordered(int a, int b) { return a < b ? Pair(a, b) : Pair(b, a); }

std::vector<Round> tournament(int ranks) {
  const int seats = ranks + ranks % 2;  // with an odd number the last seat is empty: its partner rests
  std::vector<int> circle(seats);
  std::iota(circle.begin(), circle.end(), 0);
  std::vector<Round> rounds;
  for (int r = 0; r + 1 < seats; ++r) {
    Round round;
    for (int i = 0; i < seats / 2; ++i) {
      const Pair pair = ordered(circle[i], circle[seats - 1 - i]);
      if (pair.second < ranks) round.push_back(pair);
    }
    rounds.push_back(std::move(round));
    std::rotate(circle.begin() + 1, circle.end() - 1, circle.end());
  }
  return rounds;
}

/// The edges of the ring by even and odd start; an odd ring's last edge has a round of its own.
std::vector<Round> ring(int ranks) {
  std::vector<Round> rounds(ranks % 2 ? 3 : 2);
  for (int i = 0; i < ranks; ++i) {
    const bool last_of_odd = ranks % 2 && i == ranks - 1;
    rounds[last_of_odd ? 2 : i % 2].push_back(ordered(i, (i + 1) % ranks));
  }
  return rounds;
}

}  // namespace

std::vector<Round> net_plan(int ranks, int random_rounds, std::uint64_t seed) {
  if (ranks < 2) return {};
  if (ranks <= kAllPairsUpTo) return tournament(ranks);
  std::vector<Round> rounds = ring(ranks);
  std::mt19937_64 random(seed);
  std::vector<int> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  for (int r = 0; r < random_rounds; ++r) {
    // Fisher-Yates by hand: std::shuffle may differ between libraries, and all ranks must agree.
    for (int i = ranks - 1; i > 0; --i)
      std::swap(order[i], order[random() % static_cast<std::uint64_t>(i + 1)]);
    Round round;
    for (int i = 0; i + 1 < ranks; i += 2) round.push_back(ordered(order[i], order[i + 1]));
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace sickbay::verify
