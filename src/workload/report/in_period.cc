// SPDX-License-Identifier: Apache-2.0
#include "workload/report/in_period.h"

#include <fmt/format.h>

namespace sickbay::workload {
namespace {

constexpr const char* kRunBegin =
    "coalesce(start_time, end_time - to_seconds(coalesce(elapsed, 0)), submit_time)";

// What goes backwards (a wrong clock) lasts as long as its run time says.
std::string run_end() {
  return fmt::format(
      "CASE WHEN end_time > {0} THEN end_time ELSE {0} + to_seconds(greatest(coalesce(elapsed, 0), 1)) END",
      kRunBegin);
}

std::string literal(TimePoint t) { return fmt::format("make_timestamp({})", to_micros(t)); }

std::string at_least(const std::string& time, const Bounds& bounds) {
  return bounds.from ? fmt::format("greatest({}, {})", time, literal(*bounds.from)) : time;
}
std::string at_most(const std::string& time, const Bounds& bounds) {
  return bounds.to ? fmt::format("least({}, {})", time, literal(*bounds.to)) : time;
}

// Of [begin, end), which is not empty, the share within the period.  `first` and `last` are the columns that
// these are for nearly all jobs.
std::string share_sql(const std::string& begin, const std::string& end, std::string_view first,
                      std::string_view last, const Bounds& bounds) {
  if (bounds.none()) return {};
  // (Most lie within as a whole, which is cheap to see.)
  std::string inside = fmt::format("{} > {}", last, first);
  if (bounds.from) inside += fmt::format(" AND {} >= {}", first, literal(*bounds.from));
  if (bounds.to) inside += fmt::format(" AND {} <= {}", last, literal(*bounds.to));
  return fmt::format(
      "CASE WHEN {} THEN 1.0::DOUBLE ELSE "
      "greatest(0, epoch_us({}) - epoch_us({})) / (epoch_us({}) - epoch_us({}))::DOUBLE END",
      inside, at_most(end, bounds), at_least(begin, bounds), end, begin);
}

}  // namespace

std::string run_begin_sql() { return kRunBegin; }

std::string touches_sql(const Bounds& bounds) {
  std::string sql;
  // One comparison each: of an OR DuckDB sorts the rows that its parts chose, which is dearer than all else
  // here.  A job without an end may still run; one that ends before it began has a wrong clock.
  if (bounds.from)
    sql += fmt::format(
        "greatest(coalesce(end_time, TIMESTAMP 'infinity'), submit_time, "
        "CASE WHEN end_time <= start_time THEN TIMESTAMP 'infinity' END) >= {}",
        literal(*bounds.from));
  if (bounds.to)
    sql += fmt::format(
        "{}least(submit_time, start_time, end_time, "
        "CASE WHEN start_time IS NULL THEN end_time - to_seconds(elapsed) END) < {}",
        sql.empty() ? "" : "\n  AND ", literal(*bounds.to));
  return sql;
}

std::string within_sql(const Bounds& bounds) {
  return share_sql(kRunBegin, run_end(), "start_time", "end_time", bounds);
}

std::string wait_within_sql(const Bounds& bounds) {
  const std::string wait = share_sql("submit_time", "start_time", "submit_time", "start_time", bounds);
  return wait.empty() ? wait : fmt::format("CASE WHEN start_time > submit_time THEN {} ELSE 0 END", wait);
}

std::string lies_in_sql(const std::string& time, const Bounds& bounds) {
  if (bounds.none()) return "true";
  std::string sql;
  if (bounds.from) sql += fmt::format("{} >= {}", time, literal(*bounds.from));
  if (bounds.to) sql += fmt::format("{}{} < {}", sql.empty() ? "" : " AND ", time, literal(*bounds.to));
  return fmt::format("coalesce({}, false)", sql);
}

std::string runs_in_sql(const Bounds& bounds) {
  if (bounds.none()) return "true";
  std::string sql;
  if (bounds.to) sql += fmt::format("{} < {}", kRunBegin, literal(*bounds.to));
  if (bounds.from)
    sql += fmt::format("{}{} > {}", sql.empty() ? "" : " AND ", run_end(), literal(*bounds.from));
  return fmt::format("coalesce({}, false)", sql);
}

std::string run_begins_sql(const Bounds& bounds) { return at_least(kRunBegin, bounds); }
std::string run_ends_sql(const Bounds& bounds) { return at_most(run_end(), bounds); }

}  // namespace sickbay::workload
