// SPDX-License-Identifier: Apache-2.0
// The words of an expression: numbers, texts, names and the signs that are allowed.  For expression.cc alone.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::diagnose {

struct Token {
  enum class Kind : std::uint8_t { end, number, text, name, sign } kind = Kind::end;
  std::string_view spelled;  ///< as in the expression
  double number = 0;
  std::string text;        ///< of a text literal, its escapes undone; UTF-8
  std::size_t offset = 0;  ///< in the expression
};

/// The token at `offset` (blanks skipped) and, in `offset`, where the next one begins.
/// Errors: bad_input for what is no token, or one that no expression may hold (";", "=", "[", a comment ...).
Result<Token> next_token(std::string_view expression, std::size_t& offset);

/// The refusal of what stands at `offset`: "WHAT at column N".
tl::unexpected<Error> refuse(std::string what, std::size_t offset);

/// `utf8` as an ECMAScript literal in double quotes, ASCII only.
std::string text_literal(std::string_view utf8);

}  // namespace sickbay::diagnose
