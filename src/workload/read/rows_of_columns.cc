// SPDX-License-Identifier: Apache-2.0
#include "workload/read/rows_of_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "workload/read/lines.h"

namespace sickbay::workload {
namespace {

// A byte that no text of a log has; where one has it, it becomes a blank.
constexpr char kBetween = '\x1f';

// The text that stands for `field` to sacct's parsers.  What is no number stays as it is: "2-00:00:00" in a
// column of seconds says its unit itself.
std::string_view turned(std::string_view field, Turn turn, Arena& arena) {
  std::int64_t n = 0;
  if (turn == Turn::none || !parse_integer(field, n, true) || n < 0) return field;
  std::int64_t unit = 1;
  switch (turn) {
    case Turn::whole:
      return field.substr(0, field.find('.'));
    case Turn::mib:
      return arena.copy(fmt::format("{}M", field));
    case Turn::kib:
      return arena.copy(fmt::format("{}K", field));
    case Turn::bytes:
      return arena.copy(fmt::format("{}B", field.substr(0, field.find('.'))));
    case Turn::gpus:
      return arena.copy(fmt::format("gres/gpu={}", n));
    case Turn::minutes:
      unit = 60'000;
      break;
    case Turn::seconds:
      unit = 1000;
      break;
    default:
      break;
  }
  if (!multiply(n, unit, n)) return field;
  const std::int64_t seconds = n / 1000;
  if (seconds > 99'999'999'999) return field;
  const auto clock = fmt::format("{}-{:02}:{:02}:{:02}", seconds / 86400, seconds / 3600 % 24,
                                 seconds / 60 % 60, seconds % 60);
  return arena.copy(turn == Turn::milliseconds ? fmt::format("{}.{:03}", clock, n % 1000) : clock);
}

}  // namespace

RowsOfColumns::RowsOfColumns(const std::vector<MappedColumn>& columns, TimeZone zone, std::string cluster)
    : columns_(columns), job_column_(columns.size()) {
  sacct::Layout layout;
  layout.delimiter = kBetween;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const sacct::Column* column = sacct::find_column(columns[i].sacct);
    if (column == nullptr || column->op == sacct::Op::none) continue;
    wanted_.push_back(i);
    layout.names.push_back(columns[i].sacct);
    const bool raw = column->op == sacct::Op::job_id_raw;
    if (column->op == sacct::Op::job_id || (raw && job_column_ == columns.size())) job_column_ = i;
  }
  reader_ = std::make_unique<sacct::SacctReader>(std::move(layout), std::move(zone), std::move(cluster));
}

std::string_view RowsOfColumns::job_id(std::span<const std::string_view> fields) const {
  return job_column_ < fields.size() ? trimmed(fields[job_column_]) : std::string_view();
}

bool RowsOfColumns::parse(std::span<const std::string_view> fields, Arena& arena, Rows& rows,
                          std::string& reason) const {
  thread_local std::string joined;
  joined.clear();
  bool newline = false;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (i > 0) joined += kBetween;
    const std::size_t column = wanted_[i];
    if (column >= fields.size()) continue;  // a row that ends early: nothing is known of the rest
    const auto text = turned(trimmed(fields[column]), columns_[column].turn, arena);
    newline = newline || text.find('\n') != std::string_view::npos;
    const std::size_t from = joined.size();
    joined += text;
    std::replace(joined.begin() + static_cast<std::ptrdiff_t>(from), joined.end(), kBetween, ' ');
  }
  if (!reader_->parse(arena.copy(joined), arena, rows, reason)) return false;
  // A newline between quotes is where it belongs; nothing was put together.
  Row& row = rows[rows.size() - 1];
  if (newline && row.has(Num::repairs)) {
    const std::int64_t left = row.get(Num::repairs) & ~bit(Repair::name_delimiter);
    row.drop(Num::repairs);
    if (left != 0) row.set(Num::repairs, left);
  }
  return true;
}

}  // namespace sickbay::workload
