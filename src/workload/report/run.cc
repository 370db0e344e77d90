// SPDX-License-Identifier: Apache-2.0
#include "workload/report/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/duration.h"
#include "base/text.h"
#include "workload/report/head.h"
#include "workload/report/render.h"

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

bool is_null(const duck::Value& value) { return std::holds_alternative<std::monostate>(value); }

bool says_nothing(const duck::ResultTable& table) {
  for (const auto& row : table.rows)
    if (!std::all_of(row.begin(), row.end(), is_null)) return false;
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

// Which of the needed columns hold something, asked once for all reports.
class Coverage {
 public:
  Coverage(Connection& connection, const std::vector<Plugin>& plugins) : connection_(connection) {
    for (const Plugin& plugin : plugins)
      for (const ReportSpec& spec : plugin.reports)
        for (const std::string& need : spec.needs)
          for (const std::string_view column : alternatives(need)) needed_.emplace(column);
  }

  // A number that is 0 everywhere says as little as none: sites without energy metering have zeros.
  Status find() {
    auto types = connection_.query("SELECT column_name, column_type FROM (DESCRIBE j)");
    if (!types) return fail(types.error());
    std::map<std::string, std::string> type_of;
    for (const auto& row : types->rows)
      type_of[std::get<std::string>(row[0])] = std::get<std::string>(row[1]);
    std::string sql;
    std::vector<std::string> order;
    for (const std::string& column : needed_) {
      const std::size_t dot = column.find('.');
      const std::string table = dot == column.npos ? "j" : column.substr(0, dot);
      const std::string name = '"' + (dot == column.npos ? column : column.substr(dot + 1)) + '"';
      const std::string type = dot == column.npos ? type_of[column] : "";
      const bool number = type == "BIGINT" || type == "DOUBLE" || type == "INTEGER";
      const std::string says = number ? " AND " + name + " <> 0" : type == "BOOLEAN" ? " AND " + name : "";
      sql += fmt::format("{}EXISTS (SELECT 1 FROM {} WHERE {} IS NOT NULL{})", sql.empty() ? "SELECT " : ", ",
                         table, name, says);
      order.push_back(column);
    }
    if (sql.empty()) return {};
    auto found = connection_.query(sql);
    if (!found) return fail(found.error());
    for (std::size_t i = 0; i < order.size(); ++i)
      if (std::get<bool>(found->rows[0][i])) present_.insert(order[i]);
    return {};
  }

  // Needs of a report that nothing fills.
  std::vector<std::string> missing(const ReportSpec& spec) const {
    std::vector<std::string> names;
    for (const std::string& need : spec.needs) {
      const auto all = alternatives(need);
      if (std::none_of(all.begin(), all.end(),
                       [&](std::string_view column) { return present_.contains(std::string(column)); }))
        names.push_back(need);
    }
    return names;
  }

 private:
  static std::vector<std::string_view> alternatives(std::string_view need) {
    std::vector<std::string_view> columns;
    for (;;) {
      const std::size_t bar = need.find('|');
      columns.push_back(need.substr(0, bar));
      if (bar == need.npos) return columns;
      need.remove_prefix(bar + 1);
    }
  }

  Connection& connection_;
  std::set<std::string> needed_, present_;
};

// Why a report is left out, in words: what no job has, and what else was never brought into the store.
std::string why_left_out(const Document& document, const std::vector<std::string>& lacks) {
  struct Row {
    std::string_view table, key, english;
  };
  static constexpr Row kTables[] = {
      {"nodes.", "page.lacks_nodes", "the store has no sizes of nodes (sickbay import --nodes)"},
      {"node_events.", "page.lacks_events", "the store has no node events (sickbay import --events)"},
      {"users.", "page.lacks_users", "no users.json names the users"},
      {"period2.", "page.lacks_period2", "no second period was asked for (--compare)"}};
  std::string columns, why;
  for (const std::string& need : lacks) {
    const auto* row = std::find_if(std::begin(kTables), std::end(kTables),
                                   [&](const Row& r) { return need.starts_with(r.table); });
    if (row == std::end(kTables)) {
      for (const char c : (columns.empty() ? "" : ", ") + need)
        columns += c == '|' ? std::string(" / ") : std::string(1, c);
      continue;
    }
    const std::string text(message(document, row->key, row->english));
    if (why.find(text) == why.npos) why += (why.empty() ? "" : "; ") + text;
  }
  if (!columns.empty()) {
    const std::string text = filled(message(document, "page.lacks", "no job here has {}"), columns);
    why = why.empty() ? text : text + "; " + why;
  }
  return why;
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

ReportResult failed(ReportResult result, std::string why) {
  result.outcome = Outcome::failed;
  result.why = std::move(why);
  result.table = {};
  return result;
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

// (Kept apart from SQL: an executable asks the store by a process of its own.)
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

// "2021-05-01 to 2021-07-31 12:30 (91.5 days)"; "" where there is no such period.
Result<std::string> period_text(Connection& connection, const Document& document, const char* table) {
  auto period = connection.query(fmt::format("SELECT begins, ends, days FROM {}", table));
  if (!period) return fail(period.error());
  const auto& row = period->rows.at(0);
  if (is_null(row[0])) return std::string();
  const auto text = [&](std::size_t i, duck::Type type) { return value_text(document, row[i], type, ""); };
  return filled(
      filled(filled(message(document, "page.period_text", "{} to {} ({} days)"), text(0, duck::Type::time)),
             text(1, duck::Type::time)),
      text(2, duck::Type::real));
}

Status add_facts(Connection& connection, const RunOrder& order, std::int64_t jobs, Document& document) {
  const auto fact = [&](const char* key, const char* english, std::string text) {
    if (!text.empty())
      document.facts.emplace_back(message(document, std::string("fact.") + key, english), std::move(text));
  };
  auto period = period_text(connection, document, "period");
  if (!period) return fail(period.error());
  fact("period", "Period", *period);
  auto second = period_text(connection, document, "period2");
  if (!second) return fail(second.error());
  fact("compared", "Compared with", *second);
  fact("jobs", "Jobs", value_text(document, jobs, duck::Type::integer, "jobs"));
  fact("filter", "Only", describe_filter(order.views.filter));
  auto sources =
      connection.query("SELECT source, count(*) OVER () FROM imports ORDER BY imported_at, source LIMIT 5");
  if (!sources) return fail(sources.error());
  std::string names;
  for (const auto& row : sources->rows)
    if (const auto* name = std::get_if<std::string>(&row[0])) names += (names.empty() ? "" : ", ") + *name;
  if (sources->rows.size() == 5 && std::get<std::int64_t>(sources->rows[0][1]) > 5)
    names += filled(message(document, "page.and_more", " and {} more"),
                    std::to_string(std::get<std::int64_t>(sources->rows[0][1]) - 5));
  fact("sources", "Sources", names);
  fact("zone", "Time zone", order.time_zone);
  return {};
}

Error no_job_fits(Connection& connection, const RunOrder& order) {
  Error error(ErrorCode::not_found, "no job fits");
  if (auto sentences = unknown_filter_values(connection, order.views.filter); sentences)
    for (const std::string& sentence : *sentences)
      error.cause += (error.cause.empty() ? "" : "; ") + sentence;
  auto held = connection.query(
      "SELECT CAST(min(submit_time) AS VARCHAR), CAST(max(submit_time) AS VARCHAR), count(*) FROM jobs");
  if (held && std::get<std::int64_t>(held->rows[0][2]) == 0)
    error.cause = "the store holds no job", error.remedy_text = "import a log first: 'sickbay import'";
  else if (held && !is_null(held->rows[0][0]))
    error.remedy_text =
        fmt::format("ask for less; the store's jobs were submitted from {} to {} (UTC)",
                    std::get<std::string>(held->rows[0][0]), std::get<std::string>(held->rows[0][1]));
  return error;
}

}  // namespace

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

Result<Document> make_document(Connection& connection, const RunOrder& order) {
  auto views = views_sql(connection, order.views);
  if (!views) return fail(views.error());
  if (auto made = connection.execute(*views); !made)
    return fail(std::move(made.error()).in("making the views of the reports"));
  auto jobs = connection.query("SELECT count(*) FROM j");
  if (!jobs) return fail(jobs.error());
  const std::int64_t count = std::get<std::int64_t>(jobs->rows[0][0]);
  if (count == 0) return fail(no_job_fits(connection, order));

  Document document;
  document.language = order.language;
  document.messages = order.messages;
  document.title =
      order.title.empty() ? std::string(message(document, "page.title", "Workload report")) : order.title;
  document.made_at = order.made_at;
  document.version = order.version;
  document.plugins = order.plugins;
  for (const SiteClass& one : order.views.site.size_classes)
    document.orders["size_class"].push_back(one.name);
  for (const SiteClass& one : order.views.site.run_time_classes)
    document.orders["time_class"].push_back(one.name);
  if (auto added = add_facts(connection, order, count, document); !added) return fail(added.error());

  Coverage coverage(connection, order.plugins);
  if (auto found = coverage.find(); !found)
    return fail(std::move(found.error()).in("looking which columns hold something"));
  for (const Plugin& plugin : order.plugins)
    for (const ReportSpec& spec : plugin.reports) {
      ReportResult result;
      result.spec = spec;
      if (!spec.fault.empty()) {
        result = failed(std::move(result), spec.fault);
      } else if (const auto lacks = coverage.missing(spec); !lacks.empty()) {
        result.outcome = Outcome::left_out;
        result.why = why_left_out(document, lacks);
      } else if (spec.executable) {
        result = run_executable(plugin, spec, order, *views);
      } else {
        result = run_report(connection, spec, order);
      }
      document.results.push_back(std::move(result));
    }
  return document;
}

Result<std::vector<Error>> check_reports(Connection& empty_store, const std::vector<Plugin>& plugins,
                                         std::vector<std::string>& columns) {
  RunOrder order;
  order.views.site = default_site();
  auto views = views_sql(empty_store, order.views);
  if (!views) return fail(views.error());
  if (auto made = empty_store.execute(*views); !made) return fail(made.error());
  std::vector<Error> errors;
  std::set<std::string> names(columns.begin(), columns.end());
  for (const Plugin& plugin : plugins)
    for (const ReportSpec& spec : plugin.reports) {
      if (!spec.fault.empty()) {
        errors.emplace_back(ErrorCode::bad_input, spec.fault);
        continue;
      }
      for (const auto& [column, unit] : spec.units) names.insert(column);
      if (spec.executable) continue;
      const ReportResult result = run_report(empty_store, spec, order);
      if (result.outcome == Outcome::failed)
        errors.emplace_back(ErrorCode::bad_input, result.why.starts_with(spec.path)
                                                      ? result.why
                                                      : fmt::format("{}: {}", spec.path, result.why));
      for (const duck::ResultColumn& column : result.table.columns) names.insert(column.name);
    }
  columns.assign(names.begin(), names.end());
  return errors;
}

}  // namespace sickbay::workload
