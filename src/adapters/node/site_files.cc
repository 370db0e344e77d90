// SPDX-License-Identifier: Apache-2.0
// file_test, file_stat, file_contents, mount_match: what a site asks of files of its own choice.  On threads,
// for any of them may lie on a server that is away; mount_match alone touches none of them.
#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "adapters/node/families.h"
#include "adapters/node/parse_site.h"
#include "base/pattern.h"
#include "base/text.h"
#include "base/words.h"
#include "model/builtin_operations.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

constexpr std::size_t kMostFiles = 1000;

// Tests of bash's `test`, by their letter.
struct TestRow {
  char letter;
  bool (*holds)(const char* path, const struct stat& entry);  // `entry`: what a link leads to
};
bool may(const char* path, int how) { return ::faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0; }
constexpr TestRow kTests[] = {
    {'b', [](const char*, const struct stat& s) { return S_ISBLK(s.st_mode); }},
    {'c', [](const char*, const struct stat& s) { return S_ISCHR(s.st_mode); }},
    {'d', [](const char*, const struct stat& s) { return S_ISDIR(s.st_mode); }},
    {'a', [](const char*, const struct stat&) { return true; }},
    {'e', [](const char*, const struct stat&) { return true; }},
    {'f', [](const char*, const struct stat& s) { return S_ISREG(s.st_mode); }},
    {'g', [](const char*, const struct stat& s) { return (s.st_mode & S_ISGID) != 0; }},
    {'u', [](const char*, const struct stat& s) { return (s.st_mode & S_ISUID) != 0; }},
    {'k', [](const char*, const struct stat& s) { return (s.st_mode & S_ISVTX) != 0; }},
    {'p', [](const char*, const struct stat& s) { return S_ISFIFO(s.st_mode); }},
    {'S', [](const char*, const struct stat& s) { return S_ISSOCK(s.st_mode); }},
    {'s', [](const char*, const struct stat& s) { return s.st_size > 0; }},
    {'r', [](const char* path, const struct stat&) { return may(path, R_OK); }},
    {'w', [](const char* path, const struct stat&) { return may(path, W_OK); }},
    {'x', [](const char* path, const struct stat&) { return may(path, X_OK); }},
    {'O', [](const char*, const struct stat& s) { return s.st_uid == ::geteuid(); }},
    {'G', [](const char*, const struct stat& s) { return s.st_gid == ::getegid(); }},
    {'N',
     [](const char*, const struct stat& s) {
       return std::pair(s.st_mtim.tv_sec, s.st_mtim.tv_nsec) > std::pair(s.st_atim.tv_sec, s.st_atim.tv_nsec);
     }},
};

