// SPDX-License-Identifier: Apache-2.0
// What the store asks of a file system, so that a test can cut any single call off: fill the disk, fail the
// sync, lose the machine between two of them.
//
// The rules that a crash leaves behind: bytes are safe only once their file was synced, names (made, renamed,
// removed) only once their folder was; a rename is whole or has not been.
// All calls may come from several threads; one OutFile is used by one at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::checkpoint {

struct FileState {
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;  ///< mtime since 1970
  std::uint32_t mode = 0;       ///< permission bits
};

class InFile {
 public:
  virtual ~InFile() = default;
  /// Fills `out` from `offset` on; gives less only at the file's end.  Errors: storage_broken.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) = 0;
  virtual Result<FileState> state() = 0;
};

class OutFile {
 public:
  virtual ~OutFile() = default;
  /// All of `bytes`, at the end.  Errors: storage_full, storage_broken.
  virtual Status append(std::string_view bytes) = 0;
  /// All of `bytes`, at `offset`; of several threads at once.  Errors: as append.
  virtual Status write_at(std::uint64_t offset, std::string_view bytes) = 0;
  virtual Status sync() = 0;
};

/// Held until it is destroyed; a process that dies lets go.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class Files {
 public:
  virtual ~Files() = default;
  /// An empty file of that name, whatever was there before.  Never through a symbolic link.
  /// Errors: storage_full, storage_broken, denied, not_found.
  virtual Result<std::unique_ptr<OutFile>> create(const std::string& path, std::uint32_t mode) = 0;
  /// A regular file.  Errors: not_found, denied, storage_broken.
  virtual Result<std::unique_ptr<InFile>> open(const std::string& path) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// One that is not there is no error.
  virtual Status remove(const std::string& path) = 0;
  virtual Status sync_folder(const std::string& folder) = 0;
  /// That folder and those above it, durable.  One that exists is no error.
  virtual Status make_folder(const std::string& path) = 0;
  /// The names in `folder`, sorted.  Errors: not_found, denied, storage_broken.
  virtual Result<std::vector<std::string>> list(const std::string& folder) = 0;
  /// Errors: busy: another holds it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

/// The real ones.  Files are made with the mode asked for, folders with 0700.
std::unique_ptr<Files> make_posix_files();

/// The whole file, of at most `limit` bytes.  Errors: as open; bad_input: longer.
Result<std::string> read_whole(Files& files, const std::string& path, std::size_t limit);
/// A file of `bytes` at `path`, whole or not at all after any crash: written beside it, synced, renamed, the
/// folder synced.
Status write_whole(Files& files, const std::string& folder, const std::string& name, std::string_view bytes);

}  // namespace sickbay::checkpoint
