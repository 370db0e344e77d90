// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/http_signature.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr std::string_view kRequest = "sickbay-request 1", kAnswer = "sickbay-answer 1";
constexpr std::string_view kScheme = "Munge ";
constexpr std::size_t kDigestDigits = 64, kNonceDigits = 32;
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of(kHexDigits) == std::string_view::npos;
}
// No blank, no line end, nothing that a terminal would obey.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

tl::unexpected<Error> broken(std::string_view text) {
  return fail(Error(ErrorCode::bad_input, "no signature of Sickbay: " + quote_for_message(text))
                  .remedied_by("use the same version of Sickbay on both hosts"));
}

// The lines of a payload that begins with `head`; empty where it is none or has not `count` of them.
std::vector<std::string_view> lines_of(std::string_view text, std::string_view head, std::size_t count) {
  std::vector<std::string_view> lines;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    lines.push_back(text.substr(0, end));
  // Each line ends, and there is not one more: no two requests have the same text.
  if (!text.empty() || lines.size() != count + 1 || lines.front() != head) return {};
  lines.erase(lines.begin());
  return lines;
}

std::string payload(std::string_view head, std::initializer_list<std::string_view> lines) {
  std::string text(head);
  text += '\n';
  for (const std::string_view line : lines) text.append(line).append("\n");
  return text;
}

}  // namespace

std::string RequestSignature::text() const {
  return payload(kRequest, {method, target, key, body_digest, nonce});
}

Result<RequestSignature> RequestSignature::parse(std::string_view text) {
  const auto lines = lines_of(text, kRequest, 5);
  if (lines.empty() || lines[0].empty() || !lines[1].starts_with('/') || !is_plain(lines[0]) ||
      !is_plain(lines[1]) || !is_plain(lines[2]) || !is_hex(lines[3], kDigestDigits) ||
      !is_hex(lines[4], kNonceDigits))
    return broken(text);
  return RequestSignature{std::string(lines[0]), std::string(lines[1]), std::string(lines[2]),
                          std::string(lines[3]), std::string(lines[4])};
}

std::string AnswerSignature::text() const {
  return payload(kAnswer, {std::to_string(status), body_digest, nonce});
}

Result<AnswerSignature> AnswerSignature::parse(std::string_view text) {
  const auto lines = lines_of(text, kAnswer, 3);
  if (lines.empty() || lines[0].size() != 3 || !is_digit(lines[0][0]) || lines[0][0] == '0' ||
      !is_digit(lines[0][1]) || !is_digit(lines[0][2]) || !is_hex(lines[1], kDigestDigits) ||
      !is_hex(lines[2], kNonceDigits))
    return broken(text);
  AnswerSignature answer{0, std::string(lines[1]), std::string(lines[2])};
  std::from_chars(lines[0].data(), lines[0].data() + lines[0].size(), answer.status);
  return answer;
}

Result<std::string> credential_of(std::string_view header_value) {
  if (!header_value.starts_with(kScheme))
    return fail(Error(ErrorCode::denied,
                      header_value.empty() ? "there is no credential" : "the credential is none of MUNGE's")
                    .because("over TCP both sides sign what they say")
                    .remedied_by("use the Unix socket, or sign as doc/formats/api.md says"));
  return std::string(trimmed(header_value.substr(kScheme.size())));
}

std::string new_nonce() {
  std::array<unsigned char, kNonceDigits / 2> bits{};
  SB_CHECK(::getrandom(bits.data(), bits.size(), 0) == static_cast<ssize_t>(bits.size()),
           "the kernel has random bits");
  std::string text;
  for (const unsigned char byte : bits) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

}  // namespace sickbay
