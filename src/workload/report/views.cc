// SPDX-License-Identifier: Apache-2.0
#include "workload/report/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/spelling.h"
#include "base/text.h"
#include "workload/report/cost_views.h"
#include "workload/report/in_period.h"
#include "workload/report/likeness.h"
#include "workload/report/log_span.h"
#include "workload/report/node_views.h"
#include "workload/store/schema.h"

namespace sickbay::workload {
namespace {

// States that are no end, in Slurm's words.
constexpr std::string_view kActive =
    "'PENDING', 'RUNNING', 'SUSPENDED', 'CONFIGURING', 'COMPLETING', 'RESIZING', 'STOPPED', 'SIGNALING', "
    "'STAGE_OUT', 'REQUEUE_HOLD'";

// States that only a job that ran has.  Where a log has times, these tell; some have none (bridges.txt).
constexpr std::string_view kRan =
    "'COMPLETED', 'COMPLETING', 'FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'NODE_FAIL', 'RUNNING', 'SUSPENDED', "
    "'PREEMPTED', 'STOPPED', 'SIGNALING', 'STAGE_OUT', 'RESIZING'";

// What a job has, or what it asked for when it never ran.
constexpr std::string_view kCores = "coalesce(nullif(cpus, 0), req_cpus)";
constexpr std::string_view kAnyTime = "coalesce(end_time, start_time, submit_time)";

std::string timestamp(TimePoint t) { return fmt::format("make_timestamp({})", to_micros(t)); }

// `expression IN (values)` as a function: DuckDB makes a join of an IN with more than a few values, and looks
// up every row; of a function it asks each text of a dictionary once.
std::string one_of(std::string_view expression, std::string_view values) {
  return fmt::format("list_contains([{}], {})", values, expression);
}

// CASE over rising bounds; `value_of` gives what stands behind THEN.
template <class ValueOf>
std::string class_case(std::string_view first, std::string_view expression,
                       const std::vector<SiteClass>& classes, ValueOf value_of) {
  std::string sql = "CASE" + std::string(first);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].most >= 0)
      sql += fmt::format(" WHEN {} <= {} THEN {}", expression, classes[i].most, value_of(i));
    else
      sql += fmt::format(" WHEN {} IS NOT NULL THEN {}", expression, value_of(i));
  }
  return sql + " END";
}

// Seconds from `a` to `b`; what goes backwards (a wrong clock, a job that became eligible again) counts 0.
std::string seconds_between(std::string_view a, std::string_view b) {
  return fmt::format("CASE WHEN {1} < {0} THEN 0 ELSE (epoch_us({1}) - epoch_us({0})) // 1000000 END", a, b);
}

