// SPDX-License-Identifier: Apache-2.0
// `sickbay report`: what the jobs of a cluster did, from a store or straight from accounting logs.
//
// What can be wrong on the command line is looked at first, before an import of minutes; a report that fails
// is named on standard error and in the document, and the others are made (exit code 1).
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <filesystem>

#include "adapters/posix/installed_file.h"
#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/page.h"
#include "apps/cli/workload/bounded_child.h"
#include "apps/cli/workload/journal_costs.h"
#include "apps/cli/workload/log_options.h"
#include "apps/cli/workload/report_list.h"
#include "apps/cli/workload/report_output.h"
#include "apps/cli/workload/report_statements.h"
#include "apps/cli/workload/sacct_query.h"
#include "apps/cli/workload/temporary_folder.h"
#include "base/duration.h"
#include "base/text.h"
#include "workload/import/for_report.h"
#include "workload/report/make_report.h"
#include "workload/store/store_path.h"

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;
using workload::Catalog;
using workload::Document;
using workload::Outcome;
using workload::Plugin;
using workload::ReportResult;
using workload::RunOrder;
using workload::Site;

constexpr int kSomeFailed = 1;  // "the answer is no"

struct ReportOptions {
  std::vector<std::string> logs;
  LogOptions log;
  std::string store;
  std::vector<std::string> outs, plugins, reports, plugin_folders, parameters;
  std::string site_file, users_file, accounts_file, language, zone, title, help_plugin, from, to, compare,
      time_limit = "60s";
  workload::Filter filter;
  StatementWords statement;  // its unit is empty: a report
  bool live = false, list = false, check = false, list_messages = false, json = false;
  int threads = 0;
};

// ---- what the command line says ---------------------------------------------------------------------------

// The file that --site names, else the site's own where there is one.
std::string site_file(const ReportOptions& o) {
  const std::string usual = rooted("/etc/sickbay/site.json");
  std::error_code ignored;
  return o.site_file.empty() && fs::exists(usual, ignored) ? usual : o.site_file;
}

std::vector<std::string> plugin_folders(const ReportOptions& o) {
  std::vector<std::string> folders;
  if (const std::string shipped = installed_file("reports"); !shipped.empty()) folders.push_back(shipped);
  folders.insert(folders.end(), o.plugin_folders.begin(), o.plugin_folders.end());
  return folders;
}

Result<std::vector<std::pair<std::string, std::string>>> split_parameters(
    const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0)
      return fail(Error(ErrorCode::usage, fmt::format("{} sets no parameter", quote_for_message(word)))
                      .remedied_by("write --param plugin.report.name=value"));
    all.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return all;
}

// ---- the report -------------------------------------------------------------------------------------------

Result<std::string> run_program(const workload::ProgramOrder& order) {
  BoundedChild child;
  child.argv = order.argv;
  child.folder = order.folder;
  child.environment = order.environment;
  child.time_limit = order.time_limit;
  child.most_bytes = order.most_bytes;
  return run_bounded(child);
}

// Sentences for what could not be made; whether one failed.
bool tell_problems(const Catalog& catalog, const Document& document) {
  bool failed = !catalog.problems.empty();
  for (const Error& error : catalog.problems) warn(error);
  for (const ReportResult& result : document.results) {
    if (result.outcome != Outcome::failed) continue;
    failed = true;
    warn(Error(ErrorCode::bad_input, fmt::format("the report {} failed: {}", result.spec.id(), result.why))
             .remedied_by(
                 fmt::format("correct {}, or leave it out with --plugins or --reports", result.spec.path)));
  }
  return failed;
}

