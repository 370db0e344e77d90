// SPDX-License-Identifier: Apache-2.0
// Chunks made smaller by zstd, where that pays.
//
// Much of what programs keep does not get smaller (floating-point numbers with all their digits), and trying
// costs more than writing.  So after a chunk that did not, the next one is left as it is, then the next two,
// four
// ... up to 64, until one does again: what cannot be made smaller costs a sixty-fourth of trying.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::checkpoint {

inline constexpr int kLevel = 1;  ///< zstd's: what a node's disk waits for least

/// Of one thread.
class Squeezer {
 public:
  explicit Squeezer(int level = kLevel);
  ~Squeezer();
  Squeezer(Squeezer&&) noexcept;
  Squeezer& operator=(Squeezer&&) = delete;

  /// Forgets what came before: what it gives then depends on what comes alone.
  void begin() { pause_ = last_pause_ = 0; }
  /// `raw` made smaller by an eighth or more, valid until the next call; or "", to be kept as it is.
  std::string_view squeeze(std::string_view raw);

 private:
  struct State;
  std::unique_ptr<State> state_;
  int level_;
  std::string out_;
  unsigned pause_ = 0;  ///< chunks to leave as they are
  unsigned last_pause_ = 0;
};

/// Of one thread.
class Unsqueezer {
 public:
  Unsqueezer();
  ~Unsqueezer();
  Unsqueezer(Unsqueezer&&) noexcept;
  Unsqueezer& operator=(Unsqueezer&&) = delete;

  /// Fills `raw` with what was squeezed into `stored`.  Errors: bad_input: it is none, or not of that size.
  Status unsqueeze(std::string_view stored, std::span<char> raw);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sickbay::checkpoint
