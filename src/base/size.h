// SPDX-License-Identifier: Apache-2.0
// Sizes of memory and files as text: Slurm's forms and the house's.
//
// Units are powers of 1024 everywhere, as in Slurm.  A bare number has no unit of its own: it is MiB in
// `sbatch --mem` and bytes in sacct's MaxRSS, so whoever asks says which.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay {

/// A count of bytes; never negative where it was parsed.
struct Bytes {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
};

constexpr Bytes kib(std::int64_t n) { return {n * 1024}; }
constexpr Bytes mib(std::int64_t n) { return {n * 1024 * 1024}; }
constexpr Bytes gib(std::int64_t n) { return {n * 1024 * 1024 * 1024}; }

/// What a bare number counts.
enum class BareUnit : std::uint8_t { bytes, kib, mib };

/// Whose memory it is: the letter behind sacct's ReqMem up to Slurm 20.11.
enum class MemoryPer : std::uint8_t {
  unstated,  ///< no letter; since 21.08 the whole job's
  node,      ///< "4Gn"
  cpu,       ///< "4Gc"
};

struct Memory {
  Bytes size;
  MemoryPer per = MemoryPer::unstated;
  friend bool operator==(const Memory&, const Memory&) = default;
};

/// "4000", "4000M", "1.50T", "12756K", "4GB", "4GiB", "100B"; the case of the unit does not matter.
/// A fraction (up to nine digits) is rounded to the nearest byte.  Errors: bad_input, also over 2^63 - 1.
Result<Bytes> parse_size(std::string_view text, BareUnit bare);
/// The same with an optional n or c at the end: "4Gn", "0n", "2000Mc".
Result<Memory> parse_memory(std::string_view text, BareUnit bare);

/// `numerator` / `denominator` of 2^shift, to the nearest: what stands behind the point of "1.5T".
/// numerator < denominator <= 10^9, shift at most 60.
std::uint64_t binary_fraction(std::uint64_t numerator, std::uint64_t denominator, unsigned shift);

/// Exact, in the largest unit that leaves no rest: "4000M", "1536G", "1000B", "0B"; parses back.
std::string format_size(Bytes size);
/// The same with n or c.
std::string format_memory(const Memory& memory);
/// For sbatch and scontrol, which count MiB: rounded up, "4000M".
std::string format_slurm_memory(Bytes size);
/// For people: "1.5 GiB", "850 MiB", "12 bytes".  One decimal below 10, the rest cut off.
std::string describe_size(Bytes size);

}  // namespace sickbay
