// SPDX-License-Identifier: Apache-2.0
// The rows between two stages: readers add them, the merge makes jobs of them, the store takes those.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "workload/job/row.h"

namespace sickbay::workload {

/// Rows of one or more records; reused.
class Rows {
 public:
  Row& add() {
    if (size_ == rows_.size()) rows_.push_back(std::make_unique<Row>());
    Row& row = *rows_[size_++];
    row.clear();
    return row;
  }
  void drop_last() { --size_; }
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  Row& operator[](std::size_t i) { return *rows_[i]; }
  const Row& operator[](std::size_t i) const { return *rows_[i]; }

 private:
  std::vector<std::unique_ptr<Row>> rows_;
  std::size_t size_ = 0;
};

}  // namespace sickbay::workload
