// SPDX-License-Identifier: Apache-2.0
// PowerCutVfs: a disk under SQLite that loses what was not synced.  FOR TESTS ONLY.
//
// It stands in front of the system's VFS.  Files are real and always hold what has been written, as the page
// cache would; beside that it knows of each file what a power cut would leave: its bytes at the last sync,
// and whether its name (or the absence of it) had been synced with the folder.  At a cut every later write
// fails, and settle() puts the files on disk into the state after the cut: what was synced, plus a random
// part of what was not, in sectors of 512 bytes.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace sickbay::sqlite {

class PowerCutVfs {
 public:
  /// Becomes SQLite's default VFS until destroyed.  At most one at a time.
  PowerCutVfs();
  ~PowerCutVfs();
  PowerCutVfs(const PowerCutVfs&) = delete;
  PowerCutVfs& operator=(const PowerCutVfs&) = delete;

  /// The power goes at the `n`th sync from now (from 1), before it has done anything; 0: never.
  void cut_at_sync(int n, std::uint32_t seed);
  /// How many syncs there have been since cut_at_sync().
  int syncs() const { return syncs_; }
  bool is_cut() const { return cut_; }
  /// After a cut, with all connections closed: makes the files what the cut left, and the power comes back.
  void settle();

  struct Write {
    std::int64_t offset = 0;
    std::string bytes;
    bool truncate = false;  ///< to `offset`
  };
  struct FileState {
    std::string synced;  ///< the bytes that a cut leaves for sure
    std::vector<Write> unsynced;
    bool name_synced = false;  ///< the folder has it
    bool deleted = false;      ///< unlinked, and the folder not synced since
  };

 private:
  friend struct PowerCutFile;
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags);
  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder);
  static PowerCutVfs& self(sqlite3_vfs* vfs) { return *static_cast<PowerCutVfs*>(vfs->pAppData); }
  bool sync_point();
  void sync_names();

  sqlite3_vfs vfs_{};
  sqlite3_vfs* base_ = nullptr;
  std::map<std::string, FileState> files_;
  int cut_at_ = 0, syncs_ = 0;
  bool cut_ = false;
  std::mt19937 random_;
};

}  // namespace sickbay::sqlite
