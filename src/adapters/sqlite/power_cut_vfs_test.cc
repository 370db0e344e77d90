// SPDX-License-Identifier: Apache-2.0
// The disk that loses what was not synced.  FOR TESTS ONLY; see power_cut_vfs.h.  Its own test is at the end.
#include "adapters/sqlite/power_cut_vfs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/result.h"

namespace sickbay::sqlite {
namespace {

constexpr std::int64_t kSector = 512;

void put(std::string& bytes, const PowerCutVfs::Write& write) {
  const auto offset = static_cast<std::size_t>(write.offset);
  if (write.truncate) {
    bytes.resize(offset);
    return;
  }
  if (bytes.size() < offset + write.bytes.size()) bytes.resize(offset + write.bytes.size());
  bytes.replace(offset, write.bytes.size(), write.bytes);
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

// SQLite allocates this, with room for the file of the system's VFS behind it.
struct PowerCutFile {
  sqlite3_file base;
  PowerCutVfs* disk;
  PowerCutVfs::FileState* state;  // nothing for temporary files
  bool syncs_names;               // the system's VFS syncs the folder with the first sync of such a file
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  static PowerCutFile& of(sqlite3_file* file) { return *reinterpret_cast<PowerCutFile*>(file); }

  static int close(sqlite3_file* file) { return of(file).real()->pMethods->xClose(of(file).real()); }
  static int read(sqlite3_file* file, void* to, int n, sqlite3_int64 at) {
    return of(file).real()->pMethods->xRead(of(file).real(), to, n, at);
  }
  static int write(sqlite3_file* file, const void* from, int n, sqlite3_int64 at) {
    PowerCutFile& f = of(file);
    if (f.disk->cut_) return SQLITE_IOERR_WRITE;
    if (f.state)
      f.state->unsynced.push_back(
          {at, std::string(static_cast<const char*>(from), static_cast<std::size_t>(n))});
    return f.real()->pMethods->xWrite(f.real(), from, n, at);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    PowerCutFile& f = of(file);
    if (f.disk->cut_) return SQLITE_IOERR_TRUNCATE;
    if (f.state) f.state->unsynced.push_back({size, "", true});
    return f.real()->pMethods->xTruncate(f.real(), size);
  }
  static int sync(sqlite3_file* file, int) {
    PowerCutFile& f = of(file);
    if (!f.disk->sync_point()) return SQLITE_IOERR_FSYNC;
    if (!f.state) return SQLITE_OK;
    for (const PowerCutVfs::Write& write : f.state->unsynced) put(f.state->synced, write);
    f.state->unsynced.clear();
    if (f.syncs_names) f.disk->sync_names();
    f.syncs_names = false;
    return SQLITE_OK;  // the real sync is left out: the power here never goes
  }
  static int size(sqlite3_file* file, sqlite3_int64* size) {
    return of(file).real()->pMethods->xFileSize(of(file).real(), size);
  }
  static int lock(sqlite3_file* file, int level) {
    return of(file).real()->pMethods->xLock(of(file).real(), level);
  }
  static int unlock(sqlite3_file* file, int level) {
    return of(file).real()->pMethods->xUnlock(of(file).real(), level);
  }
  static int reserved(sqlite3_file* file, int* out) {
    return of(file).real()->pMethods->xCheckReservedLock(of(file).real(), out);
  }
  static int control(sqlite3_file* file, int op, void* arg) {
    return of(file).real()->pMethods->xFileControl(of(file).real(), op, arg);
  }
  static int sector(sqlite3_file*) { return kSector; }
  static int traits(sqlite3_file*) { return 0; }  // it promises nothing, not even atomic sectors
  static int shm_map(sqlite3_file* file, int page, int bytes, int extend, void volatile** out) {
    return of(file).real()->pMethods->xShmMap(of(file).real(), page, bytes, extend, out);
  }
  static int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
    return of(file).real()->pMethods->xShmLock(of(file).real(), offset, n, flags);
  }
  static void shm_barrier(sqlite3_file* file) { of(file).real()->pMethods->xShmBarrier(of(file).real()); }
  static int shm_unmap(sqlite3_file* file, int remove) {
    return of(file).real()->pMethods->xShmUnmap(of(file).real(), remove);
  }
  static const sqlite3_io_methods kMethods;
};

const sqlite3_io_methods PowerCutFile::kMethods = {
    2,       close,  read,   write,   truncate, sync,        size,      lock,    unlock, reserved,
    control, sector, traits, shm_map, shm_lock, shm_barrier, shm_unmap, nullptr, nullptr};

PowerCutVfs::PowerCutVfs() : base_(sqlite3_vfs_find(nullptr)) {
  vfs_ = *base_;
  vfs_.pNext = nullptr;
  vfs_.zName = "power_cut";
  vfs_.szOsFile = static_cast<int>(sizeof(PowerCutFile)) + base_->szOsFile;
  vfs_.pAppData = this;
  vfs_.xOpen = open;
  vfs_.xDelete = remove;
  // The system's functions look at their own vfs only for these two; ours get it as an argument.
  sqlite3_vfs_register(&vfs_, 1);
}
PowerCutVfs::~PowerCutVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(base_, 1);
}

void PowerCutVfs::cut_at_sync(int n, std::uint32_t seed) {
  cut_at_ = n;
  syncs_ = 0;
  random_.seed(seed);
}

bool PowerCutVfs::sync_point() {
  if (!cut_ && ++syncs_ == cut_at_) cut_ = true;
  return !cut_;
}

void PowerCutVfs::sync_names() {
  std::erase_if(files_, [](const auto& entry) { return entry.second.deleted; });
  for (auto& [path, state] : files_) state.name_synced = true;
}

int PowerCutVfs::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  PowerCutVfs& disk = self(vfs);
  auto* f = reinterpret_cast<PowerCutFile*>(file);
  f->base.pMethods = nullptr;
  if (disk.cut_ && (flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
  const bool is_new = name && !std::filesystem::exists(name);
  const int code = disk.base_->xOpen(disk.base_, name, f->real(), flags, out_flags);
  if (code != SQLITE_OK) return code;
  f->disk = &disk;
  f->state = nullptr;
  const bool log = flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL | SQLITE_OPEN_SUPER_JOURNAL);
  f->syncs_names = log && is_new;
  if (name && !(flags & SQLITE_OPEN_DELETEONCLOSE)) {
    const auto found = disk.files_.find(name);
    if (found == disk.files_.end()) {
      // One that was there before: an empty one was made by whoever opens it, and nobody has synced that.
      FileState state;
      if (!is_new) state.synced = slurp(name);
      state.name_synced = !is_new && !state.synced.empty();
      f->state = &disk.files_.emplace(name, std::move(state)).first->second;
    } else {
      f->state = &found->second;
      if (found->second.deleted) {  // made anew before the unlink was durable: the old bytes may come back
        found->second.deleted = false;
        found->second.unsynced.push_back({0, "", true});
      }
    }
  }
  f->base.pMethods = &PowerCutFile::kMethods;
  return SQLITE_OK;
}

int PowerCutVfs::remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  PowerCutVfs& disk = self(vfs);
  if (disk.cut_) return SQLITE_IOERR_DELETE;
  const int code = disk.base_->xDelete(disk.base_, name, 0);
  if (code != SQLITE_OK) return code;
  if (const auto it = disk.files_.find(name); it != disk.files_.end()) {
    if (it->second.name_synced)
      it->second.deleted = true;
    else
      disk.files_.erase(it);
  }
  if (!sync_folder) return SQLITE_OK;
  if (!disk.sync_point()) return SQLITE_IOERR_DIR_FSYNC;
  disk.sync_names();
  return SQLITE_OK;
}

