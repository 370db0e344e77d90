// SPDX-License-Identifier: Apache-2.0
// An error as a part of another sentence.
#pragma once
#include <string>

#include "base/result.h"

namespace sickbay {

/// "what: cause"; without its remedy, for whoever reads it cannot act on it here.
inline std::string what_and_cause(const Error& error) {
  return error.cause.empty() ? error.what : error.what + ": " + error.cause;
}

}  // namespace sickbay
