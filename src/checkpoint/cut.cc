// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/cut.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/result.h"

namespace sickbay::checkpoint {
namespace {

// A random number for each byte: splitmix64 (Steele, Lea, Flood 2014) from a fixed seed.
constexpr std::array<std::uint64_t, 256> numbers() {
  std::array<std::uint64_t, 256> table{};
  std::uint64_t state = 0x5369636b62617921U;
  for (std::uint64_t& number : table) {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    number = z ^ (z >> 31);
  }
  return table;
}
constexpr std::array<std::uint64_t, 256> kNumbers = numbers();

// The upper bits: they know of the last 64 bytes, the lower ones only of the last few.
constexpr std::uint64_t upper_bits(int count) { return ~std::uint64_t{0} << (64 - count); }

// From `at` to `end`: behind the first byte at which the hash fits `mask`, or 0.
std::size_t scan(std::string_view bytes, std::size_t at, std::size_t end, std::uint64_t mask,
                 std::uint64_t& hash) {
  std::uint64_t h = hash;
  for (; at < end; ++at) {
    // The shift drops a byte's number after 64 steps: that is what makes the hash roll.
    h = (h << 1) + kNumbers[static_cast<unsigned char>(bytes[at])];
    if ((h & mask) == 0) {
      hash = h;
      return at + 1;
    }
  }
  hash = h;
  return 0;
}

}  // namespace

Cutter::Cutter(CutSizes sizes) : sizes_(sizes) {
  SB_CHECK(sizes.least >= 64 && sizes.least <= sizes.wished && sizes.wished <= sizes.most, "sizes in order");
  SB_CHECK(std::has_single_bit(sizes.wished) && sizes.wished >= 1024, "a power of two");
  // A mask of n bits fits once in 2^n bytes: n + 2 and n - 2 are four times as hard and as easy.
  const int bits = std::bit_width(sizes.wished) - 1;
  hard_ = upper_bits(bits + 2);
  easy_ = upper_bits(bits - 2);
}

std::optional<std::size_t> Cutter::find(std::string_view next) {
  // Places in `next` where the chunk has its least, its wished-for and its most size.
  // (The chunk may have begun in an earlier piece of the stream: length_ bytes of it are behind us.)
  const auto place = [&](std::size_t size) { return std::min(size - std::min(size, length_), next.size()); };
  const std::size_t least = place(sizes_.least), wished = place(sizes_.wished), most = place(sizes_.most);
  // No cut below the least size, so the hash of those bytes is not needed; it begins at 0 with each chunk,
  // and so depends on nothing before.
  std::size_t cut = scan(next, least, wished, hard_, hash_);
  if (cut == 0) cut = scan(next, std::max(least, wished), most, easy_, hash_);
  if (cut == 0 && length_ + most == sizes_.most) cut = most;
  if (cut == 0) {
    length_ += next.size();
    return std::nullopt;
  }
  length_ = 0;
  hash_ = 0;
  return cut;
}

}  // namespace sickbay::checkpoint
