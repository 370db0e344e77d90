// SPDX-License-Identifier: Apache-2.0
// What the standby and the active say to each other about rows of the journal (doc/design/standby.md).
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ports/journal_rows.h"

namespace sickbay {

inline constexpr std::string_view kRowsTarget = "/v1/standby/rows";
/// Another number: the two do not understand each other.
inline constexpr std::int64_t kRowsFormat = 1;

/// "I have all up to here; what comes after it?"
struct RowsAsk {
  JournalCopy::Place after;
  bool anew = false;  ///< of a copy that is being made: what it has is not acknowledged
  bool mark = false;  ///< where nothing comes after it, what all of it is known by
};

struct RowsAnswer {
  std::string name;       ///< of the active
  std::int64_t term = 0;  ///< in which it is that
  bool fits = true;       ///< it has the row that was named; else the asker must begin anew
  std::int64_t last = 0;  ///< of its journal
  std::vector<JournalRow> rows;
  std::string mark;  ///< "": not asked for, or rows come after it
};

Json to_json(const RowsAsk& ask);
Json to_json(const RowsAnswer& answer);
/// Errors: bad_input.
Result<RowsAsk> rows_ask_from(const Json& json);
/// Errors: bad_input; too_new for another format.
Result<RowsAnswer> rows_answer_from(const Json& json);

}  // namespace sickbay
