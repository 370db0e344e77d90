// SPDX-License-Identifier: Apache-2.0
#include "model/keep_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/words.h"

namespace sickbay {
namespace {

constexpr std::string_view kHello = "sickbay-keep";
constexpr std::int64_t kKeepVersion = 1;
constexpr std::int64_t kMostKeepNumber = std::int64_t{1} << 53;

bool is_hex(std::string_view text) {
  return text.size() == kKeepHex &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

struct KeepForm {
  KeepWhat what;
  std::string_view word;
  bool of_a_pack, of_bytes;
};
constexpr auto kKeepForms = std::to_array<KeepForm>({{KeepWhat::pack, "get", true, false},
                                                     {KeepWhat::part, "part", true, true},
                                                     {KeepWhat::needs, "needs", true, false},
                                                     {KeepWhat::head, "head", false, false},
                                                     {KeepWhat::parity, "xor", false, true}});

std::string unsealed(const KeepRequest& request) {
  const KeepForm& form = kKeepForms[static_cast<std::size_t>(request.what)];
  std::string line = fmt::format("{} {}", form.word, request.number);
  if (form.of_a_pack) line += fmt::format(" {} {}", request.rank, request.sha256);
  if (form.of_bytes) line += fmt::format(" {} {}", request.from, request.size);
  return line;
}

// The words of a line, read strictly: see line_is().
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view word() { return next_word(rest_); }
  bool word(std::string_view wanted) { return word() == wanted; }
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
  return fmt::format("{} {} {}", kHello, kKeepVersion, greeting.nonce);
}
std::string format_keep(const KeepRequest& request) { return unsealed(request) + " " + request.seal; }
std::string format_keep(const KeepAnswer& answer) {
  return answer.bytes ? fmt::format("ok {}", *answer.bytes) : "none";
}

Result<KeepGreeting> parse_keep_greeting(std::string_view line) {
  Words words(line);
  const bool hello = words.word(kHello) && words.number(kKeepVersion, kKeepVersion);
  const auto nonce = words.hex();
  return hello && nonce ? line_is(line, KeepGreeting{*nonce}) : refused(line);
}

Result<KeepRequest> parse_keep_request(std::string_view line) {
  constexpr auto kMostBytes = static_cast<std::int64_t>(kMostKeepBytes);
  Words words(line);
  const auto form = std::ranges::find(kKeepForms, words.word(), &KeepForm::word);
  const auto number = words.number(1, kMostKeepNumber);
  if (form == kKeepForms.end() || !number) return refused(line);
  KeepRequest request{.what = form->what, .number = *number};
  if (form->of_a_pack) {
    const auto rank = words.number(0, kMostKeepNumber);
    auto sha256 = words.hex();
    if (!rank || !sha256) return refused(line);
    request.rank = *rank;
    request.sha256 = std::move(*sha256);
  }
  if (form->of_bytes) {
    const auto from = words.number(0, kMostBytes), size = words.number(0, kMostBytes);
    if (!from || !size) return refused(line);
    request.from = static_cast<std::uint64_t>(*from);
    request.size = static_cast<std::uint64_t>(*size);
  }
  auto seal = words.hex();
  if (!seal) return refused(line);
  request.seal = std::move(*seal);
  return line_is(line, request);
}

Result<KeepAnswer> parse_keep_answer(std::string_view line) {
  if (line == "none") return KeepAnswer{};
  Words words(line);
  const bool ok = words.word("ok");
  const auto bytes = words.number(0, static_cast<std::int64_t>(kMostKeepBytes));
  return ok && bytes ? line_is(line, KeepAnswer{static_cast<std::uint64_t>(*bytes)}) : refused(line);
}

std::string format_keep_needs(const std::vector<KeepPack>& packs) {
  std::string text;
  for (const KeepPack& one : packs) text += fmt::format("{} {} {}\n", one.number, one.size, one.sha256);
  return text;
}

Result<std::vector<KeepPack>> parse_keep_needs(std::string_view text) {
  std::vector<KeepPack> packs;
  std::string_view rest = text;
  while (packs.size() < kMostKeepNeeds) {
    const auto line = next_line(rest);
    if (!line) break;
    Words words(*line);
    const auto number = words.number(1, kMostKeepNumber);
    const auto size = words.number(0, static_cast<std::int64_t>(kMostKeepBytes));
    auto sha256 = words.hex();
    if (!number || !size || !sha256) return refused(*line);
    packs.push_back({*number, static_cast<std::uint64_t>(*size), std::move(*sha256)});
  }
  if (packs.empty() || format_keep_needs(packs) != text) return refused(text);
  return packs;
}

std::string seal_text(const std::string& nonce, const KeepRequest& request) {
  // With the nonce of this connection: a line that somebody has listened to is worth nothing in the next.
  return nonce + " " + unsealed(request);
}

}  // namespace sickbay
