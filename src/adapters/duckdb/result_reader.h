// SPDX-License-Identifier: Apache-2.0
// DuckDB's vectors as Values.
//
// A TypeTree is made once for each column of a result, then each value is read by it; what has no Value of
// its own becomes text (the table is at duck::Value in database.h).
#pragma once
#include <string>
#include <vector>

#include "adapters/duckdb/database.h"
#include "adapters/duckdb/library.h"
#include "base/json.h"

namespace sickbay::duck {

struct TypeTree {
  duckdb_type id = DUCKDB_TYPE_INVALID;
  duckdb_type stored = DUCKDB_TYPE_INVALID;  ///< of DECIMAL and ENUM: the integer in the vector
  int scale = 0;                             ///< of DECIMAL
  std::uint64_t length = 0;                  ///< of ARRAY
  std::vector<std::string> names;            ///< members of STRUCT; words of ENUM
  std::vector<TypeTree> children;  ///< of LIST, ARRAY: 1; of MAP: key, value; of STRUCT: its members

  /// The tree of `type`.  Errors: bad_input for a type that has no text (BIT, UNION, ...).
  static Result<TypeTree> of(duckdb_logical_type type);
  /// What a column of it is for people.
  Type shown() const;
};

/// The value in row `row` of `vector`; NULL is std::monostate.
Value value_at(const TypeTree& type, duckdb_vector vector, std::uint64_t row);

}  // namespace sickbay::duck
