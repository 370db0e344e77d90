// SPDX-License-Identifier: Apache-2.0
#include "workload/report/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/fnv.h"
#include "base/spelling.h"
#include "base/text.h"
#include "workload/report/facts.h"
#include "workload/report/make_report.h"
#include "workload/report/messages.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

using duck::Connection;
using duck::ResultTable;
using Key = std::optional<std::string>;

// `column` is where it stands in j and users; `none` is shown for jobs that have none.
struct Whose {
  std::string_view word, column, none;
};
constexpr auto kWhose = std::to_array<Whose>({
    {"account", "account", "(none)"},
    {"user", "user_name", "(no user)"},
    {"group", "group_name", "(none)"},
    {"team", "team", "(not listed)"},
    {"field", "research_field", "(not listed)"},
});

// The tables of a statement: sums over all, and by a column of j.
struct Part {
  std::string_view name, title, column, none;
};
constexpr auto kParts = std::to_array<Part>({
    {"total", "Used in all", "", ""},
    {"users", "By user", "user_name", "(no user)"},
    {"accounts", "By account", "account", "(none)"},
    {"partitions", "By partition", "partition", "(none)"},
    {"applications", "By application", "application", "unknown"},
    {"states", "By state", "state", "(none)"},
});

struct Amount {
  const char *column, *unit;
};
constexpr auto kAmounts = std::to_array<Amount>({{"core_h", "core-h"},
                                                 {"used_core_h", "core-h"},
                                                 {"node_h", "node-h"},
                                                 {"gpu_h", "GPU-h"},
                                                 {"kwh", "kWh"}});

const Whose& whose(StatementOf of) { return kWhose[static_cast<std::size_t>(of)]; }

std::string sums_sql() {
  std::string sql = "sum(jobs)::BIGINT AS jobs";
  for (const Amount& a : kAmounts) sql += fmt::format(", sum({0})::DOUBLE AS {0}", a.column);
  return sql;
}

// One scan of the jobs; all tables are sums of this one.
std::string use_sql(const Whose& of) {
  std::string amounts;
  for (const Amount& a : kAmounts)
    amounts += fmt::format(", sum(CAST({0} AS DECIMAL(30, 9))) AS {0}", a.column);
  return fmt::format(
      "CREATE OR REPLACE TEMP TABLE statement_use AS SELECT {} AS whose, user_name, account, "
      "at_cluster(\"partition\", cluster_of(cluster)) AS \"partition\", application, state, "
      "count(*) FILTER (WHERE ended_here) AS jobs{} FROM j LEFT JOIN users USING (user_name) "
      "WHERE ended_here OR ran_here GROUP BY ALL",
      of.column, amounts);
}

std::string part_sql(const Part& part) {
  if (part.column.empty())
    return fmt::format(
        "SELECT whose, count(DISTINCT user_name) AS users, {} FROM statement_use GROUP BY whose "
        "ORDER BY whose NULLS FIRST",
        sums_sql());
  return fmt::format(
      "SELECT whose, name AS \"{0}\", jobs, core_h, 100 * core_h / nullif((sum(exact) OVER (PARTITION BY "
      "whose))::DOUBLE, 0) AS share, * EXCLUDE (whose, name, exact, jobs, core_h) FROM (SELECT whose, "
      "coalesce(\"{0}\", {1}) AS name, sum(core_h) AS exact, {2} FROM statement_use GROUP BY ALL) "
      "ORDER BY whose NULLS FIRST, core_h DESC NULLS LAST, jobs DESC, name",
      part.column, duck::quote(part.none), sums_sql());
}

Key key_of(const std::vector<duck::Value>& row) {
  const auto* text = std::get_if<std::string>(&row.at(0));
  return text != nullptr ? Key(*text) : std::nullopt;
}

// A part's rows of all names, taken name by name.
struct PartRows {
  ReportSpec spec;
  ResultTable table;
  std::size_t next = 0;