void PowerCutVfs::settle() {
  SB_CHECK(cut_, "settles after a cut");
  const auto chance = [&] { return random_() % 2 == 0; };
  for (auto& [path, state] : files_) {
    // Names that were not synced either way may be there or not.
    const bool there = state.deleted ? chance() : state.name_synced || chance();
    if (!there) {
      ::unlink(path.c_str());
      continue;
    }
    std::string bytes = state.synced;
    const int mode = static_cast<int>(random_() % 3);  // all of it, some of it, none of it
    for (const Write& write : state.unsynced) {
      if (mode == 2) break;
      if (write.truncate) {
        if (mode == 0 || chance()) put(bytes, write);
        continue;
      }
      for (std::size_t from = 0; from < write.bytes.size();) {
        const std::int64_t at = write.offset + static_cast<std::int64_t>(from);
        const auto length =
            std::min(static_cast<std::size_t>(kSector - at % kSector), write.bytes.size() - from);
        if (mode == 0 || chance()) put(bytes, {at, write.bytes.substr(from, length)});
        from += length;
      }
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  for (const auto& [path, state] : files_) ::unlink((path + "-shm").c_str());
  files_.clear();
  cut_ = false;
  cut_at_ = 0;
}

namespace {

// The disk must be able to lose something, or no test on it could fail.
TEST(PowerCutVfs, LosesWhatWasNotSyncedAndNothingElse) {
  std::string folder = (std::filesystem::temp_directory_path() / "sickbay-cut-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/a.db";
  int lost = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) std::filesystem::remove(entry);
    PowerCutVfs disk;
    const auto run = [&](const char* sql) {
      sqlite3* db = nullptr;
      EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
      const int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
      sqlite3_close(db);
      return code;
    };
    ASSERT_EQ(run("PRAGMA synchronous=EXTRA; CREATE TABLE t(a); INSERT INTO t VALUES(1)"), SQLITE_OK);
    // Committed, but SQLite was told not to sync; the cut comes with the next file that does.
    ASSERT_EQ(run("PRAGMA synchronous=OFF; INSERT INTO t VALUES(2)"), SQLITE_OK);
    disk.cut_at_sync(1, seed);
    EXPECT_NE(run("PRAGMA synchronous=EXTRA; INSERT INTO t VALUES(3)"), SQLITE_OK);
    ASSERT_TRUE(disk.is_cut());
    disk.settle();
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    sqlite3_stmt* rows = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT count(*), min(a) FROM t", -1, &rows, nullptr), SQLITE_OK);
    if (sqlite3_step(rows) != SQLITE_ROW || sqlite3_column_int(rows, 0) < 2) ++lost;
    sqlite3_finalize(rows);
    sqlite3_close(db);
  }
  EXPECT_GT(lost, 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sickbay::sqlite
