// SPDX-License-Identifier: Apache-2.0
// An input of bytes that may be compressed (gz, xz, zst, bz2; by content) or come through a pipe, readable at
// any offset and from several threads.  What is not a plain file is unpacked into an unlinked temporary file
// (in TMPDIR) first. libarchive and zlib do the unpacking; only this folder includes them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace sickbay {

class Input {
 public:
  /// "-" is standard input.  Errors: not_found, denied, bad_input (truncated or damaged: says after how many
  /// bytes), storage_full (no room to unpack).
  static Result<Input> open(const std::string& path);
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  std::uint64_t size() const;       ///< unpacked
  const std::string& name() const;  ///< the path, or "standard input"
  std::string compression() const;  ///< "gzip", "xz", "zstd", "bzip2" or ""
  /// Reads up to `size` bytes at `offset`; the number read, short only at the end.  For any thread.
  Result<std::size_t> read_at(std::uint64_t offset, char* to, std::size_t size) const;

 private:
  struct Impl;
  explicit Input(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sickbay
