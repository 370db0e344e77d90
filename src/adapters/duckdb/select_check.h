// SPDX-License-Identifier: Apache-2.0
// Whether SQL that others wrote may run: one SELECT that calls only table functions that read.
//
// A SELECT can do more than read: `SELECT * FROM enable_logging(...)` changes what the process does (and, in
// v1.4.4 without file access, ends it by an exception in a destructor), `arrow_scan` takes a pointer, `query`
// and `json_execute_serialized_sql` take SQL as a text, past any check.  So the parsed SQL is looked at
// before anything in it is bound, and table functions that are not known to read are refused.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::duck {

struct Session;

/// What DuckDB's own serialised parse says of `sql`.
struct SelectCheck {
  bool is_select = false;  ///< one that can be looked into
  std::string refused;     ///< the first table function in it that may not be called; empty: none
};

/// Errors: internal when DuckDB cannot be asked.
Result<SelectCheck> check_select(Session& session, std::string_view sql);

}  // namespace sickbay::duck
