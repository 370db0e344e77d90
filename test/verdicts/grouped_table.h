// SPDX-License-Identifier: Apache-2.0
// All combinations of the columns of the verdict table, and its answers as a text that a person can read.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/identify/verdict.h"

namespace sickbay::identify {

/// A column: its name, and its values with theirs.
struct Column {
  struct Value {
    std::uint8_t bit;
    std::string_view name;
    bool ended;  ///< nothing more will come of it
  };
  std::string_view name;
  std::span<const Value> values;
};
/// A1, C1, A2, C2, L12, A3, C3, L13, L23.
std::span<const Column> columns();

/// The answers to all combinations: rows by index, -1 for none.  A combination is a number in the mixed radix
/// of the columns, the last one running fastest.
class AllAnswers {
 public:
  AllAnswers();
  std::size_t size() const { return answers_.size(); }
  int answer(std::size_t combination) const { return answers_[combination]; }
  /// Its value in a column, and the combination with another value there.
  std::size_t value(std::size_t combination, std::size_t column) const {
    return combination / strides_[column] % columns()[column].values.size();
  }
  std::size_t with(std::size_t combination, std::size_t column, std::size_t value) const {
    return combination + (value - this->value(combination, column)) * strides_[column];
  }
  std::string words(std::size_t combination) const;

 private:
  std::vector<std::int16_t> answers_;
  std::vector<std::size_t> strides_;
};

/// One line for each group of combinations that differ only in what does not matter.
std::string grouped_table(const AllAnswers& all);

}  // namespace sickbay::identify
