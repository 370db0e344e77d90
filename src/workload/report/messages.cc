// SPDX-License-Identifier: Apache-2.0
#include "workload/report/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "workload/report/catalog.h"

namespace sickbay::workload {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> message_folders(const std::vector<std::string>& folders,
                                      const std::vector<Plugin>& plugins) {
  std::vector<fs::path> all;
  for (const std::string& folder : folders) all.push_back(fs::path(folder) / "i18n");
  for (const Plugin& plugin : plugins) all.push_back(fs::path(plugin.folder) / "i18n");
  return all;
}

Status lay_over(const std::string& path, Messages& messages) {
  auto text = read_text(path);
  if (!text) return fail(text.error());
  auto json = Json::parse(*text, {.source = path});
  if (!json) return fail(json.error());
  for (const auto& [key, value] : json->members()) {
    if (!value.is_string()) {
      const auto [line, column] = line_and_column(*text, value.offset());
      return fail(ErrorCode::bad_input,
                  fmt::format("{}:{}:{}: '{}' must be a text", path, line, column, key));
    }
    messages[key] = value.as_string();
  }
  return {};
}

// Calls `each` with the key and the text of everything that a plug-in says; const or not.
template <class SomePlugin, class Each>
void texts_of(SomePlugin& plugin, Each each) {
  each(plugin.name + ".title", plugin.title);
  each(plugin.name + ".help", plugin.help);
  for (auto& spec : plugin.reports) {
    each(spec.id() + ".title", spec.title);
    each(spec.id() + ".note", spec.note);
    each(spec.id() + ".left_out", spec.left_out);
    for (auto& parameter : spec.parameters) each(spec.id() + ".param." + parameter.name, parameter.help);
  }
}

}  // namespace

std::vector<std::string> languages(const std::vector<std::string>& folders,
                                   const std::vector<Plugin>& plugins) {
  std::set<std::string> found;
  std::error_code ignored;
  for (const fs::path& folder : message_folders(folders, plugins))
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.path().extension() == ".json") found.insert(entry.path().stem().string());
  return {found.begin(), found.end()};
}

Result<Messages> load_messages(const std::vector<std::string>& folders, const std::vector<Plugin>& plugins,
                               const std::string& language, Fallback fallback) {
  if (const auto known = languages(folders, plugins);
      language != "en" && std::find(known.begin(), known.end(), language) == known.end()) {
    std::string all;
    for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
    return fail(
        Error(ErrorCode::not_found, fmt::format("no text is in the language {}", quote_for_message(language)))
            .remedied_by(fmt::format("choose one of: {}", all)));
  }
  Messages messages;
  std::error_code ignored;
  std::vector<std::string> layers = {language};
  if (fallback == Fallback::english) layers.insert(layers.begin(), "en");
  for (const std::string& each : layers)
    for (const fs::path& folder : message_folders(folders, plugins))
      if (const fs::path path = folder / (each + ".json"); fs::exists(path, ignored))
        if (auto laid = lay_over(path.string(), messages); !laid) return fail(laid.error());
  return messages;
}

void translate(std::vector<Plugin>& plugins, const Messages& messages) {
  for (Plugin& plugin : plugins)
    texts_of(plugin, [&](const std::string& key, std::string& text) {
      if (const auto found = messages.find(key); found != messages.end()) text = found->second;
    });
}

Messages all_messages(const Messages& english, const std::vector<Plugin>& plugins,
                      const std::vector<std::string>& columns) {
  Messages all = english;
  for (const Plugin& plugin : plugins)
    texts_of(plugin, [&](const std::string& key, const std::string& text) {
      if (!text.empty()) all.emplace(key, text);
    });
  for (const std::string& column : columns) {
    std::string plain = column;
    std::replace(plain.begin(), plain.end(), '_', ' ');
    all.emplace("column." + column, plain);
  }
  return all;
}

std::string filled(std::string_view text, std::string_view with) {
  std::string out(text);
  if (const std::size_t at = out.find("{}"); at != out.npos) out.replace(at, 2, with);
  return out;
}

}  // namespace sickbay::workload
