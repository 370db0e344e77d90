// SPDX-License-Identifier: Apache-2.0
// Memory for texts that cannot point into the input (unescaped, mended): handed out in one piece, freed all
// at once.
#pragma once
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace sickbay::workload {

class Arena {
 public:
  /// `size` bytes that live until clear().
  char* take(std::size_t size) {
    if (blocks_.empty() || used_ + size > block_size_) grow(size);
    char* p = blocks_.back().get() + used_;
    used_ += size;
    return p;
  }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* p = take(text.size());
    std::memcpy(p, text.data(), text.size());
    return {p, text.size()};
  }
  /// Forgets all texts; keeps one block for the next round.
  void clear() {
    if (blocks_.size() > 1) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
    used_ = 0;
  }

 private:
  void grow(std::size_t size) {
    block_size_ = size > kBlock ? size : kBlock;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size_));
    used_ = 0;
  }
  static constexpr std::size_t kBlock = 64 * 1024;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_size_ = 0, used_ = 0;
};

}  // namespace sickbay::workload
