// SPDX-License-Identifier: Apache-2.0
#include "base/size.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace sickbay {
namespace {

// Unit i is 1024^i.
constexpr std::string_view kSizeUnits = "BKMGTPE";
constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kRemedy = "write a number and K, M, G, T or P (of 1024): 4000M, 1.5T";

tl::unexpected<Error> refuse_size(std::string_view text, std::string_view what) {
  return fail(Error(ErrorCode::bad_input, fmt::format("{} {}", quote_for_message(text), what))
                  .remedied_by(std::string(kRemedy)));
}

// The unit at the front of `text`, taken off: K, KB, KiB, B, or `bare` where there is none.
unsigned take_unit(std::string_view& text, BareUnit bare) {
  const std::size_t unit = text.empty() ? std::string_view::npos : kSizeUnits.find(to_upper(text.front()));
  if (unit == std::string_view::npos) return static_cast<unsigned>(bare);
  text.remove_prefix(1);
  if (unit == 0) return 0;
  if (text.size() >= 2 && to_lower(text[0]) == 'i' && to_lower(text[1]) == 'b')
    text.remove_prefix(2);
  else if (!text.empty() && to_lower(text[0]) == 'b')
    text.remove_prefix(1);
  return static_cast<unsigned>(unit);
}

// The size at the front of `text`, taken off; `whole` is for the message.
Result<Bytes> take_size(std::string_view whole, std::string_view& text, BareUnit bare) {
  std::uint64_t number = 0;
  std::size_t digits = 0;
  for (; !text.empty() && is_digit(text.front()); ++digits) {
    if (number > kMost / 10) return refuse_size(whole, "is too big");
    number = number * 10 + static_cast<std::uint64_t>(text.front() - '0');
    text.remove_prefix(1);
  }
  if (digits == 0) return refuse_size(whole, "is not a size");
  std::uint64_t numerator = 0, denominator = 1;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    digits = 0;
    for (; !text.empty() && is_digit(text.front()); ++digits) {
      // Nine digits keep numerator and denominator where binary_fraction() may double them.
      if (digits == 9) return refuse_size(whole, "has more than nine digits of fraction");
      numerator = numerator * 10 + static_cast<std::uint64_t>(text.front() - '0');
      denominator *= 10;
      text.remove_prefix(1);
    }
    if (digits == 0) return refuse_size(whole, "is not a size");
  }
  const unsigned shift = 10 * take_unit(text, bare);
  // Before the shift, which would drop the upper bits.
  if (number > kMost >> shift) return refuse_size(whole, "is too big");
  const std::uint64_t bytes = (number << shift) + binary_fraction(numerator, denominator, shift);
  if (bytes > kMost) return refuse_size(whole, "is too big");
  return Bytes{static_cast<std::int64_t>(bytes)};
}

}  // namespace

std::uint64_t binary_fraction(std::uint64_t numerator, std::uint64_t denominator, unsigned shift) {
  if (shift == 0 || numerator >> (63 - shift) == 0) {  // "891.26M": one division
    const std::uint64_t scaled = numerator << shift, quotient = scaled / denominator;
    return quotient + ((scaled % denominator) * 2 >= denominator ? 1 : 0);
  }
  // Long division in binary, because the product would not fit in 64 bits.
  std::uint64_t quotient = 0;
  for (unsigned i = 0; i < shift; ++i) {
    numerator *= 2;
    quotient *= 2;
    if (numerator >= denominator) {
      numerator -= denominator;
      ++quotient;
    }
  }
  return quotient + (numerator * 2 >= denominator ? 1 : 0);
}

Result<Bytes> parse_size(std::string_view text, BareUnit bare) {
  std::string_view rest = text;
  auto size = take_size(text, rest, bare);
  if (size && !rest.empty()) return refuse_size(text, "is not a size");
  return size;
}

Result<Memory> parse_memory(std::string_view text, BareUnit bare) {
  std::string_view rest = text;
  auto size = take_size(text, rest, bare);
  if (!size) return fail(std::move(size).error());
  if (rest.empty()) return Memory{*size, MemoryPer::unstated};
  // sacct's ReqMem up to Slurm 20.11: "4000Mn", "2Gc".
  if (rest == "n") return Memory{*size, MemoryPer::node};
  if (rest == "c") return Memory{*size, MemoryPer::cpu};
  return refuse_size(text, "is not a size of memory");
}

std::string format_size(Bytes size) {
  std::int64_t count = size.count;
  std::size_t unit = 0;
  while (count != 0 && count % 1024 == 0 && unit + 1 < kSizeUnits.size()) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", count, kSizeUnits[unit]);
}

std::string format_memory(const Memory& memory) {
  std::string text = format_size(memory.size);
  if (memory.per == MemoryPer::node) text += 'n';
  if (memory.per == MemoryPer::cpu) text += 'c';
  return text;
}

std::string format_slurm_memory(Bytes size) {
  constexpr std::int64_t kMib = mib(1).count;
  // Rounded up: a job must not get less than it asked for.
  return fmt::format("{}M", size.count / kMib + (size.count % kMib > 0 ? 1 : 0));
}

std::string describe_size(Bytes size) {
  if (size.count < 0) {
    // The lowest number has no positive twin; nobody will miss its last byte.
    const std::int64_t count = std::max(size.count, -std::numeric_limits<std::int64_t>::max());
    return "-" + describe_size({-count});
  }
  if (size.count < 1024) return fmt::format("{} {}", size.count, size.count == 1 ? "byte" : "bytes");
  std::size_t unit = 1;
  while (unit + 1 < kSizeUnits.size() && (size.count >> (10 * (unit + 1))) > 0) ++unit;
  const std::int64_t whole = size.count >> (10 * unit);
  const std::int64_t rest = (size.count >> (10 * (unit - 1))) & 1023;
  const std::int64_t tenth = rest * 10 / 1024;
  if (whole < 10 && tenth > 0) return fmt::format("{}.{} {}iB", whole, tenth, kSizeUnits[unit]);
  return fmt::format("{} {}iB", whole, kSizeUnits[unit]);
}

}  // namespace sickbay
