// SPDX-License-Identifier: Apache-2.0
#include "grouped_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine/identify/case.h"

namespace sickbay::identify {
namespace {

using Value = Column::Value;
// What cannot come is left out: a re-run that never began or was taken away counts as none (facts_of()).
constexpr auto kA1 = std::to_array<Value>({{a_ok, "ok", true},
                                           {a_taken, "taken", true},
                                           {a_never, "never began", true},
                                           {a_fail, "failed", true},
                                           {a_down, "node down", true}});
constexpr auto kC1 = std::to_array<Value>({{c_open, "open", false},
                                           {c_unknown, "unknown", true},
                                           {c_ok, "ok", true},
                                           {c_unrelated, "unrelated", true},
                                           {c_full, "full", true},
                                           {c_failed, "failed", true},
                                           {c_named, "named", true}});
constexpr auto kA = std::to_array<Value>({{a_open, "open", false},
                                          {a_none, "none", true},
                                          {a_ok, "ok", true},
                                          {a_fail, "failed", true},
                                          {a_down, "node down", true}});
constexpr auto kC = std::to_array<Value>({{c_open, "open", false},
                                          {c_unknown, "unknown", true},
                                          {c_ok, "ok", true},
                                          {c_unrelated, "unrelated", true},
                                          {c_full, "full", true},
                                          {c_failed, "failed", true}});
constexpr auto kL = std::to_array<Value>(
    {{l_same, "same", true}, {l_unclear, "unclear", true}, {l_different, "different", true}});
constexpr auto kS =
    std::to_array<Value>({{s_no, "no", true}, {s_yes, "a node", true}, {s_rerun, "the second run", true}});
constexpr auto kColumns = std::to_array<Column>({{"A1", kA1},
                                                 {"C1", kC1},
                                                 {"A2", kA},
                                                 {"C2", kC},
                                                 {"L12", kL},
                                                 {"A3", kA},
                                                 {"C3", kC},
                                                 {"L13", kL},
                                                 {"L23", kL},
                                                 {"starved", kS}});

Facts facts_of_values(const std::array<std::uint8_t, kColumns.size()>& bits) {
  Facts f;
  f.a1 = static_cast<A>(bits[0]), f.c1 = static_cast<C>(bits[1]);
  f.a2 = static_cast<A>(bits[2]), f.c2 = static_cast<C>(bits[3]), f.l12 = static_cast<L>(bits[4]);
  f.a3 = static_cast<A>(bits[5]), f.c3 = static_cast<C>(bits[6]);
  f.l13 = static_cast<L>(bits[7]), f.l23 = static_cast<L>(bits[8]);
  f.starved = static_cast<S>(bits[9]);
  return f;
}

// The table as a tree of decisions, one level for each column, in which equal subtrees are one.
class Tree {
 public:
  explicit Tree(const AllAnswers& all) : all_(all) {
    std::size_t next = 0;
    root_ = build(0, next);
  }

  std::string text() {
    text_ =
        "# SPDX-License-Identifier: Apache-2.0\n"
        "# What the verdict table answers.  A(n): the program's n-th run; C(n): V on its nodes; L: how "
        "alike\n"
        "# two failures are; starved: whether a node of S1 explains that it was slow,\n"
        "# or the second run was too slow because other work took its processors.\n"
        "# Written by verdict_table_test with SB_REWRITE=1.\n";
    print(root_, 0, "");
    return text_;
  }

 private:
  // A leaf is a number under kLeaves; a node is over it.
  static constexpr int kLeaves = 1000;

  int build(std::size_t level, std::size_t& next) {
    if (level == kColumns.size()) return all_.answer(next++) + 1;
    std::vector<int> below;
    for (std::size_t i = 0; i < kColumns[level].values.size(); ++i) below.push_back(build(level + 1, next));
    // A column that does not matter is no level.
    if (std::all_of(below.begin(), below.end(), [&](int each) { return each == below.front(); }))
      return below.front();
    const auto key = std::pair(level, below);
    const auto [at, is_new] = ids_.emplace(key, kLeaves + static_cast<int>(nodes_.size()));
    if (is_new) nodes_.push_back(key);
    return at->second;
  }

  void print(int id, std::size_t depth, const std::string& head) {
    if (id < kLeaves) {
      text_ += head + answer(id - 1) + "\n";
      return;
    }
    const auto [level, below] = nodes_[static_cast<std::size_t>(id - kLeaves)];
    if (!head.empty()) text_ += head + "\n";
    std::vector<bool> done(below.size());
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (done[i]) continue;
      std::string names;
      for (std::size_t j = i; j < below.size(); ++j)
        if (below[j] == below[i]) {
          done[j] = true;
          names += fmt::format("{}{}", names.empty() ? "" : " | ", kColumns[level].values[j].name);
        }
      print(below[i], depth + 1, fmt::format("{:{}}{} {}", "", 2 * depth, kColumns[level].name, names));
    }
  }

  static std::string answer(int row_number) {
    if (row_number < 0) return ": nothing yet";
    const Row& row = verdict_rows()[static_cast<std::size_t>(row_number)];
    constexpr auto kStages = std::to_array<std::string_view>(
        {"", ", once V has no more tries", ", provisional", ", provisional; a third run is wanted"});
    return fmt::format(": {} {}{}{} [{}]\n{:>14}{}", to_string(row.cause), to_string(row.confidence),
                       row.blame == Blame::nobody ? "" : ", nodes of S1",
                       kStages[static_cast<std::size_t>(row.stage)], row.rule, "", row.why);
  }

  const AllAnswers& all_;
  std::map<std::pair<std::size_t, std::vector<int>>, int> ids_;
  std::vector<std::pair<std::size_t, std::vector<int>>> nodes_;
  int root_ = 0;
  std::string text_;
};

}  // namespace

std::span<const Column> columns() { return kColumns; }

AllAnswers::AllAnswers() : strides_(kColumns.size(), 1) {
  for (std::size_t i = kColumns.size() - 1; i > 0; --i)
    strides_[i - 1] = strides_[i] * kColumns[i].values.size();
  const std::size_t count = strides_[0] * kColumns[0].values.size();
  answers_.reserve(count);
  std::array<std::uint8_t, kColumns.size()> bits{};
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = kColumns[i].values[value(n, i)].bit;
    // A node that went down convicts itself (facts_of()).
    if (bits[2] == a_down) bits[3] = c_failed;
    if (bits[5] == a_down) bits[6] = c_failed;
    const Row* row = row_for(facts_of_values(bits));
    answers_.push_back(row ? static_cast<std::int16_t>(row - verdict_rows().data())
                           : static_cast<std::int16_t>(-1));
  }
}

std::string AllAnswers::words(std::size_t combination) const {
  std::string text;
  for (std::size_t i = 0; i < kColumns.size(); ++i)
    text += fmt::format("{}{}={}", i ? " " : "", kColumns[i].name,
                        kColumns[i].values[value(combination, i)].name);
  const int row = answer(combination);
  return text + " -> " +
         (row < 0 ? "nothing" : std::string(verdict_rows()[static_cast<std::size_t>(row)].rule));
}

std::string grouped_table(const AllAnswers& all) { return Tree(all).text(); }

}  // namespace sickbay::identify
