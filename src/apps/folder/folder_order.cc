// SPDX-License-Identifier: Apache-2.0
#include "apps/folder/folder_order.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>

#include "adapters/posix/files.h"
#include "apps/folder/copy_mark.h"
#include "apps/folder/file_look.h"
#include "apps/folder/tree.h"

namespace sickbay {
namespace {

using Clock = std::chrono::steady_clock;

Json error_answer(const Error& error) {
  return Json::object(
      {{"error",
        Json::object({{"code", error_row(error.code).name}, {"what", error.what}, {"cause", error.cause}})}});
}

// "" where the file is what it was.  Digests are compared where both are there: a file that grew over the
// bound has another size.
std::string change_of(const InputFile& was, const Result<InputFile>& now) {
  if (!now) return now.error().code == ErrorCode::not_found ? "gone" : "unreadable";
  if (now->size != was.size) return "content";
  if (!was.digest.empty()) return now->digest == was.digest ? "" : "content";
  return now->mtime == was.mtime ? "" : "content";  // too long to be read: its time must do
}

Json changed_file(const std::string& path, std::string_view how, const Result<InputFile>& now) {
  return Json::object({{"path", path}, {"how", how}, {"mtime", now ? to_micros(now->mtime) : 0}});
}

struct Inputs {
  std::vector<InputFile> now;  ///< those that the run may begin with
  Json changed = Json::array(), noted = Json::array();
};

// Written while a run of the job was under way: nobody else does.  (A file that was put back with its old
// time is older than that.)
bool by_run(const InputFile& now, const Json& ran) {
  const std::int64_t at = to_micros(now.mtime);
  return std::ranges::any_of(ran.items(), [at](const Json& time) {
    return at >= time["from"].as_int() && at <= time["to"].as_int();
  });
}

Inputs look_at_inputs(const std::vector<InputFile>& inputs, const Json& ran) {
  Inputs found;
  for (const InputFile& was : inputs) {
    auto now = look_at_file(was.path, was.digest.empty() ? 0 : kInputBytes);
    const std::string how = change_of(was, now);
    if (how == "content" && by_run(*now, ran))
      found.noted.push(changed_file(was.path, "by_run", now));
    else if (how == "gone" && !was.program)
      found.noted.push(changed_file(was.path, how, now));
    else if (!how.empty())
      found.changed.push(changed_file(was.path, how, now));
    if (now && found.changed.size() == 0) found.now.push_back(std::move(*now));
  }
  return found;
}

// Somebody may have written one while it was copied.
void look_again(Inputs& inputs) {
  for (const InputFile& before : inputs.now) {
    const auto now = look_at_file(before.path, 0);
    if (now && now->size == before.size && now->mtime == before.mtime) continue;
    inputs.changed.push(changed_file(before.path, now ? "content" : change_of(before, now), now));
  }
}

std::uint64_t bound_of(const Json& order, std::string_view name) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, order[name].as_int()));
}

// What a copy is not: kept in its mark, for its links tell it no more.
Json faults_of(const TreeSize& size) {
  return Json::object({{"left_out", static_cast<std::int64_t>(size.left_out)},
                       {"pipes", static_cast<std::int64_t>(size.pipes)},
                       {"unreadable", static_cast<std::int64_t>(size.unreadable)},
                       {"links_out", static_cast<std::int64_t>(size.links_out)},
                       {"first", Json::object({{"links_out", size.first_link_out},
                                               {"unreadable", size.first_unreadable},
                                               {"left_out", size.first_left_out}})}});
}

void add_size(Json& answer, const TreeSize& size) {
  answer.set("bytes", static_cast<std::int64_t>(size.bytes))
      .set("files", static_cast<std::int64_t>(size.files))
      .set("left_out", static_cast<std::int64_t>(size.left_out))
      .set("unreadable", static_cast<std::int64_t>(size.unreadable))
      .set("links_out", static_cast<std::int64_t>(size.links_out));
  if (size.unreadable > 0)
    answer.set("why", fmt::format("{} of its files cannot be read by their user and are not in the copy ({})",
                                  size.unreadable, size.first_unreadable));
}

Json not_copied(Json answer, std::string why) { return answer.set("why", std::move(why)); }
Json too_large(Json answer, std::string why) {
  return not_copied(std::move(answer), std::move(why)).set("too_large", true);
}

// "" where a copy of that size leaves as much as it takes: to fill a user's disk does more harm than asking.
std::string no_room_for(const std::string& folder, std::uint64_t bytes) {
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0) return {};
  const std::uint64_t space = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (space / 2 >= bytes) return {};
  return fmt::format("a copy takes {} bytes, and {} are free there", bytes, space);
}

