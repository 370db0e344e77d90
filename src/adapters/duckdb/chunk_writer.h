// SPDX-License-Identifier: Apache-2.0
// ChunkWriter: rows of ours into DuckDB's own vectors, without a call for a value.
//
// Hundreds of millions of values pass here in an import, so the setters are inline and write where DuckDB
// will read; only a long text (over 12 bytes) and the first NULL of a column call the library.  duckdb.h
// stays out of this header: the layout of a text (16 bytes: length and 12 bytes, or a prefix and a pointer)
// is compared with it in source.cc.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::duck {

enum class Type : std::uint8_t { text, integer, real, boolean, time };  ///< time: microseconds since 1970 UTC

/// One thread's way to write rows of a source.  Every column of every row must be set, by a setter that fits
/// its type; texts are copied and must be UTF-8.
class ChunkWriter final {
 public:
  explicit ChunkWriter(const std::vector<Type>& types) {
    for (const Type type : types)
      columns_.push_back({nullptr, nullptr, nullptr, type == Type::time ? Type::integer : type});
  }

  void set_null(std::size_t column) {
    Column& c = columns_[column];
    if (c.validity == nullptr) allow_nulls(c);
    c.validity[row_ / 64] &= ~(std::uint64_t{1} << (row_ % 64));
  }
  void set(std::size_t column, std::int64_t value) {  ///< integer; time in microseconds
    static_cast<std::int64_t*>(valid(column, Type::integer).data)[row_] = value;
  }
  void set(std::size_t column, double value) {
    static_cast<double*>(valid(column, Type::real).data)[row_] = value;
  }
  void set(std::size_t column, std::string_view value) {
    Column& c = valid(column, Type::text);
    if (value.size() > kInlined) return set_long(c, value);
    char* at = static_cast<char*>(c.data) + row_ * kTextSize;
    const auto length = static_cast<std::uint32_t>(value.size());
    std::memset(at, 0, kTextSize);  // equality compares all 16 bytes
    std::memcpy(at, &length, sizeof length);
    if (length > 0) std::memcpy(at + sizeof length, value.data(), length);
  }
  void set_bool(std::size_t column, bool value) {
    static_cast<bool*>(valid(column, Type::boolean).data)[row_] = value;
  }
  void end_row() { ++row_; }
  /// A row that is not ended is forgotten.
  bool full() const { return row_ >= capacity_; }

 private:
  friend class SourceCalls;  // source.cc: points it to a chunk, and asks for the number of rows
  struct Column {
    void* data;
    std::uint64_t* validity;  ///< null until the column has its first NULL in this chunk
    void* vector;
    Type type;
  };
  Column& valid(std::size_t column, Type type) {
    Column& c = columns_[column];
    SB_CHECK(c.type == type, "the setter must fit the column");
    // Only after a set_null() of the same row is this more than a test.
    if (c.validity != nullptr) c.validity[row_ / 64] |= std::uint64_t{1} << (row_ % 64);
    return c;
  }
  static void allow_nulls(Column& column);
  void set_long(Column& column, std::string_view value);

  static constexpr std::size_t kInlined = 12, kTextSize = 16;
  std::vector<Column> columns_;
  std::size_t row_ = 0, capacity_ = 0;
};

}  // namespace sickbay::duck
