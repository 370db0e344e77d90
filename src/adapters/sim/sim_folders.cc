// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_folders.h"

#include <fmt/format.h>

namespace sickbay::sim {
namespace {

Json error_answer(std::string_view code, std::string what) {
  return Json::object({{"error", Json::object({{"code", code}, {"what", std::move(what)}})}});
}

}  // namespace

SimFolders::Size SimFolders::size_of(const std::string& folder) const {
  const auto found = sizes_.find(folder);
  return found == sizes_.end() ? Size{} : found->second;
}

bool SimFolders::is_there(const std::string& path) const {
  for (const std::string& gone : removed_)
    if (path == gone || path.starts_with(gone + "/")) return false;
  return true;
}

void SimFolders::edit(const std::string& path, TimePoint now) {
  // The content is a version: the number behind the path in its digest.
  const auto before = file(path).value_or(File{.digest = path + "#1"});
  const auto mark = before.digest.rfind('#');
  const int version = std::stoi(before.digest.substr(mark + 1));
  files_[path] = {.digest = fmt::format("{}#{}", path, version + 1), .size = before.size, .mtime = now};
}

std::optional<SimFolders::File> SimFolders::file(const std::string& path) const {
  if (!is_there(path)) return std::nullopt;
  const auto found = files_.find(path);
  return found != files_.end() ? found->second : File{.digest = path + "#1"};
}

Json SimFolders::answer(const Json& order) {
  return order["do"].as_string() == "clean" ? clean(order) : prepare(order);
}

Json SimFolders::prepare(const Json& order) {
  const std::string from = order["from"].as_string(), to = order["to"].as_string();
  if (!is_there(from)) return error_answer("not_found", from + " is no folder any more");
  Json changed = Json::array(), noted = Json::array();
  for (const Json& was : order["inputs"].items()) {
    const std::string path = was["path"].as_string();
    const auto now = file(path);
    if (now && now->digest == was["digest"].as_string()) continue;
    const std::int64_t mtime = now && now->mtime != kNoTime ? to_micros(now->mtime) : 0;
    // What a run itself has written is no change by its user.
    bool by_run = false;
    for (const Json& time : order["ran"].items())
      by_run |= now && mtime >= time["from"].as_int() && mtime <= time["to"].as_int();
    const bool harmless = by_run || (!now && !was["program"].as_bool());
    (harmless ? noted : changed)
        .push(Json::object({{"path", path},
                            {"how", by_run ? "by_run"
                                    : now  ? "content"
                                           : "gone"},
                            {"mtime", mtime}}));
  }
  Json said = Json::object({{"folder", ""},
                            {"bytes", 0},
                            {"files", 0},
                            {"left_out", 0},
                            {"unreadable", 0},
                            {"links_out", 0},
                            {"changed", changed},
                            {"noted", noted},
                            {"too_large", false},
                            {"why", ""}});
  if (order["how"].as_string() != "copy" || changed.size() > 0) return said;
  const Size size = size_of(from);
  said.set("bytes", size.bytes).set("files", size.files);
  const std::int64_t max_bytes = order["max_bytes"].as_int(), max_files = order["max_files"].as_int();
  if (size.bytes > max_bytes || size.files > max_files)
    return said.set("too_large", true)
        .set("why", fmt::format("the folder has over {} bytes or {} files", max_bytes, max_files));
  if (size.bytes > free_ / 2)
    return said.set("why", fmt::format("a copy takes {} bytes, and {} are free there", size.bytes, free_));
  if (fills_) {
    fills_ = false;
    return said.set("why", fmt::format("cannot write {}.part: No space left on device", to));
  }
  copies_.insert(to);
  return said.set("folder", to);
}

Json SimFolders::clean(const Json& order) {
  std::int64_t removed = 0;
  for (const std::string& folder : order["folders"].as_strings())
    removed += static_cast<std::int64_t>(copies_.erase(folder));
  return Json::object({{"removed", removed}});
}

}  // namespace sickbay::sim