Result<workload::ReportWishes> wishes_of(const ReportOptions& o) {
  workload::ReportWishes wishes;
  wishes.folders = plugin_folders(o);
  wishes.period = {o.from, o.to, o.compare};
  wishes.filter = o.filter;
  wishes.title = o.title;
  wishes.language = o.language;
  wishes.time_zone = o.zone;
  auto limit = parse_duration(o.time_limit);
  if (!limit) return fail(limit.error());
  wishes.time_limit = std::chrono::duration_cast<std::chrono::milliseconds>(*limit);
  wishes.threads = o.threads;
  wishes.made_at = local_time(page_of_stdout().now);
  wishes.version = SICKBAY_VERSION;
  wishes.run_program = run_program;
  return wishes;
}

void tell_rejects(const workload::ImportResult& imported) {
  for (const workload::SourceResult& source : imported.sources) {
    if (source.rejected == 0) continue;
    const std::string kind = source.rejects.empty() ? "" : source.rejects.front().example;
    warn(Error(ErrorCode::bad_input, fmt::format("{} of {} records of {} could not be read", source.rejected,
                                                 source.records, source.name))
             .because(kind)
             .remedied_by("--rejects FILE writes them, with their lines"));
  }
}

// The store that the command line names, or the one that the logs make.
Result<std::string> store_to_read(const ReportOptions& o, const RunOrder& order,
                                  const TemporaryFolder& folder) {
  if (o.logs.empty() && !o.live) return workload::store_path(o.store);
  if (o.live && !o.logs.empty())
    return fail(Error(ErrorCode::usage, "--live takes no log")
                    .remedied_by("import the log first, or leave out --live"));
  if (folder.path().empty())
    return fail(ErrorCode::storage_broken, "cannot make a folder for temporary files; see TMPDIR");
  auto log = make_log_order(o.log, o.logs, order.time_zone, o.threads);
  if (!log) return fail(log.error());
  workload::LogsOfReport logs;
  logs.order = (*log)->order;
  logs.node_files = node_files_of(o.log);
  auto costs = costs_of_journal(o.log.journal, o.log.cluster);
  if (!costs) return fail(costs.error());
  logs.costs = std::move(*costs);
  logs.ask_sacct = ask_sacct;
  logs.from = order.views.filter.from;
  logs.to = order.views.filter.to;
  logs.kept = !o.store.empty();
  const std::string path = logs.kept ? o.store : folder.path() + "/jobs.duckdb";
  auto imported = workload::import_for_report(logs, path, page_of_stdout().now);
  if (!imported) return fail(imported.error());
  tell_rejects(*imported);
  return path;
}

Result<int> print_report(ReportOptions& o, const Catalog& catalog, const Site& site,
                         std::vector<Plugin> plugins) {
  for (const std::string& out : o.outs)
    if (auto form = form_of_output(out); !form) return fail(form.error());
  auto wishes = wishes_of(o);
  if (!wishes) return fail(wishes.error());
  auto order = workload::plan_report(std::move(plugins), site, *wishes, page_of_stdout().now);
  if (!order) return fail(order.error());
  const TemporaryFolder folder;
  auto path = store_to_read(o, *order, folder);
  if (!path) return fail(path.error());
  auto document = workload::make_report(*path, std::move(*order), o.threads);
  if (!document) return fail(document.error());
  const bool failed = tell_problems(catalog, *document);
  if (o.json)
    print(workload::render_json(*document));
  else if (o.outs.empty())
    print(workload::render_markdown(*document));
  o.json = false;  // an error behind the document would spoil it
  for (const std::string& out : o.outs)
    if (auto written = write_output(*document, out); !written) return fail(written.error());
  return failed ? kSomeFailed : 0;
}

// In place of the reports; so there is nothing to choose of them, and nothing to compare.
Result<int> print_statements(const ReportOptions& o, const Site& site) {
  if (!o.plugins.empty() || !o.reports.empty() || !o.parameters.empty() || !o.compare.empty())
    return fail(Error(ErrorCode::usage, "a statement has tables of its own")
                    .remedied_by("leave out --plugins, --reports, --param and --compare"));
  if (auto good = check_statements(o.statement, o.outs); !good) return fail(good.error());
  auto wishes = wishes_of(o);
  if (!wishes) return fail(wishes.error());
  auto order = workload::plan_report({}, site, *wishes, page_of_stdout().now);
  if (!order) return fail(order.error());
  const TemporaryFolder folder;
  auto path = store_to_read(o, *order, folder);
  if (!path) return fail(path.error());
  auto written =
      write_statements(o.statement, o.outs[0], *path, std::move(*order), page_of_stdout().now, o.threads);
  if (!written) return fail(written.error());
  return 0;
}

