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
#include "apps/cli/workload/interrupts.h"
#include "apps/cli/workload/journal_costs.h"
#include "apps/cli/workload/log_options.h"
#include "apps/cli/workload/sacct_query.h"
#include "base/duration.h"
#include "base/text.h"
#include "workload/import/rounds.h"
#include "workload/store/store_path.h"

namespace sickbay::cli {
namespace {

struct ImportOptions {
  std::vector<std::string> files;
  LogOptions log;
  std::string store, time_zone = "UTC", from, to, every = "1h";
  int threads = 0;
  bool watch = false, json = false;
};

struct Prepared {
  std::unique_ptr<LogOrder> log;  // owns what the plan's order points to
  workload::ImportPlan plan;
  std::chrono::microseconds every{0};
  bool since_last = false;  // --from last
};

constexpr std::string_view kLast = "last";

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
  p.since_last = o.from == kLast;
  if (p.since_last && (!o.to.empty() || o.watch))
    return fail(Error(ErrorCode::usage, "--from last goes up to now, once")
                    .remedied_by("leave out --to; --watch goes on from there by itself"));
  if (!p.since_last)
    if (auto good = read(o.from, "--from", p.plan.from); !good) return good;
  if (auto good = read(o.to, "--to", p.plan.to); !good) return good;
  auto every = parse_duration(o.every);
  if (!every) return fail(std::move(every.error()).in("reading --every"));
  p.every = *every;
  return {};
}

Status prepare(const ImportOptions& o, Prepared& p) {
  if (auto good = prepare_times(o, p); !good) return good;
  const bool asks_since = p.plan.from || p.since_last;
  if (!o.files.empty() && (asks_since || p.plan.to))
    return fail(Error(ErrorCode::usage, "--from and --to are for what sacct tells, and files are named")
                    .remedied_by("leave out one of them; a report chooses its period itself"));
  if (o.files.empty() && !o.watch && !asks_since && node_files_of(o.log).empty() && o.log.journal.empty())
    return fail(
        Error(ErrorCode::usage, "there is nothing to import")
            .remedied_by(
                "name accounting logs ('-' is standard input), or let sacct tell: --from 2026-01-01"));
  auto path = workload::store_path_to_make(o.store);
  if (!path) return fail(std::move(path.error()));
  p.plan.store_path = *path;
  auto log = make_log_order(o.log, o.files, o.time_zone, o.threads);
  if (!log) return fail(std::move(log.error()));
  p.log = std::move(*log);
  p.plan.order = p.log->order;
  p.plan.order.growing = o.watch;
  p.plan.node_files = node_files_of(o.log);
  auto costs = costs_of_journal(o.log.journal, o.log.cluster);
  if (!costs) return fail(std::move(costs.error()));
  p.plan.costs = std::move(*costs);
  p.plan.ask_sacct = ask_sacct;
  return {};
}

void tell(const workload::ImportResult& result, const ImportOptions& o) {
  if (o.json)
    print_json(import_json(result));
  else
    print(import_text(result, page_of_stdout()));
  std::fflush(stdout);
}

void tell_of_nodes(const char* what, const workload::NodeImport& n, bool json) {
  if (json)
    print_json(
        Json::object({{what, Json::object({{"seen", n.seen}, {"new", n.added}, {"changed", n.changed}})}}));
  else
    print(fmt::format("{} {}: {} new, {} changed\n", n.seen, what, n.added, n.changed));
}

void tell_of_costs(const workload::JobCostList& costs, bool json) {
  if (json)
    print_json(Json::object({{"costs", Json::object({{"failures", costs.failures.size()},
                                                     {"checkpoints", costs.checkpoints.size()}})}}));
  else
    print(fmt::format("the journal tells of {} failures and {} checkpoints of jobs\n", costs.failures.size(),
                      costs.checkpoints.size()));
}

std::int64_t now() {
  return to_unix_seconds(std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now()));
}

// Rounds until Ctrl-C.  The exit code is that of the last one: what failed before it has been made good.
Result<int> run_watch(const ImportOptions& o, const Prepared& p) {
  const Interrupts interrupts;
  workload::ImportRounds rounds(p.plan);
  int exit_code = 0;
  const auto round = [&]() -> Status {
    exit_code = 0;
    auto done = rounds.next(now());
    if (!done) return fail(std::move(done.error()));
    if (*done) tell(**done, o);
    return {};
  };
  const auto failed = [&](const Error& error) {  // told at once: the next round may be hours away
    exit_code = complain(error, o.json);
    return workload::may_be_better_later(error);
  };
  workload::watch(
      round, [&] { return interrupts.wait(p.every); }, failed);
  return exit_code;
}

Result<int> run_import(const ImportOptions& o) {
  Prepared p;
  if (auto good = prepare(o, p); !good) return fail(good.error());
  auto nodes = workload::import_nodes_of(p.plan, now(), [&](const char* what, const workload::NodeImport& n) {
    tell_of_nodes(what, n, o.json);
  });
  if (!nodes) return fail(nodes.error());
  if (!o.log.journal.empty()) tell_of_costs(p.plan.costs, o.json);
  if (o.watch) return run_watch(o, p);
  if (o.files.empty() && !p.plan.from && !p.since_last) return 0;
  auto done =
      p.since_last ? workload::import_since_last(p.plan, now()) : workload::import_once(p.plan, now());
  if (!done) return fail(done.error());
  tell(*done, o);
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
  c->add_option("--from", o->from,
                "without FILE: ask sacct for the jobs since then; 'last': since it was asked last, and a day "
                "before")
      ->type_name("TIME");
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
      "An import is stored as a whole or not at all.\n"
      "sickbay-import.timer does '--from last' once a day (doc/formats/logs.md).\n");
  c->callback([o, &ending] { ending = {run_import(*o), o->json}; });
}

}  // namespace sickbay::cli
