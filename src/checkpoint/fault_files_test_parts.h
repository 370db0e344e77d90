// SPDX-License-Identifier: Apache-2.0
// A file system in memory that forgets like a real one: a crash drops what was not synced, or keeps it, or
// half of it.  Every call that changes something counts, and any one of them can be the last, fail, or find
// the disk full.
#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "checkpoint/files.h"

namespace sickbay::checkpoint::test {

struct Inode {
  std::string bytes, synced;
  std::uint32_t mode = 0600;
};

/// What a crash does to what was not synced.
enum class Crash { loses_all, keeps_all, tears };

class FaultFiles : public Files {
 public:
  int calls = 0;                           ///< that change something, so far
  int dies_at = -1;                        ///< from this call on nothing happens any more
  int fails_at = -1;                       ///< this one fails
  int every_fails = 0;                     ///< each n-th appending of bytes writes half of them and fails
  std::uint64_t room = ~std::uint64_t{0};  ///< bytes of all files together: beyond, the disk is full

  /// The machine comes back: what it finds.
  void crash(Crash how) {
    const std::lock_guard hold(mutex_);
    if (how != Crash::keeps_all) names_ = durable_;
    std::set<std::shared_ptr<Inode>> seen;
    for (auto& [name, inode] : names_) {
      if (!seen.insert(inode).second) continue;
      if (how == Crash::loses_all) inode->bytes = inode->synced;
      // Half of what was written since, and what was never written reads as zeros.
      if (how == Crash::tears && inode->bytes != inode->synced)
        std::fill(inode->bytes.begin() + static_cast<std::ptrdiff_t>(inode->bytes.size() / 2),
                  inode->bytes.end(), '\0');
      inode->synced = inode->bytes;
    }
    durable_ = names_;
    dies_at = fails_at = -1;
    every_fails = 0;
  }

  std::map<std::string, std::string> all() const {
    const std::lock_guard hold(mutex_);
    std::map<std::string, std::string> bytes;
    for (const auto& [name, inode] : names_) bytes[name] = inode->bytes;
    return bytes;
  }
  void put(const std::string& path, std::string bytes) {
    const std::lock_guard hold(mutex_);
    auto inode = std::make_shared<Inode>();
    inode->bytes = inode->synced = std::move(bytes);
    names_[path] = durable_[path] = inode;
  }

  Result<std::unique_ptr<OutFile>> create(const std::string& path, std::uint32_t mode) override {
    const std::lock_guard hold(mutex_);
    if (auto step = next("create " + path); !step) return tl::unexpected<Error>(step.error());
    auto inode = std::make_shared<Inode>();
    inode->mode = mode;
    names_[path] = inode;
    return std::make_unique<Out>(*this, inode);
  }
  Result<std::unique_ptr<InFile>> open(const std::string& path) override {
    const std::lock_guard hold(mutex_);
    const auto found = names_.find(path);
    if (found == names_.end()) return fail(ErrorCode::not_found, "cannot open " + path);
    return std::make_unique<In>(*this, found->second);
  }
  Status rename(const std::string& from, const std::string& to) override {
    const std::lock_guard hold(mutex_);
    if (auto step = next("rename " + from); !step) return step;
    const auto found = names_.find(from);
    if (found == names_.end()) return fail(ErrorCode::not_found, "cannot rename " + from);
    names_[to] = found->second;
    names_.erase(from);
    return {};
  }
  Status remove(const std::string& path) override {
    const std::lock_guard hold(mutex_);
    if (auto step = next("remove " + path); !step) return step;
    names_.erase(path);
    return {};
  }
  Status sync_folder(const std::string& folder) override {
    const std::lock_guard hold(mutex_);
    if (auto step = next("sync " + folder); !step) return step;
    const auto in_it = [&](const std::string& name) { return name.substr(0, name.rfind('/')) == folder; };
    std::erase_if(durable_, [&](const auto& entry) { return in_it(entry.first); });
    for (const auto& [name, inode] : names_)
      if (in_it(name)) durable_[name] = inode;
    return {};
  }
  Status make_folder(const std::string&) override { return {}; }
  Result<std::vector<std::string>> list(const std::string& folder) override {
    const std::lock_guard hold(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, inode] : names_)
      if (name.substr(0, name.rfind('/')) == folder) names.push_back(name.substr(folder.size() + 1));
    return names;
  }
  Result<std::unique_ptr<FileLock>> lock(const std::string&) override { return std::make_unique<FileLock>(); }

 private:
  class In : public InFile {
   public:
    In(FaultFiles& files, std::shared_ptr<Inode> inode) : files_(files), inode_(std::move(inode)) {}
    Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) override {
      const std::lock_guard hold(files_.mutex_);
      if (offset >= inode_->bytes.size()) return std::size_t{0};
      const std::size_t size = std::min<std::size_t>(out.size(), inode_->bytes.size() - offset);
      std::memcpy(out.data(), inode_->bytes.data() + offset, size);
      return size;
    }
    Result<FileState> state() override {
      const std::lock_guard hold(files_.mutex_);
      return FileState{inode_->bytes.size(), 0, inode_->mode};
    }

   private:
    FaultFiles& files_;
    std::shared_ptr<Inode> inode_;
  };
  class Out : public OutFile {
   public:
    Out(FaultFiles& files, std::shared_ptr<Inode> inode) : files_(files), inode_(std::move(inode)) {}
    Status append(std::string_view bytes) override { return write_at(inode_->bytes.size(), bytes); }
    Status write_at(std::uint64_t offset, std::string_view bytes) override {
      const std::lock_guard hold(files_.mutex_);
      if (auto step = files_.next("write"); !step) return step;
      const bool cut = files_.every_fails > 0 && ++files_.writes_ % files_.every_fails == 0;
      const bool full = files_.used() + bytes.size() > files_.room;
      if (cut || full) bytes = bytes.substr(0, bytes.size() / 2);
      if (inode_->bytes.size() < offset + bytes.size()) inode_->bytes.resize(offset + bytes.size());
      std::memcpy(inode_->bytes.data() + offset, bytes.data(), bytes.size());
      if (full) return fail(ErrorCode::storage_full, "the disk is full");
      if (cut) return fail(ErrorCode::storage_broken, "a write was cut off");
      return {};
    }
    Status sync() override {
      const std::lock_guard hold(files_.mutex_);
      if (auto step = files_.next("sync a file"); !step) return step;
      inode_->synced = inode_->bytes;
      return {};
    }

   private:
    FaultFiles& files_;
    std::shared_ptr<Inode> inode_;
  };

  Status next(const std::string& what) {
    const int call = calls++;
    if (dies_at >= 0 && call >= dies_at)
      return fail(ErrorCode::storage_broken, "the machine is gone: " + what);
    if (call == fails_at) return fail(ErrorCode::storage_broken, "an error of the disk: " + what);
    return {};
  }
  std::uint64_t used() const {
    std::uint64_t bytes = 0;
    for (const auto& [name, inode] : names_) bytes += inode->bytes.size();
    return bytes;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Inode>> names_, durable_;
  int writes_ = 0;
};

}  // namespace sickbay::checkpoint::test