Result<int> run_report_command(ReportOptions& o) {
  const auto folders = plugin_folders(o);
  auto catalog = workload::load_catalog(folders);
  if (!catalog) return fail(catalog.error());
  if (!o.help_plugin.empty()) return help_plugin(catalog->plugins, o.help_plugin);
  auto site = workload::load_site(site_file(o), o.users_file, o.accounts_file);
  if (!site) return fail(site.error());
  if (!o.statement.unit.empty()) return print_statements(o, *site);
  auto parameters = split_parameters(o.parameters);
  if (!parameters) return fail(parameters.error());
  auto chosen = workload::choose_reports(*catalog, *site, {o.plugins, o.reports, *parameters});
  if (!chosen) return fail(chosen.error());
  if (o.list) return list_reports(*chosen, o.json);
  if (o.check) {
    auto limit = parse_duration(o.time_limit);
    if (!limit) return fail(limit.error());
    return check_reports(folders, *catalog, *chosen,
                         {.run_program = run_program,
                          .store_path = {},
                          .time_limit = std::chrono::duration_cast<std::chrono::milliseconds>(*limit)},
                         o.json);
  }
  if (o.list_messages) return list_messages(folders, *chosen);
  return print_report(o, *catalog, *site, std::move(*chosen));
}

void add_filter_options(CLI::App& c, ReportOptions& o) {
  const auto names = [&](const char* option, std::vector<std::string>& to, const char* help) {
    c.add_option(option, to, help)->delimiter(',')->type_name("NAMES")->group("Which jobs");
  };
  c.add_option("--from", o.from,
               "jobs that were there after this time: 2021-05-01, 2021-05, or 30d before now")
      ->type_name("TIME")
      ->group("Which jobs");
  c.add_option("--to", o.to, "jobs submitted before this time")->type_name("TIME")->group("Which jobs");
  c.add_option("--compare", o.compare, "a second period to compare with: FROM..TO, or 'previous'")
      ->type_name("PERIOD")
      ->group("Which jobs");
  names("--users", o.filter.users, "of these users");
  names("--accounts", o.filter.accounts, "of these accounts");
  names("--partitions", o.filter.partitions, "of these partitions");
  names("--apps", o.filter.applications, "of these applications");
  names("--states", o.filter.states, "that ended in these states");
  names("--clusters", o.filter.clusters, "of these clusters");
  c.add_option("--min-cpus", o.filter.min_cpus, "of at least as many cores")
      ->type_name("N")
      ->group("Which jobs");
  c.add_option("--max-cpus", o.filter.max_cpus, "of at most as many cores")
      ->type_name("N")
      ->group("Which jobs");
  c.add_option("--like", o.filter.like,
               "a job without a label gets that of its user's jobs of the same shape, marked 'like', where "
               "that is so "
               "sure: 0.5 to 1")
      ->check(CLI::Range(0.5, 1.0))
      ->type_name("SHARE")
      ->group("Which jobs");
}

void add_statement_options(CLI::App& c, ReportOptions& o) {
  CLI::Option* unit =
      c.add_option(
           "--statement", o.statement.unit,
           "in place of the report, what each account used in each day, week, month, quarter or year of "
           "the period (without --from: in the last whole one), a file each: DIR/PERIOD/NAME.html, with "
           "--out DIR")
          ->type_name("UNIT")
          ->group("Statements");
  c.add_option("--per", o.statement.of, "whose: account, user, group, team or field")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->needs(unit)
      ->group("Statements");
  c.add_option("--as", o.statement.forms, "forms: html, md, csv, json, pdf; default: html")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FORMS")
      ->needs(unit)
      ->group("Statements");
}

}  // namespace