// The paths of `lines`, globs among them made the files that fit; one that fits none stays as it is written.
Result<std::vector<std::string>> paths_of(const Tree& tree, std::string_view lines) {
  std::vector<std::string> paths;
  for (const std::string_view line : lines_of(lines)) {
    if (line.empty()) continue;
    if (!line.starts_with('/') || line.find('\0') != std::string_view::npos)
      return fail(ErrorCode::bad_input, fmt::format("{} is no absolute path", quote_for_message(line)));
    const std::string path = tree.path(line);
    glob_t found{};
    if (line.find_first_of("*?[") != std::string_view::npos &&
        ::glob(path.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
      // (One over the bound is enough for it to be refused below.)
      for (std::size_t i = 0; i < found.gl_pathc && i <= kMostFiles; ++i)
        // Below the root again: path() puts the root before it each time.
        paths.emplace_back(found.gl_pathv[i] + tree.path("").size());
    else
      paths.emplace_back(line);
    ::globfree(&found);
  }
  if (paths.empty()) return fail(ErrorCode::bad_input, "no path is given");
  if (paths.size() > kMostFiles)
    return fail(ErrorCode::bad_input, fmt::format("over {} files are meant", kMostFiles));
  return paths;
}

// ENOENT and its like are answers; that a server is away is none.
bool is_answer(int number) { return number == ENOENT || number == ENOTDIR || number == ELOOP; }

std::string_view type_of(mode_t mode) {
  constexpr std::pair<mode_t, std::string_view> kTypes[] = {
      {S_IFREG, "file"},         {S_IFDIR, "directory"}, {S_IFLNK, "link"},   {S_IFCHR, "character device"},
      {S_IFBLK, "block device"}, {S_IFIFO, "pipe"},      {S_IFSOCK, "socket"}};
  for (const auto& [bits, name] : kTypes)
    if ((mode & S_IFMT) == bits) return name;
  return "other";
}

// A line NAME:x:NUMBER of /etc/group.
std::string group_name(const Tree& tree, std::int64_t gid) {
  const auto text = tree.read("/etc/group");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (auto line = next_line(rest)) {
    const std::string_view name = next_part(*line, ':');
    next_part(*line, ':');
    if (to_integer(next_part(*line, ':')) == gid) return std::string(name.substr(0, kMostShown));
  }
  return std::to_string(gid);
}

}  // namespace

OperationEnd file_test(const Call& call) {
  const auto paths = paths_of(*call.tree, call.text("paths"));
  if (!paths) return unknown(paths.error().what);
  const bool negated = call.flag("negated");
  if (call.text("tests").empty()) return unknown("no test is given");
  // All letters first: a wrong one is said whatever the files are.
  for (const char letter : call.text("tests"))
    if (letter != 'L' && letter != 'h' &&
        std::ranges::find(kTests, letter, &TestRow::letter) == std::end(kTests))
      return unknown(fmt::format("-{} is no test of a file", letter));
  for (const char letter : call.text("tests"))
    for (const std::string& path : *paths) {
      if (call.cancelled != nullptr && *call.cancelled) return unknown("nobody waits any more");
      const std::string whole = call.tree->path(path);
      struct stat entry {};
      const bool is_link = letter == 'L' || letter == 'h';
      // Only for these a link is itself; other tests go through it, as test(1) does.
      const int wrong =
          (is_link ? ::lstat(whole.c_str(), &entry) : ::stat(whole.c_str(), &entry)) == 0 ? 0 : errno;
      if (wrong != 0 && !is_answer(wrong))
        return unknown(fmt::format("cannot look at {}: {}", quote_for_message(path), std::strerror(wrong)));
      const bool holds =
          wrong == 0 &&
          (is_link ? S_ISLNK(entry.st_mode)
                   : std::ranges::find(kTests, letter, &TestRow::letter)->holds(whole.c_str(), entry));
      if (holds == negated)
        return found(
            Json::object({{"file_tests_passed", false},
                          {"file_test_failed", fmt::format("-{} {}", letter, path).substr(0, kMostShown)}}),
            wrong != 0 ? path + ": " + std::strerror(wrong) : "");
    }
  return found(Json::object({{"file_tests_passed", true}, {"file_test_failed", ""}}));
}

OperationEnd file_stat(const Call& call) {
  const std::string& path = call.text("path");
  if (!path.starts_with('/')) return unknown(fmt::format("{} is no absolute path", quote_for_message(path)));
  struct statx at {};
  // Of the entry itself, as stat(1): a link is a link.
  if (::statx(AT_FDCWD, call.tree->path(path).c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
              &at) != 0) {
    if (!is_answer(errno))
      return unknown(fmt::format("cannot look at {}: {}", quote_for_message(path), std::strerror(errno)));
    Json out = Json::object({{"file_exists", false}});
    // Each output is told, null where there is nothing: the specification may use any.
    for (const BuiltinOutput& o : builtin_operation("file_stat")->outputs)
      if (o.name != "file_exists") out.set(std::string(o.name), nullptr);
    return found(std::move(out));
  }
  const std::int64_t now = to_micros(call.now) / 1'000'000;
  const auto age = [now](const statx_timestamp& t) { return Json(now - t.tv_sec); };
  const std::string passwd = call.tree->read("/etc/passwd").value_or("");
  const auto user = user_name(passwd, at.stx_uid);
  Json out = Json::object({{"file_exists", true}});
  out.set("file_permissions", static_cast<std::int64_t>(at.stx_mode & 07777));
  out.set("file_mode", static_cast<std::int64_t>(at.stx_mode));
  out.set("file_type", std::string(type_of(at.stx_mode)));
  out.set("file_uid", static_cast<std::int64_t>(at.stx_uid));
  out.set("file_gid", static_cast<std::int64_t>(at.stx_gid));
  out.set("file_user", user ? user->substr(0, kMostShown) : std::to_string(at.stx_uid));
  out.set("file_group", group_name(*call.tree, at.stx_gid));
  out.set("file_size", std::min<std::int64_t>(static_cast<std::int64_t>(at.stx_size), kMostInteger));
  out.set("file_age", age(at.stx_mtime));
  out.set("file_change_age", age(at.stx_ctime));
  out.set("file_birth_age", (at.stx_mask & STATX_BTIME) != 0 ? age(at.stx_btime) : Json());
  out.set("file_major", static_cast<std::int64_t>(at.stx_rdev_major));
  out.set("file_minor", static_cast<std::int64_t>(at.stx_rdev_minor));
  out.set("file_device", static_cast<std::int64_t>(makedev(at.stx_dev_major, at.stx_dev_minor)));
  return found(std::move(out));
}

OperationEnd file_contents(const Call& call) {
  const std::string& path = call.text("path");
  if (!path.starts_with('/')) return unknown(fmt::format("{} is no absolute path", quote_for_message(path)));
  const auto patterns = Patterns::parse(call.text("expect"));
  if (!patterns) return unknown(patterns.error().what);
  if (patterns->empty()) return unknown("no pattern is given");
  const auto text = call.tree->read(path);
  if (!text && text.error().code != ErrorCode::not_found) return unknown(text.error().what);
  // It was cut there: what is missed may follow.
  if (text && text->size() >= kMaxFile)
    return unknown(fmt::format("{} has over {} bytes", quote_for_message(path), kMaxFile));
  std::vector<std::string_view> lines = lines_of(text ? std::string_view(*text) : std::string_view());
  for (std::string_view& line : lines) line = trimmed(line);
  const auto missed = patterns->missed_by(lines);
  return found(Json::object({{"file_as_expected", !missed},
                             {"file_missed", missed.value_or("").substr(0, kMostShown)}}),
               text ? "" : "there is no " + path);
}

OperationEnd mount_match(const Call& call) {
  const std::string& path = call.text("path");
  const auto text = call.tree->read("/proc/self/mounts");
  if (!text) return unknown(text.error().what);
  const auto mounts = parse_mounts(*text);
  if (mounts.empty()) return unknown("/proc/self/mounts lists no mount");
  const MountLine* last = nullptr;  // a later mount covers an earlier one
  for (const MountLine& m : mounts)
    if (m.place == path) last = &m;
  std::string difference = last == nullptr ? "it is not mounted" : "";
  constexpr std::pair<const char*, std::string MountLine::*> kFields[] = {
      {"source", &MountLine::source}, {"type", &MountLine::type}, {"options", &MountLine::options}};
  // All patterns are read even where it is not mounted: a wrong one is always said.
  for (const auto& [name, field] : kFields)
    for (const std::string_view line : lines_of(call.text(name))) {
      const auto pattern = Pattern::parse(line);
      if (!pattern) return unknown(pattern.error().what);
      if (last != nullptr && difference.empty() && !pattern->fits(last->*field))
        difference = fmt::format("its {} is {}", name, last->*field);
    }
  return found(Json::object(
      {{"mounted_as_expected", difference.empty()}, {"mount_difference", difference.substr(0, kMostShown)}}));
}

}  // namespace sickbay::node
