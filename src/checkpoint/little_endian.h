// SPDX-License-Identifier: Apache-2.0
// Numbers and texts as bytes, the least significant first, and a reader that never goes beyond the end.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sickbay::checkpoint {

inline void put_number(std::string& bytes, std::uint64_t number, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}
inline void put_u32(std::string& bytes, std::uint32_t number) { put_number(bytes, number, 4); }
inline void put_u64(std::string& bytes, std::uint64_t number) { put_number(bytes, number, 8); }
inline void put_text(std::string& bytes, std::string_view text) {
  put_u32(bytes, static_cast<std::uint32_t>(text.size()));
  bytes += text;
}

/// Takes from the front.  Beyond the end it gives zeros and ok() is false from then on.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }
  std::string_view bytes(std::size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number(int size) {
    const std::string_view taken = bytes(static_cast<std::size_t>(size));
    std::uint64_t number = 0;
    for (std::size_t i = taken.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(taken[i]);
    return number;
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::string_view text() { return bytes(u32()); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace sickbay::checkpoint
