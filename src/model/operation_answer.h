// SPDX-License-Identifier: Apache-2.0
// OperationAnswer: what an operation that is an executable said, by its exit code and its standard output.
//
// A fault must be said twice, by the exit code and in the answer: a shell script that stops at an error of
// its own ends with 1, too, and must not take a node out.  Source: doc/formats/operation.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace sickbay {

struct OperationAnswer {
  enum class Result : std::uint8_t { ok, fault, unknown } result = Result::unknown;
  Json outputs = Json::object();  ///< empty where the result is unknown
  std::string text;               ///< for people; the reason where it is unknown
};

inline constexpr std::size_t kMaxAnswerText = 4096;  ///< bytes of `text`; the rest is cut

/// Total: what does not fit the protocol is unknown, and the text says what.  `err` is standard error, of
/// which the last line is used where there is nothing better.
OperationAnswer parse_operation_answer(int exit_code, std::string_view out, std::string_view err);

}  // namespace sickbay
