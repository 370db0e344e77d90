// SPDX-License-Identifier: Apache-2.0
#include "workload/report/run_one.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/duration.h"
#include "base/text.h"
#include "workload/report/head.h"
#include "workload/report/used_columns.h"

namespace sickbay::workload {
namespace {

using Clock = std::chrono::steady_clock;
using duck::Connection;

constexpr std::size_t kMostProgramBytes = 64u << 20;

// Interrupts a connection when the time is up, again and again until this goes: a first interrupt may fall
// between two statements.
class TimeLimit {
 public:
  TimeLimit(Connection& connection, std::chrono::milliseconds limit)
      : watch_([this, &connection, limit] {
          std::unique_lock lock(mutex_);
          auto next = Clock::now() + limit;
          while (!wake_.wait_until(lock, next, [this] { return done_; })) {
            connection.interrupt();
            next = Clock::now() + std::chrono::milliseconds(20);
          }
        }) {}
  ~TimeLimit() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    watch_.join();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread watch_;
};

std::string literal(const Parameter& parameter) {
  if (parameter.type == "text") return duck::quote(parameter.value);
  return fmt::format("CAST({} AS {})", duck::quote(parameter.value),
                     parameter.type == "integer" ? "BIGINT" : "DOUBLE");
}

// The parameters of a report as variables of the connection, for as long as this lives.
class Variables {
 public:
  Variables(Connection& connection, const ReportSpec& spec) : connection_(connection), spec_(spec) {}
  Status set() {
    std::string sql;
    for (const Parameter& p : spec_.parameters)
      sql += fmt::format("SET VARIABLE {} = {};", p.name, literal(p));
    return sql.empty() ? Status() : connection_.execute(sql);
  }
  ~Variables() {
    for (const Parameter& p : spec_.parameters)
      (void)connection_.execute(fmt::format("RESET VARIABLE {}", p.name));
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  Connection& connection_;
  const ReportSpec& spec_;
};

bool says_nothing(const duck::ResultTable& table) {
  for (const auto& row : table.rows)
    if (!std::all_of(row.begin(), row.end(), duck::is_null)) return false;
  return true;
}

// "what: cause" in one line, as a report's `why`.
std::string one_line(const Error& error) {
  std::string text = error.line();
  if (!error.cause.empty()) text += ": " + error.cause;
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out;
}

// DuckDB shows the line at fault and points at its column; what people want is the file and the line.
std::string sql_fault(const Error& error, const ReportSpec& spec) {
  std::string text = one_line(error);
  const std::size_t at = text.find(" LINE ");
  if (at == text.npos) return text;
  const std::size_t digits = at + 6, end = text.find(':', digits);
  if (end == text.npos || text.find_first_not_of("0123456789", digits) != end) return text;
  return fmt::format("{}:{}: {}", spec.path, text.substr(digits, end - digits), text.substr(0, at));
}

// What an executable is told, beside its command.
ProgramOrder program_order(const ReportSpec& spec, const Plugin& plugin, const RunOrder& order,
                           const std::string& views) {
  ProgramOrder program;
  program.argv = spec.command;
  program.argv.push_back(order.store_path);
  program.folder = plugin.folder;
  program.time_limit = order.time_limit;
  program.most_bytes = kMostProgramBytes;
  auto& env = program.environment;
  env = {{"SICKBAY_STORE", order.store_path},
         {"SICKBAY_VIEWS", views},
         {"SICKBAY_REPORT", spec.id()},
         {"SICKBAY_LANGUAGE", order.language},
         {"SICKBAY_TIME_ZONE", order.time_zone}};
  for (const Parameter& parameter : spec.parameters) {
    std::string name = "SICKBAY_PARAM_";
    for (const char c : parameter.name) name += to_upper(c);
    env.emplace_back(std::move(name), parameter.value);
  }
  return program;
}

void take_table(ReportResult& result, Result<duck::ResultTable> table, const RunOrder& order) {
  if (!table) {
    std::string fault = sql_fault(table.error(), result.spec);
    if (table.error().code == ErrorCode::timed_out)
      result = failed(std::move(result),
                      fmt::format("it ran longer than {}",
                                  describe_duration(std::chrono::duration_cast<Micros>(order.time_limit))));
    else
      result = failed(std::move(result), std::move(fault));
    return;
  }
  if (table->rows.size() > order.most_rows) {
    result = failed(std::move(result), fmt::format("it gives more than {} rows", order.most_rows));
  } else if (auto right = check_columns(result.spec, table->columns); !right) {
    result = failed(std::move(result), right.error().what);
  } else {
    result.table = std::move(*table);
    result.outcome = says_nothing(result.table) ? Outcome::empty : Outcome::made;
  }
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

ReportResult failed(ReportResult result, std::string why) {
  result.outcome = Outcome::failed;
  result.why = std::move(why);
  result.table = {};
  return result;
}

ReportResult run_executable(const Plugin& plugin, const ReportSpec& spec, const RunOrder& order,
                            const std::string& views) {
  ReportResult result;
  result.spec = spec;
  if (!order.run_program || order.store_path.empty()) {
    result.outcome = Outcome::left_out;
    result.why = std::string("executables do not run here");
    return result;
  }
  const auto begin = Clock::now();
  auto text = order.run_program(program_order(spec, plugin, order, views));
  if (text)
    take_table(result, parse_table(*text), order);
  else
    take_table(result, fail(text.error()), order);
  result.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return result;
}

ReportResult run_report(Connection& connection, const ReportSpec& spec, const RunOrder& order) {
  ReportResult result;
  result.spec = spec;
  const auto begin = Clock::now();
  Variables variables(connection, spec);
  if (auto set = variables.set(); !set) return failed(std::move(result), one_line(set.error()));
  {
    const TimeLimit limit(connection, order.time_limit);
    take_table(result, connection.select(spec.sql, order.most_rows), order);
  }
  result.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return result;
}

Status ReportRunner::narrow(const ReportSpec& spec) {
  const auto used = used_columns(connection_, spec.sql);
  if (!used) return widen();
  narrowed_ = true;
  // Those that the SQL does not name stay as another report left them.
  const std::string views = job_views_sql(order_.views, &*used);
  return views.empty() ? Status() : connection_.execute(views);
}

Status ReportRunner::widen() {
  if (!narrowed_) return {};
  if (auto made = connection_.execute(job_views_sql(order_.views, nullptr)); !made) return made;
  narrowed_ = false;
  return {};
}

ReportResult ReportRunner::run(const ReportSpec& spec) {
  const auto begin = Clock::now();
  if (narrow(spec)) {
    ReportResult result = run_report(connection_, spec, order_);
    result.milliseconds = milliseconds_since(begin);
    const bool in_time = result.milliseconds < static_cast<double>(order_.time_limit.count());
    if (result.outcome != Outcome::failed || !narrowed_ || !in_time) return result;
  }
  // What DuckDB says of a wrong name tells of those that are there: all of them.
  if (auto made = widen(); !made) {
    ReportResult result;
    result.spec = spec;
    return failed(std::move(result), one_line(made.error()));
  }
  return run_report(connection_, spec, order_);
}

}  // namespace sickbay::workload
