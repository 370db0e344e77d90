// SPDX-License-Identifier: Apache-2.0
#include "base/state_archive.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/time.h"

namespace sickbay {
namespace {

enum class Colour : std::uint8_t { red, green = 200 };

struct Inner {
  static constexpr int kFields = 2;
  int n = 0;
  std::string text;
  friend bool operator==(const Inner&, const Inner&) = default;
};

class Private {
 public:
  explicit Private(int n = 0) : n_(n) {}
  template <class A>
  void walk(A& archive) {
    archive(n_);
  }
  friend bool operator==(const Private&, const Private&) = default;

 private:
  int n_;
};

struct Everything {
  static constexpr int kFields = 20;
  bool yes = false;
  std::int64_t low = 0, high = 0;
  std::uint64_t most = 0;
  std::uint16_t small = 0;
  double number = 0;
  Colour colour = Colour::red;
  std::string text;
  std::optional<Inner> some, none;
  std::vector<Inner> list;
  std::deque<double> queue;
  std::set<std::pair<TimePoint, std::string>> set;
  std::map<std::string, std::vector<int>, std::less<>> map;
  std::unordered_map<std::string, Inner> table;
  Micros took{0};
  std::chrono::duration<double> seconds{0};
  TimePoint at = kNoTime;
  Private hidden;
  Json json;
  friend bool operator==(const Everything&, const Everything&) = default;
};

Everything example() {
  Everything e;
  e.yes = true;
  e.low = std::numeric_limits<std::int64_t>::min();
  e.high = std::numeric_limits<std::int64_t>::max();
  e.most = std::numeric_limits<std::uint64_t>::max();
  e.small = 65535;
  e.number = -0.1;
  e.colour = Colour::green;
  e.text = std::string("a\0b", 3);
  e.some = Inner{-1, "x"};
  e.list = {{1, "one"}, {2, ""}};
  e.queue = {1e300, std::numeric_limits<double>::infinity()};
  e.set = {{kNever, "n2"}, {kNoTime, "n1"}};
  e.map = {{"a", {1, 2}}, {"b", {}}};
  for (int i = 0; i < 100; ++i) e.table[std::to_string(i)] = {i, "t"};
  e.took = Micros(-5);
  e.seconds = std::chrono::duration<double>(2.5);
  e.at = kNever;
  e.hidden = Private(7);
  e.json =
      Json::object({{"a", Json::array({1, -1, 2.5, "x", nullptr, true, false, Json::object()})}, {"", 1}});
  return e;
}

std::string bytes_of(const Everything& e) {
  StateWriter out;
  out(e);
  return out.take();
}

TEST(StateArchive, GivesBackWhatItTook) {
  const std::string bytes = bytes_of(example());
  StateReader in(bytes);
  Everything back;
  in(back);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(back, example());
  EXPECT_EQ(bytes_of(back), bytes);
}

// A table without an order has one text of bytes all the same, however it came to be.
TEST(StateArchive, OneStateHasOneTextOfBytes) {
  Everything other = example();
  other.table.clear();
  other.table.rehash(4096);
  for (int i = 99; i >= 0; --i) other.table[std::to_string(i)] = {i, "t"};
  EXPECT_EQ(bytes_of(other), bytes_of(example()));
}

TEST(StateArchive, WhatIsCutShortIsNoState) {
  const std::string bytes = bytes_of(example());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    StateReader in(std::string_view(bytes).substr(0, n));
    Everything back;
    in(back);
    ASSERT_FALSE(in.done()) << n;
  }
  const std::string more = bytes + "x";
  StateReader longer(more);
  Everything back;
  longer(back);
  EXPECT_TRUE(longer.good());
  EXPECT_FALSE(longer.done());
}

// Nobody hands over such bytes (a snapshot has a digest).  But if somebody does, it ends, and in little
// memory.
TEST(StateArchive, AnyBytesEnd) {
  std::mt19937 random(1);
  const std::string good = bytes_of(example());
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string bytes = good;
    for (int i = 0; i < 1 + turn % 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    StateReader in(bytes);
    Everything back;
    in(back);
  }
  const std::string arrays(100'000, '\6');  // in arrays, as JSON
  StateReader deep(arrays);
  Json json;
  deep(json);
  EXPECT_FALSE(deep.good());
}

TEST(StateArchive, NothingLeavesThingsAsNew) {
  StateReader nothing = StateReader::of_nothing();
  Everything fresh;
  nothing(fresh);
  EXPECT_EQ(fresh, Everything());
  EXPECT_FALSE(nothing.done());
}

}  // namespace
}  // namespace sickbay
