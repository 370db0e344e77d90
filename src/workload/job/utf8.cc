// SPDX-License-Identifier: Apache-2.0
// UTF-8 of texts that users wrote: checked, and mended where it is none.
#include <cstring>

#include "workload/job/swar.h"
#include "workload/job/values.h"

namespace sickbay::workload {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes at the front of `text` that are plain: ASCII without NUL.
std::size_t plain(std::string_view text) {
  std::size_t i = 0;
  constexpr std::uint64_t kHigh = 0x8080808080808080U, kOnes = 0x0101010101010101U;
  for (; i + 8 <= text.size(); i += 8) {
    const std::uint64_t word = swar::load8(text.data() + i);
    if (((word | (word - kOnes)) & kHigh) != 0) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) - 1U < 0x7fU) ++i;
  return i;
}

struct Piece {
  std::size_t length;
  bool good;
};

// The character at the front of `text`, or the bytes that one U+FFFD replaces: as much as a character could
// have begun with (Unicode 15, 3.9, "maximal subpart").
Piece next(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first == 0) return {1, false};
  if (first < 0x80) return {1, true};
  std::size_t length = 0;
  unsigned char low = 0x80, high = 0xbf;  // of the second byte: no longer forms, surrogates, or over U+10FFFF
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || at(i) < low || at(i) > high) return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {length, true};
}

}  // namespace

std::string_view valid_utf8(std::string_view text, Arena& arena, bool& mended) {
  std::size_t i = plain(text);
  std::size_t bad = 0;
  for (std::size_t j = i; j < text.size();) {
    const Piece piece = next(text.substr(j));
    bad += piece.good ? 0 : 1;
    j += piece.length;
  }
  if (bad == 0) return text;
  mended = true;
  char* const out = arena.take(text.size() + bad * kReplacement.size());
  std::memcpy(out, text.data(), i);
  char* p = out + i;
  while (i < text.size()) {
    const Piece piece = next(text.substr(i));
    const std::string_view bytes = piece.good ? text.substr(i, piece.length) : kReplacement;
    std::memcpy(p, bytes.data(), bytes.size());
    p += bytes.size();
    i += piece.length;
  }
  return {out, static_cast<std::size_t>(p - out)};
}

}  // namespace sickbay::workload