// The derived columns that are `wanted`; nullptr: all.  What they say of amounts and events is of `bounds`.
std::string derived_sql(const Site& site, const Bounds& bounds, const std::set<std::string>* wanted) {
  const auto name = [](const std::vector<SiteClass>& classes) {
    return [&classes](std::size_t i) { return duck::quote(classes[i].name); };
  };
  const auto rank = [](std::size_t i) { return std::to_string(i + 1); };
  const std::string core_s = fmt::format("coalesce(cpu_time, {} * elapsed)", kCores);
  const auto column = [wanted](std::string_view sql, std::string_view as) {
    const bool out = wanted != nullptr && !wanted->contains(std::string(as));
    return out ? std::string() : fmt::format(",\n  {} AS {}", sql, as);
  };
  std::string sql;
  sql += column("local_time(submit_time)", "submit_local");
  sql += column("local_time(start_time)", "start_local");
  sql += column("local_time(end_time)", "end_local");
  sql += column(fmt::format("CAST(local_time({}) AS DATE)", kAnyTime), "day");
  sql += column(fmt::format("CAST(date_trunc('month', local_time({})) AS DATE)", kAnyTime), "month");
  sql += column(seconds_between("submit_time", "start_time"), "wait_s");
  sql += column(seconds_between("submit_time", "eligible_time"), "hold_s");
  sql += column(seconds_between("eligible_time", "start_time"), "queue_s");
  sql += column(kCores, "cores");
  sql += column(core_s, "core_s");
  const auto amount = [&](std::string_view whole, std::string_view as, const std::string& share) {
    return column(share.empty() ? std::string(whole) : fmt::format("{} * {}", whole, share), as);
  };
  const std::string within = within_sql(bounds);
  sql += amount(core_s + " / 3600.0::DOUBLE", "core_h", within);
  sql += amount("nodes * elapsed / 3600.0::DOUBLE", "node_h", within);
  sql += amount("gpus * elapsed / 3600.0::DOUBLE", "gpu_h", within);
  sql += amount("gpus * elapsed * gpu_util_milli / 3600000.0::DOUBLE", "used_gpu_h", within);
  sql += amount("total_cpu / 3600000.0::DOUBLE", "used_core_h", within);
  sql += amount(charge_sql(site.charges, core_s), "charge", within);
  // Slurm writes 0 where it has no meter.
  sql += amount("nullif(energy, 0) / 3.6e6::DOUBLE", "kwh", within);
  sql += amount("disk_read / 1073741824.0::DOUBLE", "read_gib", within);
  sql += amount("disk_write / 1073741824.0::DOUBLE", "written_gib", within);
  sql += amount(fmt::format("{} * {} / 3600.0::DOUBLE", seconds_between("submit_time", "start_time"), kCores),
                "queued_core_h", wait_within_sql(bounds));
  sql += column(within.empty() ? "1.0::DOUBLE" : within, "within");
  sql +=
      column(fmt::format(
                 // The flaw is found where the log says cpu_time; here also where cores were only asked for.
                 "CASE WHEN {0} > 0 AND coalesce(flaws, 0) & {1} = 0 AND total_cpu // 10000 <= {0} "
                 "THEN total_cpu / (1000.0::DOUBLE * {0}) END",
                 core_s, bit(Flaw::over_used)),
             "cpu_eff");
  sql += column("CASE WHEN time_limit > 0 THEN elapsed / time_limit::DOUBLE END", "limit_share");
  const std::string started = fmt::format(
      "(start_time IS NOT NULL OR coalesce(elapsed, 0) > 0 OR ({} IS NULL AND (coalesce(steps, 0) > 0 OR "
      "{})))",
      kAnyTime, one_of("coalesce(state, '')", kRan));
  const std::string runs = fmt::format("({} AND {})", started, runs_in_sql(bounds));
  sql += column(started, "started");
  sql += column(lies_in_sql(fmt::format("coalesce(submit_time, {})", run_begin_sql()), bounds),
                "submitted_here");
  sql += column(fmt::format("({} AND {})", started, lies_in_sql(run_begin_sql(), bounds)), "started_here");
  sql += column(lies_in_sql(std::string(kAnyTime), bounds), "ended_here");
  sql += column(runs, "ran_here");
  sql +=
      column(fmt::format("CASE WHEN {} THEN local_time({}) END", runs, run_begins_sql(bounds)), "run_begins");
  // A microsecond at least, also where the clocks of the zone are set back.
  sql += column(
      fmt::format("CASE WHEN {} THEN greatest(local_time({}), local_time({}) + INTERVAL 1 MICROSECOND) END",
                  runs, run_ends_sql(bounds), run_begins_sql(bounds)),
      "run_ends");
  sql += column("NOT " + one_of("state", kActive), "finished");
  sql += column("state = 'COMPLETED'", "ok");
  sql += column(fmt::format("elapsed < {}", site.debug_length.count()), "debug");
  sql += column("coalesce(application, 'unknown') <> 'unknown'", "known");
  sql += column("NOT " + one_of("state", fmt::format("'COMPLETED', 'CANCELLED', {}", kActive)), "lost");
  sql += column(class_case("", kCores, site.size_classes, name(site.size_classes)), "size_class");
  sql += column(class_case("", kCores, site.size_classes, rank), "size_rank");
  // sacct prints 00:00:00 for what never ran.
  constexpr std::string_view never_ran = " WHEN elapsed = 0 AND start_time IS NULL THEN NULL";
  sql += column(class_case(never_ran, "elapsed", site.run_time_classes, name(site.run_time_classes)),
                "time_class");
  sql += column(class_case(never_ran, "elapsed", site.run_time_classes, rank), "time_rank");
  return sql;
}

