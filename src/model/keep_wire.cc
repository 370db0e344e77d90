// SPDX-License-Identifier: Apache-2.0
#include "model/keep_wire.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/words.h"

namespace sickbay {
namespace {

constexpr std::string_view kHello = "sickbay-keep";
constexpr std::int64_t kVersion = 1;

bool is_hex(std::string_view text) {
  return text.size() == kKeepHex &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// The words of a line, read strictly: see line_is().
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  bool word(std::string_view wanted) { return next_word(rest_) == wanted; }
  std::optional<std::int64_t> number(std::int64_t least, std::int64_t most) {
    const auto value = to_integer(next_word(rest_));
    return value && *value >= least && *value <= most ? value : std::nullopt;
  }
  std::optional<std::string> hex() {
    const std::string_view word = next_word(rest_);
    return is_hex(word) ? std::optional(std::string(word)) : std::nullopt;
  }

 private:
  std::string_view rest_;
};

tl::unexpected<Error> refused(std::string_view line) {
  return fail(Error(ErrorCode::bad_input, fmt::format("no word of a keeper of checkpoints: {}",
                                                      quote_for_message(line.substr(0, 80))))
                  .remedied_by("see whether another program answers there, or another version"));
}

// Blanks, signs and zeros in front make the same values and are no such line.
template <class T>
Result<T> line_is(std::string_view line, const T& read) {
  return line.size() < kMostKeepLine && format_keep(read) == line ? Result<T>(read) : refused(line);
}

}  // namespace

std::string format_keep(const KeepGreeting& greeting) {
  return fmt::format("{} {} {}", kHello, kVersion, greeting.nonce);
}
std::string format_keep(const KeepRequest& request) {
  return fmt::format("get {} {} {} {}", request.number, request.rank, request.sha256, request.seal);
}
std::string format_keep(const KeepAnswer& answer) {
  return answer.bytes ? fmt::format("ok {}", *answer.bytes) : "none";
}

Result<KeepGreeting> parse_keep_greeting(std::string_view line) {
  Words words(line);
  const bool hello = words.word(kHello) && words.number(kVersion, kVersion);
  const auto nonce = words.hex();
  return hello && nonce ? line_is(line, KeepGreeting{*nonce}) : refused(line);
}

Result<KeepRequest> parse_keep_request(std::string_view line) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  Words words(line);
  const bool get = words.word("get");
  const auto number = words.number(1, kMost), rank = words.number(0, kMost);
  const auto sha256 = words.hex(), seal = words.hex();
  if (!get || !number || !rank || !sha256 || !seal) return refused(line);
  return line_is(line, KeepRequest{*number, *rank, *sha256, *seal});
}

Result<KeepAnswer> parse_keep_answer(std::string_view line) {
  if (line == "none") return KeepAnswer{};
  Words words(line);
  const bool ok = words.word("ok");
  const auto bytes = words.number(0, static_cast<std::int64_t>(kMostKeepBytes));
  return ok && bytes ? line_is(line, KeepAnswer{static_cast<std::uint64_t>(*bytes)}) : refused(line);
}

std::string seal_text(const std::string& nonce, const KeepRequest& request) {
  return fmt::format("{} get {} {} {}", nonce, request.number, request.rank, request.sha256);
}

}  // namespace sickbay