  ReportResult take(const Key& key) {
    ReportResult result;
    result.spec = spec;
    result.table.columns.assign(table.columns.begin() + 1, table.columns.end());
    for (; next < table.rows.size() && key_of(table.rows[next]) == key; ++next)
      result.table.rows.emplace_back(table.rows[next].begin() + 1, table.rows[next].end());
    return result;
  }
};

ReportSpec spec_of(const Document& document, const Part& part) {
  ReportSpec spec;
  spec.plugin = "statement";
  spec.name = part.name;
  spec.title = message(document, fmt::format("statement.{}", part.name), part.title);
  spec.chart.kind = "none";
  spec.units = {{"jobs", "jobs"}, {"users", "users"}, {"share", "%"}};
  for (const Amount& a : kAmounts) spec.units[a.column] = a.unit;
  if (part.column.empty()) spec.counts = {"ended", "amounts"};
  return spec;
}

class Maker {
 public:
  Maker(Connection& connection, const StatementOrder& order, const TakeStatement& take)
      : connection_(connection), order_(order), of_(whose(order.of)), take_(take) {
    document_.language = order.run.language;
    document_.messages = order.run.messages;
    document_.version = order.run.version;
    Plugin plugin;
    plugin.name = "statement";
    plugin.title = message(document_, "statement.title", "Statement");
    plugin.chapter = "use";
    document_.plugins = {plugin};
  }

  Status make(const StatementPeriod& period);
  bool made_any() const { return made_any_; }

 private:
  Status find_rows(const RunOrder& run);
  Status make_facts(const RunOrder& run);
  Status give(const StatementPeriod& period, const Key& key);
  Status give_index(const StatementPeriod& period);
  std::string title(const std::string& of_what, const StatementPeriod& period) const;

  Connection& connection_;
  const StatementOrder& order_;
  const Whose& of_;
  const TakeStatement& take_;
  Document document_;  // one after another, since texts of the page are many
  std::vector<PartRows> parts_;
  ReportResult index_;
  std::map<std::string, Key> files_;  // of the period
  bool made_any_ = false;
};

std::string Maker::title(const std::string& of_what, const StatementPeriod& period) const {
  const std::string own = fmt::format("{}: {}, {}", document_.plugins[0].title, of_what, period.name);
  return order_.run.title.empty() ? own : fmt::format("{}. {}", order_.run.title, own);
}

Status Maker::find_rows(const RunOrder& run) {
  auto views = views_sql(connection_, run.views);
  if (!views) return fail(std::move(views.error()));
  if (auto made = connection_.execute(*views); !made)
    return fail(std::move(made.error()).in("making the views of the statements"));
  if (auto made = connection_.execute(use_sql(of_)); !made)
    return fail(std::move(made.error()).in("summing what was used"));
  parts_.clear();
  for (const Part& part : kParts) {
    if (part.column == of_.column) continue;  // that is whose statement it is
    auto table = connection_.query(part_sql(part));
    if (!table) return fail(std::move(table.error()).in("summing what was used"));
    parts_.push_back({spec_of(document_, part), std::move(*table)});
  }
  return {};
}

// No sources: their paths, and the order of imports, are nothing that was used.
Status Maker::make_facts(const RunOrder& run) {
  document_.facts.clear();
  auto period = period_text(connection_, document_, "period", true);
  if (!period) return fail(std::move(period.error()));
  const auto fact = [&](const char* key, const char* english, const std::string& text) {
    if (!text.empty())
      document_.facts.emplace_back(message(document_, std::string("fact.") + key, english), text);
  };
  fact("period", "Period", *period);
  fact("filter", "Only", describe_filter(run.views.filter));
  fact("zone", "Time zone", run.time_zone);
  return {};
}