// UTC to the zone, by the changes that lie within what the store holds: mostly none, one or two.
std::string local_time_sql(const std::vector<TimeZone::Change>& zone, TimePoint first, TimePoint last) {
  std::int64_t before = zone.empty() ? 0 : zone.front().offset;
  std::string cases;
  for (const TimeZone::Change& change : zone) {
    if (change.at <= to_unix_seconds(first)) {
      before = change.offset;
      continue;
    }
    if (change.at > to_unix_seconds(last)) break;
    cases += fmt::format(" WHEN t < {} THEN {}", timestamp(from_unix_seconds(change.at)), before * 1000000);
    before = change.offset;
  }
  if (cases.empty() && before == 0) return "CREATE OR REPLACE TEMP MACRO local_time(t) AS t;\n";
  const std::string offset = cases.empty() ? std::to_string(before * 1000000)
                                           : fmt::format("CASE{} ELSE {} END", cases, before * 1000000);
  return fmt::format("CREATE OR REPLACE TEMP MACRO local_time(t) AS make_timestamp(epoch_us(t) + {});\n",
                     offset);
}

// One row of a text filter: the column, its values, and how the two are compared.
struct ListRow {
  std::string_view column, what;
  const std::vector<std::string>& values;
};
std::vector<ListRow> list_rows(const Filter& f) {
  return {{"user_name", "user", f.users},
          {"account", "account", f.accounts},
          {"partition", "partition", f.partitions},
          {"application", "application", f.applications},
          {"state", "state", f.states},
          {"cluster", "cluster", f.clusters}};
}

std::string list_sql(const ListRow& row) {
  std::string values;
  for (const std::string& value : row.values) {
    // Applications are written in any case by people; states are Slurm's words.
    std::string word = value;
    if (row.column == "application")
      for (char& c : word) c = to_lower(c);
    if (row.column == "state")
      for (char& c : word) c = to_upper(c);
    values += (values.empty() ? "" : ", ") + duck::quote(word);
  }
  if (row.column == "application") return fmt::format("lower(application) IN ({})", values);
  // A job may ask for one of several partitions: "cpu,physics".
  if (row.column == "partition")
    return fmt::format("list_has_any(string_split(partition, ','), [{}])", values);
  return fmt::format("{} IN ({})", row.column, values);
}

// By which DuckDB leaves blocks out.  Numbers of rows cost it 40 us for each block of the store and SELECT, a
// comparison with a column a third of that.
std::string stands_sql(const Stand& stand) {
  if (stand.ends)
    return fmt::format("end_time BETWEEN {} AND {}", timestamp(stand.ends->first),
                       timestamp(stand.ends->second));
  std::string sql;
  for (const RowRange& range : stand.rows)
    sql += fmt::format("{}rowid BETWEEN {} AND {}", sql.empty() ? "" : " OR ", range.first, range.last);
  return sql.empty() ? sql : "(" + sql + ")";
}

std::string where_sql(const Filter& filter, const Bounds& bounds, const Stand& stand = {}) {
  std::vector<std::string> all;
  if (std::string stands = stands_sql(stand); !stands.empty()) all.push_back(std::move(stands));
  if (!bounds.none()) all.push_back(touches_sql(bounds));
  for (const ListRow& row : list_rows(filter))
    if (!row.values.empty()) all.push_back(list_sql(row));
  if (filter.min_cpus) all.push_back(fmt::format("{} >= {}", kCores, *filter.min_cpus));
  if (filter.max_cpus) all.push_back(fmt::format("{} <= {}", kCores, *filter.max_cpus));
  std::string sql;
  for (const std::string& one : all) sql += (sql.empty() ? "\nWHERE " : "\n  AND ") + one;
  return sql;
}

// All columns of jobs and the derived ones, or those that are `wanted`.
std::string select_sql(const ViewOrder& order, const Bounds& bounds, const std::set<std::string>* wanted,
                       const std::string& where) {
  const bool like = order.filter.like.has_value();
  std::string columns = like ? "* EXCLUDE (label_confidence)" : "*";
  if (wanted != nullptr) {
    columns = "job_id";  // a view needs one
    for (const std::string& name : stored_columns())
      if (name != "job_id" && wanted->contains(name)) columns += ", \"" + name + '"';
  }
  std::string derived = derived_sql(order.site, bounds, wanted);
  if (wanted == nullptr || wanted->contains("label_confidence"))
    derived += fmt::format(",\n  {} AS label_confidence", like ? "label_confidence" : "NULL::DOUBLE");
  return fmt::format("SELECT {}{}\nFROM {}{}", columns, derived, like ? "jobs_like" : "jobs", where);
}

