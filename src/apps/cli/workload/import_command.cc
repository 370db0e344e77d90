// SPDX-License-Identifier: Apache-2.0
// sickbay import: accounting logs, of files or of sacct itself, into the store of workload analysis.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/page.h"
#include "apps/cli/workload/import_text.h"
#include "apps/cli/workload/import_watch.h"
#include "apps/cli/workload/log_options.h"
#include "apps/cli/workload/sacct_query.h"
#include "base/duration.h"
#include "base/text.h"
#include "workload/import/import.h"
#include "workload/store/store_path.h"

namespace sickbay::cli {
namespace {

using workload::Store;

constexpr std::int64_t kOverlap = 3600;        // seconds of sacct's past that each round asks for again
constexpr std::int64_t kFirstDay = 24 * 3600;  // that the first round asks for, when nobody says

struct ImportOptions {
  std::vector<std::string> files;
  LogOptions log;
  std::string store, time_zone = "UTC", from, to, every = "1h";
  int threads = 0;
  bool watch = false, json = false;
};

// What is the same for each round.
struct Prepared {
  std::unique_ptr<LogOrder> log;  // owns what `order` points to
  workload::ImportOrder order;
  std::string store;
  std::optional<std::int64_t> from, to;
  std::chrono::microseconds every{0};
};

Status prepare_times(const ImportOptions& o, Prepared& p) {
  auto zone = workload::TimeZone::make(o.time_zone);
  if (!zone) return fail(std::move(zone.error()));
  const auto read = [&](const std::string& text, const char* option,
                        std::optional<std::int64_t>& time) -> Status {
    std::int64_t seconds = 0;
    if (text.empty()) return {};
    const bool day = text.size() == 10;  // 2021-05-01
    if (!workload::parse_timestamp(day ? text + "T00:00:00" : text, *zone, seconds))
      return fail(Error(ErrorCode::usage, fmt::format("{} {} is no time", option, quote_for_message(text)))
                      .remedied_by("write 2021-05-01 or 2021-05-01T08:00:00"));
    time = seconds;
    return {};
  };
  if (auto good = read(o.from, "--from", p.from); !good) return good;
  if (auto good = read(o.to, "--to", p.to); !good) return good;
  auto every = parse_duration(o.every);
  if (!every) return fail(std::move(every.error()).in("reading --every"));
  p.every = *every;
  return {};
}

Status prepare(const ImportOptions& o, Prepared& p) {
  if (auto good = prepare_times(o, p); !good) return good;
  if (!o.files.empty() && (p.from || p.to))
    return fail(Error(ErrorCode::usage, "--from and --to are for what sacct tells, and files are named")
                    .remedied_by("leave out one of them; a report chooses its period itself"));
  if (o.files.empty() && !o.watch && !p.from && o.log.events.empty() && o.log.nodes.empty())
    return fail(
        Error(ErrorCode::usage, "there is nothing to import")
            .remedied_by(
                "name accounting logs ('-' is standard input), or let sacct tell: --from 2026-01-01"));
  auto path = workload::store_path_to_make(o.store);
  if (!path) return fail(std::move(path.error()));
  p.store = *path;
  auto log = make_log_order(o.log, o.files, o.time_zone, o.threads);
  if (!log) return fail(std::move(log.error()));
  p.log = std::move(*log);
  p.order = p.log->order;
  p.order.growing = o.watch;
  return {};
}

Result<Store> open_store(const Prepared& p) {
  workload::StoreOptions options;
  options.path = p.store;
  options.threads = p.order.threads;
  options.memory_limit = mib(512);  // ten million jobs need no more, and the host has other work
  return Store::open(options);
}

void tell(const workload::ImportResult& result, const ImportOptions& o) {
  if (o.json)
    print_json(import_json(result));
  else
    print(import_text(result, page_of_stdout()));
  std::fflush(stdout);
}

Status import_nodes(const ImportOptions& o, const Prepared& p) {
  if (o.log.events.empty() && o.log.nodes.empty()) return {};
  auto store = open_store(p);
  if (!store) return fail(std::move(store.error()));
  return import_node_files(o.log, o.time_zone, *store, [&](const char* what, const workload::NodeImport& n) {
    if (o.json)
      print_json(
          Json::object({{what, Json::object({{"seen", n.seen}, {"new", n.added}, {"changed", n.changed}})}}));
    else
      print(fmt::format("{} {}: {} new, {} changed\n", n.seen, what, n.added, n.changed));
  });
}

Status import_files(const ImportOptions& o, const Prepared& p) {
  auto store = open_store(p);
  if (!store) return fail(std::move(store.error()));
  auto result = workload::import_logs(*store, p.order);
  if (!result) return fail(std::move(result.error()));
  tell(*result, o);
  return {};
}

// Asks sacct for [from, to) and imports what it says; until when is kept in the store, for the next round.
Status import_from_sacct(const ImportOptions& o, const Prepared& p) {
  const std::int64_t now =
      to_unix_seconds(std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now()));
  std::int64_t from = p.from.value_or(now - kFirstDay);
  if (o.watch) {
    auto store = open_store(p);
    if (!store) return fail(std::move(store.error()));
    auto until = store->connection().query("SELECT value::BIGINT FROM meta WHERE name = 'sacct_until'");
    if (!until) return fail(std::move(until.error()));
    if (!until->rows.empty())
      if (const auto* seconds = std::get_if<std::int64_t>(&until->rows[0][0]); seconds != nullptr)
        from = *seconds - kOverlap;
  }
  // (The store is closed meanwhile: sacct may take minutes, and reports want to read.)
  auto log = SacctLog::ask(from, p.to);
  if (!log) return fail(std::move(log.error()));
  auto store = open_store(p);
  if (!store) return fail(std::move(store.error()));
  workload::ImportOrder order = p.order;
  order.inputs = {log->path()};
  order.name = "sacct";
  order.growing = false;
  const std::string cluster = order.read.cluster;
  order.read = SacctLog::read_options();
  order.read.cluster = cluster;
  auto result = workload::import_logs(*store, order);
  if (!result) return fail(std::move(result.error()));
  if (o.watch) {
    auto kept = store->connection().query("DELETE FROM meta WHERE name = 'sacct_until'");
    if (kept)
      kept = store->connection().query("INSERT INTO meta VALUES ('sacct_until', ?)", {std::to_string(now)});
    if (!kept) return fail(std::move(kept.error()));
  }
  tell(*result, o);
  return {};
}

Result<int> run_watch(const ImportOptions& o, const Prepared& p) {
  const Interrupts interrupts;
  FileChanges changes;
  int exit_code = 0;
  const auto round = [&]() -> Status {
    if (o.files.empty()) return import_from_sacct(o, p);
    const auto changed = changes.changed(o.files);
    if (changed.empty()) return {};
    changes.remember(changed);
    Prepared some;
    some.order = p.order;
    some.order.inputs = changed;
    some.store = p.store;
    return import_files(o, some);
  };
  // What may be better the next time is told and tried again; a wrong command line is not.
  const auto failed = [&](const Error& error) {
    exit_code = complain(error, o.json);
    return error.code != ErrorCode::usage && error.code != ErrorCode::too_new &&
           error.code != ErrorCode::missing_program;
  };
  const auto one = [&] {
    exit_code = 0;
    return round();
  };
  watch(
      one, [&] { return interrupts.wait(p.every); }, failed);
  return exit_code;
}

Result<int> run_import(const ImportOptions& o) {
  Prepared p;
  if (auto good = prepare(o, p); !good) return fail(good.error());
  if (auto done = import_nodes(o, p); !done) return fail(done.error());
  if (o.watch) return run_watch(o, p);
  if (o.files.empty() && !p.from) return 0;
  auto done = o.files.empty() ? import_from_sacct(o, p) : import_files(o, p);
  if (!done) return fail(done.error());
  return 0;
}

}  // namespace

