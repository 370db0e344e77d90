// SPDX-License-Identifier: Apache-2.0
// Where delimiters and line ends are: the two loops that see every byte of a log.
//
// Sixteen bytes at a time with SSE2, which every x86-64 has; elsewhere byte by byte.  A delimiter of several
// bytes (a snowman) is looked for by its first byte and then compared.  It never overlaps itself: the second
// match of "||" in "|||" begins behind the first.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sickbay::workload {

/// One line of a text.
struct Line {
  std::size_t end = 0;      ///< offset of its newline, or the text's size
  std::uint32_t count = 0;  ///< delimiters in it
  bool has_newline = false;
};

/// What else a record was seen to hold.
struct Seen {
  bool newline = false, nul = false, high = false;  ///< high: bytes over 0x7f
};

class Delimiter {
 public:
  explicit Delimiter(std::string_view text) : text_(text) {}

  std::string_view text() const { return text_; }
  std::size_t size() const { return text_.size(); }

  /// The line that begins at `start`.
  Line line(std::string_view text, std::size_t start) const;

  /// Writes the offset of each delimiter of `record` to `out`, at most `most`, and returns how many there
  /// are; more than `most` is `most` + 1.
  std::size_t find(std::string_view record, std::uint32_t* out, std::size_t most, Seen& seen) const;

 private:
  bool is_at(std::string_view text, std::size_t at) const {
    return text.size() - at >= text_.size() && std::memcmp(text.data() + at, text_.data(), text_.size()) == 0;
  }
  std::string_view text_;
};

#if defined(__SSE2__)
namespace simd {
inline __m128i load(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
inline unsigned equal(__m128i v, __m128i w) {
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, w)));
}
// The sum of the sixteen bytes.
inline std::uint32_t sum(__m128i v) {
  const __m128i halves = _mm_sad_epu8(v, _mm_setzero_si128());
  // (Not by a shift, whose count GCC 12 does not take for a constant in code that is not optimized.)
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(halves) +
                                    _mm_cvtsi128_si32(_mm_unpackhi_epi64(halves, halves)));
}
}  // namespace simd
#endif

inline Line Delimiter::line(std::string_view text, std::size_t start) const {
  Line line;
  std::size_t i = start;
  std::size_t next = start;  // where a delimiter may begin: behind the last one
  const char first = text_.front();
  const bool one_byte = text_.size() == 1;
  const auto count_at = [&](std::size_t at) {
    if (one_byte || (at >= next && is_at(text, at))) {
      ++line.count;
      next = at + text_.size();
    }
  };
#if defined(__SSE2__)
  const __m128i newline = _mm_set1_epi8('\n'), delimiter = _mm_set1_epi8(first);
  __m128i counts = _mm_setzero_si128();
  int rounds = 0;
  for (; i + 16 <= text.size(); i += 16) {
    const __m128i v = simd::load(text.data() + i);
    const unsigned ends = simd::equal(v, newline);
    const __m128i hits = _mm_cmpeq_epi8(v, delimiter);
    if (ends == 0 && one_byte) {
      counts = _mm_sub_epi8(counts, hits);
      if (++rounds == 255) {  // before a byte of the counts overflows
        line.count += simd::sum(counts);
        counts = _mm_setzero_si128();
        rounds = 0;
      }
      continue;
    }
    unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(hits));
    if (ends != 0) mask &= (ends & -ends) - 1;
    for (; mask != 0; mask &= mask - 1) count_at(i + static_cast<std::size_t>(__builtin_ctz(mask)));
    if (ends != 0) {
      line.count += simd::sum(counts);
      line.end = i + static_cast<std::size_t>(__builtin_ctz(ends));
      line.has_newline = true;
      return line;
    }
  }
  line.count += simd::sum(counts);
#endif
  for (; i < text.size(); ++i) {
    if (text[i] == '\n') {
      line.end = i;
      line.has_newline = true;
      return line;
    }
    if (text[i] == first) count_at(i);
  }
  line.end = text.size();
  return line;
}

inline std::size_t Delimiter::find(std::string_view record, std::uint32_t* out, std::size_t most,
                                   Seen& seen) const {
  std::size_t n = 0, next = 0, i = 0;
  const char first = text_.front();
  const bool one_byte = text_.size() == 1;
  // False when there are more than `most`.
  const auto found_at = [&](std::size_t at) {
    if (!one_byte && (at < next || !is_at(record, at))) return true;
    if (n == most) return false;
    out[n++] = static_cast<std::uint32_t>(at);
    next = at + text_.size();
    return true;
  };
#if defined(__SSE2__)
  const __m128i newline = _mm_set1_epi8('\n'), delimiter = _mm_set1_epi8(first);
  __m128i newlines = _mm_setzero_si128(), nuls = newlines, highs = newlines;
  for (; i + 16 <= record.size(); i += 16) {
    const __m128i v = simd::load(record.data() + i);
    newlines = _mm_or_si128(newlines, _mm_cmpeq_epi8(v, newline));
    nuls = _mm_or_si128(nuls, _mm_cmpeq_epi8(v, _mm_setzero_si128()));
    highs = _mm_or_si128(highs, v);
    for (unsigned mask = simd::equal(v, delimiter); mask != 0; mask &= mask - 1)
      if (!found_at(i + static_cast<std::size_t>(__builtin_ctz(mask)))) return most + 1;
  }
  seen.newline = _mm_movemask_epi8(newlines) != 0;
  seen.nul = _mm_movemask_epi8(nuls) != 0;
  seen.high = _mm_movemask_epi8(highs) != 0;
#endif
  for (; i < record.size(); ++i) {
    const char c = record[i];
    seen.newline |= c == '\n';
    seen.nul |= c == '\0';
    seen.high |= (static_cast<unsigned char>(c) & 0x80) != 0;
    if (c == first && !found_at(i)) return most + 1;
  }
  return n;
}

}  // namespace sickbay::workload
