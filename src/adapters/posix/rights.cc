// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/rights.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <filesystem>

#include "adapters/posix/files.h"

namespace sickbay {
namespace {

constexpr int kMostLinks = 40;  // as the kernel follows

tl::unexpected<Error> refuse(const std::string& path, std::string what, std::string remedy) {
  return fail(Error(ErrorCode::denied, fmt::format("{} {}", path, what))
                  .because("what it says is done by root, so only root may change it")
                  .remedied_by(std::move(remedy)));
}

Status wrong_with(const std::string& path, const struct stat& st) {
  if (!belongs_to_us(st))
    return refuse(path, fmt::format("belongs to uid {} and not to root", st.st_uid), "chown root " + path);
  if (S_ISLNK(st.st_mode)) return {};  // a link has no rights of its own
  // (/tmp: others may put files there, but not take away or replace ours.)
  const bool is_shared = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0;
  if (others_may_write(st) && !is_shared)
    return refuse(path, "may be written by others", "chmod go-w " + path);
  return {};
}

void push_parts(std::deque<std::string>& parts, const std::filesystem::path& path) {
  auto at = parts.begin();
  for (const auto& part : path)
    if (!part.empty() && part != "/" && part != ".") at = parts.insert(at, part.string()) + 1;
}

}  // namespace

bool belongs_to_us(const struct stat& about) { return about.st_uid == 0 || about.st_uid == ::geteuid(); }
bool others_may_write(const struct stat& about) { return (about.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

// Part by part, links as well: who may change any folder on the way may lead it elsewhere.
Status only_ours_to_change(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  if (failed) return fail(file_error(failed.value(), "look at", path));
  std::deque<std::string> parts;  // still to be walked
  push_parts(parts, whole);
  std::filesystem::path here = "/";
  int links = 0;
  struct stat st {};
  if (::lstat("/", &st) != 0) return fail(file_error(errno, "look at", "/"));
  if (auto good = wrong_with("/", st); !good) return good;
  while (!parts.empty()) {
    const std::string part = parts.front();
    parts.pop_front();
    if (part == "..") {
      // `here` has no link in it, so its parent is the one that the kernel means.
      here = here.parent_path();
      continue;
    }
    const std::filesystem::path next = here / part;
    if (::lstat(next.c_str(), &st) != 0) {
      // Nobody else can put something there: the way to it is good.
      if (errno == ENOENT || errno == ENOTDIR) return {};
      return fail(file_error(errno, "look at", next.string()));
    }
    if (auto good = wrong_with(next.string(), st); !good) return good;
    if (!S_ISLNK(st.st_mode)) {
      here = next;
      continue;
    }
    if (++links > kMostLinks) return fail(file_error(ELOOP, "look at", path));
    const std::filesystem::path target = std::filesystem::read_symlink(next, failed);
    if (failed) return fail(file_error(failed.value(), "look at", next.string()));
    if (target.is_absolute()) here = "/";
    push_parts(parts, target);
  }
  return {};
}

}  // namespace sickbay