Status Maker::give(const StatementPeriod& period, const Key& key) {
  const std::string file = statement_file_name(key);
  if (!files_.emplace(file, key).second)
    return fail(ErrorCode::internal, fmt::format("two names of a {} make one file name", of_.word));
  const std::string word(message(document_, fmt::format("value.{}", of_.word), of_.word));
  const std::string none(message(document_, fmt::format("value.{}", of_.none), of_.none));
  document_.title = title(word + " " + key.value_or(none), period);
  document_.results.clear();
  for (PartRows& part : parts_) document_.results.push_back(part.take(key));
  // The list has the figures of the first table.
  const ResultTable& total = document_.results.front().table;
  if (index_.table.columns.empty()) {
    index_.table.columns = {{std::string(of_.column), duck::Type::text}, {"file", duck::Type::text}};
    index_.table.columns.insert(index_.table.columns.end(), total.columns.begin(), total.columns.end());
  }
  auto& row = index_.table.rows.emplace_back();
  row = {key ? duck::Value(*key) : duck::Value(), duck::Value(file)};
  row.insert(row.end(), total.rows.at(0).begin(), total.rows.at(0).end());
  return take_({period.name, file, document_});
}

Status Maker::give_index(const StatementPeriod& period) {
  document_.title = title(std::string(message(document_, "statement.index", "all")), period);
  document_.results.assign(1, index_);
  return take_({period.name, "_index", document_});
}

Status Maker::make(const StatementPeriod& period) {
  RunOrder run = order_.run;
  run.views.filter.from = period.from;
  run.views.filter.to = period.to;
  if (auto found = find_rows(run); !found) return found;
  const ResultTable total = parts_.front().table;
  if (total.rows.empty()) return {};
  made_any_ = true;
  if (auto made = make_facts(run); !made) return made;
  files_.clear();
  index_ = {};
  index_.spec = parts_.front().spec;
  index_.spec.name = "index";
  for (const auto& row : total.rows)
    if (auto given = give(period, key_of(row)); !given) return given;
  return give_index(period);
}

}  // namespace

Result<StatementOf> parse_statement_of(std::string_view word) {
  std::array<std::string_view, kWhose.size()> words;
  for (std::size_t i = 0; i < kWhose.size(); ++i) {
    words[i] = kWhose[i].word;
    if (word == words[i]) return static_cast<StatementOf>(i);
  }
  const std::string meant = did_you_mean(word, words);
  return fail(
      Error(ErrorCode::usage, fmt::format("there is no statement for each {}", quote_for_message(word)))
          .remedied_by(meant.empty() ? "write account, user, group, team or field"
                                     : fmt::format("did you mean '{}'?", meant)));
}

std::string statement_file_name(const std::optional<std::string>& name) {
  constexpr std::size_t kMostPlain = 80, kMostShown = 40;
  if (!name) return "_none";  // no other begins so
  const auto letter = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); };
  std::string shown;
  bool plain = !name->empty() && name->size() <= kMostPlain && letter(name->front());
  for (const char c : *name) {
    const char lower = to_lower(c);
    const bool kept = letter(lower) || c == '-' || c == '_';
    plain = plain && kept && lower == c;
    if (shown.size() < kMostShown && (kept || !shown.ends_with('-'))) shown += kept ? lower : '-';
  }
  if (plain) return *name;
  shown.erase(0, std::min(shown.find_first_not_of("-_"), shown.size()));
  // A plain name has no dot.
  return fmt::format("{}.{:016x}", shown.empty() ? "x" : shown, fnv64(*name));
}

Status make_statements(const std::string& store_path, const StatementOrder& order, const TimeZone& zone,
                       TimePoint now, int threads, const TakeStatement& take) {
  const Filter& filter = order.run.views.filter;
  auto periods = statement_periods(order.unit, filter.from, filter.to, zone, now);
  if (!periods) return fail(std::move(periods.error()));
  auto store = open_for_reports(store_path, threads);
  if (!store) return fail(std::move(store.error()));
  Maker maker(store->connection(), order, take);
  for (const StatementPeriod& period : *periods)
    if (auto made = maker.make(period); !made) return made;
  if (!maker.made_any()) return fail(no_job_fits(store->connection(), order.run));
  return {};
}

}  // namespace sickbay::workload
