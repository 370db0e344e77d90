// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pieces.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sickbay::checkpoint {
namespace {

constexpr std::uint64_t kReadPart = 8 << 20;  ///< raw bytes of one piece

Result<PackReader> open_as(Files& files, const std::string& folder, const std::string& name,
                           const Digest& digest) {
  auto pack = PackReader::open(files, folder, name);
  if (!pack) return pack;
  // A whole pack of another content: of an earlier try with the same number, say.
  if (pack->digest() != digest)
    return fail(damaged(fmt::format("the pack {} is another one than its checkpoint's", name)));
  return pack;
}

}  // namespace

Result<OpenPacks> open_packs(Files& files, const std::string& folder, const Image& image) {
  OpenPacks open;
  auto own = open_as(files, folder, image.pack, image.digest);
  if (!own) return tl::unexpected<Error>(std::move(own.error()));
  const std::vector<Base> bases = own->index().bases;
  open.packs.push_back(std::move(*own));
  for (const Base& base : bases) {
    auto pack = open_as(files, folder, base.name, base.digest);
    if (!pack) return tl::unexpected<Error>(std::move(pack.error()));
    open.packs.push_back(std::move(*pack));
  }
  return open;
}

Status cut_in_pieces(const OpenPacks& open, std::size_t image, std::size_t number,
                     std::vector<Piece>& pieces) {
  const PackedFile& file = open.packs[0].index().files[number];
  std::uint64_t at = 0;
  for (const ChunkRun& run : file.runs) {
    const auto& chunks = open.packs[run.pack].index().chunks;
    // Only here are the bases open, so runs of their chunks are looked at here and not in wrong_in().
    if (run.first > chunks.size() || run.count > chunks.size() - run.first)
      return fail(damaged(fmt::format("{} is of chunks that {} does not have", quote_for_message(file.name),
                                      open.packs[run.pack].name())));
    Piece piece{image, number, at, 0, {run.pack, run.first, 0}};
    for (std::uint32_t i = run.first; i < run.first + run.count; ++i) {
      // A piece never goes over the end of a run: its chunks lie one after the other, so it is one reading.
      if (piece.size >= kReadPart) {
        pieces.push_back(piece);
        piece = {image, number, at, 0, {run.pack, i, 0}};
      }
      ++piece.run.count;
      piece.size += chunks[i].raw;
      at += chunks[i].raw;
    }
    pieces.push_back(piece);
  }
  if (at != file.size)
    return fail(
        damaged(fmt::format("{} has {} bytes, its chunks {}", quote_for_message(file.name), file.size, at)));
  return {};
}

}  // namespace sickbay::checkpoint