bool is_folder(const std::string& path) {
  struct stat about = {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}
bool is_there(const std::string& path) {
  struct stat about = {};
  return ::lstat(path.c_str(), &about) == 0;
}

// A killed try leaves a folder without a mark when it had not written that yet.
bool may_be_removed(const std::string& path, const Json& mark) {
  return !is_there(path) || mark.is_null() || has_mark(path, mark) || ::rmdir(path.c_str()) == 0;
}

// A name that is free, or that of the copy that is asked for; "" where others have all of them.
std::string name_for(const std::string& to, const Json& mark) {
  constexpr int kNames = 10;
  for (int i = 0; i < kNames; ++i) {
    std::string name = i == 0 ? to : fmt::format("{}.{}", to, i);
    if (mark.is_null()) return name;
    if (is_folder(name) ? has_mark(name, mark) : !is_there(name) && may_be_removed(name + ".part", mark))
      return name;
  }
  return {};
}

// Made by a try whose answer was lost.
Json taken(Json answer, const std::string& copy, const Json& mark, Clock::time_point until) {
  constexpr auto kNoBound = std::numeric_limits<std::uint64_t>::max();
  if (const auto there = measure_tree(copy, {kNoBound, kNoBound, until})) add_size(answer, *there);
  if (!mark.is_null()) {
    const Json made = read_mark(copy);
    const Json faults = faults_of({});
    for (const auto& [name, unused] : faults.members()) answer.set(name, made[name]);
  }
  return answer.set("folder", copy);
}

Json prepare(const Json& order, const FolderLimits& limits) {
  Json answer = Json::object({{"folder", ""},
                              {"bytes", 0},
                              {"files", 0},
                              {"left_out", 0},
                              {"pipes", 0},
                              {"unreadable", 0},
                              {"links_out", 0},
                              {"first", Json::object()},
                              {"changed", Json::array()},
                              {"noted", Json::array()},
                              {"too_large", false},
                              {"why", ""}});
  const std::string from = order["from"].as_string();
  const Json& mark = order["mark"];
  const auto stop = [&](Error error) { return error_answer(error); };
  auto wanted = read_inputs(order["inputs"]);
  if (!wanted) return stop(std::move(wanted.error()));
  struct stat about = {};
  if (::stat(from.c_str(), &about) != 0) return stop(file_error(errno, "look at the folder", from));
  if (!S_ISDIR(about.st_mode)) return stop(Error(ErrorCode::not_found, from + " is no folder any more"));

  Inputs inputs = look_at_inputs(*wanted, order["ran"]);
  answer.set("changed", inputs.changed).set("noted", inputs.noted);
  if (order["how"].as_string() != "copy" || inputs.changed.size() > 0) return answer;

  TreeBounds bounds{bound_of(order, "max_bytes"), bound_of(order, "max_files"),
                    Clock::now() + limits.measure};
  const std::string to = name_for(order["to"].as_string(), mark);
  if (to.empty())
    return not_copied(answer, order["to"].as_string() + " is there and was not made for this case");
  if (is_folder(to)) return taken(std::move(answer), to, mark, bounds.until);
  auto size = measure_tree(from, bounds);
  if (!size) return stop(std::move(size.error()));
  add_size(answer, *size);
  if (size->over)
    return too_large(answer,
                     fmt::format("the folder has over {} bytes or {} files", bounds.bytes, bounds.files));
  if (size->time_over)
    return too_large(answer, fmt::format("after {} s, {} files and {} bytes its end was not seen",
                                         limits.measure.count(), size->files, size->bytes));
  const std::string home = to.substr(0, to.rfind('/'));
  // (Its parents are there: it is a folder of the case in the user's own.)
  if (::mkdir(home.c_str(), 0777) != 0 && errno != EEXIST)
    return stop(file_error(errno, "make the folder", home));
  if (std::string why = no_room_for(home, size->bytes); !why.empty())
    return not_copied(answer, std::move(why));

  const std::string part = to + ".part";  // of a try that was killed
  if (auto gone = remove_tree(part, Clock::now() + limits.clean); !gone) return stop(std::move(gone.error()));
  bounds.until = Clock::now() + limits.copy;
  auto copied = copy_tree(from, part, bounds, mark);
  if (!copied) {
    const ErrorCode code = copied.error().code;
    if (code == ErrorCode::not_found) return stop(std::move(copied.error()));
    answer.set("too_large", code == ErrorCode::conflict);  // it grew
    return not_copied(answer, copied.error().what);
  }
  look_again(inputs);
  add_size(answer, *copied);
  answer.set("changed", inputs.changed);
  if (inputs.changed.size() > 0) {
    (void)remove_tree(part, Clock::now() + limits.clean);
    return answer;
  }
  const Json faults = faults_of(*copied);
  for (const auto& [name, value] : faults.members()) answer.set(name, value);
  Status marked;
  if (!mark.is_null()) {
    Json whole = mark;
    for (const auto& [name, value] : faults.members()) whole.set(name, value);
    marked = write_mark(part, whole);
  }
  if (!marked || ::rename(part.c_str(), to.c_str()) != 0) {
    const Error error = marked ? file_error(errno, "name the copy", to) : marked.error();
    (void)remove_tree(part, Clock::now() + limits.clean);
    return stop(error);
  }
  return answer.set("folder", to);
}

Json clean(const Json& order, const FolderLimits& limits) {
  std::uint64_t removed = 0;
  const Clock::time_point until = Clock::now() + limits.clean;
  Json kept = Json::array();
  for (const std::string& folder : order["folders"].as_strings())
    for (const std::string& one : {folder, folder + ".part"}) {
      if (!may_be_removed(one, order["mark"])) {
        kept.push(one);
        continue;
      }
      auto gone = remove_tree(one, until);
      if (!gone) return error_answer(gone.error());
      removed += *gone;
    }
  return Json::object({{"removed", static_cast<std::int64_t>(removed)}, {"kept", std::move(kept)}});
}

}  // namespace

Json do_folder_order(const Json& order, const FolderLimits& limits) {
  const std::string what = order["do"].as_string();
  std::vector<std::string> paths = order["folders"].as_strings();
  if (what == "prepare") paths = {order["from"].as_string(), order["to"].as_string()};
  const bool whole = std::ranges::all_of(paths, [](const std::string& path) {
    return path.size() > 1 && path.starts_with('/') && path.find('\0') == std::string::npos;
  });
  if (!whole) return error_answer(Error(ErrorCode::bad_input, "a folder must be an absolute path"));
  if (what == "prepare") return prepare(order, limits);
  if (what == "clean") return clean(order, limits);
  return error_answer(Error(ErrorCode::bad_input, "sickbay-folder prepares and cleans, nothing else"));
}

}  // namespace sickbay
