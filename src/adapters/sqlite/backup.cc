// SPDX-License-Identifier: Apache-2.0
// SQLite's VACUUM INTO copies a moment of the file while another process writes on, and leaves no free pages.
#include "adapters/sqlite/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "adapters/sqlite/durable.h"
#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/statement.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;

// "journal-backup-20261126T031500Z.db": in the order of time, and no name of an archive.
std::string name_of(const std::string& path, TimePoint now) {
  std::string time = format_time(now).substr(0, 19) + "Z";
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return fs::path(path).stem().string() + "-backup-" + time + ".db";
}

Status copy(const std::string& path, const std::string& to) {
  sqlite::Connection journal;
  if (auto opened = journal.open(path, SQLITE_OPEN_READONLY); !opened) return opened;
  sqlite3_busy_timeout(journal.get(), 5000);
  sqlite::Statement into;
  if (auto p = into.prepare(journal.get(), "VACUUM INTO ?"); !p) return p;
  into.bind(1, std::string_view(to));
  if (into.step() != SQLITE_DONE)
    return fail(sqlite::error_of(journal.get(), fmt::format("copy {} to {}", path, to)));
  return {};
}

Result<std::int64_t> events_of(const std::string& path) {
  auto copy = open_journal_reader(path);
  if (!copy) return fail(copy.error());
  std::int64_t events = 0;
  auto all = (*copy)->read(0, [&](const Event&) { return ++events > 0; });
  if (!all) return fail(all.error());
  return events;
}

// What reading it has made goes with it.
void remove(const std::string& file) {
  std::error_code none;
  for (const char* part : {"", "-wal", "-shm", "-journal"}) fs::remove(file + part, none);
}

std::vector<std::string> older(const std::string& path, const std::string& folder, std::size_t keep) {
  std::vector<std::string> files;
  const std::string begin = fs::path(path).stem().string() + "-backup-";
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with("Z.db")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  files.resize(files.size() - std::min(files.size(), keep));
  return files;
}

}  // namespace

Result<Backup> back_up_journal(const std::string& path, const std::string& folder, std::size_t keep,
                               TimePoint now) {
  SB_CHECK(keep > 0, "the new copy is kept");
  Backup backup{folder + "/" + name_of(path, now), 0, {}};
  const std::string part = backup.file + ".part";
  // Made here, empty, for its mode: bodies hold secrets.
  remove(part);
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return fail(sqlite::file_failed("make", part));
  ::close(fd);
  const auto copied = [&]() -> Result<std::int64_t> {
    if (auto done = copy(path, part); !done) return fail(done.error());
    return events_of(part);
  }();
  if (!copied) {
    remove(part);
    return fail(copied.error());
  }
  backup.events = *copied;
  if (auto synced = sqlite::sync(part, O_RDONLY); !synced) return fail(synced.error());
  if (::rename(part.c_str(), backup.file.c_str()) != 0) return fail(sqlite::file_failed("rename", part));
  if (auto synced = sqlite::sync(folder, O_RDONLY | O_DIRECTORY); !synced) return fail(synced.error());
  remove(part);
  backup.removed = older(path, folder, keep);
  for (const std::string& file : backup.removed) remove(file);
  return backup;
}

}  // namespace sickbay
