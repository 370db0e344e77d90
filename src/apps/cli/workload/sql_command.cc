// SPDX-License-Identifier: Apache-2.0
// sickbay sql: one's own questions to the store of jobs.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/page.h"
#include "apps/cli/workload/sql_text.h"
#include "workload/report/site.h"
#include "workload/report/views.h"
#include "workload/store/store.h"
#include "workload/store/store_path.h"

namespace sickbay::cli {
namespace {

struct SqlOptions {
  std::string sql, store, format = "table";
  bool write = false, views = false, json = false;
};

// The views of a report: the caller's, where it is a plug-in's executable, else those of all jobs.
Status make_views(duck::Connection& connection) {
  const char* given = std::getenv("SICKBAY_VIEWS");
  if (given != nullptr && *given != '\0') {
    if (auto made = connection.execute(given); !made)
      return fail(
          std::move(made.error())
              .remedied_by("SICKBAY_VIEWS is set by 'sickbay report' for executables; unset it elsewhere"));
    return {};
  }
  workload::ViewOrder order;
  order.site = workload::default_site();
  auto views = workload::views_sql(connection, order);
  if (!views) return fail(std::move(views.error()));
  return connection.execute(*views);
}

constexpr std::size_t kLongestSql = 16 * 1024 * 1024;

Result<std::string> read_stdin() {
  std::string text;
  char block[64 * 1024];
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail(
          Error(ErrorCode::os, "cannot read the SQL from standard input").because(std::strerror(errno)));
    if (n == 0) return text;
    text.append(block, static_cast<std::size_t>(n));
    if (text.size() > kLongestSql) return fail(ErrorCode::bad_input, "the SQL is longer than 16 MiB");
  }
}

Result<int> run_sql(SqlOptions& o) {
  const std::string format = o.json ? "json" : o.format;
  o.json = format == "json" || format == "jsonl";  // so that an error is JSON as well
  auto path = workload::store_path(o.store);
  auto sql = o.sql.empty() || o.sql == "-" ? read_stdin() : Result<std::string>(o.sql);
  if (!path || !sql) return fail(path ? sql.error() : path.error());
  workload::StoreOptions options;
  options.path = *path;
  options.mode = o.write ? workload::StoreMode::write : workload::StoreMode::read;
  options.sandboxed = !o.write;
  auto store = workload::Store::open(options);
  if (!store) return fail(store.error());
  if (o.views)
    if (auto made = make_views(store->connection()); !made) return fail(made.error());

  auto text = SqlText::make(format, page_of_stdout(), [&](std::string_view piece) {
    o.json = false;  // behind half an array no JSON would be whole
    print(piece);
  });
  const auto head = [&](const std::vector<duck::ResultColumn>& columns) { text->head(columns); };
  const auto row = [&](const std::vector<duck::Value>& values) {
    return text->row(values) && std::ferror(stdout) == 0;
  };
  Status ran = o.write ? store->connection().stream(*sql, head, row)
                       : store->connection().stream_select(*sql, head, row);
  if (ran) text->end();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail(Error(ErrorCode::os, "cannot write all of the result to standard output")
                    .because(std::strerror(errno)));
  if (!ran) {
    Error error = ran.error();
    if (!o.write && error.code == ErrorCode::bad_input && error.what.starts_with("only one SELECT"))
      error.remedy_text += "; --write runs statements of any kind";
    return fail(std::move(error));
  }
  if (text->cut())
    warn(Error(ErrorCode::bad_input,
               "the table ends after " + std::to_string(kTableRows) + " rows; the result has more")
             .remedied_by("add a LIMIT or sum up; --format csv, json and jsonl have no bound"));
  return 0;
}

}  // namespace

void add_sql_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("sql", "ask the store of jobs in SQL");
  auto o = std::make_shared<SqlOptions>();
  c->add_option("SQL", o->sql, "one SELECT of DuckDB's SQL; - or nothing: from standard input");
  c->add_option("--store", o->store,
                "the store; else $SICKBAY_STORE, else ~/.local/share/sickbay/jobs.duckdb")
      ->type_name("FILE");
  CLI::Option* format = c->add_option("--format", o->format, "how rows are printed")
                            ->type_name("table|csv|json|jsonl")
                            ->check(CLI::IsMember({"table", "csv", "json", "jsonl"}));
  c->add_flag("--json", o->json, "the same as --format json")->excludes(format);
  CLI::Option* write = c->add_flag("--write", o->write, "any statements, also such that change the store");
  c->add_flag("--views", o->views,
              "with the views of reports (j, period, ...): those of $SICKBAY_VIEWS, which holds the filter, "
              "else of all "
              "jobs")
      ->excludes(write);
  c->footer(
      "Without --write the store is only read, and the SQL reaches no files, network or settings.\n"
      "The tables are jobs, imports, rejects, node_events, nodes, job_failures,\n"
      "job_checkpoints and run_records; 'DESCRIBE jobs' lists columns.\n"
      "A table shows 10000 rows at most, the other formats all.  Times are UTC.\n");
  c->callback([o, &ending] { ending = {run_sql(*o), o->json}; });
}

}  // namespace sickbay::cli