void add_report_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("report", "tell what the jobs of a cluster did, with charts");
  auto o = std::make_shared<ReportOptions>();
  c->add_option("LOG", o->logs,
                "accounting logs, plain or compressed; '-': standard input; without one, the store is read");
  c->add_option(
       "-s,--store", o->store,
       "the store; else $SICKBAY_STORE, else ~/.local/share/sickbay/jobs.duckdb; with LOG: where to keep "
       "the jobs, else they are forgotten")
      ->type_name("FILE");
  c->add_option(
       "-o,--out", o->outs,
       "write it here, by its ending: .html, .md, .json, .csv, .pdf; 'NAME/': a folder of CSV files; "
       "may come several times; default: Markdown to standard output")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_filter_options(*c, *o);
  add_statement_options(*c, *o);
  c->add_option("--plugins", o->plugins, "only these plug-ins")
      ->delimiter(',')
      ->type_name("NAMES")
      ->group("Which reports");
  c->add_option("--reports", o->reports, "only these reports, as plugin.report")
      ->delimiter(',')
      ->type_name("NAMES")
      ->group("Which reports");
  c->add_option("--plugin-dir", o->plugin_folders,
                "a folder of further plug-ins (doc/plugins.md); may come several times")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->group("Which reports");
  c->add_option("--param", o->parameters, "set a parameter: plugin.report.name=value")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group("Which reports");
  c->add_option("--time-limit", o->time_limit, "of each report")
      ->type_name("TIME")
      ->capture_default_str()
      ->group("Which reports");
  c->add_flag("--list", o->list, "list the reports there are")->group("Which reports");
  c->add_option("--help-plugin", o->help_plugin, "what a plug-in's reports say, and their parameters")
      ->type_name("NAME")
      ->group("Which reports");
  c->add_option("--site", o->site_file,
                "classes, users, accounts, charges (doc/formats/site.md); default: /etc/sickbay/site.json")
      ->type_name("FILE")
      ->group("Site and page");
  c->add_option("--users-file", o->users_file, "users.json: names, teams and fields of users")
      ->type_name("FILE")
      ->group("Site and page");
  c->add_option("--accounts-file", o->accounts_file,
                "how accounts stand, their PIs and budgets: accounts.json, or what 'sacctmgr dump' writes")
      ->type_name("FILE")
      ->group("Site and page");
  c->add_option("--title", o->title, "title of the page")->type_name("TEXT")->group("Site and page");
  c->add_option("--lang", o->language, "language: en, zh, ru")->type_name("LANG")->group("Site and page");
  c->add_option("--tz", o->zone,
                "time zone of logs and of the page, as Europe/Berlin; default: the site's, else UTC")
      ->type_name("ZONE")
      ->group("Site and page");
  c->add_flag("--live", o->live, "ask sacct for the time from --from (default: 30d ago) to --to")
      ->group("Reading logs");
  add_log_options(*c, o->log, "Reading logs");
  c->add_option("--threads", o->threads, "threads of the store; default: one per core")->type_name("N");
  c->add_flag("--check", o->check,
              "check all plug-ins and translations, and make no report; executables run on ten made-up jobs")
      ->group("For authors of plug-ins");
  c->add_flag("--list-messages", o->list_messages, "print all texts that a translation may hold, as JSON")
      ->group("For authors of plug-ins");
  c->add_flag("--json", o->json, "print the document (or the list) as JSON");
  c->footer(
      "Exit codes: 0 all reports were made; 1 one failed, which is named, and the others were made.\n"
      "A report that needs what the log does not have is left out, and says what it lacks.\n");
  c->callback([o, &ending] { ending = {run_report_command(*o), o->json}; });
}

}  // namespace sickbay::cli
