// SPDX-License-Identifier: Apache-2.0
// An image as it is read: its packs, and its files in pieces that one thread reads at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/control.h"
#include "checkpoint/pack.h"

namespace sickbay::checkpoint {

struct ReadWorker {
  Unsqueezer unsqueezer;
  std::string scratch, raw;
};

/// An image with the packs it stands on: packs[0] is its own.
struct OpenPacks {
  std::vector<PackReader> packs;
};
/// Errors: bad_input: damaged, or another pack than the image's; not_found.
Result<OpenPacks> open_packs(Files& files, const std::string& folder, const Image& image);

/// Chunks that one thread reads and writes at one place.
struct Piece {
  std::size_t image = 0, file = 0;
  std::uint64_t at = 0, size = 0;  ///< in the file
  ChunkRun run;
};
/// Adds the pieces of a file.  Errors: bad_input: what its runs and its size do not agree on.
Status cut_in_pieces(const OpenPacks& open, std::size_t image, std::size_t number,
                     std::vector<Piece>& pieces);

}  // namespace sickbay::checkpoint
