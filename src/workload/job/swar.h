// SPDX-License-Identifier: Apache-2.0
// Eight bytes of text at a time, in one 64-bit word, the first byte lowest: how fixed forms ("12:34:56") are
// checked and read without a branch for each digit.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

namespace sickbay::workload::swar {

inline std::uint64_t load8(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// A form of eight bytes: 'd' stands for a digit, anything else for itself.
struct Form {
  std::uint64_t flip = 0;   ///< XOR with it leaves a digit's value, and 0 for what stands for itself
  std::uint64_t limit = 0;  ///< added to that, a byte that does not fit gets one of its upper four bits
};
constexpr Form form(const char (&text)[9]) {
  Form f;
  for (int i = 0; i < 8; ++i) {
    const bool digit = text[i] == 'd';
    f.flip |= std::uint64_t{static_cast<unsigned char>(digit ? '0' : text[i])} << (8 * i);
    f.limit |= std::uint64_t{digit ? 0x06U : 0x0fU} << (8 * i);
  }
  return f;
}

/// `word` has the form; then `digits` are its values, byte by byte.
inline bool fits(std::uint64_t word, const Form& f, std::uint64_t& digits) {
  digits = word ^ f.flip;
  // No carry can make a wrong word right: a byte that overflows had an upper bit of its own.
  return ((digits | (digits + f.limit)) & 0xf0f0f0f0f0f0f0f0U) == 0;
}
/// In the byte of each digit, the two-digit number that it begins.
inline std::uint64_t pairs(std::uint64_t digits) { return digits * 10 + (digits >> 8); }
inline unsigned byte(std::uint64_t word, int i) { return static_cast<unsigned>(word >> (8 * i)) & 0xff; }

}  // namespace sickbay::workload::swar
