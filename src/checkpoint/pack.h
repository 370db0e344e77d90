// SPDX-License-Identifier: Apache-2.0
// A pack: what one process adds to its checkpoint, in one file.  Chunks back to back, then the index, then a
// trailer of fixed size that says where the index is and what its digest is; the page
// doc/formats/checkpoint.md has the bytes.
//
// One file and one sync for all chunks: a file for each would cost more in names than in bytes.  The index
// comes last since only then is it known what was new.  A file of the program is a list of runs of chunks, of
// this pack or of older ones (its bases), which are named with the digests of their indexes: so what an index
// says cannot change under it, and the digest of one index stands for all content below it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "checkpoint/chunk_digest.h"
#include "checkpoint/compress.h"
#include "checkpoint/files.h"

namespace sickbay::checkpoint {

inline constexpr std::uint32_t kMostChunk = 1 << 20;  ///< bytes of one chunk
inline constexpr std::size_t kMostFileName = 4096;    ///< of a file in a pack
inline constexpr std::size_t kPackHeader = 16, kTrailer = 64;

struct Chunk {
  Digest digest{};           ///< of the bytes as the program has them
  std::uint32_t raw = 0;     ///< how many these are
  std::uint32_t stored = 0;  ///< bytes in the pack; equal to `raw`: as they are, less: zstd
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Chunks that follow each other in one pack.
struct ChunkRun {
  std::uint32_t pack = 0;  ///< 0: this one; else bases[pack - 1]
  std::uint32_t first = 0, count = 0;
  friend bool operator==(const ChunkRun&, const ChunkRun&) = default;
};

/// An older pack, of the same folder, some of whose chunks are used.
struct Base {
  std::string name;
  Digest digest{};  ///< of its index
  friend bool operator==(const Base&, const Base&) = default;
};

struct PackedFile {
  std::string name;  ///< relative, no "..": where it is restored below a folder
  std::uint32_t mode = 0600;
  std::uint64_t size = 0;
  std::vector<ChunkRun> runs;
  friend bool operator==(const PackedFile&, const PackedFile&) = default;
};

struct PackIndex {
  std::vector<Base> bases;
  std::vector<Chunk> chunks;
  std::vector<PackedFile> files;
  friend bool operator==(const PackIndex&, const PackIndex&) = default;
};

/// Fit for a file in a folder: not empty, no '/', not hidden, printable ASCII, at most 200 bytes.
bool is_plain_name(std::string_view name);
/// Fit for a file of the program below a folder: relative, no empty part, no "." or "..", no NUL.
bool is_relative_path(std::string_view path);

/// The Error of bytes that are not what was written: bad_input, with the remedy for it.
Error damaged(std::string what);

std::string format_index(const PackIndex& index);
/// The reverse.  Errors: bad_input.
Result<PackIndex> parse_index(std::string_view bytes);

/// Writes NAME.new in a folder; publish() gives it its name.  Of one thread at a time.
class PackWriter {
 public:
  static Result<PackWriter> create(Files& files, const std::string& folder, const std::string& name);

  /// Writes chunks whose stored bytes stand one after the other in `bytes`; those that the pack has already
  /// are passed over.  Appends to `runs` where all of them are.
  Status add(std::span<const Chunk> chunks, std::string_view bytes, std::vector<ChunkRun>& runs);
  /// The index and the trailer behind them; synced.  Gives the digest of the index.
  Result<Digest> finish(std::vector<Base> bases, std::vector<PackedFile> files);
  /// NAME.new becomes NAME.  The folder is not synced.
  Status publish();
  /// Removes NAME.new, as far as that goes.
  void abandon();

  std::uint64_t bytes() const { return bytes_; }  ///< of the file so far
  std::size_t chunks() const { return index_.chunks.size(); }

 private:
  PackWriter(Files& files, std::string path, std::unique_ptr<OutFile> out);
  Status put(std::string_view bytes);

  Files* files_;
  std::string path_;
  std::unique_ptr<OutFile> out_;
  PackIndex index_;
  std::unordered_map<Digest, std::uint32_t, DigestHash> known_;
  std::uint64_t bytes_ = 0;
};

/// An open pack.  read() may be called by several threads, each with an Unsqueezer and scratch of its own.
class PackReader {
 public:
  /// Errors: bad_input (damaged, cut short), too_new, and as Files::open.
  static Result<PackReader> open(std::unique_ptr<InFile> in, std::string name);
  static Result<PackReader> open(Files& files, const std::string& folder, const std::string& name);

  const std::string& name() const { return name_; }
  const PackIndex& index() const { return index_; }
  const Digest& digest() const { return digest_; }
  std::uint64_t bytes() const { return bytes_; }  ///< of the file
  /// Where the stored bytes of chunk `i` begin; of one past the last: where they end.
  std::uint64_t place(std::uint32_t i) const { return places_[i]; }

  /// The raw bytes of `count` chunks from `first` on into `raw`, which is as long as they are; each is
  /// compared with its digest.  Errors: bad_input: names the chunk that is damaged; storage_broken.
  Status read(std::uint32_t first, std::uint32_t count, std::span<char> raw, Unsqueezer& unsqueezer,
              std::string& scratch) const;

 private:
  PackReader() = default;
  std::unique_ptr<InFile> in_;
  std::string name_;
  PackIndex index_;
  Digest digest_{};
  std::uint64_t bytes_ = 0;
  std::vector<std::uint64_t> places_;
};

}  // namespace sickbay::checkpoint
