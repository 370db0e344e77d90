// SPDX-License-Identifier: Apache-2.0
// What a file was that a run reads: its size, its time and, where it is small enough, its digest.
//
// Taken when the first run is submitted (apps/cli/cases/inputs.h) and compared before a run that is to repeat
// it (apps/folder): a run on other input says nothing of the first one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace sickbay {

inline constexpr std::uint64_t kInputBytes = 64ULL << 20;      ///< longer ones: size and time only
inline constexpr std::uint64_t kAllInputBytes = 256ULL << 20;  ///< of one case
inline constexpr std::size_t kMostInputs = 64;                 ///< the journal keeps them for good

struct InputFile {
  std::string path;    ///< absolute
  std::string digest;  ///< SHA-256 in hex; empty: too long for one
  std::uint64_t size = 0;
  TimePoint mtime = kNoTime;
  bool program = false;  ///< it may be executed: without it a second run is none of the same program

  Json to_json() const;
  static InputFile from_json(const Json& json);
  friend bool operator==(const InputFile&, const InputFile&) = default;
};

/// A SHA-256 in lower-case hex, or nothing.
bool is_digest(std::string_view text);

/// A list as POST /v1/cases has it (null: none).  Errors: bad_input (no list, too long, a path that is not
/// absolute or over 4096 bytes, a digest that is none).
Result<std::vector<InputFile>> read_inputs(const Json& list);

}  // namespace sickbay
