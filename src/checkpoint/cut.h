// SPDX-License-Identifier: Apache-2.0
// Where a stream of bytes is cut into chunks, by what it holds: a change moves the cuts near it and no
// others, so that the chunks of an unchanged part are found again wherever it has moved to.
//
// A rolling hash (each step shifts it and adds a random number of the byte's, so that a byte is forgotten
// after 64 steps) is compared with a mask at every byte; where it fits is a cut.  Up to the wished-for size
// the mask is four times as hard to fit, behind it four times as easy: most chunks are then near that size.
// No byte before the least size is looked at, and at the most size a cut falls anyway. Source: Xia et al.,
// FastCDC, USENIX ATC 2016; the random numbers are ours (a fixed seed: the cuts of two versions of Sickbay
// must agree, or nothing would be found again).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sickbay::checkpoint {

/// The sizes of chunks.  least >= 64, least <= wished <= most; wished is a power of two from 1 KiB on.
struct CutSizes {
  std::size_t least = 4 << 10;
  std::size_t wished = 16 << 10;
  std::size_t most = 64 << 10;
};

/// Cuts one stream.  Its cuts are the same however the stream comes in pieces.
class Cutter {
 public:
  explicit Cutter(CutSizes sizes = {});

  /// How many of the first bytes of `next` belong to the chunk that is open: it ends there, and the next call
  /// begins another.  Nothing: it takes all of `next` and is open still.
  std::optional<std::size_t> find(std::string_view next);

 private:
  CutSizes sizes_;
  std::uint64_t hard_, easy_;
  std::uint64_t hash_ = 0;
  std::size_t length_ = 0;  ///< of the open chunk
};

}  // namespace sickbay::checkpoint
