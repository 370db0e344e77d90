// SPDX-License-Identifier: Apache-2.0
// Packs of checkpoints: any bytes are read or refused, as a whole pack and as an index without a digest in
// front of it; an index that was read has one form; a chunk that is read has its digest.
#include <algorithm>
#include <cstring>

#include "checkpoint/pack.h"
#include "property.h"

namespace {

using namespace sickbay;
using namespace sickbay::checkpoint;

class Bytes : public InFile {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t size = std::min<std::size_t>(out.size(), bytes_.size() - offset);
    std::memcpy(out.data(), bytes_.data() + offset, size);
    return size;
  }
  Result<FileState> state() override { return FileState{bytes_.size(), 0, 0600}; }

 private:
  std::string_view bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::as_text(bytes, size);
  if (const auto index = parse_index(text)) {
    SB_CHECK(format_index(*index) == text, "an index has one form");
    for (const PackedFile& file : index->files)
      SB_CHECK(is_relative_path(file.name), "no file leaves the folder it is restored to");
  } else {
    fuzz::check_refusal(index.error());
  }

  const auto pack = PackReader::open(std::make_unique<Bytes>(text), "p");
  if (!pack) {
    if (pack.error().code != ErrorCode::too_new) fuzz::check_refusal(pack.error());
    return 0;
  }
  SB_CHECK(parse_index(format_index(pack->index())), "the index of a pack is one");
  Unsqueezer unsqueezer;
  std::string scratch, raw;
  for (std::uint32_t i = 0; i < pack->index().chunks.size(); ++i) {
    raw.assign(pack->index().chunks[i].raw, '\0');
    const auto read = pack->read(i, 1, raw, unsqueezer, scratch);
    if (read)
      SB_CHECK(digest_of(raw) == pack->index().chunks[i].digest, "a chunk is what its digest says");
    else
      fuzz::check_refusal(read.error());
  }
  return 0;
}
