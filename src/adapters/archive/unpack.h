// SPDX-License-Identifier: Apache-2.0
// Unpacking a stream: what its first bytes say it is, and its bytes.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

/// A file descriptor read in blocks, whose first one can be looked at before.
class ByteSource {
 public:
  /// Does not own `fd`.
  explicit ByteSource(int fd) : fd_(fd), block_(kBlock) {}
  /// The first bytes, at least 6 where there are so many; read() gives them again.
  std::string_view peek();
  /// The next bytes; empty at the end and after an error.
  std::string_view read();
  /// errno of a failed read; 0: none.
  int error() const { return error_; }

 private:
  static constexpr std::size_t kBlock = 256 * 1024;
  void fill(std::size_t least);
  int fd_;
  std::vector<char> block_;
  std::size_t filled_ = 0;
  bool peeked_ = false, ended_ = false;
  int error_ = 0;
};

enum class Packing : std::uint8_t { none, gzip, xz, zstd, bzip2 };

/// What a stream that begins with `head` is packed with.
Packing packing_of(std::string_view head);
/// "gzip", "xz", "zstd", "bzip2" or "".
std::string_view packing_name(Packing packing);

/// Takes unpacked bytes; its error ends the unpacking.
using ByteSink = std::function<Status(std::string_view)>;

/// Unpacks all of `source` (several members, frames or streams behind each other are one text).
/// Errors: bad_input (truncated, damaged), the sink's.
Status unpack(Packing packing, ByteSource& source, const ByteSink& sink);

}  // namespace sickbay
