// SPDX-License-Identifier: Apache-2.0
// What the standby and the active say to each other about what users submitted (doc/design/standby.md).
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/job.h"

namespace sickbay {

inline constexpr std::string_view kCasesTarget = "/v1/standby/cases";
/// Another number: the two do not understand each other.
inline constexpr std::int64_t kCasesFormat = 1;
/// Of cases that one ask names, or one list has.
inline constexpr std::size_t kMostCases = 10'000;

/// "What was submitted for these cases?"; without cases: "of which after that one do you have it?"
struct CasesAsk {
  std::vector<std::int64_t> cases;
  std::int64_t after = 0;
};

struct CasesAnswer {
  std::string name;       ///< of the active
  std::int64_t term = 0;  ///< in which it is that
  std::vector<std::pair<std::int64_t, Submission>> submitted;
  // Of those that were asked for; what is in none of the three is to be asked for again.
  std::vector<std::int64_t> gone, unreadable;
  std::vector<std::int64_t> listed;  ///< ascending
  bool is_end = true;                ///< of the list
};

Json to_json(const CasesAsk& ask);
Json to_json(const CasesAnswer& answer);
/// Errors: bad_input; too_new for another format.
Result<CasesAsk> cases_ask_from(const Json& json);
Result<CasesAnswer> cases_answer_from(const Json& json);

}  // namespace sickbay