void add_import_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("import", "bring accounting logs into the store of workload analysis");
  auto o = std::make_shared<ImportOptions>();
  c->add_option("FILE", o->files, "accounting logs, plain, gz, xz, zst or bz2; '-' is standard input");
  c->add_option("--store", o->store,
                "the store; else $SICKBAY_STORE, else ~/.local/share/sickbay/jobs.duckdb")
      ->type_name("FILE");
  c->add_option("--from", o->from, "without FILE: ask sacct for the jobs since then")->type_name("TIME");
  c->add_option("--to", o->to, "and until then")->type_name("TIME");
  c->add_option("--tz", o->time_zone, "zone of times that tell none (default UTC)")->type_name("ZONE");
  add_log_options(*c, o->log, "Reading logs");
  c->add_flag("--watch", o->watch,
              "go on: import again when FILE has grown, or what sacct tells, until Ctrl-C");
  c->add_option("--every", o->every, "how often to look with --watch (default 1h)")->type_name("TIME");
  c->add_option("--threads", o->threads, "default: one per core")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  c->add_flag("--json", o->json, "print what was done as JSON");
  c->footer(
      "A second import of the same log, or of one that overlaps, changes nothing that is there already.\n"
      "An import is stored as a whole or not at all.\n");
  c->callback([o, &ending] { ending = {run_import(*o), o->json}; });
}

}  // namespace sickbay::cli
