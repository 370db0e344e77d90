// SPDX-License-Identifier: Apache-2.0
#include "workload/report/row_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "workload/report/in_period.h"

namespace sickbay::workload {
namespace {

constexpr std::int64_t kBlock = 122'880;  // rows that DuckDB takes or leaves as one
constexpr std::size_t kMostRanges = 16;   // of a condition; what lies between two becomes part of it

// Joins what is nearest until no more than kMostRanges are left.
std::vector<RowRange> joined(std::vector<RowRange> ranges) {
  while (ranges.size() > kMostRanges) {
    std::size_t nearest = 1;
    const auto gap = [&](std::size_t i) { return ranges[i].first - ranges[i - 1].last; };
    for (std::size_t i = 2; i < ranges.size(); ++i)
      if (gap(i) < gap(nearest)) nearest = i;
    ranges[nearest - 1].last = ranges[nearest].last;
    ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(nearest));
  }
  return ranges;
}

// Of a column, over the blocks; of none the least is greater than the most.
struct Extent {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(),
               most = std::numeric_limits<std::int64_t>::min();
  void take(const duck::Value& from, const duck::Value& to) {
    const auto* first = std::get_if<std::int64_t>(&from);
    if (first == nullptr) return;
    least = std::min(least, *first);
    most = std::max(most, std::get<std::int64_t>(to));
  }
};

// By blocks: one job that never ended, of years ago, has something in each period since.
Result<Stand> rows_of(duck::Connection& connection, const Bounds& bounds, std::int64_t all) {
  Stand stand;
  if (bounds.none()) return stand;
  auto found = connection.query(
      fmt::format("SELECT min(rowid), max(rowid), min(job_id_raw), max(job_id_raw), epoch_us(min(end_time)), "
                  "epoch_us(max(end_time)), count(*) = count(end_time) FROM jobs WHERE {} "
                  "GROUP BY rowid // {} ORDER BY 1",
                  touches_sql(bounds), kBlock));
  if (!found) return fail(std::move(found.error()).in("looking where the jobs of the period stand"));
  std::vector<RowRange>& ranges = stand.rows;
  Extent ids, ends;
  bool all_end = true;
  std::int64_t read = 0;
  for (const auto& row : found->rows) {
    const RowRange here{std::get<std::int64_t>(row[0]), std::get<std::int64_t>(row[1])};
    ids.take(row[2], row[3]);
    ends.take(row[4], row[5]);
    all_end = all_end && std::get<bool>(row[6]);
    read += here.last / kBlock - here.first / kBlock + 1;
    if (!ranges.empty() && here.first / kBlock == ranges.back().last / kBlock + 1)
      ranges.back().last = here.last;
    else
      ranges.push_back(here);
  }
  if (ranges.empty()) ranges.push_back({0, -1});
  if (read * kBlock * 2 >= all + kBlock) return Stand();
  ranges = joined(std::move(ranges));
  stand.ids =
      ids.least <= ids.most ? std::pair(ids.least, ids.most) : std::pair<std::int64_t, std::int64_t>(0, -1);
  if (all_end && ends.least <= ends.most)
    stand.ends = std::pair(from_micros(ends.least), from_micros(ends.most));
  return stand;
}

}  // namespace

Status find_rows(duck::Connection& connection, ViewOrder& order) {
  order.stand = order.compare_stand = {};
  // Where jobs are guessed from others like them, the others may stand anywhere.
  if (order.filter.like) return {};
  auto tables =
      connection.number("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'jobs' AND NOT temporary");
  if (!tables || *tables == 0) return tables ? Status() : fail(std::move(tables.error()));
  auto all = connection.number("SELECT count(*) FROM jobs");
  if (!all) return fail(std::move(all.error()));
  auto rows = rows_of(connection, {order.filter.from, order.filter.to}, *all);
  if (!rows) return fail(std::move(rows.error()));
  order.stand = std::move(*rows);
  if (!order.compare) return {};
  auto compared = rows_of(connection, {order.compare->from, order.compare->to}, *all);
  if (!compared) return fail(std::move(compared.error()));
  order.compare_stand = std::move(*compared);
  return {};
}

}  // namespace sickbay::workload