// Of years of jobs a report that follows the runs of a job reads only what may be of the period's jobs: ids
// grow with time, and by bounds on a column DuckDB leaves blocks out.
std::string runs_sql(const ViewOrder& order) {
  const std::string where = order.stand.ids ? fmt::format(" WHERE job_id_raw BETWEEN {} AND {}",
                                                          order.stand.ids->first, order.stand.ids->second)
                                            : "";
  return "CREATE OR REPLACE TEMP VIEW runs AS SELECT cluster, job_id_raw, user_name, job_name, submit_time, "
         "state, restarts FROM jobs" +
         where + ";\n";
}

std::string users_sql(const std::vector<SiteUser>& users) {
  std::string sql =
      "CREATE OR REPLACE TEMP TABLE users(user_name VARCHAR, name VARCHAR, team VARCHAR, research_field "
      "VARCHAR);\n";
  const auto text = [](const std::string& value) { return value.empty() ? "NULL" : duck::quote(value); };
  for (std::size_t i = 0; i < users.size(); ++i)
    sql += fmt::format("{}({}, {}, {}, {})", i == 0 ? "INSERT INTO users VALUES " : ", ", text(users[i].user),
                       text(users[i].name), text(users[i].team), text(users[i].research_field));
  return users.empty() ? sql : sql + ";\n";
}

std::string period_sql(std::string_view name, const std::optional<TimePoint>& from,
                       const std::optional<TimePoint>& to) {
  const auto local = [](const std::optional<TimePoint>& t) {
    return t ? fmt::format("local_time({})", timestamp(*t)) : std::string("NULL::TIMESTAMP");
  };
  return fmt::format(
      "CREATE OR REPLACE TEMP TABLE {} AS SELECT *, (epoch_us(ends) - epoch_us(begins)) / 86400e6 AS days "
      "FROM (SELECT {} AS "
      "begins, {} AS ends);\n",
      name, local(from), local(to));
}

// What the head says of the log, and which jobs are far from all others (UTC; NULL: none is).
std::string span_sql(const LogSpan& span) {
  const auto time = [](const std::optional<TimePoint>& t) { return t ? timestamp(*t) : "NULL::TIMESTAMP"; };
  return fmt::format(
      "CREATE OR REPLACE TEMP TABLE span_of_log AS SELECT {} AS from_here, {} AS up_to_here, {}::BIGINT AS "
      "strays;\n",
      time(span.from_here), time(span.up_to_here), span.strays);
}

std::string coverage_sql() {
  std::string names, counts;
  for (const std::string& column : stored_columns()) {
    names += (names.empty() ? "'" : ", '") + column + "'";
    counts += (counts.empty() ? "count(\"" : ", count(\"") + column + "\")";
  }
  return fmt::format(
      "CREATE OR REPLACE TEMP VIEW coverage AS SELECT unnest([{}]) AS column_name, unnest(counts) AS "
      "present, jobs, "
      "CASE WHEN jobs > 0 THEN unnest(counts) / jobs::DOUBLE END AS share FROM (SELECT [{}] AS counts, "
      "count(*) AS jobs FROM j WHERE ended_here);\n",
      names, counts);
}

}  // namespace

std::string job_select_sql(const ViewOrder& order, const std::set<std::string>* wanted) {
  const Filter& f = order.filter;
  const Bounds bounds{f.from, f.to};
  return select_sql(order, bounds, wanted, where_sql(f, bounds, order.stand));
}

