// SPDX-License-Identifier: Apache-2.0
// Rows of a SQL result as they come, in the formats of `sickbay sql`.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/duckdb/database.h"
#include "apps/cli/page.h"

namespace sickbay::cli {

/// A table is laid out when all its rows are known, so it holds no more than these.
inline constexpr std::size_t kTableRows = 10'000;

/// Takes a result and gives its text to a sink, piece by piece.
class SqlText {
 public:
  using Sink = std::function<void(std::string_view)>;
  virtual ~SqlText() = default;
  virtual void head(const std::vector<duck::ResultColumn>& columns) = 0;
  /// False: no more are wanted.
  virtual bool row(const std::vector<duck::Value>& values) = 0;
  /// After the last row; nothing where head() was not called (a statement without a result).
  virtual void end() = 0;
  /// Rows were left out.
  virtual bool cut() const { return false; }

  /// `format` is table, csv, json or jsonl; null for another.
  ///   table  for people: NULL and '' are written out, so that no column vanishes
  ///   csv    RFC 4180 with \n line ends; NULL is empty, an empty text is ""
  ///   json   one array of objects, an object a line; jsonl: the objects alone
  /// Times are RFC 3339 in UTC.
  static std::unique_ptr<SqlText> make(std::string_view format, const TextPage& page, Sink sink);
};

}  // namespace sickbay::cli
