// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/compress.h"

#include <zstd.h>

#include <algorithm>

namespace sickbay::checkpoint {

namespace {
constexpr unsigned kMostPause = 64;
}

struct Squeezer::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~State() { ZSTD_freeCCtx(context); }
};

Squeezer::Squeezer(int level) : state_(std::make_unique<State>()), level_(level) {
  SB_CHECK(state_->context != nullptr, "memory for zstd");
}
Squeezer::~Squeezer() = default;
Squeezer::Squeezer(Squeezer&&) noexcept = default;

std::string_view Squeezer::squeeze(std::string_view raw) {
  if (pause_ > 0) {
    --pause_;
    return {};
  }
  // Less room than the raw bytes, so that zstd gives up early on what does not shrink by an eighth.
  const std::size_t room = raw.size() - raw.size() / 8;
  out_.resize(std::max(out_.size(), room));
  // (zstd may also stop for want of room: then it does not pay either.)
  const std::size_t size =
      ZSTD_compressCCtx(state_->context, out_.data(), room, raw.data(), raw.size(), level_);
  if (ZSTD_isError(size) == 0 && size <= room && size < raw.size()) {
    last_pause_ = 0;
    return std::string_view(out_).substr(0, size);
  }
  // 1, 2, 4 ... 64: what does not shrink is tried ever more seldom (compress.h).
  pause_ = last_pause_ = std::clamp(last_pause_ * 2, 1U, kMostPause);
  return {};
}

struct Unsqueezer::State {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~State() { ZSTD_freeDCtx(context); }
};

Unsqueezer::Unsqueezer() : state_(std::make_unique<State>()) {
  SB_CHECK(state_->context != nullptr, "memory for zstd");
}
Unsqueezer::~Unsqueezer() = default;
Unsqueezer::Unsqueezer(Unsqueezer&&) noexcept = default;

Status Unsqueezer::unsqueeze(std::string_view stored, std::span<char> raw) {
  const std::size_t size =
      ZSTD_decompressDCtx(state_->context, raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0) return fail(ErrorCode::bad_input, ZSTD_getErrorName(size));
  if (size != raw.size()) return fail(ErrorCode::bad_input, "a chunk is shorter than its index says");
  return {};
}

}  // namespace sickbay::checkpoint