std::string job_views_sql(const ViewOrder& order, const UsedOfJobs* used) {
  const std::set<std::string>* wanted = used == nullptr ? nullptr : &used->columns;
  std::string sql;
  const auto view = [&](const char* name, auto select) {
    if (used == nullptr || used->views.contains(name))
      sql += fmt::format("CREATE OR REPLACE TEMP VIEW {} AS {};\n", name, select());
  };
  view("j", [&] { return job_select_sql(order, wanted); });
  view("j2", [&] {
    if (!order.compare) return select_sql(order, {}, wanted, "\nWHERE false");
    const Bounds bounds{order.compare->from, order.compare->to};
    return select_sql(order, bounds, wanted, where_sql(order.filter, bounds, order.compare_stand));
  });
  view("j_all", [&] { return select_sql(order, {}, wanted, where_sql(order.filter, {})); });
  return sql;
}

Result<std::string> views_sql(duck::Connection& connection, const ViewOrder& order) {
  const Filter& f = order.filter;
  // (Store::open does so on its own connection; reports run on others, too.)
  auto old = shown_as_raised_sql(connection);
  if (!old) return fail(std::move(old.error()));
  auto clusters = clusters_of(connection);
  if (!clusters) return fail(std::move(clusters.error()));
  // (Of a zone without changes nobody needs to know how far the jobs reach.)
  auto span = !f.from || !f.to     ? log_span(connection)
              : order.zone.empty() ? Result<LogSpan>(LogSpan())
                                   : log_limits(connection);
  if (!span) return fail(std::move(span.error()));
  const auto first = span->first;
  auto last = span->last;
  if (last) *last += std::chrono::seconds(1);  // a period ends before its end
  std::string sql = *old;
  sql += kUserIsNoColumn;
  sql += local_time_sql(order.zone, std::min(span->earliest.value_or(kNever), f.from.value_or(kNever)),
                        std::max(span->latest.value_or(kNoTime), f.to.value_or(kNoTime)));
  sql += cluster_macros_sql(*clusters, f.clusters);
  sql += span_sql(*span);
  if (order.filter.like) sql += likeness_sql(*order.filter.like);
  sql += job_views_sql(order, nullptr);
  sql += runs_sql(order);
  sql += period_sql("period", f.from ? f.from : first, f.to ? f.to : last);
  sql += period_sql("period2", order.compare ? std::optional(order.compare->from) : std::nullopt,
                    order.compare ? std::optional(order.compare->to) : std::nullopt);
  auto tables = connection.number(
      "SELECT count(*) FROM duckdb_tables() WHERE table_name IN ('job_failures', 'job_checkpoints')");
  if (!tables) return fail(std::move(tables.error()));
  return sql + users_sql(order.site.users) + accounts_sql(order.site.accounts) + coverage_sql() +
         node_views_sql(*clusters, f.clusters, f.from.has_value()) + cost_views_sql(order, *tables >= 2);
}

Result<std::vector<std::string>> unknown_filter_values(duck::Connection& connection, const Filter& filter) {
  std::vector<std::string> sentences;
  for (const ListRow& row : list_rows(filter)) {
    if (row.values.empty()) continue;
    const std::string value_sql =
        row.column == "partition" ? "unnest(string_split(partition, ','))" : std::string(row.column);
    auto known = connection.query(
        fmt::format("SELECT DISTINCT {} FROM jobs WHERE {} IS NOT NULL", value_sql, row.column));
    if (!known) return fail(known.error());
    std::vector<std::string> names;
    for (auto& cells : known->rows) names.push_back(std::get<std::string>(cells[0]));
    for (const std::string& value : row.values) {
      const auto same = [&](const std::string& name) {
        return row.column == "application" || row.column == "state" ? equal_ignoring_case(name, value)
                                                                    : name == value;
      };
      if (std::any_of(names.begin(), names.end(), same)) continue;
      const std::string meant = did_you_mean(value, names);
      sentences.push_back(fmt::format("no job is of the {} {}{}", row.what, quote_for_message(value),
                                      meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
    }
  }
  return sentences;
}

std::string describe_filter(const Filter& filter) {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  for (const ListRow& row : list_rows(filter)) {
    if (row.values.empty()) continue;
    std::string names;
    for (const std::string& value : row.values) names += (names.empty() ? " " : ", ") + value;
    add(std::string(row.what) + (row.values.size() > 1 ? "s" : "") + names);
  }
  if (filter.min_cpus) add(fmt::format("at least {} cores", *filter.min_cpus));
  if (filter.max_cpus) add(fmt::format("at most {} cores", *filter.max_cpus));
  return text;
}

}  // namespace sickbay::workload
