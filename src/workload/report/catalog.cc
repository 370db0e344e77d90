// SPDX-License-Identifier: Apache-2.0
#include "workload/report/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

#include "base/spelling.h"
#include "base/text.h"
#include "workload/report/head.h"

namespace sickbay::workload {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 16u << 20;

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The SQL files of a plug-in.  A broken one still takes its place, with what is wrong.
void add_sql_files(Plugin& plugin) {
  for (const fs::path& path : sorted_entries(plugin.folder)) {
    if (path.extension() != ".sql") continue;
    Result<ReportSpec> spec = fail(ErrorCode::internal, "");
    if (auto text = read_text(path.string()); text)
      spec = parse_report(plugin.name, path.string(), *text);
    else
      spec = fail(text.error());
    if (!spec) {
      ReportSpec broken;
      broken.plugin = plugin.name;
      const std::string stem = path.stem().string();
      broken.name = stem.substr(stem.find('_') == stem.npos ? 0 : stem.find('_') + 1);
      broken.title = broken.name;
      std::from_chars(stem.data(), stem.data() + stem.size(), broken.place);
      broken.path = path.string();
      broken.chart.kind = "none";
      broken.fault = spec.error().what;
      spec = std::move(broken);
    }
    plugin.reports.push_back(std::move(*spec));
  }
  std::stable_sort(plugin.reports.begin(), plugin.reports.end(),
                   [](const ReportSpec& a, const ReportSpec& b) { return a.place < b.place; });
}

Status add_plugin(const fs::path& folder, Catalog& catalog) {
  const std::string manifest = (folder / "plugin.json").string();
  auto text = read_text(manifest);
  if (!text) return fail(text.error());
  auto plugin = parse_plugin(manifest, *text);
  if (!plugin) return fail(plugin.error());
  for (const Plugin& other : catalog.plugins)
    if (other.name == plugin->name)
      return fail(Error(ErrorCode::already_exists, fmt::format("there are two plug-ins '{}': {} and {}",
                                                               other.name, other.folder, plugin->folder))
                      .remedied_by("rename one of them"));
  add_sql_files(*plugin);
  if (plugin->reports.empty())
    return fail(ErrorCode::bad_input,
                fmt::format("{}: the plug-in '{}' has no report", manifest, plugin->name));
  for (std::size_t i = 0; i < plugin->reports.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (plugin->reports[k].name == plugin->reports[i].name)
        return fail(ErrorCode::bad_input,
                    fmt::format("{}: there are two reports '{}'", manifest, plugin->reports[i].id()));
  catalog.plugins.push_back(std::move(*plugin));
  return {};
}

std::size_t chapter_place(const Plugin& plugin) {
  return static_cast<std::size_t>(std::find(std::begin(kChapters), std::end(kChapters), plugin.chapter) -
                                  std::begin(kChapters));
}

tl::unexpected<Error> unknown(std::string_view what, const std::string& name,
                              const std::vector<std::string>& known) {
  const std::string meant = did_you_mean(name, known);
  return fail(Error(ErrorCode::not_found, fmt::format("there is no {} {}", what, quote_for_message(name)))
                  .remedied_by(meant.empty() ? "'sickbay report --list' lists them"
                                             : fmt::format("did you mean '{}'?", meant)));
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) {
    const int code = error ? error.value() : errno;
    const ErrorCode kind = code == EACCES ? ErrorCode::denied : ErrorCode::not_found;
    return fail(
        Error(kind, fmt::format("cannot read {}: {}", quote_for_message(path, 200), std::strerror(code)))
            .remedied_by("check the path and its rights"));
  }
  if (size > kMostBytes)
    return fail(ErrorCode::bad_input, fmt::format("{} is larger than 16 MiB", quote_for_message(path, 200)));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Result<Catalog> load_catalog(const std::vector<std::string>& folders) {
  Catalog catalog;
  std::error_code ignored;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder, ignored))
      return fail(Error(ErrorCode::not_found,
                        fmt::format("there is no folder of plug-ins {}", quote_for_message(folder, 200)))
                      .remedied_by("name a folder with a plugin.json, or one that holds such folders"));
    std::vector<fs::path> found;
    if (fs::exists(fs::path(folder) / "plugin.json", ignored))
      found.emplace_back(folder);
    else
      for (const fs::path& path : sorted_entries(folder))
        if (fs::exists(path / "plugin.json", ignored)) found.push_back(path);
    if (found.empty())
      catalog.problems.push_back(
          Error(ErrorCode::not_found, fmt::format("no plug-in is in {}", quote_for_message(folder, 200)))
              .remedied_by("a plug-in is a folder with a plugin.json; see doc/plugins.md"));
    for (const fs::path& path : found)
      if (auto added = add_plugin(path, catalog); !added) catalog.problems.push_back(added.error());
  }
  std::stable_sort(catalog.plugins.begin(), catalog.plugins.end(), [](const Plugin& a, const Plugin& b) {
    return std::tuple(chapter_place(a), a.order, a.name) < std::tuple(chapter_place(b), b.order, b.name);
  });
  return catalog;
}

Result<std::vector<Plugin>> chosen(std::vector<Plugin> plugins, const std::vector<std::string>& names,
                                   const std::vector<std::string>& reports) {
  if (names.empty() && reports.empty()) return plugins;
  std::vector<std::string> known_plugins, known_reports;
  for (const Plugin& plugin : plugins) {
    known_plugins.push_back(plugin.name);
    for (const ReportSpec& spec : plugin.reports) known_reports.push_back(spec.id());
  }
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const std::string& name : names)
    if (!has(known_plugins, name)) return unknown("plug-in", name, known_plugins);
  for (const std::string& name : reports)
    if (!has(known_reports, name)) return unknown("report", name, known_reports);
  std::vector<Plugin> taken;
  for (Plugin& plugin : plugins) {
    if (!has(names, plugin.name))
      std::erase_if(plugin.reports, [&](const ReportSpec& spec) { return !has(reports, spec.id()); });
    if (!plugin.reports.empty()) taken.push_back(std::move(plugin));
  }
  return taken;
}

Status set_parameters(std::vector<Plugin>& plugins,
                      const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [name, value] : values) {
    std::vector<std::string> known;
    Parameter* found = nullptr;
    for (Plugin& plugin : plugins)
      for (ReportSpec& spec : plugin.reports)
        for (Parameter& parameter : spec.parameters) {
          known.push_back(spec.id() + "." + parameter.name);
          if (known.back() == name) found = &parameter;
        }
    if (found == nullptr) return unknown("parameter", name, known);
    if (auto set = set_parameter(*found, value); !set)
      return fail(std::move(set.error()).in("setting " + name));
  }
  return {};
}

}  // namespace sickbay::workload
