// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/report_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/answer.h"
#include "apps/cli/page.h"
#include "apps/cli/workload/temporary_folder.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/text.h"
#include "base/text_table.h"
#include "workload/report/count_rules.h"
#include "workload/report/messages.h"
#include "workload/report/run.h"
#include "workload/report/ten_jobs.h"
#include "workload/store/store.h"

namespace sickbay::cli {
namespace {

using workload::Catalog;
using workload::Messages;
using workload::Plugin;
using workload::ReportSpec;
using workload::Store;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// A store without jobs, on which every SELECT must run.
Result<Store> empty_store() { return Store::open({}); }

// Texts of other languages that are not there, by language.
Json missing_messages(const std::vector<std::string>& folders, const std::vector<Plugin>& plugins,
                      const Messages& all) {
  Json missing = Json::object();
  for (const std::string& language : workload::languages(folders, plugins)) {
    if (language == "en") continue;
    auto own = workload::load_messages(folders, plugins, language, workload::Fallback::none);
    Json keys = Json::array();
    if (own)
      for (const auto& [key, text] : all)
        if (!own->contains(key)) keys.push(key);
    missing.set(language, std::move(keys));
  }
  return missing;
}

}  // namespace

Result<int> list_reports(const std::vector<Plugin>& plugins, bool as_json) {
  Json all = Json::array();
  TextTable table({{"REPORT"},
                   {"TITLE", TextTable::Column::Align::left, true},
                   {"CHART"},
                   {"NEEDS", TextTable::Column::Align::left, true}});
  for (const Plugin& plugin : plugins)
    for (const ReportSpec& spec : plugin.reports) {
      all.push(Json::object({{"report", spec.id()},
                             {"title", spec.title},
                             {"chapter", plugin.chapter},
                             {"chart", spec.chart.kind},
                             {"needs", Json(spec.needs)},
                             {"fault", spec.fault}}));
      table.add({spec.id(), for_terminal(spec.title), spec.chart.kind, for_terminal(joined(spec.needs))});
    }
  if (as_json) {
    print_json(all);
  } else {
    const TextPage page = page_of_stdout();
    print(table.text({.width = page.width, .colours = page.colours}));
  }
  return 0;
}

// A note has lines of its own.
void print_lines(const std::string& first, const std::string& text, const TextPage& page) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    print(paragraph(rest.size() == text.size() ? first : std::string(first.size(), ' '), rest.substr(0, end),
                    page));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

Result<int> help_plugin(const std::vector<Plugin>& plugins, const std::string& name) {
  auto found = workload::chosen(plugins, {name}, {});
  if (!found) return fail(found.error());
  const TextPage page = page_of_stdout();
  const Plugin& plugin = found->front();
  print(for_terminal(plugin.title) + "\n" + paragraph("  ", plugin.help, page));
  for (const ReportSpec& spec : plugin.reports) {
    print("\n" + spec.id() + ": " + for_terminal(spec.title) + "\n");
    if (!spec.fault.empty()) print(paragraph("  fault: ", spec.fault, page));
    print_lines("  ", spec.note, page);
    if (!spec.counts.empty()) print(paragraph("  what counts: ", workload::counts_text({}, spec), page));
    print_lines("  not counted: ", spec.left_out, page);
    if (!spec.needs.empty()) print(paragraph("  needs: ", joined(spec.needs), page));
    for (const workload::Parameter& p : spec.parameters)
      print(paragraph(fmt::format("  --param {}.{}={}  ", spec.id(), p.name, p.value), p.help, page));
  }
  return 0;
}

Result<int> check_reports(const std::vector<std::string>& folders, const Catalog& catalog,
                          const std::vector<Plugin>& plugins, workload::ExecutableCheck executables,
                          bool as_json) {
  auto store = empty_store();
  if (!store) return fail(store.error());
  const TemporaryFolder folder;
  executables.store_path = folder.path() + "/ten_jobs.duckdb";
  const bool starts = std::any_of(plugins.begin(), plugins.end(), [](const Plugin& plugin) {
    return std::any_of(plugin.reports.begin(), plugin.reports.end(),
                       [](const auto& spec) { return spec.executable; });
  });
  if (starts) {
    if (folder.path().empty())
      return fail(ErrorCode::storage_broken, "cannot make a folder for temporary files; see TMPDIR");
    if (auto made = workload::make_store_of_ten_jobs(executables.store_path); !made)
      return fail(made.error());
  }
  std::vector<std::string> columns;
  auto errors = workload::check_reports(store->connection(), plugins, columns, &executables);
  if (!errors) return fail(errors.error());
  auto english = workload::load_messages(folders, plugins, "en");
  if (!english) return fail(english.error());
  errors->insert(errors->begin(), catalog.problems.begin(), catalog.problems.end());
  const Json missing = missing_messages(folders, plugins, workload::all_messages(*english, plugins, columns));
  std::size_t count = 0;
  for (const Plugin& plugin : plugins) count += plugin.reports.size();
  int code = 0;
  for (const Error& error : *errors) code = complain(error);
  if (as_json) {
    Json wrong = Json::array();
    for (const Error& error : *errors) wrong.push(error_json(error));
    print_json(
        Json::object({{"reports", count}, {"errors", std::move(wrong)}, {"missing_messages", missing}}));
    return code;
  }
  const std::size_t bad = errors->size();
  fmt::print("{} {} of {} {}: {}\n", count, count == 1 ? "report" : "reports", plugins.size(),
             plugins.size() == 1 ? "plug-in" : "plug-ins",
             bad == 0 ? "all are right" : fmt::format("{} wrong", bad));
  for (const auto& [language, keys] : missing.members())
    if (keys.size() > 0)
      fmt::print("{} lacks {} texts (the first: {})\n", language, keys.size(),
                 keys.items().front().as_string());
  return code;
}

Result<int> list_messages(const std::vector<std::string>& folders, const std::vector<Plugin>& plugins) {
  auto store = empty_store();
  if (!store) return fail(store.error());
  std::vector<std::string> columns;
  if (auto errors = workload::check_reports(store->connection(), plugins, columns); !errors)
    return fail(errors.error());
  auto english = workload::load_messages(folders, plugins, "en");
  if (!english) return fail(english.error());
  Json all = Json::object();
  for (const auto& [key, text] : workload::all_messages(*english, plugins, columns)) all.set(key, text);
  print_json(all);
  return 0;
}

}  // namespace sickbay::cli
