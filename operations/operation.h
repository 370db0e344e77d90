// SPDX-License-Identifier: Apache-2.0
// The protocol of an operation (doc/formats/operation.md), for those in C++.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>

#include "base/json.h"

namespace operation {

using sickbay::Json;

[[noreturn]] inline void answer(int exit_code, const char* result, Json outputs, const std::string& text) {
  std::puts(
      Json::object({{"result", result}, {"outputs", std::move(outputs)}, {"text", text}}).dump().c_str());
  std::fflush(stdout);
  std::_Exit(exit_code);
}
[[noreturn]] inline void ok(Json outputs, const std::string& text = "") {
  answer(0, "ok", std::move(outputs), text);
}
[[noreturn]] inline void fault(Json outputs, const std::string& text) {
  answer(1, "fault", std::move(outputs), text);
}
[[noreturn]] inline void unknown(const std::string& why) { answer(2, "unknown", Json::object(), why); }

/// What is asked; ends with unknown where that is no JSON.
inline Json request() {
  const std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  auto json = Json::parse(text);
  if (!json) unknown("standard input: " + json.error().what);
  return std::move(*json);
}

}  // namespace operation
